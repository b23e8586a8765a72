//! The table of findings that `check` and `conform` share.

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};

/// Rows under a header; the columns in `numbers` are aligned to the right.
pub fn table(header: &[&str], rows: Vec<Vec<String>>, numbers: &[usize], markdown: bool) -> String {
    let mut table = Table::new();
    table.load_style(if markdown { ASCII_MARKDOWN } else { NOTHING });
    table.set_header(header.iter().copied());
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n\n", table.trim_fmt())
}
