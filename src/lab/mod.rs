//! The library as other programs use it: a chain, and what may be asked of it.
//!
//! Everything here stands on the parts that the program `pdl` stands on, and finds the same numbers.
//! Nothing prints, nothing is written unless [`Run::save`] is called.

mod check;
mod effort;
mod run;
#[cfg(test)]
mod tests;

use crate::chain::{Arm, Chain};
use crate::cli::{BackendChoice, SimulatedArgs};
use crate::cmd;
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::experiment::{self, Axes};
use crate::record::SummaryRow;

pub use check::{Checked, check};
pub use effort::Effort;
pub use run::Run;

/// Opens the GPU; where there is none of compute capability 9.0 or newer, the simulated H200, whose
/// numbers are no evidence: [`Run::simulated`] says so.
///
/// ```
/// let device = pdl_lab::open()?;
/// println!("{}, {} SMs", device.facts().label(), device.facts().sm_count);
/// # assert!(device.facts().sm_count > 0);
/// # Ok::<(), pdl_lab::Error>(())
/// ```
///
/// # Errors
/// [`Kind::NoGpu`] for a GPU that should work and does not, such as one with a driver that is too
/// old.
pub fn open() -> Result<Box<dyn Device>> {
    let opened = cmd::open(
        BackendChoice::Auto,
        Effort::default().seed,
        cmd::Without::default(),
        &SimulatedArgs::default(),
    )?;
    Ok(opened.device)
}

/// One arm of a chain, measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What is said of the arm: its period, what it saves, verdict and proof.
    pub row: SummaryRow,
    /// The run that says it: baseline, control and noise floor were measured in the same rounds.
    pub run: Run,
}

/// Measures `chain` in `arm`, at the chain's own trigger, against the arm's baseline.
///
/// Work is calibrated, every value is compared with the host's oracle before timing and after every
/// sample, and arm, control, baseline and noise floor are sampled in shuffled rounds until the effect
/// is known well enough or the effort is spent.
///
/// ```
/// use pdl_lab::{Arm, Chain, Effort, SimDevice, Verdict, measure};
///
/// let device = SimDevice::quick(1); // or pdl_lab::open()?
/// let chain = Chain::default().with_nodes(20).with_trigger("4/8".parse()?);
/// let found = measure(&device, &chain, Arm::GraphPdl, &Effort::quick())?;
/// assert_eq!(found.row.verdict, Some(Verdict::Helps));
/// assert_eq!(found.row.baseline, Some(Arm::Graph));
/// assert!(found.row.saved_lo_ns > Some(0.0) && found.row.correct == Some(true));
/// assert!(found.run.simulated(), "a number of the simulated device is no evidence");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Kind::Usage`] for a chain or an effort that no device could serve; [`Kind::Unsupported`] for a
/// chain that this device cannot run; [`Kind::Failed`] for a fault of the device. Wrong values are no
/// error: the row says so and has no speed.
pub fn measure(device: &dyn Device, chain: &Chain, arm: Arm, effort: &Effort) -> Result<Measured> {
    effort.check()?;
    chain.validate()?;
    let triggers = [chain.trigger];
    let plan = experiment::plan_of(&[*chain], &[arm], &triggers, effort.seed, effort.stopping);
    let run = Run::measure(device, &plan)?;
    let own = |row: &&SummaryRow| {
        row.arm == arm && (!arm.sweeps_trigger() || row.trigger == Some(chain.trigger))
    };
    let row = run.rows().iter().find(own).cloned();
    let action = || format!("measure {arm}");
    match row {
        None => Err(Error::failed(action(), "the device gave no sample of it")),
        Some(row) if row.verdict == Some(crate::record::Verdict::Skipped) => {
            Err(Error::new(Kind::Unsupported, action(), row.reason))
        }
        Some(row) => Ok(Measured { row, run }),
    }
}

/// Measures every combination of `axes`: the main job, in memory.
///
/// ```
/// use pdl_lab::{Arm, Axes, Chain, Effort, SimDevice, Submission, sweep};
///
/// let device = SimDevice::quick(1); // or pdl_lab::open()?
/// let mut axes = Axes::of(&Chain::default().with_nodes(20));
/// axes.arms = vec![Arm::GraphPdl];
/// axes.triggers = vec!["0/8".parse()?, "8/8".parse()?];
/// let run = sweep(&device, &axes, &Effort::quick())?;
///
/// // Baseline, noise floor and sentinel, then control and subject at each trigger.
/// assert_eq!(run.rows().len(), 3 + 2 * 2);
/// let best = run.best(Submission::Graph).expect("a trigger helps");
/// assert!(axes.triggers.contains(&best.trigger) && best.saved_ns > 0.0);
/// assert!(run.table().contains("SIMULATED"));
///
/// // The run directory that `pdl sweep` writes; `pdl report` and `pdl compare` read it.
/// let folder = tempfile::tempdir()?;
/// run.save(&folder.path().join("run"))?;
/// assert!(folder.path().join("run/report.html").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Kind::Usage`] for axes or an effort that no device could serve; [`Kind::Failed`] for a fault of
/// the device. A combination that this device cannot run is a row that says `skipped` and why.
pub fn sweep(device: &dyn Device, axes: &Axes, effort: &Effort) -> Result<Run> {
    effort.check()?;
    axes.check()?;
    let axes = axes.clone().with_isolated();
    Run::measure(device, &experiment::plan(&axes, effort.seed, effort.stopping, device)?)
}
