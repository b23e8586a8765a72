//! What stands under the tables of a run: conclusions over all groups, and how to read it.

use std::fmt::Write;

use crate::analysis::{NO_CROSSOVER, Summary};

/// What is said of all groups together: crossovers, and the line for a pull request.
pub fn conclusions(summary: &Summary, markdown: bool) -> String {
    let mut text = String::new();
    for crossover in &summary.crossovers {
        let _ = writeln!(text, "{}", crossover.sentence);
    }
    if summary.crossovers.is_empty() && !summary.answers.is_empty() {
        let _ = writeln!(text, "{NO_CROSSOVER}");
    }
    if let Some(forecast) = &summary.forecast {
        let _ = writeln!(text, "\nPrediction, {}", forecast.sentence);
    }
    let (open, close) = if markdown { ("```\n", "```\n") } else { ("", "") };
    let _ = writeln!(text, "\nFor a pull request:\n\n{open}{}\n{close}", summary.paste);
    text
}

const LEGEND: &str = "\
µs/node: chain ÷ nodes. saved: (baseline − this) ÷ hops, median of rounds. code cost: what the \
instructions cost over full\ndependencies. slowed: the body against that control. useful/parked: \
work before the sync under the primary, and waiting in it.\n\
blocks/SM: most blocks of a node that share an SM, and SMs used (several kernels: of the one with \
the fewest to the one with\nthe most); ?: a node of the stamped run is longer than a timed one, so \
blocks may have been placed otherwise. proof: active\nmeans stamps show overlap or a shorter gap; \
armed means programmatic edges and a sync are there and stamps show no more than\ntheir resolution.\n\
*: recommended, the latest of the plateau (=). !: triggers before its own sync.\n";

/// What is said of the index, where there is one.
const CONTAMINATION: &str = "\
contamination: (pipelined ÷ isolated) of the arm, divided by the same of its baseline. Pipelined \
chains run into one\nanother, and their first node is programmatic too: below 1, a part of what \
they seem to save is the chain before.\n";

/// What is said of limit and exposed time, where there are constants of the device.
const LIMIT: &str = "\
limit: the shortest period that dependences and constants allow, whatever the trigger. exposed: \
period − body alone, in parts that\nadd up to it (docs/limit.md).\n";

/// How to read the tables.
pub fn legend(summary: &Summary) -> String {
    let mut text = LEGEND.to_owned();
    if summary.rows.iter().any(|row| row.contamination.is_some()) {
        text += CONTAMINATION;
    }
    if summary.rows.iter().any(|row| row.exposed_ns.is_some()) {
        text += LIMIT;
    }
    if let Some(forecast) = &summary.forecast {
        let _ =
            writeln!(text, "model: the period by {}; off: by how much it misses.", forecast.label);
    }
    text
}
