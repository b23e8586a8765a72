//! Names of kernels.

use cpp_demangle::{DemangleOptions, Symbol};
use regex_lite::Regex;

/// The name as the source spells it, with template arguments and parameters; the name itself where
/// it is no mangled one.
pub fn demangle(name: &str) -> String {
    with(name, DemangleOptions::new())
}

/// The same without return type and parameters: what tells kernels apart for people.
pub fn short_name(name: &str) -> String {
    with(name, DemangleOptions::new().no_params().no_return_type())
}

fn with(name: &str, options: DemangleOptions) -> String {
    let symbol = Symbol::new(name).ok();
    symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok()).unwrap_or(name.to_owned())
}

/// Which kernels are looked at.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    text: String,
    pattern: Option<Regex>,
}

impl Filter {
    /// Kernels whose name, mangled or demangled, contains `text`, or matches it as a regular
    /// expression where it is one.
    pub fn new(text: &str) -> Filter {
        Filter { text: text.to_owned(), pattern: Regex::new(text).ok() }
    }

    /// Whether everything passes.
    pub fn is_all(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether a kernel passes.
    pub fn passes(&self, mangled: &str, demangled: &str) -> bool {
        let matches = |name: &str| {
            name.contains(&self.text) || self.pattern.as_ref().is_some_and(|p| p.is_match(name))
        };
        self.is_all() || matches(mangled) || matches(demangled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANGLED: &str = "_ZN3pdl5chainIL11pdl_trigger1EL8pdl_body0ELb1EEEv14pdl_chain_args";

    #[test]
    fn names_are_demangled() {
        assert_eq!(
            demangle(MANGLED),
            "void pdl::chain<(pdl_trigger)1, (pdl_body)0, true>(pdl_chain_args)"
        );
        assert_eq!(short_name(MANGLED), "pdl::chain<(pdl_trigger)1, (pdl_body)0, true>");
        assert_eq!(demangle("my_kernel"), "my_kernel");
        assert_eq!(short_name("_Znot mangled"), "_Znot mangled");
    }

    #[test]
    fn a_filter_is_a_part_or_a_pattern_of_either_name() {
        let demangled = demangle(MANGLED);
        for (filter, passes) in [
            ("", true),
            ("chainIL11", true),
            ("pdl::chain<(pdl_trigger)1", true),
            ("chain.*true", true),
            ("^void pdl::chain", true),
            ("trigger[2-9]", false),
            ("native", false),
            // No pattern, but a part of the name could still be it.
            ("(pdl_trigger", true),
            ("(absent", false),
        ] {
            assert_eq!(Filter::new(filter).passes(MANGLED, &demangled), passes, "{filter}");
        }
    }
}
