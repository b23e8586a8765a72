//! Floor and ceiling: what any trigger could gain at a point, by the device's calibration.

use serde::Serialize;

use crate::chain::{Arm, Mode, Submission, Trigger};
use crate::device::Backend;
use crate::profile::{Calibration, HopKnot, Origin, Profile};
use crate::record::{Manifest, PlanPoint, SummaryRow};
use crate::units::{percent, us};

/// The bounds of one group in one submission. Two things bound a period from below: a node cannot
/// be released before its primary has ended, and launches follow each other no faster than those
/// of empty nodes that trigger at entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Group of the plan.
    pub group: u32,
    /// Submission.
    pub submission: Submission,
    /// Empty hop of the baseline at this grid, ns.
    pub empty_ns: f64,
    /// Empty hop that is triggered at entry, at this grid, ns.
    pub entry_ns: f64,
    /// Last end of the primary to the release of what waited, ns.
    pub release_ns: f64,
    /// The shortest period that a trigger could reach, ns: body + release, or the empty hop at
    /// entry where that is longer.
    pub floor_ns: f64,
    /// All that a trigger could save a hop, ns: the baseline's period − floor.
    pub ceiling_ns: f64,
    /// The most that any trigger saved, ns a hop; `None` where no subject was timed.
    pub saved_ns: Option<f64>,
}

impl Bounds {
    /// Floor and ceiling in words, and how much of the ceiling was reached.
    pub fn sentence(&self) -> String {
        let reached = self.saved_ns.filter(|_| self.ceiling_ns > 0.0).map_or_else(
            || "nothing was tried".to_owned(),
            |saved| {
                let part = percent(saved / self.ceiling_ns);
                format!("the best here saves {}, {part} of it", us(saved))
            },
        );
        format!(
            "calibration, {}: floor {} a node (body + release {}; empty at entry {}), ceiling {} a \
             hop: {reached}",
            self.submission.name(),
            us(self.floor_ns),
            us(self.release_ns),
            us(self.entry_ns),
            us(self.ceiling_ns),
        )
    }
}

/// Why a profile says nothing about a run; `None` where it does.
pub fn mismatch(profile: &Profile, manifest: &Manifest) -> Option<String> {
    let (device, facts) = (&profile.device, &manifest.facts);
    let simulated = facts.backend == Backend::Sim;
    if simulated != (profile.origin == Origin::Simulated) {
        let kind = |simulated| if simulated { "simulated" } else { "real" };
        let (run, profile) = (kind(simulated), kind(!simulated));
        return Some(format!("it is of a {profile} device, and the run of a {run} one"));
    }
    if device.product != facts.name || device.sm_count != facts.sm_count {
        return Some(format!(
            "it is of {} with {} SMs, and the run of {} with {}",
            device.product, device.sm_count, facts.name, facts.sm_count
        ));
    }
    profile.calibration.is_none().then(|| "it holds no empty hops: pdl calibrate makes one".into())
}

/// Bounds of every group and submission whose grid was calibrated; isolated chains only.
pub fn bounds(profile: &Profile, rows: &[SummaryRow], points: &[PlanPoint]) -> Vec<Bounds> {
    let Some(calibration) = &profile.calibration else { return Vec::new() };
    let mut groups: Vec<u32> = points.iter().map(|point| point.group).collect();
    groups.dedup();
    let mut all = Vec::new();
    for group in groups {
        let names = points.iter().filter(|point| point.group == group).map(|point| &point.point);
        let names: Vec<&String> = names.collect();
        let of_group: Vec<&SummaryRow> =
            rows.iter().filter(|row| names.contains(&&row.point)).collect();
        for submission in [Submission::Graph, Submission::Stream] {
            all.extend(of_submission(profile, calibration, group, submission, &of_group));
        }
    }
    all
}

fn of_submission(
    profile: &Profile,
    calibration: &Calibration,
    group: u32,
    submission: Submission,
    rows: &[&SummaryRow],
) -> Option<Bounds> {
    let (baseline, subject, knots) = match submission {
        Submission::Graph => (Arm::Graph, Arm::GraphPdl, &profile.hops.graph),
        Submission::Stream => (Arm::Stream, Arm::StreamPdl, &profile.hops.stream),
    };
    let row = rows.iter().find(|row| row.arm == baseline && row.mode == Mode::Isolated)?;
    let (period_ns, body_ns) = (row.period_ns?, row.body_ns?);
    let blocks = row.grid_blocks;
    let empty_ns = between(&empty(calibration, baseline, None), blocks)?;
    let entry_ns = between(&empty(calibration, subject, Some(Trigger::AtEntry)), blocks)?;
    let release = |knot: &HopKnot| (knot.blocks, knot.release_ns.value);
    let release_ns = between(&knots.iter().map(release).collect::<Vec<_>>(), blocks)?;
    let floor_ns = (body_ns + release_ns).max(entry_ns);
    let saved = rows.iter().filter(|row| row.arm == subject).filter_map(|row| row.saved_ns);
    Some(Bounds {
        group,
        submission,
        empty_ns,
        entry_ns,
        release_ns,
        floor_ns,
        ceiling_ns: period_ns - floor_ns,
        saved_ns: saved.reduce(f64::max),
    })
}

/// Empty hops of an arm and trigger, by grid.
fn empty(calibration: &Calibration, arm: Arm, trigger: Option<Trigger>) -> Vec<(u32, f64)> {
    let hops = calibration.empty.iter().filter(|hop| hop.arm == arm && hop.trigger == trigger);
    let mut hops: Vec<(u32, f64)> = hops.map(|hop| (hop.blocks, hop.hop_ns.value)).collect();
    hops.sort_by_key(|(blocks, _)| *blocks);
    hops
}

/// Linear between grids that were calibrated; nothing beyond them.
fn between(knots: &[(u32, f64)], blocks: u32) -> Option<f64> {
    let above = knots.iter().position(|(grid, _)| *grid >= blocks)?;
    let (high_blocks, high) = knots[above];
    if high_blocks == blocks {
        return Some(high);
    }
    let (low_blocks, low) = *knots.get(above.checked_sub(1)?)?;
    let part = f64::from(blocks - low_blocks) / f64::from(high_blocks - low_blocks);
    Some(low + part * (high - low))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::super::summarise;
    use super::*;
    use crate::profile::{BUILT_IN, Constant, EmptyHop};

    fn empty_hop(arm: Arm, trigger: Option<Trigger>, blocks: u32, ns: f64) -> EmptyHop {
        let hop_ns = Constant::assumed(ns, "a test");
        EmptyHop { arm, trigger, blocks, hop_ns, saved: None }
    }

    /// A profile with empty hops of graphs at 1 and 264 blocks, and a release of 470 ns.
    fn profile() -> Profile {
        let entry = Some(Trigger::AtEntry);
        let empty = vec![
            empty_hop(Arm::Graph, None, 264, 1500.0),
            empty_hop(Arm::Graph, None, 1, 1000.0),
            empty_hop(Arm::GraphPdl, entry, 1, 500.0),
            empty_hop(Arm::GraphPdl, entry, 264, 1000.0),
        ];
        let calibration = Calibration { empty, ..Calibration::default() };
        let mut profile = BUILT_IN.clone();
        for knot in &mut profile.hops.graph {
            knot.release_ns.value = 470.0;
        }
        Profile { calibration: Some(calibration), ..profile }
    }

    fn fixture() -> Fixture {
        Fixture::new(&[Trigger::AtEntry, Trigger::Implicit], 12, 0.0, &|_, trigger| match trigger {
            None => 0.0,
            Some(Trigger::AtEntry) => 900.0,
            Some(_) => 200.0,
        })
    }

    #[test]
    fn a_long_body_is_bounded_by_its_release_and_an_empty_one_by_launches() {
        let fixture = fixture();
        let summary = summarise(&fixture.manifest, &fixture.points, &fixture.samples);
        let points = &fixture.manifest.plan.points;
        let found = bounds(&profile(), &summary.rows, points);
        assert_eq!(found.len(), 1, "nothing was calibrated for streams: {found:?}");
        let graph = &found[0];
        // 132 blocks: half of the way but half a block from 1 to 264.
        assert!((graph.entry_ns - (500.0 + 500.0 * 131.0 / 263.0)).abs() < 1e-9);
        assert_eq!(graph.floor_ns, 4470.0);
        let period = summary.row("p000", Arm::Graph).unwrap().period_ns.unwrap();
        assert_eq!(graph.ceiling_ns, period - 4470.0);
        assert!((graph.saved_ns.unwrap() - 900.0).abs() < 1.0, "{graph:?}");
        let mut rows = summary.rows.clone();
        rows.iter_mut().for_each(|row| row.body_ns = Some(100.0));
        let empty = bounds(&profile(), &rows, points);
        assert_eq!(empty[0].floor_ns, empty[0].entry_ns);
        rows.iter_mut().for_each(|row| row.grid_blocks = 265);
        assert_eq!(bounds(&profile(), &rows, points), [], "a grid beyond those calibrated");
        rows.iter_mut().for_each(|row| (row.grid_blocks, row.mode) = (132, Mode::Pipelined));
        assert_eq!(bounds(&profile(), &rows, points), []);
    }

    #[test]
    fn a_profile_of_another_device_says_nothing() {
        let manifest = fixture().manifest;
        let real = profile();
        assert_eq!(mismatch(&real, &manifest), None);
        let mut other = real.clone();
        other.device.product = "NVIDIA B200".into();
        assert!(mismatch(&other, &manifest).unwrap().contains("B200"));
        let simulated = Profile { origin: Origin::Simulated, ..real.clone() };
        assert!(mismatch(&simulated, &manifest).unwrap().contains("simulated device"));
        let bare = Profile { calibration: None, ..real };
        assert!(mismatch(&bare, &manifest).unwrap().contains("pdl calibrate"));
    }
}
