//! Places in a text, and files that may be named.

use std::path::{Component, Path, PathBuf};

/// Line and column, from 1; columns count characters.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// `name` below `folder`, which is absolute and without links: what a chain file names stays in its
/// folder, links included.
///
/// # Errors
/// It leaves the folder or does not exist.
pub fn within(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let path = Path::new(name);
    let leaves =
        path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir));
    let outside = || format!("'{name}' lies outside the chain file's folder");
    if leaves || name.is_empty() {
        return Err(outside());
    }
    let found = folder.join(path).canonicalize().map_err(|error| format!("'{name}': {error}"))?;
    if found.starts_with(folder) { Ok(found) } else { Err(outside()) }
}

/// The field that an unknown one was most likely meant to be, from what serde says.
pub(super) fn unknown_field(message: &str) -> Option<&str> {
    let rest = message
        .strip_prefix("unknown field `")
        .or_else(|| message.strip_prefix("unknown variant `"))?;
    let (word, expected) = rest.split_once('`')?;
    let names = expected.split('`').skip(1).step_by(2);
    super::nearest(word, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_and_in_characters() {
        let text = "a = 1\n# é\nbé = 2\n";
        for (at, expected) in [(0, (1, 1)), (6, (2, 1)), (12, (3, 3)), (999, (4, 1))] {
            let at = text.char_indices().map(|(i, _)| i).nth(at).unwrap_or(text.len());
            assert_eq!(line_and_column(text, at), expected, "{at}");
        }
    }

    #[test]
    fn only_what_lies_below_the_folder_may_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let inner = root.join("chain");
        std::fs::create_dir(&inner).unwrap();
        for file in [root.join("secret.cu"), inner.join("a.cu")] {
            std::fs::write(file, "").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("secret.cu"), inner.join("link.cu")).unwrap();
        assert_eq!(within(&inner, "a.cu"), Ok(inner.join("a.cu")));
        assert_eq!(within(&inner, "./a.cu"), Ok(inner.join("a.cu")));
        let absolute = root.join("secret.cu").display().to_string();
        for name in ["../secret.cu", absolute.as_str(), "link.cu", ""] {
            assert!(within(&inner, name).unwrap_err().contains("outside"), "{name}");
        }
        assert!(within(&inner, "b.cu").unwrap_err().contains("No such file"));
    }

    #[test]
    fn an_unknown_field_gets_its_nearest() {
        let said = "unknown field `kernal`, expected one of `kernel`, `source`, `grid`";
        assert_eq!(unknown_field(said), Some("kernel"));
        assert_eq!(unknown_field("unknown field `q`, expected one of `kernel`"), None);
        assert_eq!(unknown_field("missing field `kernel`"), None);
    }
}
