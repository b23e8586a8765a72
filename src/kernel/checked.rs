//! What the checks of a chain found, before anything is timed: each edge by what kernels write, the
//! same with the consumer's sync removed, and the whole chain with a sleep behind every trigger.

use std::fmt::Write;

use serde::Serialize;

use crate::attach::{Race, RaceVerdict};
use crate::chain::{Submission, Trigger};
use crate::chain_file::Axes;
use crate::error::{Error, Kind};

/// The race check of one edge in one form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeRace {
    /// Kernel before the edge.
    pub primary: String,
    /// Kernel after it.
    pub secondary: String,
    /// Place of the secondary in the chain file's nodes.
    pub node: usize,
    /// As an edge of a graph, or as the programmatic attribute of a launch into a stream.
    pub submission: Submission,
    /// What was found.
    pub race: Race,
}

/// What a delayed chain computed in one form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DelayedRun {
    /// Where the kernels trigger.
    pub trigger: Trigger,
    /// In a stream or a graph.
    pub submission: Submission,
    /// Bytes that were compared, a run.
    pub checked_bytes: u64,
    /// Bytes unlike those of the same code over full edges, the most of any run.
    pub wrong_bytes: u64,
    /// The first of them, in words.
    pub place: Option<String>,
}

/// One edge of one set of axis values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedEdge {
    /// The values.
    pub axes: Axes,
    /// Where the kernels trigger and sync; `None` for those of a library, which are as they are.
    pub trigger: Option<Trigger>,
    /// What was found.
    pub found: EdgeRace,
    /// What was found once the secondary's sync was removed; `None` where no mark holds it.
    pub without_sync: Option<Race>,
}

/// One delayed run of one set of axis values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedDelay {
    /// The values.
    pub axes: Axes,
    /// What was found.
    pub found: DelayedRun,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Checked {
    /// In the order of the sets of axis values, of the chain, and graph before stream.
    pub edges: Vec<CheckedEdge>,
    /// In the order of the sets of axis values and of the triggers.
    pub delayed: Vec<CheckedDelay>,
}

fn early(race: &Race) -> bool {
    matches!(race.verdict, RaceVerdict::ReadsEarly | RaceVerdict::WritesEarly)
}

fn axes_text(axes: &Axes) -> String {
    let pairs: Vec<String> = axes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    pairs.join(", ")
}

impl CheckedEdge {
    fn edge(&self) -> String {
        format!("{} → {}", self.found.primary, self.found.secondary)
    }

    fn said(&self) -> String {
        let (race, form) = (&self.found.race, self.found.submission.name());
        let at = self.trigger.map_or_else(String::new, |trigger| format!(" at {trigger}"));
        format!("{}{at} in a {form}: {} ({})", self.edge(), race.verdict.name(), race.reason)
    }

    /// The verdict on the edge without its sync, in a word.
    fn power(&self) -> &'static str {
        match &self.without_sync {
            None => "–",
            Some(race) if early(race) => "caught",
            Some(_) => "not caught",
        }
    }
}

impl CheckedDelay {
    fn said(&self) -> String {
        let found = &self.found;
        format!(
            "with a sleep behind every trigger, {} bytes of {} are wrong at {} in a {}: {}",
            found.wrong_bytes,
            found.checked_bytes,
            found.trigger,
            found.submission.name(),
            found.place.as_deref().unwrap_or("no place was noted"),
        )
    }
}

impl Checked {
    /// The first race, as an error.
    pub fn fault(&self) -> Option<Error> {
        if let Some(edge) = self.edges.iter().find(|edge| early(&edge.found.race)) {
            return Some(
                Error::new(Kind::Wrong, "put it behind a programmatic edge", edge.said()).remedy(
                    "its sync does not stand before every read and write of what earlier kernels \
                     use; --unsafe-no-sync measures it all the same",
                ),
            );
        }
        let delayed = self.delayed.iter().find(|delay| delay.found.wrong_bytes > 0)?;
        Some(
            Error::new(Kind::Wrong, "put the chain behind programmatic edges", delayed.said())
                .remedy(
                    "a kernel uses what an earlier one has not written yet: look for reads before \
                     the sync, of module variables and through pointers too; --unsafe-no-sync \
                     measures it all the same",
                ),
        )
    }

    /// What a reader must know beyond the summary, each once.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        let mut add = |note: String| {
            if !notes.contains(&note) {
                notes.push(note);
            }
        };
        for edge in &self.edges {
            if edge.found.race.verdict != RaceVerdict::Clean {
                add(format!("race check: {}", edge.said()));
            }
            let blind = edge.without_sync.as_ref().filter(|race| !early(race));
            if let Some(race) = blind {
                add(format!(
                    "race check: {} in a {} is not caught with its sync removed, so that clean \
                     says little of it ({})",
                    edge.edge(),
                    edge.found.submission.name(),
                    race.reason
                ));
            }
        }
        let wrong = self.delayed.iter().filter(|delay| delay.found.wrong_bytes > 0);
        wrong.for_each(|delay| add(format!("delay check: {}", delay.said())));
        notes
    }

    /// All of it in one line.
    pub fn summary(&self) -> String {
        let of = |verdict: RaceVerdict| {
            self.edges.iter().filter(|edge| edge.found.race.verdict == verdict).count()
        };
        let (clean, untested) = (of(RaceVerdict::Clean), of(RaceVerdict::NotTested));
        let racy = self.edges.len() - clean - untested;
        let removed: Vec<&Race> =
            self.edges.iter().filter_map(|edge| edge.without_sync.as_ref()).collect();
        let caught = removed.iter().filter(|race| early(race)).count();
        let mut text = format!(
            "race check of {} edges, graph and stream: {clean} clean, {racy} too early, {untested} \
             not tested",
            self.edges.len()
        );
        if !removed.is_empty() {
            let _ = write!(text, "; {caught} of {} caught with the sync removed", removed.len());
        }
        if !self.delayed.is_empty() {
            let wrong = self.delayed.iter().filter(|delay| delay.found.wrong_bytes > 0).count();
            let _ = write!(
                text,
                "; {} runs with a sleep behind every trigger, {wrong} wrong",
                self.delayed.len()
            );
        }
        text
    }

    /// Every finding, for people.
    pub fn table(&self) -> String {
        let mut rows =
            vec![["edge", "trigger", "form", "verdict", "sync removed"].map(String::from)];
        let mut text = String::new();
        for edge in &self.edges {
            rows.push([
                edge.edge(),
                edge.trigger.map_or_else(|| "–".into(), |trigger| trigger.to_string()),
                edge.found.submission.name().into(),
                edge.found.race.verdict.name().into(),
                edge.power().into(),
            ]);
        }
        let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..5).map(|column| wide(column).unwrap_or(0)).collect();
        let mut last: Option<&Axes> = None;
        for (at, row) in rows.iter().enumerate() {
            let axes = at.checked_sub(1).map(|edge| &self.edges[edge].axes);
            if let Some(axes) = axes.filter(|axes| last != Some(*axes) && !axes.is_empty()) {
                let _ = writeln!(text, "{}", axes_text(axes));
            }
            last = axes;
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            let _ = writeln!(text, " {}", line.trim_end());
        }
        for delay in &self.delayed {
            let found = &delay.found;
            let verdict = match found.wrong_bytes {
                0 => "right".to_owned(),
                _ => delay.said(),
            };
            let axes = axes_text(&delay.axes);
            let axes = if axes.is_empty() { axes } else { format!("{axes}, ") };
            let form = found.submission.name();
            let _ = writeln!(text, " delayed, {axes}{} in a {form}: {verdict}", found.trigger);
        }
        let _ = writeln!(text, "{}", self.summary());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::Residence;

    fn race(verdict: RaceVerdict) -> Race {
        Race {
            edge: 0,
            verdict,
            residence: Residence::AllBlocks,
            repetitions: 3,
            primary_bytes: 4,
            secondary_bytes: 4,
            wrong_bytes: 0,
            early_bytes: 0,
            region: String::new(),
            reason: "so it was".into(),
        }
    }

    fn edge(verdict: RaceVerdict, without: Option<RaceVerdict>) -> CheckedEdge {
        let found = EdgeRace {
            primary: "a".into(),
            secondary: "b".into(),
            node: 1,
            submission: Submission::Stream,
            race: race(verdict),
        };
        let trigger = Some(Trigger::Implicit);
        CheckedEdge { axes: Axes::new(), trigger, found, without_sync: without.map(race) }
    }

    fn delay(wrong_bytes: u64) -> CheckedDelay {
        let found = DelayedRun {
            trigger: "site-2".parse().unwrap(),
            submission: Submission::Graph,
            checked_bytes: 64,
            wrong_bytes,
            place: (wrong_bytes > 0).then(|| "y[3]".into()),
        };
        CheckedDelay { axes: Axes::new(), found }
    }

    #[test]
    fn races_and_late_writes_are_faults_and_blind_spots_are_notes() {
        use RaceVerdict::{Clean, NotTested, ReadsEarly, WritesEarly};
        // Edges, delays; the fault; parts of the notes; the summary's end.
        let table = [
            (edge(Clean, Some(ReadsEarly)), delay(0), None, vec![], "1 of 1 caught"),
            (edge(Clean, Some(Clean)), delay(0), None, vec!["says little"], "0 of 1 caught"),
            (edge(NotTested, None), delay(0), None, vec!["not-tested (so it was)"], "1 not tested"),
            (
                edge(WritesEarly, None),
                delay(0),
                Some("a → b at implicit in a stream: writes-early"),
                vec!["writes-early"],
                "1 too early",
            ),
            (
                edge(Clean, None),
                delay(8),
                Some("8 bytes of 64 are wrong at site-2 in a graph: y[3]"),
                vec!["delay check"],
                "1 runs with a sleep behind every trigger, 1 wrong",
            ),
        ];
        for (edge, delay, fault, notes, summary) in table {
            let checked = Checked { edges: vec![edge], delayed: vec![delay] };
            let found = checked.fault();
            assert_eq!(found.as_ref().map(Error::code), fault.map(|_| 4));
            let said = found.map(|error| error.to_string()).unwrap_or_default();
            assert!(said.contains(fault.unwrap_or("")), "{said}");
            let told = checked.notes();
            assert_eq!(told.len(), notes.len(), "{told:?}");
            told.iter().zip(&notes).for_each(|(told, note)| assert!(told.contains(note), "{told}"));
            assert!(checked.summary().contains(summary), "{}", checked.summary());
            assert!(checked.table().contains(&checked.summary()));
        }
    }
}
