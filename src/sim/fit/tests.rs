//! What is fitted is found again, what is not determined is said, what is wrong is refused.

use std::path::Path;

use super::*;
use crate::chain::{Arm, BodyKind, Chain, Preamble, PreambleKind, Shape, Trigger};
use crate::profile::{BUILT_IN, Model};
use crate::sim::predict;
use crate::sim::validation::{Measured, Provenance};

/// An arm, and where it triggers.
type Lane = (Arm, Option<Trigger>);

/// Short chains of small grids: what a debug build simulates in a moment.
fn chain(blocks: u32, threads: u32, kind: BodyKind, units: u64) -> Chain {
    let mut chain = Chain::default().with_nodes(8);
    chain.shape = Shape { grid_blocks: blocks, block_threads: threads, ..chain.shape };
    chain.preamble = Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 };
    chain.body.kind = kind;
    chain.body.units = units;
    chain
}

/// A sweep whose periods are those of the event-driven model over `truth`.
fn sweep(truth: &Profile, chains: &[(Chain, &[Lane])]) -> Sweep {
    let mut rows = Vec::new();
    for (group, (chain, arms)) in chains.iter().enumerate() {
        for (at, (arm, trigger)) in arms.iter().enumerate() {
            let chain = chain.with_trigger(trigger.unwrap_or(Trigger::Implicit));
            let period_ns = predict(truth, Model::Events, &chain, *arm).unwrap();
            rows.push(Measured {
                point: format!("p{at:03}"),
                group: group as u32,
                arm: *arm,
                trigger: *trigger,
                chain,
                period_ns,
                period_lo_ns: Some(period_ns * 0.9995),
                period_hi_ns: Some(period_ns * 1.0005),
                verdict: None,
                in_plateau: None,
            });
        }
    }
    let device = &truth.device;
    let provenance = Provenance {
        device: device.product.clone(),
        sm_count: device.sm_count,
        ..Provenance::default()
    };
    Sweep { name: "made".to_owned(), provenance, rows }
}

const NATIVE: &[Lane] = &[(Arm::Graph, None), (Arm::Stream, None)];

/// Computing bodies of several lengths and blocks, one block an SM.
fn computing(truth: &Profile) -> Sweep {
    let mut chains = Vec::new();
    for threads in [64, 256, 512, 1024] {
        for units in [256, 800, 2400] {
            chains.push((chain(12, threads, BodyKind::Fma, units), NATIVE));
        }
    }
    sweep(truth, &chains)
}

fn options(only: &[&str]) -> Options<'static> {
    let only = only.iter().map(|name| (*name).to_owned()).collect();
    Options { only, resamples: 60, rows: 24, ..Options::default() }
}

fn quiet(profile: &Profile, sweeps: &[Sweep], options: &Options) -> (Profile, Vec<Finding>) {
    let mut findings = Vec::new();
    let tell = &mut |report: &StageReport| findings.extend(report.findings.iter().cloned());
    let fitted = fit(profile, sweeps, options, tell).unwrap();
    (fitted, findings)
}

#[test]
fn constants_that_made_the_rows_are_found_again_within_their_intervals() {
    let paths = ["issue.lone_warp_cycles", "issue.busy_warp_cycles", "block.tail_ns"];
    let constants = Constants::of(&BUILT_IN);
    let truth = constants.with(&paths, &[1.31, 1.18, 331.0]);
    let made = [computing(&truth)];
    let mut reports = Vec::new();
    let tell = &mut |report: &StageReport| reports.push(report.clone());
    let fitted = fit(&BUILT_IN, &made, &options(&paths), tell).unwrap();
    assert_eq!(fitted.validate(), Ok(()));
    let (before, after) = reports[0].loss.unwrap();
    assert!(before > 0.02 && after < 0.003, "{before} {after}");
    let (found, wanted) = (Constants::of(&fitted), Constants::of(&truth));
    for path in paths {
        let (found, wanted) = (found.get(path).unwrap(), wanted.get(path).unwrap().value);
        let (lo, hi) = (found.lo.unwrap(), found.hi.unwrap());
        assert!((lo..=hi).contains(&wanted), "{path}: {lo} to {hi}, and it is {wanted}");
        assert!((found.value / wanted - 1.0).abs() < 0.05, "{path}: {} {wanted}", found.value);
        assert!(hi - lo < 0.2 * wanted, "{path}: {lo} to {hi}");
        assert!(!found.assumed);
        assert!(found.experiment.contains("24 rows of 12 groups in made"), "{}", found.experiment);
    }
    // Nothing else was touched.
    let mut same = Constants::of(&fitted);
    paths.iter().for_each(|path| same.set(path, &constants.get(path).unwrap()));
    assert_eq!(same.profile(), *BUILT_IN);
    // The same again gives the same.
    assert_eq!(quiet(&BUILT_IN, &made, &options(&paths)).0, fitted);
}

#[test]
fn rows_are_taken_from_as_many_groups_as_there_are_and_resampled_with_them() {
    let made = [computing(&BUILT_IN)];
    let all = stages(&BUILT_IN);
    let stage = all.iter().find(|stage| stage.constants[0].path == "issue.lone_warp_cycles");
    // (most rows, rows, groups, what is resampled)
    for (most, rows, groups, unit) in
        [(5, 5, 5, "rows"), (12, 12, 12, "groups"), (18, 18, 12, "groups"), (99, 24, 12, "groups")]
    {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let data = Data::of(stage.unwrap(), &BUILT_IN, &made, most, &mut rng);
        assert_eq!((data.count, data.groups, data.unit()), (rows, groups, unit), "{most}");
        assert_eq!(data.sweeps, ["made"]);
        let draw = data.draw(&mut rng);
        // Groups are drawn whole: of 24 rows in pairs each weighs as much as its other.
        if rows == 24 {
            assert!(draw.weights.chunks(2).all(|pair| pair[0] == pair[1]), "{:?}", draw.weights);
        }
        assert!(draw.weights.contains(&0.0) && draw.weights.iter().any(|weight| *weight > 1.0));
        // Half a thousandth to each side is the 95 % interval of a row.
        let most = draw.moved.iter().fold(0.0_f64, |most, moved| most.max(moved.abs()));
        assert!(most > 0.0 && most < 0.002, "{most}");
    }
}

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    let clean = computing(&BUILT_IN);
    let truth = BUILT_IN.issue.lone_warp_cycles.value;
    let mut held = 0;
    for seed in 0..12 {
        // Rows of a group are off together, by a part that the model knows nothing of.
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let off: Vec<f64> = (0..12).map(|_| 0.02 * data::normal(&mut rng)).collect();
        let mut noisy = clean.clone();
        noisy.rows.iter_mut().for_each(|row| row.period_ns *= off[row.group as usize].exp());
        let options = Options { seed, ..options(&["issue.lone_warp_cycles"]) };
        let (fitted, _) = quiet(&BUILT_IN, &[noisy], &options);
        let found = fitted.issue.lone_warp_cycles;
        let (lo, hi) = (found.lo.unwrap(), found.hi.unwrap());
        held += u32::from((lo..=hi).contains(&truth));
        assert!(hi - lo > 0.002 * truth && hi - lo < 0.5 * truth, "{lo} to {hi}");
    }
    // Of 95 % fewer than 9 in 12 are one chance in five hundred.
    assert!(held >= 9, "{held} of 12");
}

#[test]
fn a_control_is_fitted_against_its_baseline_alone() {
    let trigger = Some(Trigger::Segment { at: 0, of: 8 });
    let arms: &[Lane] = &[(Arm::Graph, None), (Arm::GraphFull, trigger)];
    let chains: Vec<_> = [300, 500, 800, 1200, 1600, 2000, 2600, 3000]
        .map(|units| (chain(12, 128, BodyKind::Fma, units), arms))
        .to_vec();
    let mut truth = BUILT_IN.clone();
    truth.block.trigger_ns.value = 95.0;
    // The model that is fitted has bodies that are 8 % too short: both arms share that.
    let mut wrong = BUILT_IN.clone();
    wrong.issue.lone_warp_cycles.value *= 0.92;
    let made = [sweep(&truth, &chains)];
    let (fitted, _) = quiet(&wrong, &made, &options(&["block.trigger_ns"]));
    let found = fitted.block.trigger_ns;
    assert!((found.value - 95.0).abs() < 12.0 && !found.assumed, "{found:?}");
}

#[test]
fn what_no_row_depends_on_is_reported_and_stays_assumed() {
    // No preamble, whose instructions could count.
    let lengths = [300, 600, 900, 1200];
    let chains = lengths.map(|units| (chain(12, 128, BodyKind::Fma, units), NATIVE));
    let made = [sweep(&BUILT_IN, &chains)];
    let paths = ["issue.preamble_instructions", "memory.hbm_latency_ns"];
    let (fitted, findings) = quiet(&BUILT_IN, &made, &options(&paths));
    let of = |path: &str| findings.iter().find(|finding| finding.path == path).unwrap();
    let none = of("memory.hbm_latency_ns");
    assert_eq!(
        none.outcome,
        Outcome::Undetermined("there is no row that identifies it".to_owned())
    );
    assert!(none.new.assumed && none.new.value == BUILT_IN.memory.hbm_latency_ns.value);
    let spare = of("issue.preamble_instructions");
    assert_eq!(spare.outcome, Outcome::Undetermined("no row depends on it".to_owned()));
    assert_eq!(spare.new.value, BUILT_IN.issue.preamble_instructions.value);
    let said = "; not determined by 8 rows of 4 groups in made: no row depends on it";
    assert!(spare.new.assumed && spare.new.experiment.ends_with(said), "{spare:?}");
    assert_eq!(fitted.validate(), Ok(()));
    // What is said once is not said twice.
    let (_, again) = quiet(&fitted, &made, &options(&paths));
    let again = &again.iter().find(|finding| finding.path == spare.path).unwrap().new;
    assert_eq!(again.experiment, spare.new.experiment);
}

#[test]
fn what_two_constants_are_together_is_found_whichever_takes_it() {
    // Bodies of one block size: what a block adds and what its threads add is one number.
    let mut truth = BUILT_IN.clone();
    truth.block.tail_ns.value = 300.0;
    let chains: Vec<_> = [400, 900, 1500, 2100, 2600, 3000, 3300, 3900]
        .map(|units| (chain(12, 128, BodyKind::Fma, units), NATIVE))
        .to_vec();
    let made = [sweep(&truth, &chains)];
    let paths = ["block.tail_ns", "block.tail_thread_ns"];
    let (fitted, _) = quiet(&BUILT_IN, &made, &options(&paths));
    let tail = |profile: &Profile| {
        profile.block.tail_ns.value + 128.0 * profile.block.tail_thread_ns.value
    };
    assert!((tail(&fitted) - tail(&truth)).abs() < 15.0, "{} {}", tail(&fitted), tail(&truth));
}

/// A calibration that says one thing of `path`, and nothing that is not taken.
fn calibration(path: &str, value: f64, (lo, hi): (f64, f64)) -> String {
    let (section, field) = path.split_once('.').unwrap();
    format!(
        "origin = \"measured\"\n[device]\nproduct = \"NVIDIA H200\"\nsm_count = 132\n[{section}]\n\
         {field} = {{ value = {value:?}, lo = {lo:?}, hi = {hi:?}, experiment = \"stamps\" }}\n"
    )
}

fn calibrated(path: &str, value: f64, interval: (f64, f64)) -> Calibrated {
    Calibrated::parse(&calibration(path, value, interval), &BUILT_IN).unwrap()
}

#[test]
fn what_was_calibrated_is_taken_unless_the_rows_say_otherwise() {
    let path = "issue.lone_warp_cycles";
    let made = [computing(&BUILT_IN)];
    let truth = BUILT_IN.issue.lone_warp_cycles.value;
    for (value, taken) in [(truth, true), (1.7 * truth, false)] {
        let calibration = calibrated(path, value, (0.999 * value, 1.001 * value));
        let options = Options { calibration: Some(&calibration), ..options(&[path]) };
        let (fitted, findings) = quiet(&BUILT_IN, &made, &options);
        let new = fitted.issue.lone_warp_cycles;
        let outcome = &findings[0].outcome;
        if taken {
            assert_eq!(*outcome, Outcome::Calibrated);
            assert_eq!((new.value, &*new.experiment), (value, "pdl calibrate: stamps"));
        } else {
            assert_eq!(*outcome, Outcome::FittedAgainstCalibration);
            assert!((new.value / truth - 1.0).abs() < 0.02, "{new:?}");
            assert!(new.experiment.contains("credibly worse"), "{}", new.experiment);
        }
    }
    // One that no row could tell is taken as it is; one that is assumed there is not.
    let given = calibrated("host.sample_ns", 48_000.0, (47_000.0, 49_000.0));
    let options = Options { calibration: Some(&given), ..options(&["host", path]) };
    let (fitted, _) = quiet(&BUILT_IN, &made, &options);
    assert_eq!(fitted.host.sample_ns.value, 48_000.0);
    assert_eq!(fitted.host.graph_launch_ns, BUILT_IN.host.graph_launch_ns);
}

#[test]
fn every_constant_that_a_calibration_may_give_is_one() {
    let constants = Constants::of(&BUILT_IN);
    for path in SAME {
        assert!(constants.get(path).is_some(), "{path}");
    }
}

#[test]
fn bad_input_is_refused_in_a_line_with_a_remedy() {
    let made = sweep(&BUILT_IN, &[(chain(12, 64, BodyKind::Fma, 300), NATIVE)]);
    let mut other = made.clone();
    other.provenance.device = "NVIDIA H100".to_owned();
    let empty = Sweep { rows: vec![], ..made.clone() };
    for (sweeps, options, wanted) in [
        (vec![], options(&[]), "no measured row"),
        (vec![empty], options(&[]), "no measured row"),
        (vec![other], options(&[]), "NVIDIA H100 with 132 SMs"),
        (vec![made.clone()], options(&["issue.elder"]), "no such constant"),
        (vec![made.clone()], options(&["isue"]), "no such constant"),
        (vec![made.clone()], options(&["host.x"]), "no such constant"),
        (vec![made.clone()], options(&["block.head_ns"]), "no measured row is known"),
        (vec![made.clone()], options(&["memory"]), "no row identifies"),
    ] {
        let error = fit(&BUILT_IN, &sweeps, &options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(wanted), "{wanted}: {error}");
        assert_eq!(error.lines().count(), 2, "{error}");
    }
}

#[test]
fn a_calibration_of_something_else_is_refused_in_a_line_with_a_remedy() {
    let good = calibration("host.sample_ns", 9.0, (8.0, 10.0));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("calibration.toml");
    for (text, by, wanted) in [
        ("\"measured\"", "\"simulated\"", "not measured on a device"),
        ("sm_count = 132", "sm_count = 114", "with 114 SMs"),
        ("product = \"NVIDIA H200\"\n", "", "no device"),
        ("value = 9.0", "value = nan", "host.sample_ns is NaN"),
        ("lo = 8.0", "lo = 9.5", "host.sample_ns is 9 within 9.5 to 10"),
        ("[device]", "[device", "unclosed table"),
    ] {
        std::fs::write(&path, good.replace(text, by)).unwrap();
        let error = Calibrated::read(&path, &BUILT_IN).unwrap_err().to_string();
        assert!(error.contains(wanted), "{wanted}: {error}");
        assert_eq!(error.lines().count(), 2, "{error}");
    }
    std::fs::write(&path, &good).unwrap();
    let read = Calibrated::read(&path, &BUILT_IN).unwrap();
    assert_eq!(read.get("host.sample_ns").map(|found| found.value), Some(9.0));
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("plots/calibrate-h200/calibration.toml");
    assert!(Calibrated::read(&kept, &BUILT_IN).unwrap().get("placement.refill_ns").is_some());
}
