//! Sites that sources mark, found in their text.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex_lite::Regex;

use super::Loaded;
use crate::chain::Sites;
use crate::error::{Error, Result};

/// A mark: kind and number.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bPDL_(TRIGGER|SYNC)_SITE\s*\(\s*([0-9]+)\s*\)")
        .expect("the pattern is well formed")
});
/// A named moment.
static STAMP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bPDL_STAMP\s*\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*\)")
        .expect("the pattern is well formed")
});
static INCLUDE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^[ \t]*#[ \t]*include[ \t]*"([^"]+)""#).expect("the pattern is well formed")
});

/// One mark in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The file.
    pub path: PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// Whether it is a trigger site; else a sync site.
    pub trigger: bool,
    /// Its number.
    pub site: u32,
    /// The line's text.
    pub text: String,
}

impl Loaded {
    /// Every mark of the sources, and of the files of the chain file's folder that they include.
    ///
    /// # Errors
    /// A site beyond the last, with its file and line.
    pub fn marks(&self) -> Result<Vec<Mark>> {
        let mut marks = Vec::new();
        for (path, text) in self.texts() {
            marks.extend(of_text(&path, &text)?);
        }
        Ok(marks)
    }

    /// Whether a source has stamps at begin and end, so that a stamped instance says something.
    pub fn stamped(&self) -> bool {
        let names = self.all_stamps();
        ["begin", "end"].iter().all(|name| names.iter().any(|known| known == name))
    }

    /// The names of stamps but begin and end, in the order of the sources.
    pub fn stamp_names(&self) -> Vec<String> {
        let mut names = self.all_stamps();
        names.retain(|name| name != "begin" && name != "end");
        names
    }

    fn all_stamps(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (_, text) in self.texts() {
            for line in text.lines().map(|line| line.split("//").next().unwrap_or(line)) {
                for found in STAMP.captures_iter(line) {
                    if !names.iter().any(|known| *known == found[1]) {
                        names.push(found[1].to_owned());
                    }
                }
            }
        }
        names
    }

    /// The sources and what they include of the chain file's folder, each once. The header of the
    /// marks itself, which speaks of them, is none.
    pub(super) fn texts(&self) -> Vec<(PathBuf, String)> {
        let mut texts = Vec::new();
        let mut seen = HashSet::new();
        let includes: Vec<PathBuf> =
            self.file.include.iter().map(|folder| self.folder.join(folder.get_ref())).collect();
        let mut waiting: Vec<PathBuf> = self
            .file
            .sources
            .iter()
            .rev()
            .map(|source| self.folder.join(source.get_ref()))
            .collect();
        while let Some(path) = waiting.pop() {
            let Ok(path) = path.canonicalize() else { continue };
            let text = path.extension().is_some_and(|e| e != "cubin" && e != "ptx");
            let own = path.file_name().is_some_and(|name| name == "pdl_site.cuh");
            if !text || own || !path.starts_with(&self.folder) || !seen.insert(path.clone()) {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let beside = path.parent().map(Path::to_owned);
            for include in INCLUDE.captures_iter(&text) {
                let folders = beside.iter().chain(&includes);
                waiting.extend(folders.map(|folder| folder.join(&include[1])));
            }
            texts.push((path, text));
        }
        texts
    }
}

/// The number that a kernel stores for the name of a stamp: FNV-1a, as `cuda/pdl_site.cuh` has it.
pub fn stamp_hash(name: &str) -> u32 {
    name.bytes().fold(2_166_136_261, |so_far: u32, byte| {
        (so_far ^ u32::from(byte)).wrapping_mul(16_777_619)
    })
}

/// The sites of marks.
pub fn sites(marks: &[Mark]) -> Sites {
    let bits = |trigger: bool| {
        let own = marks.iter().filter(|mark| mark.trigger == trigger);
        own.fold(0, |bits, mark| bits | 1 << mark.site)
    };
    Sites { triggers: bits(true), syncs: bits(false) }
}

fn of_text(path: &Path, text: &str) -> Result<Vec<Mark>> {
    let mut marks = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        for found in MARK.captures_iter(code) {
            let site = found[2].parse().ok().filter(|&site: &u32| site < u32::BITS);
            let site = site.ok_or_else(|| {
                let action = format!("use {}:{}", path.display(), at + 1);
                let cause = format!("there is no site {}: {}", &found[2], &found[0]);
                Error::failed(action, cause).remedy("sites are numbered 0 to 31")
            })?;
            let (path, text) = (path.to_owned(), line.trim().to_owned());
            marks.push(Mark { path, line: at + 1, trigger: &found[1] == "TRIGGER", site, text });
        }
    }
    Ok(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_through_includes_but_not_in_comments() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a.cu", "#include \"b.cuh\"\n// PDL_TRIGGER_SITE(9)\nPDL_SYNC_SITE( 1 );\n");
        write(
            "b.cuh",
            "#include \"a.cu\"\nif (x) { PDL_TRIGGER_SITE(2); } PDL_TRIGGER_SITE(31);\n",
        );
        write(
            "chain.toml",
            "sources = [\"a.cu\"]\n[[nodes]]\nkernel = \"k\"\ngrid = 1\nblock = 1\n",
        );
        let marks = super::super::read(&folder.path().join("chain.toml")).unwrap().marks().unwrap();
        let found: Vec<(bool, u32, usize)> =
            marks.iter().map(|mark| (mark.trigger, mark.site, mark.line)).collect();
        assert_eq!(found, [(false, 1, 3), (true, 2, 2), (true, 31, 2)]);
        assert_eq!(sites(&marks), Sites { triggers: 1 << 31 | 1 << 2, syncs: 2 });
    }

    #[test]
    fn a_site_beyond_the_last_is_refused_with_its_line() {
        for (mark, good) in [
            ("PDL_TRIGGER_SITE(31)", true),
            ("PDL_TRIGGER_SITE(32)", false),
            ("PDL_SYNC_SITE(4294967296)", false),
            ("// PDL_SYNC_SITE(99)", true),
            // What the text does not tell, the header's static_assert does.
            ("PDL_SYNC_SITE(LAST)", true),
        ] {
            let found = of_text(Path::new("/k.cu"), &format!("\n  {mark};\n"));
            assert_eq!(found.is_ok(), good, "{mark}");
            let said = found.err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(said.contains("/k.cu:2: "), !good, "{said}");
        }
    }

    #[test]
    fn stamps_have_names_and_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let source =
            "PDL_STAMP(begin); PDL_STAMP( weights );\n// PDL_STAMP(no)\nPDL_STAMP(weights);\n";
        let chain = "sources = [\"a.cu\"]\n[[nodes]]\nkernel = \"k\"\ngrid = 1\nblock = 1\n";
        std::fs::write(folder.path().join("chain.toml"), chain).unwrap();
        for (end, stamped) in [("", false), ("PDL_STAMP(end);\n", true)] {
            std::fs::write(folder.path().join("a.cu"), format!("{source}{end}")).unwrap();
            let loaded = super::super::read(&folder.path().join("chain.toml")).unwrap();
            assert_eq!(loaded.stamp_names(), ["weights"]);
            assert_eq!(loaded.stamped(), stamped);
        }
        // Values of the published test vectors of FNV-1a.
        assert_eq!((stamp_hash(""), stamp_hash("a")), (0x811c_9dc5, 0xe40c_292c));
    }
}
