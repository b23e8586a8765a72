//! The device's side of the attribution.

use std::collections::BTreeMap;
use std::time::Instant;

use super::graph::Executable;
use super::subject::{UserGraph, Watch};
use crate::attach::{
    Flips, Options, Progress, Race, Recorded, Recording, Report, Rounds, Standing, Trials,
};
use crate::chain::Submission;
use crate::error::{Error, Kind, Result};
use crate::interrupt;

/// Part of the budget that race checks may take.
const RACE_SHARE: f64 = 0.35;
/// Runs of a verification.
const VERIFICATIONS: u32 = 3;

pub(super) fn attribute(
    subject: &mut UserGraph,
    options: &Options,
    watch: Watch<'_>,
) -> Result<(Report, Recorded)> {
    let began = Instant::now();
    let mut trial = Trial { subject, options, watch, began };
    let races = if options.race_check { trial.races()? } else { BTreeMap::new() };
    let (listing, origin) = (trial.subject.listing.clone(), trial.subject.origin());
    Recording::new(&mut trial).attribute(&listing, &races, options, &origin)
}

struct Trial<'a> {
    subject: &'a mut UserGraph,
    options: &'a Options,
    watch: Watch<'a>,
    began: Instant,
}

impl Trial<'_> {
    /// Checks every edge that might be flipped. Edges of one kind differ in the data they hand on,
    /// so each is checked; those for which the budget leaves no room are not in the map.
    fn races(&mut self) -> Result<BTreeMap<u32, Race>> {
        let edges = self.subject.listing.edges.iter();
        let may =
            |standing: &Standing| matches!(standing, Standing::Eligible | Standing::Unknown { .. });
        let edges: Vec<u32> = edges.filter(|e| may(&e.standing)).map(|e| e.index).collect();
        let mut races = BTreeMap::new();
        for (done, &edge) in edges.iter().enumerate() {
            let step = "check edges for races".to_owned();
            self.tell(&Progress { step, done: done as u32, of: edges.len() as u32 })?;
            if self.elapsed_s() > RACE_SHARE * self.options.budget_s {
                break;
            }
            let forms = [Submission::Graph];
            let found = super::race::check(self.subject, edge, &forms, self.options)
                .map_err(|error| error.at(&format!("edge {edge}")))?;
            races.extend(found.into_iter().map(|race| (edge, race)));
        }
        Ok(races)
    }

    fn variant(&self, flips: &Flips) -> Result<Executable> {
        self.subject.variant(flips, self.options.dependency)
    }
}

impl Trials for Trial<'_> {
    fn rounds(&mut self, variants: &[Flips], rounds: u32, seed: u64) -> Result<Rounds> {
        let executables: Vec<Executable> =
            variants.iter().map(|variant| self.variant(variant)).collect::<Result<_>>()?;
        let arms: Vec<&Executable> = executables.iter().collect();
        self.subject.bench.rounds(&arms, rounds, seed)
    }

    fn wrong_bytes(&mut self, variant: &Flips) -> Result<u64> {
        let executable = self.variant(variant)?;
        let mut most = 0;
        for _ in 0..VERIFICATIONS {
            most = most.max(self.subject.bench.verify(&executable)?.wrong_bytes);
        }
        Ok(most)
    }

    fn tell(&mut self, progress: &Progress) -> Result<()> {
        interrupt::check("go on with the attribution")?;
        match (self.watch)(progress) {
            true => Ok(()),
            false => Err(Error::new(Kind::Interrupted, "go on with the attribution", "stopped")),
        }
    }

    fn elapsed_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}
