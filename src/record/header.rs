//! The header of a CSV file decides which column is which: their order is free.

use super::cell::{Bad, shown};

/// Where the known columns stand in the rows of one file.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    places: Vec<Option<usize>>,
    width: usize,
    /// Columns that this version does not know.
    pub(super) unknown: Vec<String>,
}

impl Header {
    /// Finds the `known` columns in the first row of a file.
    pub(super) fn find(known: &[&'static str], found: &[&[u8]]) -> Result<Header, Bad> {
        Header::find_older(known, &[], found)
    }

    /// The same in a file that an earlier version may have written, which has not all of `later`.
    pub(super) fn find_older(
        known: &[&'static str],
        later: &[&'static str],
        found: &[&[u8]],
    ) -> Result<Header, Bad> {
        let found: Vec<_> = found.iter().map(|name| String::from_utf8_lossy(name)).collect();
        // Spreadsheets mark UTF-8 with a byte order mark, which would hide the first column.
        let name = |at: usize| match at {
            0 => found[0].trim_start_matches('\u{feff}'),
            _ => &found[at],
        };
        let names: Vec<&str> = (0..found.len()).map(name).collect();
        if !names.iter().any(|name| known.contains(name)) {
            let first = shown(&names.join(","));
            return Err(Bad::row(format!("'{first}' is not its header: no column is known")));
        }
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                return Err(Bad::row(format!("the header has the column '{}' twice", shown(name))));
            }
        }
        let place = |column: &&'static str| names.iter().position(|name| name == column);
        let missing: Vec<&str> =
            known.iter().filter(|column| place(column).is_none()).copied().collect();
        let missing: Vec<&str> =
            missing.into_iter().filter(|column| !later.contains(column)).collect();
        if !missing.is_empty() {
            return Err(Bad::row(format!("the header lacks {}", missing.join(", "))));
        }
        let unknown = names.iter().filter(|name| !known.contains(name)).map(|name| shown(name));
        Ok(Header {
            places: known.iter().map(place).collect(),
            width: names.len(),
            unknown: unknown.collect(),
        })
    }

    /// Refuses a row that has more or fewer fields than the header.
    pub(super) fn check_width(&self, fields: usize) -> Result<(), Bad> {
        if fields == self.width {
            return Ok(());
        }
        Err(Bad::row(format!("the row has {fields} fields, the header has {}", self.width)))
    }

    /// Place, in a row of this file, of the known column `column`.
    pub(super) fn place(&self, column: usize) -> usize {
        self.places[column].expect("a column that no version lacks was found")
    }

    /// The same of a column that an earlier version lacks.
    pub(super) fn later_place(&self, column: usize) -> Option<usize> {
        self.places[column]
    }

    /// What to tell of columns that are not read; `None` when all are.
    pub(super) fn note(&self, file: &str) -> Option<String> {
        match self.unknown.as_slice() {
            [] => None,
            unknown => Some(format!("{file}: unknown columns left out: {}", unknown.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let header = Header::find(&["a", "b"], &[b"\xef\xbb\xbfb", b"c", b"a"]).unwrap();
        assert_eq!((header.place(0), header.place(1)), (2, 0));
        assert_eq!(header.note("x.csv").as_deref(), Some("x.csv: unknown columns left out: c"));
        assert!(header.check_width(3).is_ok() && header.check_width(2).is_err());
    }

    #[test]
    fn a_header_that_cannot_be_trusted_is_refused() {
        let table: [(&[&[u8]], &str); 4] = [
            (&[b"a"], "lacks b"),
            (&[b"a", b"b", b"a"], "the column 'a' twice"),
            (&[b"a", b"b", b"x", b"x"], "the column 'x' twice"),
            (&[b"\x7fELF\x02\x01"], "'\\u{7f}ELF\\u{2}\\u{1}' is not its header"),
        ];
        for (found, expected) in table {
            let error = Header::find(&["a", "b"], found).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
