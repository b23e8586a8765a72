//! What is counted, and what is read.

use super::*;
use crate::analysis::fixture::Fixture;
use crate::chain::{BodyKind, Chain, Target, Trigger};
use crate::device::Backend;
use crate::profile::BUILT_IN;
use crate::record::Run;

fn at(k: u32) -> Option<Trigger> {
    Some(Trigger::Segment { at: k, of: 8 })
}

fn row(
    arm: Arm,
    trigger: Option<Trigger>,
    (period_ns, events_ns): (f64, f64),
    (verdict, in_plateau): (Option<Verdict>, Option<bool>),
) -> Compared {
    let chain = Chain::default().with_trigger(trigger.unwrap_or(Trigger::Implicit));
    let row = Measured {
        point: "p000".to_owned(),
        group: 0,
        arm,
        trigger,
        chain,
        period_ns,
        period_lo_ns: None,
        period_hi_ns: None,
        verdict,
        in_plateau,
    };
    Compared { row, closed_ns: None, events_ns: Some(events_ns) }
}

/// A lane of one group whose baseline is 1,000 ns.
fn group() -> Vec<Compared> {
    let (helps, unsure) = (Some(Verdict::Helps), Some(Verdict::Inconclusive));
    vec![
        row(Arm::Graph, None, (1000.0, 1100.0), (None, None)),
        // Helps, and the model says so.
        row(Arm::GraphPdl, at(0), (800.0, 840.0), (helps, Some(false))),
        // Helps, and the model says it hurts.
        row(Arm::GraphPdl, at(4), (790.0, 1200.0), (helps, Some(true))),
        // Nobody knows.
        row(Arm::GraphPdl, at(8), (999.0, 1300.0), (unsure, Some(false))),
    ]
}

#[test]
fn errors_decided_signs_and_plateaus_are_counted() {
    let mut rows = group();
    let found = errors(rows.iter(), Model::Events).unwrap();
    assert_eq!((found.rows, errors(rows.iter(), Model::Closed)), (4, None));
    assert!((found.most - (1200.0 / 790.0 - 1.0)).abs() < 1e-12);
    assert_eq!(signs(&rows, Model::Events), (2, 1));
    assert_eq!(best_triggers(&rows, Model::Events), (1, 0));
    // What the model does not cover is in no count.
    rows[1].events_ns = None;
    assert_eq!(signs(&rows, Model::Events), (1, 0));
    assert_eq!(best_triggers(&rows, Model::Events), (1, 1));
}

#[test]
fn regret_is_what_the_model_s_best_trigger_costs() {
    let mut rows = group();
    // A second group, where the model is right.
    rows.extend(group().into_iter().map(|mut row| {
        row.row.group = 1;
        row.events_ns = Some(row.row.period_ns);
        row
    }));
    let found = regrets(&rows, Model::Events);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], 0.0);
    assert!((found[1] - (800.0 / 790.0 - 1.0)).abs() < 1e-12);
    let regret = regret(&rows, Model::Events).unwrap();
    assert_eq!((regret.lanes, regret.within), (2, [0.5, 1.0, 1.0]));
    assert_eq!(super::regret(&rows, Model::Closed), None);
    // A trigger that the model does not cover is no choice, and not the measured best either.
    rows[2].events_ns = None;
    assert_eq!(regrets(&rows, Model::Events), [0.0, 0.0]);
    // Nothing is chosen among the rows of controls and baselines.
    assert!(regrets(&rows[..1], Model::Events).is_empty());
}

/// A run of one group with an effect at one trigger.
fn run() -> Run {
    let triggers = [Trigger::AtEntry, Trigger::Segment { at: 4, of: 8 }, Trigger::Implicit];
    let saves = |arm: Arm, trigger: Option<Trigger>| match (arm, trigger) {
        (Arm::GraphPdl, Some(Trigger::AtEntry)) => 900.0,
        (Arm::GraphPdl, Some(Trigger::Implicit)) => -700.0,
        _ => 0.0,
    };
    let mut fixture = Fixture::new(&triggers, 30, 5.0, &saves);
    fixture.points.iter_mut().for_each(|record| record.chain.body.units = 2000);
    let Fixture { manifest, points, samples } = fixture;
    Run { manifest, points, samples, end: None, notes: vec![] }
}

#[test]
fn a_run_and_its_file_say_the_same() {
    let run = run();
    let mut sweep = Sweep::of_run("one", &run).unwrap();
    sweep.provenance.note = "of a test".to_owned();
    assert!(sweep.rows.iter().all(|row| row.arm != Arm::Sentinel && row.chain.body.units == 2000));
    let told = |arm, trigger| {
        let found = sweep.rows.iter().find(|row| (row.arm, row.trigger) == (arm, trigger));
        found.map(|row| (row.verdict, row.in_plateau)).unwrap()
    };
    let implicit = Some(Trigger::Implicit);
    assert_eq!(
        told(Arm::GraphPdl, Some(Trigger::AtEntry)),
        (Some(Verdict::Helps), Some(true)),
        "derived from the samples"
    );
    assert_eq!(told(Arm::GraphPdl, implicit), (Some(Verdict::Hurts), Some(false)));
    assert_eq!(told(Arm::Graph, None).0, None);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one.csv");
    std::fs::write(&path, sweep.to_csv()).unwrap();
    assert_eq!(Sweep::read(&path).unwrap(), sweep);
    // What every row has of the default sweep is in no column; other nodes are.
    let text = sweep.to_csv();
    let header = text.lines().find(|line| line.starts_with("point,")).unwrap();
    assert!(header.contains(",nodes,") && !header.contains("shared_bytes"), "{header}");
    // Groups of sweeps that stand together are not taken for one.
    let both = Sweep::read_all(&[&path, &path]).unwrap();
    assert_eq!((both[0].rows[0].group, both[1].rows[0].group), (0, 1));
    // Every amount of work and every shape comes back.
    let mut odd = sweep.clone();
    let chain = &mut odd.rows[1].chain;
    (chain.shape.cluster_blocks, chain.shape.shared_bytes) = (4, 2048);
    chain.body.kind = BodyKind::L2;
    std::fs::write(&path, odd.to_csv()).unwrap();
    assert_eq!(Sweep::read(&path).unwrap().rows, odd.rows);
}

#[test]
fn what_is_no_measured_sweep_is_refused_in_a_line() {
    let good = Sweep::of_run("one", &run()).unwrap().to_csv();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.csv");
    let period = format!("{:.1}", Sweep::of_run("one", &run()).unwrap().rows[0].period_ns);
    let cut = good.find("p000,").unwrap();
    for (text, wanted) in [
        ("point,group\n".to_owned(), "does not begin with"),
        (good.replace("# device: NVIDIA H200\n", ""), "names no device"),
        (good.replace("# sm_count: 132", "# sm_count: many"), "sm_count 'many' is no number"),
        (good.replacen(&period, "NaN", 1), "a period of NaN ns is none"),
        (good.replacen(&period, "-5", 1), "a period of -5 ns is none"),
        (good.replacen("p000,0,", "p000,4294967295,", 1), "group 4294967295 is none"),
        (good.replacen(",graph,", ",warp,", 1), "unknown variant `warp`"),
        (good.replacen("period_ns", "period_us", 1), "missing field `period_ns`"),
        (good.replacen(",132,", ",0,", 1), "it must be at least 1"),
        (good[..cut].to_owned(), "no row with a period"),
        (good[..good.len() - 9].to_owned(), "fields"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let error = Sweep::read(&path).unwrap_err().to_string();
        assert!(error.contains(wanted), "{wanted}: {error}");
        assert_eq!(error.lines().count(), 2, "a cause and a remedy: {error}");
    }
    let missing = Sweep::read(&dir.path().join("none.csv")).unwrap_err().to_string();
    assert!(missing.contains("none.csv") && missing.lines().count() == 2, "{missing}");
    assert!(Sweep::read_all(&[] as &[&str]).unwrap_err().to_string().contains("no measured sweep"));
    let mut simulated = run();
    simulated.manifest.facts.backend = Backend::Sim;
    assert!(Sweep::of_run("s", &simulated).unwrap_err().to_string().contains("simulated"));
}

#[test]
fn a_sweep_of_another_device_is_refused() {
    let mut sweep = Sweep::of_run("one", &run()).unwrap();
    assert!(same_device(&BUILT_IN, &sweep).is_ok());
    sweep.provenance.sm_count = 114;
    let error = same_device(&BUILT_IN, &sweep).unwrap_err().to_string();
    assert!(error.contains("114 SMs") && error.contains("--profile"), "{error}");
}

#[test]
fn both_models_are_given_every_row_in_order() {
    let sweep = Sweep::of_run("one", &run()).unwrap();
    let rows = compare(&BUILT_IN, &sweep.rows);
    assert_eq!(rows.len(), sweep.rows.len());
    for (compared, row) in rows.iter().zip(&sweep.rows) {
        assert_eq!(&compared.row, row);
        let alone = predict(&BUILT_IN, Model::Events, &row.chain, row.arm).ok();
        assert_eq!(compared.events_ns, alone, "{} {}", row.point, row.arm);
        assert!(compared.closed_ns.is_some());
        assert_eq!(row.chain.body.target, Target::Ns(0.0));
    }
    // The table has a line for each part that the rows have.
    let text = report(&BUILT_IN, "validate one.csv", Some("one.svg"), &[(&sweep, &rows)], &[]);
    for wanted in
        ["## one", "    validate one.csv", "](one.svg)", "| all | events |", "Regret over 1"]
    {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn work_that_is_spread_comes_back_in_order() {
    for count in [0, 1, 2, 7, 100] {
        let items: Vec<usize> = (0..count).collect();
        assert_eq!(
            spread(&items, |item| item * item),
            items.iter().map(|i| i * i).collect::<Vec<_>>()
        );
    }
}

#[test]
fn the_committed_sweeps_are_of_the_built_in_device() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut rows = 0;
    for place in ["plots/fit-h200", "plots/validation-h200", "plots/validation-again-h200"] {
        let mut paths: Vec<_> =
            std::fs::read_dir(root.join(place)).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        for sweep in Sweep::read_all(&paths).unwrap() {
            same_device(&BUILT_IN, &sweep).unwrap();
            assert!(sweep.provenance.command.starts_with("pdl sweep"), "{}", sweep.name);
            let path = root.join(place).join(format!("{}.csv", sweep.name));
            let again = Sweep::read(&path).unwrap().to_csv();
            assert!(again == std::fs::read_to_string(path).unwrap(), "{}", sweep.name);
            rows += sweep.rows.len();
        }
    }
    assert!(rows > 8000, "{rows}");
}

#[test]
fn a_second_measurement_stands_where_a_model_does() {
    let provenance = sweep_of(vec![]).provenance;
    let first = sweep_of(group().into_iter().map(|row| row.row).collect());
    // Measured again, the trigger that helped most is worse than the baseline.
    let mut second = Sweep { name: "again".to_owned(), ..first.clone() };
    second.rows[2].period_ns = 1010.0;
    let found = Again::find(std::slice::from_ref(&first), &second).unwrap();
    assert_eq!((found.first.as_str(), found.second.as_str()), ("first", "again"));
    assert_eq!(found.uuid, provenance.uuid);
    assert_eq!(signs(&found.rows, Model::Events), (2, 1));
    assert_eq!(best_triggers(&found.rows, Model::Events), (1, 0));
    let text = found.section();
    assert!(text.contains("1 of 2 have the right sign"), "{text}");
    // Another shape, and a row that is not there: another sweep.
    let mut other = second.clone();
    other.rows[0].chain.shape.grid_blocks += 1;
    second.rows.remove(1);
    for sweep in [other, second] {
        let error = Again::find(std::slice::from_ref(&first), &sweep).unwrap_err().to_string();
        assert!(error.contains("take again as a second measurement"), "{error}");
    }
}

fn sweep_of(rows: Vec<Measured>) -> Sweep {
    let sweep = Sweep::of_run("first", &run()).unwrap();
    Sweep { rows, ..sweep }
}
