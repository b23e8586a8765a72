//! Trials as they went, so that an attribution can be repeated from its raw samples: the same search,
//! with what was measured in place of a device.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::attribute::attribute;
use super::listing::Listing;
use super::options::{Options, Progress};
use super::race::Race;
use super::report::{Origin, Report};
use super::trials::{Flips, RawSample, Rounds, Trials};
use crate::device::{Facts, Health};
use crate::error::{Error, Result};

/// An attribution's trials, and the device that they were made on: what a run directory is written of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attributed {
    /// The device.
    pub facts: Facts,
    /// The device when the attribution had ended.
    pub health: Health,
    /// Questions and answers.
    pub recorded: Recorded,
}

/// Everything that an attribution was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// How it was run.
    pub options: Options,
    /// What made it, and on what.
    pub origin: Origin,
    /// The graph.
    pub listing: Listing,
    /// Race checks.
    pub races: BTreeMap<u32, Race>,
    /// What the search asked the device, in order.
    pub steps: Vec<Step>,
    /// What the search heard of the time, in order, s.
    pub elapsed_s: Vec<f64>,
}

/// One question of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Variants timed in the same rounds.
    Rounds {
        /// The variants; the first two are the original.
        variants: Vec<Flips>,
        /// Of each, the most wrong bytes of any round.
        wrong_bytes: Vec<u64>,
        /// The samples; in a run directory they are in samples.csv.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        samples: Vec<RawSample>,
    },
    /// Outputs of a variant compared.
    Verified {
        /// The variant.
        variant: Flips,
        /// Bytes that differ.
        wrong_bytes: u64,
    },
}

/// Trials that are written down as they go.
pub struct Recording<'a> {
    trials: &'a mut dyn Trials,
    steps: Vec<Step>,
    elapsed_s: RefCell<Vec<f64>>,
}

impl<'a> Recording<'a> {
    /// Writes down what `trials` are asked.
    pub fn new(trials: &'a mut dyn Trials) -> Recording<'a> {
        Recording { trials, steps: Vec::new(), elapsed_s: RefCell::default() }
    }

    /// Attributes the edges of a graph, as [`attribute`] does, and gives what it was made from.
    ///
    /// # Errors
    /// Those of [`attribute`].
    pub fn attribute(
        mut self,
        listing: &Listing,
        races: &BTreeMap<u32, Race>,
        options: &Options,
        origin: &Origin,
    ) -> Result<(Report, Recorded)> {
        let report = attribute(listing, races, options, origin, &mut self)?;
        let recorded = Recorded {
            options: options.clone(),
            origin: origin.clone(),
            listing: listing.clone(),
            races: races.clone(),
            steps: self.steps,
            elapsed_s: self.elapsed_s.into_inner(),
        };
        Ok((report, recorded))
    }
}

impl Trials for Recording<'_> {
    fn rounds(&mut self, variants: &[Flips], rounds: u32, seed: u64) -> Result<Rounds> {
        let found = self.trials.rounds(variants, rounds, seed)?;
        self.steps.push(Step::Rounds {
            variants: variants.to_vec(),
            wrong_bytes: found.wrong_bytes.clone(),
            samples: found.raw.clone(),
        });
        Ok(found)
    }

    fn wrong_bytes(&mut self, variant: &Flips) -> Result<u64> {
        let wrong_bytes = self.trials.wrong_bytes(variant)?;
        self.steps.push(Step::Verified { variant: variant.clone(), wrong_bytes });
        Ok(wrong_bytes)
    }

    fn tell(&mut self, progress: &Progress) -> Result<()> {
        self.trials.tell(progress)
    }

    fn elapsed_s(&self) -> f64 {
        let elapsed_s = self.trials.elapsed_s();
        self.elapsed_s.borrow_mut().push(elapsed_s);
        elapsed_s
    }
}

/// The report, made again from what was recorded.
///
/// # Errors
/// What was recorded is not what this version of the search asks for.
pub fn replay(recorded: &Recorded) -> Result<Report> {
    recorded.options.validate()?;
    let mut replay = Replay { recorded, step: 0, clock: Cell::new(0) };
    let Recorded { options, origin, listing, races, .. } = recorded;
    let report = attribute(listing, races, options, origin, &mut replay)?;
    match replay.step == recorded.steps.len() {
        true => Ok(report),
        false => Err(other_search()),
    }
}

struct Replay<'a> {
    recorded: &'a Recorded,
    step: usize,
    clock: Cell<usize>,
}

fn other_search() -> Error {
    Error::failed(
        "repeat the attribution from its samples",
        "they are not those that this version of the search asks for",
    )
    .remedy("read it with the version of pdl that wrote it; report.json is what that one said")
}

impl Trials for Replay<'_> {
    fn rounds(&mut self, asked: &[Flips], _: u32, _: u64) -> Result<Rounds> {
        match self.recorded.steps.get(self.step) {
            Some(Step::Rounds { variants, wrong_bytes, samples })
                if variants == asked && wrong_bytes.len() == asked.len() =>
            {
                self.step += 1;
                // Samples may come from anywhere: no round is beyond their number.
                if samples.iter().any(|sample| sample.round as usize >= samples.len()) {
                    return Err(other_search());
                }
                let mut rounds = Rounds::new(asked.len());
                rounds.wrong_bytes.clone_from(wrong_bytes);
                samples.iter().for_each(|sample| rounds.push(sample.clone()));
                // A variant without a sample of the last rounds has as many as the others.
                let most = rounds.durations_ns.iter().map(Vec::len).max().unwrap_or(0);
                rounds.durations_ns.iter_mut().for_each(|series| series.resize(most, None));
                Ok(rounds)
            }
            _ => Err(other_search()),
        }
    }

    fn wrong_bytes(&mut self, asked: &Flips) -> Result<u64> {
        match self.recorded.steps.get(self.step) {
            Some(Step::Verified { variant, wrong_bytes }) if variant == asked => {
                self.step += 1;
                Ok(*wrong_bytes)
            }
            _ => Err(other_search()),
        }
    }

    fn tell(&mut self, _: &Progress) -> Result<()> {
        Ok(())
    }

    fn elapsed_s(&self) -> f64 {
        let at = self.clock.replace(self.clock.get() + 1);
        let known = self.recorded.elapsed_s.get(at).or(self.recorded.elapsed_s.last());
        known.copied().unwrap_or(0.0)
    }
}
