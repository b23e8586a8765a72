//! What the exposed time of a row is made of: period − body alone, divided among its causes.
//!
//! Along the critical path of a hop, from the mean release of a node to that of the next:
//!
//! - release → mean end: the body; what is more than the body alone is contention;
//! - mean end → last end: drain; what is more than over full dependencies is placement where more
//!   blocks share an SM than there, and contention else;
//! - last end → mean release: what the mean block of the secondary does meanwhile. It is not there
//!   yet (launch), other blocks begin before it (placement), it is in its preamble, or it waits in
//!   the sync (release). A flush comes out of the wait, or of the launch of a full dependency.
//!
//! What a chain costs once is spread over its nodes. The parts of a stamped row add up to the period
//! of its stamped chain; what the timed chains differ from that by is unexplained. All are rounded
//! to what files keep, so that the parts add up to the exposed time there too.

use std::collections::HashMap;

use super::Summary;
use crate::chain::{Arm, BodyKind, Dependency, Trigger};
use crate::profile::Profile;
use crate::record::{ExposedBy, PointRecord, Run, SummaryRow};
use crate::sim::{HopTimes, hop_times};
use crate::stamps::Reduced;

/// The parts but the remainder, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Parts {
    contention: f64,
    drain: f64,
    flush: f64,
    release: f64,
    launch: f64,
    placement: f64,
    preamble: f64,
    ends: f64,
}

/// From the last end of the primary to the mean release of the secondary, ns after that end.
#[derive(Clone, Copy, Debug)]
struct Wait {
    first_begin: f64,
    mean_begin: f64,
    arrive: f64,
    release: f64,
}

impl Summary {
    /// Divides the exposed time of every row that has one.
    pub(super) fn divide(&mut self, profile: &Profile, run: &Run) {
        let latest = run.latest();
        let step_ns = run.manifest.facts.timer_step_ns as f64;
        // Where no control was measured, as in a race, the baseline stands in: full dependencies too.
        let baselines: HashMap<(u32, Arm), Reduced> = run
            .points
            .iter()
            .filter(|record| matches!(record.arm, Arm::Stream | Arm::Graph))
            .filter_map(|record| Some(((record.group, record.arm), record.stamps?)))
            .collect();
        for row in &mut self.rows {
            let Some(record) = latest.get(&(row.point.as_str(), row.arm)) else { continue };
            let own = row.arm.full_control();
            let own = own.and_then(|arm| latest.get(&(row.point.as_str(), arm))?.stamps);
            let base = row.arm.baseline().and_then(|arm| baselines.get(&(record.group, arm)));
            let control = own.or(base.copied());
            row_parts(row, record, control, profile, step_ns);
        }
    }
}

/// Sets the parts of a row; leaves one alone that has no period, or no body of its own.
fn row_parts(
    row: &mut SummaryRow,
    record: &PointRecord,
    control: Option<Reduced>,
    profile: &Profile,
    step_ns: f64,
) {
    // Blocks of the flags arm wait for one block each: nodes overlap, and no last end counts.
    let none = matches!(row.arm, Arm::Flags | Arm::Sentinel);
    let kind = record.chain.body.kind;
    let (Some(period_ns), Some(body_ns)) = (row.period_ns, row.body_ns) else { return };
    if none || kind == BodyKind::Kernel {
        return;
    }
    let Some(times) = hop_times(profile, &record.chain, row.arm) else { return };
    let full = row.dependency == Dependency::Full;
    let alone = Alone {
        body_ns,
        approach_ns: row.preamble_ns.unwrap_or(0.0) + times.entry_ns,
        ends_ns: times.ends_ns,
        step_ns,
    };
    let stamped = record.stamps.and_then(|stamps| by_stamps(&stamps, control, &alone));
    let (mut parts, wait, by) = match stamped {
        Some((parts, wait)) => (parts, wait, ExposedBy::Stamps),
        None => {
            let preamble_ns = row.preamble_ns.unwrap_or(0.0);
            let drain = times.drain_ns;
            let wait = by_profile(&times, row, body_ns, preamble_ns);
            (Parts { drain, ..Parts::default() }, wait, ExposedBy::Profile)
        }
    };
    // One grid has no flush between its nodes.
    let flush_ns = if row.arm == Arm::Persistent { 0.0 } else { times.flush_ns };
    wait.divide(&mut parts, flush_ns, full && row.arm != Arm::Persistent);
    parts.ends = times.ends_ns;
    write(row, period_ns - body_ns, parts, by);
}

/// What body and preamble take alone, and what instruments add, ns.
struct Alone {
    body_ns: f64,
    /// Begin to the sync.
    approach_ns: f64,
    ends_ns: f64,
    step_ns: f64,
}

/// Contention, drain and placement by stamps, and what lies between the nodes.
fn by_stamps(stamps: &Reduced, control: Option<Reduced>, alone: &Alone) -> Option<(Parts, Wait)> {
    let Hop { body, wait, spread } = Hop::of(stamps, alone)?;
    let usual = control.and_then(|control| Some(Hop::of(&control, alone)?.spread));
    let drain = usual.map_or(spread, |usual| spread.min(usual));
    let most = |stamps: Reduced| stamps.sm_blocks_worst.or(stamps.sm_blocks_max).unwrap_or(0.0);
    let packed = control.is_some_and(|control| most(*stamps) > most(control));
    let more = spread - drain;
    let (placement, uneven) = if packed { (more, 0.0) } else { (0.0, more) };
    let contention = body - alone.body_ns + uneven;
    Some((Parts { contention, drain, placement, ..Parts::default() }, wait))
}

/// A stamped hop: the mean body, what lies before it, and by how much the last block ends later.
struct Hop {
    body: f64,
    wait: Wait,
    spread: f64,
}

impl Hop {
    fn of(stamps: &Reduced, alone: &Alone) -> Option<Hop> {
        let (body, release) = (stamps.body_ns?, stamps.hop_latency_ns?);
        let (parked, preamble) = (stamps.parked_ns?, stamps.preamble_ns?);
        // Where no block waits, a stamp of one thread is not its block's: warps drift apart, and the
        // preamble seems longer by what the body seems shorter.
        let drifted = (alone.body_ns - body).min(preamble - alone.approach_ns).max(0.0);
        let drifted = if parked <= alone.step_ns { drifted } else { 0.0 };
        let (body, release) = (body + drifted, release - drifted);
        let arrive = release - parked;
        let mean_begin = arrive - (preamble - drifted);
        let wait = Wait { first_begin: stamps.launch_gap_ns?, mean_begin, arrive, release };
        // Runs of earlier versions keep no period of the stamped chain: spans begin with the first
        // release, not with the mean one, and are a little long.
        let spread = match stamps.period_ns {
            Some(period) => period - alone.ends_ns - body - release,
            None => stamps.body_span_mean_ns.or(stamps.body_span_ns)? - body,
        };
        Some(Hop { body, wait, spread })
    }
}

/// What lies between the nodes by the constants of the profile: the closed form of a hop.
fn by_profile(times: &HopTimes, row: &SummaryRow, body_ns: f64, preamble_ns: f64) -> Wait {
    if row.arm == Arm::Persistent {
        let arrive = preamble_ns;
        let release = times.barrier_ns.max(times.acquire_ns + preamble_ns);
        return Wait { first_begin: 0.0, mean_begin: 0.0, arrive, release };
    }
    let begin = match (row.dependency, row.trigger) {
        (Dependency::Full, _) => times.full_gap_ns,
        (Dependency::LaunchCompletion, _) | (_, Some(Trigger::AtEntry)) => {
            times.launch_ns - body_ns - preamble_ns
        }
        (_, Some(trigger @ (Trigger::Segment { .. } | Trigger::Site(_)))) => {
            times.launch_ns - body_ns * (1.0 - trigger.position().unwrap_or(1.0))
        }
        _ => times.exit_launch_ns,
    };
    let arrive = begin + times.entry_ns + preamble_ns;
    let release = match row.dependency {
        Dependency::Full => arrive,
        _ => arrive.max(times.release_ns),
    };
    Wait { first_begin: begin, mean_begin: begin, arrive, release }
}

impl Wait {
    /// Adds the time from 0 to the release to `parts`, moment by moment.
    fn divide(self, parts: &mut Parts, flush_ns: f64, full: bool) {
        let end = self.release;
        let within = |at: f64| at.clamp(0.0, end.max(0.0));
        let begun = within(self.first_begin);
        let placed = within(self.mean_begin).max(begun);
        let arrived = within(self.arrive).max(placed);
        let (launch, wait) = (begun, end - arrived);
        parts.placement += placed - begun;
        parts.preamble += arrived - placed;
        // A full dependency waits for the flush before it launches.
        parts.flush = flush_ns.min(if full { launch } else { wait }).max(0.0);
        parts.launch = if full { launch - parts.flush } else { launch };
        parts.release = if full { wait } else { wait - parts.flush };
    }
}

/// Rounds to the tenths of a nanosecond that summary.csv keeps.
fn rounded(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

fn write(row: &mut SummaryRow, exposed_ns: f64, parts: Parts, by: ExposedBy) {
    let Parts { contention, drain, flush, release, launch, placement, preamble, ends } = parts;
    let all = [contention, drain, flush, release, launch, placement, preamble, ends];
    if !exposed_ns.is_finite() || all.iter().any(|part| !part.is_finite()) {
        return;
    }
    let [contention, drain, flush, release, launch, placement, preamble, ends] = all.map(rounded);
    let exposed_ns = rounded(exposed_ns);
    row.exposed_ns = Some(exposed_ns);
    row.exposed_by = Some(by);
    row.exposed_contention_ns = Some(contention);
    row.exposed_drain_ns = Some(drain);
    row.exposed_flush_ns = Some(flush);
    row.exposed_release_ns = Some(release);
    row.exposed_launch_ns = Some(launch);
    row.exposed_placement_ns = Some(placement);
    row.exposed_preamble_ns = Some(preamble);
    row.exposed_ends_ns = Some(ends);
    let known = [contention, drain, flush, release, launch, placement, preamble, ends];
    let unexplained = exposed_ns - known.iter().sum::<f64>();
    row.exposed_unexplained_ns = Some(rounded(unexplained));
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::super::summarise;
    use super::*;
    use crate::profile::BUILT_IN;
    use crate::record::Cause;

    fn stamps(gap: f64, latency: f64, parked: f64, preamble: f64) -> Reduced {
        Reduced {
            launch_gap_ns: Some(gap),
            hop_latency_ns: Some(latency),
            parked_ns: Some(parked),
            preamble_ns: Some(preamble),
            body_ns: Some(4100.0),
            body_span_mean_ns: Some(4300.0),
            sm_blocks_worst: Some(1.0),
            ..Reduced::default()
        }
    }

    fn divided(stamped: bool) -> Summary {
        let triggers = [Trigger::AtEntry, Trigger::Segment { at: 4, of: 8 }, Trigger::Implicit];
        let Fixture { manifest, mut points, samples } =
            Fixture::new(&triggers, 12, 0.0, &|arm, _| f64::from(arm == Arm::GraphPdl) * 700.0);
        for record in points.iter_mut().filter(|_| stamped) {
            record.stamps = Some(match record.arm {
                Arm::GraphPdl => stamps(-3000.0, 500.0, 480.0, 2200.0),
                _ => stamps(700.0, 2950.0, 20.0, 2200.0),
            });
        }
        let mut summary = summarise(&manifest, &points, &samples);
        let run = Run { manifest, points, samples, end: None, notes: Vec::new() };
        summary.divide(&BUILT_IN, &run);
        summary
    }

    #[test]
    fn the_parts_add_up_to_the_exposed_time() {
        for stamped in [true, false] {
            let summary = divided(stamped);
            let mut told = 0;
            for row in summary.rows.iter().filter(|row| row.exposed_ns.is_some()) {
                let sum: f64 = Cause::ALL.iter().map(|&cause| row.exposed(cause).unwrap()).sum();
                assert!((sum - row.exposed_ns.unwrap()).abs() < 1e-6, "{row:?}");
                let exposed = row.period_ns.unwrap() - row.body_ns.unwrap();
                assert!((row.exposed_ns.unwrap() - exposed).abs() < 0.051);
                told += 1;
            }
            assert_eq!(told, summary.rows.len() - 1, "all but the sentinel");
            let by = if stamped { ExposedBy::Stamps } else { ExposedBy::Profile };
            let row = summary.row("p002", Arm::GraphPdl).unwrap();
            assert_eq!(row.exposed_by, Some(by));
        }
    }

    #[test]
    fn stamps_say_what_the_secondary_did_meanwhile() {
        let summary = divided(true);
        let parts = |point: &str, arm: Arm| {
            let row = summary.row(point, arm).unwrap();
            Cause::ALL.map(|cause| row.exposed(cause).unwrap())
        };
        let flush = hop_times(&BUILT_IN, &super::super::fixture::chain(), Arm::Graph);
        let flush = rounded(flush.unwrap().flush_ns);
        let ends = rounded(BUILT_IN.instruments.chain_ns.value / 51.0);
        // Contention, drain, flush, release, launch, placement, preamble, ends.
        let waited = parts("p002", Arm::GraphPdl);
        assert_eq!(waited[..8], [100.0, 200.0, flush, 480.0 - flush, 0.0, 0.0, 20.0, ends]);
        let full = parts("p000", Arm::Graph);
        assert_eq!(full[..8], [100.0, 200.0, flush, 20.0, 700.0 - flush, 30.0, 2200.0, ends]);
    }

    #[test]
    fn packed_blocks_are_placement_and_uneven_ones_contention() {
        let control = stamps(700.0, 2950.0, 20.0, 2200.0);
        let mut longer = stamps(-3000.0, 500.0, 480.0, 2200.0);
        longer.body_span_mean_ns = Some(7300.0);
        let alone = Alone { body_ns: 4000.0, approach_ns: 2200.0, ends_ns: 60.0, step_ns: 32.0 };
        let of = |stamps: &Reduced| by_stamps(stamps, Some(control), &alone).unwrap().0;
        let uneven = of(&longer);
        assert_eq!((uneven.contention, uneven.placement, uneven.drain), (3100.0, 0.0, 200.0));
        longer.sm_blocks_worst = Some(2.0);
        let packed = of(&longer);
        assert_eq!((packed.contention, packed.placement, packed.drain), (100.0, 3000.0, 200.0));
    }

    #[test]
    fn a_thread_that_drifts_from_its_block_moves_no_time_between_preamble_and_body() {
        let alone = Alone { body_ns: 4000.0, approach_ns: 2200.0, ends_ns: 60.0, step_ns: 32.0 };
        // Two microseconds of the body are stamped as preamble.
        let mut drifted = stamps(700.0, 5000.0, 0.0, 4250.0);
        drifted.body_ns = Some(2000.0);
        drifted.period_ns = Some(7160.0);
        let (parts, wait) = by_stamps(&drifted, None, &alone).unwrap();
        assert_eq!((parts.contention, parts.drain), (0.0, 100.0));
        assert_eq!((wait.mean_begin, wait.arrive, wait.release), (750.0, 3000.0, 3000.0));
        // Where blocks wait for each other, all begin the body together.
        drifted.parked_ns = Some(500.0);
        assert_eq!(by_stamps(&drifted, None, &alone).unwrap().0.contention, -2000.0);
        // Native code that is faster is no drift: its preamble is as long as alone.
        let mut native = stamps(700.0, 2950.0, 0.0, 2200.0);
        native.body_ns = Some(3900.0);
        assert_eq!(by_stamps(&native, None, &alone).unwrap().0.contention, -100.0);
    }

    #[test]
    fn a_profile_divides_by_the_closed_form() {
        let summary = divided(false);
        let row = |point: &str, arm| summary.row(point, arm).unwrap();
        let times = hop_times(&BUILT_IN, &super::super::fixture::chain(), Arm::Graph).unwrap();
        let implicit = row("p003", Arm::GraphPdl);
        assert_eq!(implicit.exposed_launch_ns, Some(rounded(times.exit_launch_ns)));
        assert_eq!(implicit.exposed_preamble_ns, Some(rounded(2000.0 + times.entry_ns)));
        assert_eq!(implicit.exposed_flush_ns, Some(0.0), "its blocks exit before");
        let early = row("p001", Arm::GraphPdl);
        assert_eq!(early.exposed_preamble_ns, Some(0.0));
        let waited = early.exposed_flush_ns.unwrap() + early.exposed_release_ns.unwrap();
        assert!((waited - times.release_ns).abs() < 0.2);
        let full = row("p000", Arm::Graph);
        let launched = full.exposed_flush_ns.unwrap() + full.exposed_launch_ns.unwrap();
        assert!((launched - times.full_gap_ns).abs() < 0.2);
    }
}
