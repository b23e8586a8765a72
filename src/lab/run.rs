//! A run in memory.

use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;

use crate::analysis::{Answer, Choice, Summary, summarise};
use crate::chain::{Arm, Submission, Trigger};
use crate::cli::Format;
use crate::cmd;
use crate::device::{Backend, Device};
use crate::error::Result;
use crate::measure::{Kept, Plan, measure_group};
use crate::record::{self, End, RunDir, SampleRow, SummaryRow};

/// What the run calls itself: it is what `pdl sweep` makes, and is compared with one.
const SWEEP: &str = "sweep";

/// Samples of every arm, and what follows from them.
#[derive(Clone, Debug)]
pub struct Run {
    record: record::Run,
    summary: Summary,
}

impl Run {
    pub(super) fn measure(device: &dyn Device, plan: &Plan) -> Result<Run> {
        let manifest = cmd::manifest(SWEEP, device, plan);
        let began = Instant::now();
        let mut kept = Kept::default();
        let mut endings = Vec::new();
        for points in plan.groups() {
            let ending = measure_group(device, plan, points, None, &mut kept)?;
            endings.push(ending.name().to_owned());
        }
        let Kept { points, mut samples } = kept;
        // As samples.csv has it, so that a run says the same in memory and read back.
        let stored = |row: &mut SampleRow| row.duration_ns = SampleRow::stored_ns(row.duration_ns);
        samples.iter_mut().for_each(stored);
        let wall_s = began.elapsed().as_secs_f64();
        let end = End::done(cmd::now(), wall_s, endings, &samples, device.health());
        let summary = summarise(&manifest, &points, &samples);
        let record = record::Run { manifest, points, samples, end: Some(end), notes: Vec::new() };
        Ok(Run { record, summary })
    }

    /// One row a point and arm, as `summary.csv` has them.
    pub fn rows(&self) -> &[SummaryRow] {
        &self.summary.rows
    }

    /// The first row of an arm at a trigger; arms without one have `None`.
    pub fn row(&self, arm: Arm, trigger: Option<Trigger>) -> Option<&SummaryRow> {
        self.rows().iter().find(|row| row.arm == arm && row.trigger == trigger)
    }

    /// What is said of every group, in streams and in graphs.
    pub fn answers(&self) -> &[Answer] {
        &self.summary.answers
    }

    /// The trigger to use in the first group: the latest of those that are as good as the best.
    /// `None` where nothing was proved to help.
    pub fn best(&self, submission: Submission) -> Option<&Choice> {
        let answer = self.answers().iter().find(|answer| answer.submission == submission)?;
        answer.plateau.as_ref().map(|plateau| &plateau.recommended)
    }

    /// Manifest, points and raw samples.
    pub fn record(&self) -> &record::Run {
        &self.record
    }

    /// Everything that follows from them.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether the numbers are those of the simulated device, and so no evidence about any other.
    pub fn simulated(&self) -> bool {
        self.record.manifest.facts.backend == Backend::Sim
    }

    /// The table that `pdl sweep` prints.
    pub fn table(&self) -> String {
        cmd::render(&self.summary, &self.record, Format::Table).unwrap_or_default()
    }

    /// Writes the run directory: manifest, points, samples, summary, charts and page. `pdl report`
    /// and `pdl compare` read it.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where `path` is a file or a directory that is not empty;
    /// [`Kind::Failed`](crate::Kind::Failed) where it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut dir = RunDir::create(Some(path), SWEEP, Timestamp::now())?;
        dir.write_run(&self.record)?;
        drop(dir);
        cmd::rebuild(path).map(drop)
    }
}
