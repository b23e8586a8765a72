//! The findings as a person reads them.

use std::fmt::Write;

use super::super::findings;
use crate::cells::Cells;
use crate::tune::{Findings, LEGEND};

/// One table a race, the answer above it.
pub fn render(findings: &Findings, markdown: bool) -> String {
    let mut text = String::new();
    for race in &findings.races {
        let head = if markdown { "### " } else { "" };
        let driver = match findings.driver.as_str() {
            "" => String::new(),
            driver => format!(", driver {driver}"),
        };
        let _ = writeln!(text, "{head}{}{driver}: {}\n", findings.device, race.chain());
        let _ = writeln!(text, "{}\n", race.answer());
        text += &table(race.table(), markdown);
        if let Some((answer, edges)) = race.edges_table() {
            let _ = write!(text, "{answer}\n\n{}", table(edges, markdown));
        }
        let _ = writeln!(text, "{}\n", race.cost());
    }
    text + LEGEND
}

fn table(cells: Cells, markdown: bool) -> String {
    let header: Vec<&str> = cells.header.iter().map(String::as_str).collect();
    findings::table(&header, cells.rows, &cells.numbers, markdown)
}
