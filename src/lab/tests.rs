//! What other programs rely on, without a GPU.

use super::*;
use crate::chain::{Submission, Trigger};
use crate::record::{self, Verdict, read_run};
use crate::sim::SimDevice;

fn short() -> Chain {
    Chain::default().with_nodes(10)
}

#[test]
fn what_is_saved_is_what_was_measured() {
    let device = SimDevice::quick(3);
    let mut axes = Axes::of(&short());
    axes.triggers = vec![Trigger::Implicit, Trigger::Segment { at: 4, of: 8 }];
    let run = sweep(&device, &axes, &Effort::quick()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    run.save(&path).unwrap();
    let read = read_run(&path).unwrap();
    assert!(read.samples == run.record().samples && read.points == run.record().points);
    let summary = record::read_summary(&path.join("summary.csv")).unwrap();
    assert_eq!(summary.len(), run.rows().len());
    assert_eq!(
        (read.manifest, read.end),
        (run.record().manifest.clone(), run.record().end.clone())
    );
    let error = run.save(&path).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage, "a run is never written over: {error}");
}

#[test]
fn one_measurement_agrees_with_the_sweep_that_holds_it() {
    let trigger = Trigger::Segment { at: 2, of: 8 };
    let chain = short().with_trigger(trigger);
    let one = measure(&SimDevice::quick(5), &chain, Arm::StreamPdl, &Effort::quick()).unwrap();
    let axes = Axes { triggers: vec![trigger, Trigger::After], ..Axes::of(&chain) };
    let all = sweep(&SimDevice::quick(5), &axes, &Effort::quick()).unwrap();
    let row = all.row(Arm::StreamPdl, Some(trigger)).unwrap();
    let (one, all) = (one.row.saved_ns.unwrap(), row.saved_ns.unwrap());
    assert!((one - all).abs() < 0.05 * all, "{one} against {all} ns a hop");
}

#[test]
fn the_baseline_and_the_sentinel_can_be_measured_and_save_nothing() {
    for arm in [Arm::Graph, Arm::Sentinel, Arm::GraphAa] {
        let found = measure(&SimDevice::quick(1), &short(), arm, &Effort::quick()).unwrap();
        assert!(found.row.period_ns.unwrap() > 0.0, "{arm}");
        assert_eq!(found.row.verdict, None, "{arm}");
        assert!(found.run.best(Submission::Graph).is_none());
    }
}

#[test]
fn wrong_values_have_no_speed() {
    let broken = SimDevice::quick(1).with_fault(2, 0);
    let found = measure(&broken, &short(), Arm::GraphPdl, &Effort::quick()).unwrap();
    assert_eq!((found.row.verdict, found.row.saved_ns), (Some(Verdict::Wrong), None));
}

#[test]
fn bad_input_is_a_usage_error_or_says_what_the_device_lacks() {
    let device = SimDevice::quick(1);
    let shape = |block_threads, shared_bytes| {
        let shape = crate::chain::Shape { block_threads, shared_bytes, ..Default::default() };
        short().with_shape(shape)
    };
    for chain in [short().with_nodes(1), shape(4096, 0), shape(128, 1 << 20)] {
        for error in [
            measure(&device, &chain, Arm::GraphPdl, &Effort::quick()).unwrap_err(),
            check(&device, &chain, Arm::GraphPdl, 1).unwrap_err(),
        ] {
            assert_eq!(error.kind(), Kind::Usage, "{error}");
        }
    }
    let mut effort = Effort::quick();
    effort.stopping.rounds_max = 0;
    let error = measure(&device, &short(), Arm::GraphPdl, &effort).unwrap_err();
    assert!(error.to_string().contains("rounds_max"), "{error}");
    let axes = Axes { body_kinds: Vec::new(), ..Axes::default() };
    let error = sweep(&device, &axes, &Effort::quick()).unwrap_err();
    assert!(error.to_string().contains("body_kinds"), "{error}");
    assert_eq!(check(&device, &short(), Arm::GraphPdl, 0).unwrap_err().kind(), Kind::Usage);
    // A cooperative kernel of two blocks an SM, where one fits.
    let shape = crate::chain::Shape { grid_blocks: 264, shared_bytes: 200 << 10, ..short().shape };
    let error = measure(&device, &short().with_shape(shape), Arm::Persistent, &Effort::quick());
    assert_eq!(error.unwrap_err().kind(), Kind::Unsupported);
}
