//! The command line that made something, as somebody else would give it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The command line that runs `example` now.
pub fn own_command(example: &str) -> String {
    command(example, &std::env::args().skip(1).collect::<Vec<_>>())
}

/// The command that ran `example` with these arguments: files that are all of a folder's with their
/// ending stand as `folder/*.csv`.
fn command(example: &str, arguments: &[String]) -> String {
    let mut left = arguments;
    let mut text = format!("cargo run --release --no-default-features --example {example} --");
    while let Some(first) = left.first() {
        let (word, taken) = folder(left).unwrap_or_else(|| (first.clone(), 1));
        text += &format!(" {word}");
        left = &left[taken..];
    }
    text
}

/// The folder whose files the next arguments are, as a pattern, and how many arguments that are.
fn folder(arguments: &[String]) -> Option<(String, usize)> {
    let first = Path::new(arguments.first()?);
    let (parent, ending) = (first.parent()?, first.extension()?.to_str()?);
    let same = |path: &Path| path.extension().is_some_and(|found| found == ending);
    let entries = std::fs::read_dir(parent).ok()?;
    let all: BTreeSet<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| same(path)).collect();
    let given = arguments.iter().map(PathBuf::from).take_while(|path| all.contains(path));
    let given: BTreeSet<PathBuf> = given.take(all.len()).collect();
    let pattern = format!("{}/*.{ending}", parent.display());
    (all.len() > 1 && given == all).then_some((pattern, all.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_given_whole_is_named_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name).display().to_string();
        for name in ["a.csv", "b.csv", "c.txt"] {
            std::fs::write(file(name), "").unwrap();
        }
        let begin = "cargo run --release --no-default-features --example fit --";
        let whole = format!("{begin} --seed 3 {}", file("*.csv"));
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (a, b) = (file("a.csv"), file("b.csv"));
        assert_eq!(command("fit", &words(&["--seed", "3", &a, &b])), whole);
        assert_eq!(command("fit", &words(&["--seed", "3", &b, &a])), whole);
        // Some of them are named as they were given.
        for some in [vec![&a], vec![&a, &a], vec![&b, &b, &a, &a]] {
            let given: Vec<String> = some.into_iter().cloned().collect();
            let named = format!("{begin} {}", given.join(" "));
            let found = command("fit", &given);
            let pair = format!("{b} {a}");
            assert_eq!(found, named.replacen(&pair, &file("*.csv"), 1));
        }
        assert_eq!(command("fit", &[]), begin);
    }
}
