//! The same sweep measured a second time, in the place of a model: how far the best of all models,
//! another measurement, is off. No model can be held to more than that.

use std::collections::HashMap;

use super::table::percent;
use super::{Compared, Measured, Sweep, best_triggers, errors, regret, signs};
use crate::chain::{Arm, Trigger};
use crate::error::{Error, Result};
use crate::profile::Model;

/// A sweep, and the same measured again.
#[derive(Clone, Debug)]
pub struct Again {
    /// What was measured first.
    pub first: String,
    /// What was measured again.
    pub second: String,
    /// GPU of the second one.
    pub uuid: String,
    /// Rows of the first; what the second one measured stands where the model's periods do.
    pub rows: Vec<Compared>,
}

impl Again {
    /// Finds the one among `sweeps` that `second` repeats. Amounts of work may differ: each run
    /// finds its own for the times that were asked for.
    ///
    /// # Errors
    /// `second` repeats none of them.
    pub fn find(sweeps: &[Sweep], second: &Sweep) -> Result<Again> {
        let of = |first: &Sweep| {
            Some(Again {
                first: first.name.clone(),
                second: second.name.clone(),
                uuid: second.provenance.uuid.clone(),
                rows: paired(&first.rows, &second.rows)?,
            })
        };
        sweeps.iter().find_map(of).ok_or_else(|| {
            let cause = "none of the sweeps has its points, arms, triggers and shapes";
            Error::usage(format!("take {} as a second measurement", second.name), cause)
                .remedy("name the sweep that it repeats as DATA, or it as DATA in place of --again")
        })
    }

    /// What it comes to, as Markdown.
    pub fn section(&self) -> String {
        let rows = &self.rows;
        let (effects, right) = signs(rows, Model::Events);
        let (lanes, best) = best_triggers(rows, Model::Events);
        let mut text = format!(
            "\n## {}, measured again\n\nThe same sweep on {} ({}), held against the first \
             measurement as a model is: no model can be held to more. Of the effects that the first \
             decides {right} of {effects} have the right sign; the best trigger is in its plateau \
             in {best} of {lanes} sweeps.",
            self.first, self.uuid, self.second
        );
        if let Some(found) = errors(rows.iter(), Model::Events) {
            text += &format!(
                " Periods differ by {} in the median, {} at the 95th percentile, {} at most, over \
                 {} rows.",
                percent(found.median),
                percent(found.p95),
                percent(found.most),
                found.rows
            );
        }
        if let Some(found) = regret(rows, Model::Events) {
            text += &format!(
                " Regret: median {}, 90 % {}, largest {}.",
                percent(found.median),
                percent(found.p90),
                percent(found.most)
            );
        }
        text + "\n"
    }
}

/// What a row has to share with its second measurement.
fn key(row: &Measured) -> (&str, Arm, Option<Trigger>) {
    (&row.point, row.arm, row.trigger)
}

/// Rows with the periods of their second measurement; `None` where one has none, or of another
/// chain.
fn paired(first: &[Measured], second: &[Measured]) -> Option<Vec<Compared>> {
    let seconds: HashMap<_, _> = second.iter().map(|row| (key(row), row)).collect();
    let of = |row: &Measured| {
        let again = seconds.get(&key(row))?;
        let (a, b) = (&row.chain, &again.chain);
        let same = a.shape == b.shape && a.preamble.kind == b.preamble.kind;
        let same = same && a.body.kind == b.body.kind && a.nodes == b.nodes;
        let events_ns = Some(again.period_ns);
        same.then(|| Compared { row: row.clone(), closed_ns: None, events_ns })
    };
    first.iter().map(of).collect()
}
