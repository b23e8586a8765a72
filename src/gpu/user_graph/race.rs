//! The race check of one edge, whose kernels are known by nothing but what they write.
//!
//! The part of the graph that comes before the edge is run, then the primary, then the secondary,
//! each by itself, and outputs and buffers are recorded in between: what the primary changes and
//! what the secondary makes of it. Then a *stand-in* takes the primary's place: a few blocks that
//! trigger at once, sleep, and put in place what the primary changed. Over a programmatic edge the
//! secondary runs beside it. If it reads before its sync it finds what was there before, and leaves
//! other bytes than over a full edge; if it writes before its sync the stand-in sees that too.
//!
//! That the secondary was there to be caught is shown by a *witness*: a kernel that waits for the
//! launch completion of the secondary. Where it began before the stand-in woke, all blocks of the
//! secondary had begun. Of a grid larger than the device only the first wave can: there the time
//! from the stand-in's end to the secondary's is compared with that over a full edge.

use super::bench::POISON;
use super::graph::Executable;
use super::records::{Pieces, Records};
use super::scene::{Scene, Watch};
use super::subject::UserGraph;
use crate::attach::{Options, Race, RaceVerdict, Residence};
use crate::chain::{Dependency, Submission};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::gpu::driver::fault;
use crate::gpu::shim::sys as shim_sys;

/// What bytes hold before the stand-in puts the primary's in place, by repetition.
const STALE: [u32; 3] =
    [shim_sys::PDL_STALE_INVERTED, shim_sys::PDL_STALE_BEFORE, shim_sys::PDL_STALE_ONES];
/// Repetitions of each kind of edge when times must show that the secondary began early: complete
/// separation of 8 and 8 has a probability below 10^-4 where there is no difference.
const TIMED_REPETITIONS: usize = 8;

/// Checks an edge in each of `forms`: kernels are recorded once for all of them.
pub(super) fn check(
    subject: &mut UserGraph,
    edge: u32,
    forms: &[Submission],
    options: &Options,
) -> Result<Vec<Race>> {
    let Some(raw) = subject.edges.get(edge as usize).copied() else {
        return Err(Error::usage("check an edge", format!("the graph has no edge {edge}")));
    };
    let mut race = Race {
        edge,
        verdict: RaceVerdict::NotTested,
        residence: Residence::NotSeen,
        repetitions: 0,
        primary_bytes: 0,
        secondary_bytes: 0,
        wrong_bytes: 0,
        early_bytes: 0,
        region: String::new(),
        reason: String::new(),
    };
    let mut records = match subject.records.take().map_or_else(|| Records::new(&subject.bench), Ok)
    {
        Ok(records) => records,
        Err(reason) => return Ok(vec![Race { reason, ..race }; forms.len()]),
    };
    let alone_ns = subject.record(raw.from, raw.to, &mut records)?;
    let pieces = records.pieces(&subject.bench)?;
    race.primary_bytes = pieces.primary_bytes;
    race.secondary_bytes = pieces.secondary_bytes;
    for (role, bytes) in [("primary", race.primary_bytes), ("secondary", race.secondary_bytes)] {
        if bytes == 0 {
            race.reason = format!("the {role} changes nothing in the outputs and buffers named");
        }
    }
    let mut all = vec![race; forms.len()];
    // Whether there is room for all blocks of the secondary beside the stand-in.
    let mut room = false;
    for (race, &form) in all.iter_mut().zip(forms) {
        if race.reason.is_empty() {
            let sleep_ns = sleep_ns(form, alone_ns, options);
            let what = (raw.to, form, sleep_ns);
            let test = Test::new(subject, what, &records, &pieces, options)?;
            test.run(subject, race, options.race_repetitions, room)?;
            room |= race.residence == Residence::AllBlocks;
        }
    }
    subject.records = Some(records);
    Ok(all)
}

/// How long the stand-in sleeps: longer than the secondary takes alone, `alone_ns`, so that what it does
/// at its end is done too early too.
fn sleep_ns(form: Submission, alone_ns: f64, options: &Options) -> u64 {
    let least_ns = match form {
        Submission::Graph => 0.0,
        // What is queued while it sleeps already needs its time.
        Submission::Stream => 200e3,
    };
    let longest_ns = 100e6;
    (options.race_sleep_us * 1e3).max(2.0 * alone_ns).max(least_ns).clamp(1.0, longest_ns) as u64
}

/// The secondary behind a stand-in, over a full edge and over the edge that is to be tested.
struct Test<'a> {
    secondary: u32,
    records: &'a Records,
    pieces: &'a Pieces,
    full: Scene,
    tested: Scene,
}

impl<'a> Test<'a> {
    fn new(
        subject: &UserGraph,
        (secondary, form, sleep_ns): (u32, Submission, u64),
        records: &'a Records,
        pieces: &'a Pieces,
        options: &Options,
    ) -> Result<Test<'a>> {
        let args = pieces.args(sleep_ns);
        let full = Scene::new(subject, secondary, &args, Dependency::Full, form)?;
        let tested = Scene::new(subject, secondary, &args, options.dependency, form)?;
        Ok(Test { secondary, records, pieces, full, tested })
    }

    /// `room`: all blocks of the secondary were seen beside the stand-in in another form.
    fn run(
        &self,
        subject: &mut UserGraph,
        race: &mut Race,
        repetitions: u32,
        room: bool,
    ) -> Result<()> {
        for &stale in &STALE {
            let control = self.full.run(subject, self.records, self.pieces, stale, Watch::Begin)?;
            if control.wrong.wrong_bytes > 0 {
                race.reason = format!(
                    "over a full edge too, {} bytes differ from those that the secondary left in \
                     the graph",
                    control.wrong.wrong_bytes
                );
                return Ok(());
            }
        }
        let mut seen = false;
        for repetition in 0..repetitions.max(STALE.len() as u32) {
            let stale = STALE[repetition as usize % STALE.len()];
            // Mostly without the gate: see `Watch`.
            let watch = if repetition % 3 == 2 { Watch::BeginGated } else { Watch::Begin };
            let found = self.tested.run(subject, self.records, self.pieces, stale, watch)?;
            race.repetitions += 1;
            race.wrong_bytes = race.wrong_bytes.max(found.wrong.wrong_bytes);
            race.early_bytes = race.early_bytes.max(found.state.early_bytes);
            seen |= found.begun_ns < found.state.woke_ns;
            if race.region.is_empty() {
                let address = match found.state.early_bytes {
                    0 => found.wrong.address,
                    _ => self.pieces.address_of(found.state.early_piece),
                };
                race.region = address.map_or(String::new(), |at| subject.bench.name_at(at));
            }
        }
        race.residence = match seen {
            true => Residence::AllBlocks,
            false if self.began_early(subject)? => Residence::SomeBlocks,
            false => Residence::NotSeen,
        };
        judge(race, subject.waves(self.secondary), room);
        Ok(())
    }

    /// Whether the secondary ends sooner after the stand-in over the tested edge, in every
    /// repetition of one against every repetition of the other.
    fn began_early(&self, subject: &mut UserGraph) -> Result<bool> {
        let after = |scene: &Scene| -> Result<Vec<u64>> {
            let mut all = Vec::new();
            for repetition in 0..TIMED_REPETITIONS {
                let stale = STALE[repetition % STALE.len()];
                let found = scene.run(subject, self.records, self.pieces, stale, Watch::End)?;
                all.push(found.ended_ns.saturating_sub(found.state.end_ns));
            }
            Ok(all)
        };
        let (tested, full) = (after(&self.tested)?, after(&self.full)?);
        let step_ns = subject.bench.gpu().facts().timer_step_ns;
        let slowest = tested.iter().max().copied().unwrap_or(u64::MAX);
        let fastest = full.iter().min().copied().unwrap_or(0);
        Ok(slowest.saturating_add(step_ns) < fastest)
    }
}

/// What may be said. `waves`: blocks of the secondary ÷ those that the device holds; `room`: all of
/// them were seen beside the stand-in in another form.
fn judge(race: &mut Race, waves: Option<f64>, room: bool) {
    let (verdict, reason) = match (race.wrong_bytes, race.early_bytes, race.residence) {
        // A kernel without a sync does both; that it read too early is what its author must know.
        (1.., 1.., _) => (
            RaceVerdict::ReadsEarly,
            format!(
                "it reads and writes before the primary is done: {} bytes of {} are wrong",
                race.wrong_bytes, race.region
            ),
        ),
        (0, 1.., _) => (
            RaceVerdict::WritesEarly,
            format!(
                "it writes {} bytes of {} before the primary is done",
                race.early_bytes, race.region
            ),
        ),
        (1.., 0, _) => (
            RaceVerdict::ReadsEarly,
            format!(
                "it reads before the primary is done: {} bytes of {} are wrong",
                race.wrong_bytes, race.region
            ),
        ),
        (0, 0, Residence::AllBlocks) => (
            RaceVerdict::Clean,
            "all its blocks had begun while the primary's stand-in slept, and every byte is right"
                .into(),
        ),
        (0, 0, Residence::SomeBlocks) if waves.is_some_and(|waves| waves > 1.0) => (
            RaceVerdict::Clean,
            "its first wave had begun while the primary's stand-in slept, and every byte is right"
                .into(),
        ),
        (0, 0, Residence::SomeBlocks) if room => (
            RaceVerdict::Clean,
            "it began while the primary's stand-in slept, as times show, there is room for all its \
             blocks beside it, as the graph shows, and every byte is right"
                .into(),
        ),
        (0, 0, Residence::SomeBlocks) => (
            RaceVerdict::NotTested,
            "it began early, but not all its blocks were seen beside the primary's stand-in".into(),
        ),
        (0, 0, Residence::NotSeen) => (
            RaceVerdict::NotTested,
            "it was not seen on the device beside the primary's stand-in".into(),
        ),
    };
    race.verdict = verdict;
    race.reason = reason;
}

impl UserGraph {
    /// Runs what comes before the edge, the primary and the secondary, recording in between. Gives the
    /// time that the secondary takes alone, ns.
    fn record(&mut self, primary: u32, secondary: u32, records: &mut Records) -> Result<f64> {
        let before = self.order.ancestors(secondary);
        let part = |keep: &dyn Fn(usize) -> bool| -> Result<Executable> {
            let (graph, nodes) = self.copy()?;
            graph.keep_only(&nodes, keep)?;
            graph.instantiate(&self.bench.gpu().stream)
        };
        // The primary comes last of all that precede the secondary: another path between the two
        // would have made the edge redundant.
        let prefix = part(&|node| before[node] && node != primary as usize)?;
        let first = part(&|node| node == primary as usize)?;
        let second = part(&|node| node == secondary as usize)?;
        self.bench.run(&prefix, POISON)?;
        records.keep_before(&self.bench)?;
        let stream = self.bench.gpu().stream.clone();
        first.launch(&stream)?;
        records.keep_after(&self.bench)?;
        let what = "record what the kernels write";
        let gpu = self.bench.gpu().clone();
        gpu.start.record(&stream).map_err(|error| fault(what, error))?;
        second.launch(&stream)?;
        gpu.end.record(&stream).map_err(|error| fault(what, error))?;
        records.keep_end(&self.bench)?;
        self.bench.drain(what)?;
        let ms = gpu.start.elapsed_ms(&gpu.end).map_err(|error| fault(what, error))?;
        Ok(f64::from(ms) * 1e6)
    }

    /// Waves of a node's grid.
    fn waves(&self, node: u32) -> Option<f64> {
        let kernel = self.listing.kernel(node)?;
        let held = kernel.blocks_per_sm?.max(1) * self.bench.gpu().facts().sm_count;
        Some(kernel.grid_blocks() as f64 / f64::from(held))
    }
}
