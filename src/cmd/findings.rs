//! The table of findings that commands share.

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};

use crate::cells::Cells;

/// Rows under a header; the columns in `numbers` are aligned to the right.
pub fn table(header: &[&str], rows: Vec<Vec<String>>, numbers: &[usize], markdown: bool) -> String {
    draw(&Cells::new(header, rows, numbers), markdown)
}

/// The table as text; nothing where it has no rows.
pub fn draw(cells: &Cells, markdown: bool) -> String {
    if cells.rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(if markdown { ASCII_MARKDOWN } else { NOTHING });
    table.set_header(&cells.header);
    table.add_rows(&cells.rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        if cells.numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n\n", table.trim_fmt())
}
