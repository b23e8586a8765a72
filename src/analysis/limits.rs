//! The limit of every row by a profile of its device, and what is measured below it.

use super::{Summary, Warning};
use crate::chain::BodyKind;
use crate::device::Facts;
use crate::profile::{Origin, Profile};
use crate::record::{PointRecord, SummaryRow, latest};
use crate::sim::{Limit, limit};
use crate::units::us;

/// A body's time alone is known to this part of it: on an H200 the same multiply-adds took 0.7 % less
/// in native code than in code with a trigger, which the time alone is measured in.
const BODY_RATIO: f64 = 0.01;

/// Why the constants of a profile are not those of a run's device; `None` where they are.
pub fn foreign(profile: &Profile, facts: &Facts) -> Option<String> {
    let device = &profile.device;
    if let Some(simulation) = &facts.simulation {
        let (run, other) = (&simulation.profile, &profile.name);
        let (run_is, other_is) = (simulation.origin, profile.origin);
        // A calibration of the simulated device has its constants and another origin.
        let same = run == other && (run_is == other_is || other_is == Origin::Simulated);
        return (!same && device.product != facts.name)
            .then(|| format!("it is of {other}, and the run was simulated over {run}"));
    }
    if profile.origin == Origin::Simulated {
        return Some("it is of a simulated device, and the run of a real one".to_owned());
    }
    (device.product != facts.name || device.sm_count != facts.sm_count).then(|| {
        format!(
            "it is of {} with {} SMs, and the run of {} with {}",
            device.product, device.sm_count, facts.name, facts.sm_count
        )
    })
}

impl Summary {
    /// Sets the limit of every row by `profile`, divides its exposed time, and warns of periods
    /// below the limit.
    pub fn with_constants(&mut self, profile: &Profile, facts: &Facts, points: &[PointRecord]) {
        let name = profile.origin.of(&profile.name);
        let latest = latest(points);
        for row in &mut self.rows {
            let Some(record) = latest.get(&(row.point.as_str(), row.arm)) else { continue };
            let known = row.body_ns.zip(row.preamble_ns.or(Some(0.0)));
            let Some((body_ns, preamble_ns)) = known else { continue };
            if record.chain.body.kind == BodyKind::Kernel {
                continue;
            }
            if let Some(Limit { ns, by }) =
                limit(profile, &record.chain, row.arm, body_ns, preamble_ns)
            {
                (row.limit_ns, row.limit_by) = (Some(ns), Some(by));
                row.constants = name.clone();
            }
        }
        self.divide(profile, facts, points);
        self.warnings.extend(below(&self.rows, facts, &name));
    }
}

/// A period that lies below the limit by more than noise says that a constant is wrong.
fn below(rows: &[SummaryRow], facts: &Facts, constants: &str) -> Option<Warning> {
    let step_ns = facts.timer_step_ns as f64;
    let under = |row: &SummaryRow| {
        let highest = row.period_hi_ns.or(row.period_ns)?;
        let limit_ns = row.limit_ns?;
        let noise_ns = step_ns + BODY_RATIO * row.body_ns.unwrap_or(0.0);
        (highest + noise_ns < limit_ns).then_some(limit_ns - highest)
    };
    let found: Vec<(&SummaryRow, f64)> =
        rows.iter().filter_map(|row| Some((row, under(row)?))).collect();
    let (row, under_ns) = found.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let trigger = row.trigger.map_or_else(String::new, |trigger| format!(" at {trigger}"));
    let by = row.limit_by.map_or("", |by| by.words());
    Some(Warning {
        code: "below-limit".to_owned(),
        cause: format!(
            "{} rows have a period below their limit, most {} {}{trigger} by {}: a constant of {} \
             ({by}) is too large for this device",
            found.len(),
            row.point,
            row.arm,
            us(*under_ns),
            if constants.is_empty() { "the limit" } else { constants },
        ),
        cure: "pdl calibrate on this device, and give its file to --calibration or --profile"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::super::summarise;
    use super::*;
    use crate::chain::{Arm, Trigger};
    use crate::profile::BUILT_IN;
    use crate::record::{LimitBy, Run};

    fn run(saved_ns: f64) -> (Summary, Run) {
        let triggers = [Trigger::AtEntry, Trigger::Implicit];
        let of = |arm: Arm, _: Option<Trigger>| if arm == Arm::GraphPdl { saved_ns } else { 0.0 };
        let Fixture { manifest, points, samples } = Fixture::new(&triggers, 12, 0.0, &of);
        let summary = summarise(&manifest, &points, &samples);
        (summary, Run { manifest, points, samples, end: None, notes: Vec::new() })
    }

    #[test]
    fn a_row_has_the_limit_of_its_dependence_and_says_by_which_constants() {
        let (mut summary, run) = run(500.0);
        assert_eq!(summary.row("p000", Arm::Graph).unwrap().limit_by, Some(LimitBy::Body));
        summary.with_constants(&BUILT_IN, &run.manifest.facts, &run.points);
        let full = summary.row("p000", Arm::Graph).unwrap();
        assert_eq!((full.limit_by, &*full.constants), (Some(LimitBy::Launch), "h200 (measured)"));
        let subject = summary.row("p001", Arm::GraphPdl).unwrap();
        assert!(subject.limit_ns < full.limit_ns && subject.limit_ns > Some(4000.0));
        let sentinel = summary.row("p000", Arm::Sentinel).unwrap();
        assert_eq!((sentinel.limit_ns, &*sentinel.constants), (None, ""));
    }

    #[test]
    fn a_period_below_the_limit_is_a_warning_and_stays() {
        let code = |warning: &Warning| warning.code == "below-limit";
        // The baseline of 6 us itself lies below body + preamble + launch.
        let (mut summary, run) = run(2500.0);
        summary.with_constants(&BUILT_IN, &run.manifest.facts, &run.points);
        let warning = summary.warnings.iter().find(|w| code(w)).unwrap();
        assert!(warning.cause.contains("h200 (measured)"), "{warning:?}");
        assert!(warning.cause.contains("graph-pdl"), "the farthest is named: {warning:?}");
        let row = summary.row("p001", Arm::GraphPdl).unwrap();
        assert!(row.period_ns.is_some() && row.period_ns < row.limit_ns);
        let mut fast = BUILT_IN.clone();
        for knot in &mut fast.hops.graph {
            knot.full_gap_ns.value = 1.0;
            knot.entry_ns.value = 1.0;
            knot.release_ns.value = 1.0;
        }
        fast.issue.busy_warp_cycles.value = 0.5;
        let (mut summary, run) = self::run(500.0);
        summary.with_constants(&fast, &run.manifest.facts, &run.points);
        assert!(!summary.warnings.iter().any(code), "{:?}", summary.warnings);
    }

    #[test]
    fn constants_of_another_device_are_not_used() {
        let (_, run) = run(0.0);
        assert_eq!(foreign(&BUILT_IN, &run.manifest.facts), None);
        let mut other = BUILT_IN.clone();
        other.device.sm_count = 114;
        assert!(foreign(&other, &run.manifest.facts).unwrap().contains("114 SMs"));
        other.origin = Origin::Simulated;
        assert!(foreign(&other, &run.manifest.facts).unwrap().contains("simulated device"));
    }
}
