//! Pieces of text that all formats share.

use crate::compare::{Change, Comparison, Row};
use crate::units::{or_absent, signed_us};

/// Text from a file or a path, without what a terminal would obey.
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// The same, and without what Markdown or HTML would obey.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in harmless(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => out.extend(['\\', c]),
            '@' => out.push_str("&#64;"),
            _ => out.push(c),
        }
    }
    out
}

/// A verdict as tables show it: what needs eyes in capitals.
pub fn verdict(change: Change) -> &'static str {
    match change {
        Change::Wrong => "WRONG RESULT",
        Change::Regression => "REGRESSION",
        _ => change.name(),
    }
}

/// The same with its reasons.
pub fn verdict_with_reasons(row: &Row) -> String {
    match row.verdict {
        Change::Equivalent => verdict(row.verdict).to_owned(),
        _ if row.reasons.is_empty() => verdict(row.verdict).to_owned(),
        _ => format!("{} ({})", verdict(row.verdict), row.reasons.join(", ")),
    }
}

/// One row in a sentence: `graph-pdl 4/8 (+0.081 µs a hop)`.
pub fn short(row: &Row) -> String {
    let name = format!("{} {}", row.arm, row.place());
    format!("{} ({} a hop)", name.trim_end(), or_absent(row.change_ns, signed_us))
}

/// The overall verdict and how it came about, in one line.
pub fn overall(comparison: &Comparison) -> String {
    let counts = comparison.counts.iter().map(|count| format!("{} {}", count.rows, count.verdict));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let reasons = match comparison.reasons.as_slice() {
        [] => String::new(),
        reasons => format!(" ({})", reasons.join(", ")),
    };
    format!("{}{reasons}: {counts} of {} rows", verdict(comparison.verdict), comparison.rows.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_users_command_neither_terminal_nor_page() {
        assert_eq!(harmless("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
        assert_eq!(escaped("<script>|@me"), "&lt;script&gt;\\|&#64;me");
        assert_eq!(escaped("*x*\u{7}"), "\\*x\\*\\\\u{7}");
    }
}
