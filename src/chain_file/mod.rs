//! Chain files: chains of the user's own kernels, described in TOML. Pure but for reading the file
//! and what it names.
//!
//! [`read`] checks all that can be known without a compiler or a device; [`Loaded::resolve`] gives
//! the chain for one set of axis values. Errors name file, line and column.

mod expr;
mod file;
mod kernels;
mod marks;
mod nearest;
mod npy;
mod place;
mod resolve;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
mod value;

use std::ops::Range;
use std::path::{Path, PathBuf};

pub use expr::{Axes, evaluate};
pub use file::{Buffer, ChainFile, Edge, Element, Node, NpyCheck, Sweep, Verify};
pub use marks::{Mark, sites, stamp_hash};
pub use nearest::{nearest, suggestion};
pub use npy::Array;
pub use place::{line_and_column, within};
pub use resolve::{PackedArg, Resolved, ResolvedBuffer, ResolvedNode};
pub use value::{Arg, AxisValues, Dims, Expr, Fill, SiteText};

use crate::chain::{Sites, Trigger};
use crate::error::{Error, Result};

/// The most sets of axis values of one file.
const MAX_VARIANTS: usize = 1000;
/// A chain file is written by hand: more bytes than this are some other file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A chain file that was read, and where it lies.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says.
    pub file: ChainFile,
    /// Where it lies.
    pub path: PathBuf,
    /// Its folder, absolute: all it names lies below.
    pub folder: PathBuf,
    text: String,
}

/// Reads and checks a chain file.
///
/// # Errors
/// It cannot be read, is no chain file, or contradicts itself; with line and column.
pub fn read(path: &Path) -> Result<Loaded> {
    let action = || format!("read {}", path.display());
    let meta = std::fs::metadata(path).map_err(|error| Error::failed(action(), error))?;
    if meta.len() > MAX_FILE_BYTES {
        let cause = format!("it has {} bytes: no chain file is that long", meta.len());
        return Err(Error::failed(action(), cause));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Error::failed(action(), error))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| Error::failed(action(), error))?;
    let file = toml::from_str(&text).map_err(|error| {
        let at = error.span().map(|span| line_and_column(&text, span.start));
        let at = at.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
        let said = error.message();
        let hint = place::unknown_field(said)
            .map_or_else(String::new, |name| format!(", did you mean {name}"));
        Error::failed(format!("read {}{at}", path.display()), format!("{said}{hint}"))
            .remedy("docs/kernel.md and schema/chain-1.0.json say what a chain file holds")
    })?;
    let loaded = Loaded { file, path: path.to_owned(), folder, text };
    loaded.check()?;
    Ok(loaded)
}

impl Loaded {
    /// The name of the chain: what the file says, else its own, or its folder's where that is
    /// `chain`.
    pub fn name(&self) -> String {
        let text = |name: Option<&std::ffi::OsStr>| name.map(|n| n.to_string_lossy().into_owned());
        let stem = text(self.path.file_stem()).filter(|stem| stem != "chain");
        let folder = || text(self.folder.file_name());
        self.file.name.clone().or(stem).or_else(folder).unwrap_or_else(|| "chain".into())
    }

    /// Other values for an axis, in place of the file's.
    ///
    /// # Errors
    /// No such axis, or values of which no chain can be made.
    pub fn choose(&mut self, axis: &str, values: &[i64]) -> Result<()> {
        let names: Vec<String> = self.file.axes.keys().cloned().collect();
        let Some(known) = self.file.axes.get_mut(axis) else {
            let near = suggestion(axis, names.iter().map(String::as_str));
            let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let cause = format!("the chain file has no axis '{axis}'{near}; axes: {list}");
            return Err(Error::usage("choose axis values", cause)
                .remedy("--set takes an axis of the chain file's [axes], such as M=1,8"));
        };
        known.get_mut().0 = values.to_vec();
        self.variants()?.iter().try_for_each(|axes| self.resolve(axes).map(drop))
    }

    /// An error at a place of the file.
    pub fn error(&self, span: Range<usize>, cause: impl std::fmt::Display) -> Error {
        let (line, column) = line_and_column(&self.text, span.start);
        Error::failed(format!("use {}:{line}:{column}", self.path.display()), cause)
            .remedy("docs/kernel.md says what a chain file holds")
    }

    /// A file that the chain file names: it exists, and lies in the chain file's folder.
    ///
    /// # Errors
    /// It does not, with the place that names it.
    pub fn locate(&self, name: &str, span: Range<usize>) -> Result<PathBuf> {
        within(&self.folder, name).map_err(|cause| self.error(span, cause))
    }

    /// Whether it names .npy files, to fill buffers or to compare with.
    pub fn names_arrays(&self) -> bool {
        let fills = self.file.buffers.values().filter_map(|buffer| buffer.fill.as_ref());
        let mut fills = fills.map(|fill| fill.get_ref());
        fills.any(|fill| matches!(fill, Fill::Npy(_))) || !self.file.verify.npy.is_empty()
    }

    /// Every set of axis values: the first axis (in the order of names) varies slowest.
    ///
    /// # Errors
    /// Too many of them.
    pub fn variants(&self) -> Result<Vec<Axes>> {
        let mut variants = vec![Axes::new()];
        for (name, values) in &self.file.axes {
            let values = &values.get_ref().0;
            variants = variants
                .iter()
                .flat_map(|axes| {
                    values.iter().map(|&value| {
                        let mut axes = axes.clone();
                        axes.insert(name.clone(), value);
                        axes
                    })
                })
                .collect();
            if variants.len() > MAX_VARIANTS {
                let span = self.file.axes[name].span();
                let cause = format!("the axes make more than {MAX_VARIANTS} sets of values");
                return Err(self.error(span, cause));
            }
        }
        Ok(variants)
    }

    /// The axis that a policy decides over: the one that is named, or the first with several
    /// values; `None` where no axis has.
    pub fn policy_axis(&self) -> Option<&str> {
        if let Some(named) = &self.file.sweep.policy {
            return Some(named.get_ref());
        }
        let many = self.file.axes.iter().find(|(_, values)| values.get_ref().0.len() > 1);
        many.map(|(name, _)| name.as_str())
    }

    /// The triggers that are tried: those of `[sweep]`, or each of `marked` and none. Every one is
    /// given with every choice of syncs.
    ///
    /// # Errors
    /// A site that is none, or that no source marks.
    pub fn triggers(&self, marked: Sites) -> Result<Vec<Trigger>> {
        let of = |list: &[toml::Spanned<SiteText>], marks: u32, what: &str| -> Result<Vec<u32>> {
            list.iter()
                .map(|text| {
                    let error = |cause: String| self.error(text.span(), cause);
                    let bits = Sites::parse_bits(&text.get_ref().0).map_err(error)?;
                    match bits & !marks {
                        0 => Ok(bits),
                        _ => Err(error(format!(
                            "no source marks that {what} site: {} marked",
                            Sites::bits_text(marks)
                                .map_or("none is".into(), |t| format!("{t} are"))
                        ))),
                    }
                })
                .collect()
        };
        let mut triggers = of(&self.file.sweep.trigger, marked.triggers, "trigger")?;
        if triggers.is_empty() {
            triggers = (0..32).map(|n| 1 << n).filter(|bit| marked.triggers & bit != 0).collect();
            triggers.push(0);
        }
        let mut syncs = of(&self.file.sweep.sync, marked.syncs, "sync")?;
        if syncs.is_empty() {
            syncs = vec![Sites::EVERY];
        }
        let mut all: Vec<Trigger> = Vec::new();
        for &triggers in &triggers {
            for &syncs in &syncs {
                let trigger = Trigger::of_sites(Sites { triggers, syncs });
                if !all.contains(&trigger) {
                    all.push(trigger);
                }
            }
        }
        Ok(all)
    }

    fn check(&self) -> Result<()> {
        let file = &self.file;
        if file.sources.is_empty() || file.nodes.is_empty() {
            return Err(self.error(0..0, "it needs a source and at least one node"));
        }
        for source in &file.sources {
            let path = self.locate(source.get_ref(), source.span())?;
            let known = ["cu", "ptx", "cubin"];
            if !path.extension().is_some_and(|e| known.iter().any(|known| e == *known)) {
                let cause = format!("'{}' is neither .cu nor .ptx nor .cubin", source.get_ref());
                return Err(self.error(source.span(), cause));
            }
        }
        for folder in &file.include {
            self.locate(folder.get_ref(), folder.span())?;
        }
        for define in &file.defines {
            if !file.axes.contains_key(define.get_ref()) {
                let near = suggestion(define.get_ref(), file.axes.keys().map(String::as_str));
                let cause = format!("'{}' is no axis{near}", define.get_ref());
                return Err(self.error(define.span(), cause));
            }
        }
        if let Some(axis) = &file.sweep.policy
            && !file.axes.contains_key(axis.get_ref())
        {
            let near = suggestion(axis.get_ref(), file.axes.keys().map(String::as_str));
            return Err(self.error(axis.span(), format!("'{}' is no axis{near}", axis.get_ref())));
        }
        for (name, values) in &file.axes {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let first = name.chars().next();
            if !first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                || !name.chars().all(plain)
            {
                let cause = format!("'{name}' is no name of a variable (letters, digits, _)");
                return Err(self.error(values.span(), cause));
            }
        }
        // Every set of values has to make a chain, before anything is compiled.
        self.variants()?.iter().try_for_each(|axes| self.resolve(axes).map(drop))
    }
}
