//! A table before it is drawn: for terminals, for Markdown, for pages.

use serde::Serialize;

/// Rows of text under a header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows, each as wide as the header.
    pub rows: Vec<Vec<String>>,
    /// Columns that hold numbers, which are aligned to the right.
    pub numbers: Vec<usize>,
}

impl Cells {
    /// A table of these rows.
    pub fn new(header: &[&str], rows: Vec<Vec<String>>, numbers: &[usize]) -> Cells {
        debug_assert!(rows.iter().all(|row| row.len() == header.len()));
        let header = header.iter().map(|&name| name.to_owned()).collect();
        Cells { header, rows, numbers: numbers.to_vec() }
    }
}
