//! What `pdl tune` found: its own answer and table, which tell who left when.

use serde::Serialize;

use crate::cells::Cells;
use crate::tune::{Findings, LEGEND, Race};

/// The races of a run.
#[derive(Serialize)]
pub(super) struct View {
    races: Vec<RaceView>,
    legend: &'static str,
}

/// One chain's race.
#[derive(Serialize)]
struct RaceView {
    chain: String,
    /// A sentence each.
    answer: Vec<String>,
    table: Cells,
    /// Which kinds of edges are worth it: in words, and as a table.
    edges: Option<(&'static str, Cells)>,
    cost: String,
}

pub(super) fn view(findings: &Findings) -> View {
    let race = |race: &Race| RaceView {
        chain: race.chain(),
        answer: race.answer().lines().map(str::to_owned).collect(),
        table: race.table(),
        edges: race.edges_table(),
        cost: race.cost(),
    };
    View { races: findings.races.iter().map(race).collect(), legend: LEGEND }
}
