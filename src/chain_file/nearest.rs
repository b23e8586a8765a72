//! What a misspelt name was most likely meant to be.

/// Names that are less alike than this are no suggestion.
const ALIKE: f64 = 0.7;

/// The name that is most like `word`.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let alike =
        |name: &str| strsim::jaro_winkler(&word.to_ascii_lowercase(), &name.to_ascii_lowercase());
    let scored = names.into_iter().map(|name| (alike(name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= ALIKE).then_some(best.1)
}

/// `, did you mean X`, or nothing.
pub fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!(", did you mean {name}"))
}

/// `, did you mean X`, else `; {what}: ` and all of them: what could have been written.
pub fn suggestion_of(what: &str, word: &str, names: &[&str]) -> String {
    let list = || match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    match nearest(word, names.iter().copied()) {
        Some(near) => format!(", did you mean {near}"),
        None => format!("; {what}: {}", list()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_none_is_alike_all_are_told() {
        for (word, names, expected) in [
            ("rms", &["rmsnorm", "gemv"][..], ", did you mean rmsnorm"),
            ("xyz", &["rmsnorm", "gemv"], "; kernels: rmsnorm, gemv"),
            ("xyz", &[], "; kernels: none"),
        ] {
            assert_eq!(suggestion_of("kernels", word, names), expected);
        }
    }

    #[test]
    fn only_names_that_are_alike_are_suggested() {
        let names = ["rmsnorm", "gemv<128>", "combine"];
        for (word, expected) in [
            ("rms_norm", Some("rmsnorm")),
            ("RMSNorm", Some("rmsnorm")),
            ("gemv<256>", Some("gemv<128>")),
            ("combin", Some("combine")),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
    }
}
