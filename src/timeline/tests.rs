use std::collections::HashMap;

use serde_json::Value;

use super::fixture::track;
use super::*;
use crate::chain::Arm;

#[test]
fn a_block_is_in_one_phase_at_a_time() {
    let block = |trigger_ns: f64| BlockStamps {
        begin_ns: 0.0,
        trigger_ns,
        arrive_ns: 200.0,
        release_ns: 300.0,
        end_ns: 700.0,
        sm: 0,
        body_cycles: 0,
    };
    for (what, trigger, body, after) in [
        ("in the body", 500.0, (300.0, 500.0), (500.0, 700.0)),
        ("before the sync", 10.0, (300.0, 300.0), (300.0, 700.0)),
        ("behind the last stamp", 710.0, (300.0, 700.0), (700.0, 700.0)),
        ("never", f64::NAN, (300.0, 700.0), (700.0, 700.0)),
    ] {
        let phases = Phase::ALL.map(|phase| phase.of(&block(trigger)));
        assert_eq!(phases, [(0.0, 200.0), (200.0, 300.0), body, after], "{what}");
    }
}

#[test]
fn a_hop_is_measured_from_its_primary() {
    let track = track(Arm::GraphPdl, 5, 3, 1500.0, 2000.0);
    let hop = HopMoments::into(&track.stamps, 2).unwrap();
    assert_eq!(hop.launch_gap_ns(), -1500.0);
    // Blocks of the secondary are 8 ns apart; the median one is released 808 after the end.
    assert_eq!(hop.hop_latency_ns(), 808.0);
    assert_eq!(hop.primary.allowed_ns(), hop.primary.end.last - 2000.0);
    assert_eq!(HopMoments::into(&track.stamps, 0), None);
    assert_eq!(HopMoments::into(&track.stamps, 5), None);
}

#[test]
fn the_typical_hop_is_neither_the_first_nor_a_straggler() {
    let mut track = track(Arm::GraphPdl, 9, 2, 1500.0, 2000.0);
    assert_eq!(typical_hop(&track.stamps), Some(4), "the middle of equals");
    for block in &mut track.stamps.blocks[4 * 2..5 * 2] {
        block.begin_ns -= 900.0;
    }
    assert_eq!(typical_hop(&track.stamps), Some(5), "not the one that began early");
    for (nodes, expected) in [(1, None), (2, Some(1)), (3, Some(2))] {
        let short = fixture::track(Arm::GraphPdl, nodes, 2, 1500.0, 2000.0);
        assert_eq!(typical_hop(&short.stamps), expected, "{nodes} nodes");
    }
}

#[test]
fn phases_that_kernels_name_are_in_every_output() {
    let track = fixture::named_track(Arm::GraphPdl, 5, 3);
    let phases = named_phases(&track);
    let found: Vec<(&str, &str, usize, f64)> = phases
        .iter()
        .map(|p| (p.kernel.as_str(), p.name.as_str(), p.nodes, p.after_begin_ns))
        .collect();
    // The first node begins on an empty device and is left out.
    assert_eq!(found[0], ("gemv", "weights", 2, 500.0));
    assert_eq!(found.len(), 4);
    // From 1 µs before the end to the end.
    assert_eq!(phases[1].duration_ns, 1000.0);
    let csv = stamps_csv(std::slice::from_ref(&track));
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().ends_with(",body_cycles,weights_ns,sum_ns"));
    assert!(lines.next().unwrap().ends_with(",7000,500.0,5800.0"), "{csv}");
    let trace: Value = serde_json::from_str(&trace_json(&[track], "t")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = events.iter().filter(|e| e["cat"] == "named" && e["name"] == "weights");
    assert_eq!(named.count(), 5);
    let threads = events.iter().filter(|e| e["name"] == "thread_name");
    let names: Vec<&str> = threads.map(|e| e["args"]["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"node 1 gemv") && names.contains(&"node 1 gemv, its own phases"));
}

#[test]
fn nodes_of_different_grids_keep_their_places_in_the_file() {
    let mut track = track(Arm::GraphPdl, 2, 2, 0.0, 0.0);
    track.stamps.grid_blocks = 0;
    track.stamps.node_blocks = vec![1, 3];
    let csv = stamps_csv(&[track]);
    let places: Vec<String> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').take(3).collect::<Vec<_>>().join(","))
        .collect();
    assert_eq!(places, ["graph-pdl,0,0", "graph-pdl,1,0", "graph-pdl,1,1", "graph-pdl,1,2"]);
}

#[test]
fn uneven_placement_is_counted() {
    let mut track = track(Arm::GraphFull, 4, 6, 0.0, f64::NAN);
    let even = placement(&track.stamps, 8);
    assert_eq!(even.sms_by_blocks, [2.0, 6.0]);
    assert_eq!((even.most_blocks, even.uneven_nodes), (1, 0));
    // In node 2, blocks 1 and 2 join block 0.
    track.stamps.blocks[2 * 6 + 1].sm = 0;
    track.stamps.blocks[2 * 6 + 2].sm = 0;
    let skewed = placement(&track.stamps, 8);
    assert_eq!(skewed.sms_by_blocks, [2.5, 5.25, 0.0, 0.25]);
    assert_eq!((skewed.most_blocks, skewed.most_in_node, skewed.uneven_nodes), (3, 2, 1));
}

#[test]
fn the_file_of_stamps_has_a_row_a_block_and_no_nan() {
    let tracks =
        [track(Arm::GraphFull, 2, 2, 0.0, f64::NAN), track(Arm::GraphPdl, 2, 2, 1500.0, 2000.0)];
    let text = stamps_csv(&tracks);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 8);
    assert_eq!(lines[1], "graph-full,0,0,0,0.0,,2000.0,2800.0,6800.0,7000");
    assert_eq!(lines[8], "graph-pdl,1,1,1,5316.0,9616.0,7316.0,7616.0,11616.0,7000");
    assert!(!text.contains("NaN"));
}

fn events(tracks: &[Track]) -> Vec<Value> {
    let trace: Value = serde_json::from_str(&trace_json(tracks, "t")).unwrap();
    trace["traceEvents"].as_array().unwrap().clone()
}

#[test]
fn slices_of_a_track_never_overlap_and_flows_end_in_slices() {
    // A trigger at entry runs before everything; stamps of skewed timers may even run backwards.
    let mut skewed = track(Arm::Flags, 20, 5, 1700.0, 100.0);
    for (index, block) in skewed.stamps.blocks.iter_mut().enumerate() {
        block.arrive_ns += if index % 2 == 0 { -40.0 } else { 40.0 };
    }
    let tracks = [
        track(Arm::GraphFull, 20, 5, -900.0, f64::NAN),
        track(Arm::GraphPdl, 20, 5, 3000.0, -2500.0),
        skewed,
    ];
    let events = events(&tracks);
    let mut tracks_of: HashMap<(u64, u64), Vec<(f64, f64)>> = HashMap::new();
    let id = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
    for slice in events.iter().filter(|event| event["ph"] == "X") {
        let from = slice["ts"].as_f64().unwrap();
        let to = from + slice["dur"].as_f64().unwrap();
        assert!(to > from);
        tracks_of.entry(id(slice)).or_default().push((from, to));
    }
    assert_eq!(tracks_of.len(), 60);
    for slices in tracks_of.values() {
        for pair in slices.windows(2) {
            assert!(pair[0].1 <= pair[1].0 + 1e-9, "{slices:?}");
        }
    }
    let ends: Vec<&Value> =
        events.iter().filter(|event| event["ph"] == "s" || event["ph"] == "f").collect();
    assert_eq!(ends.len(), 2 * 57);
    for pair in ends.chunks(2) {
        assert_eq!(pair[0]["id"], pair[1]["id"]);
        assert!(pair[0]["ts"].as_f64() <= pair[1]["ts"].as_f64());
        for end in pair {
            let ts = end["ts"].as_f64().unwrap();
            let inside = tracks_of[&id(end)].iter().any(|&(from, to)| from <= ts && ts < to);
            assert!(inside, "{end}");
        }
    }
    let names: Vec<&str> = ends.iter().filter_map(|end| end["name"].as_str()).collect();
    assert!(names[..38].iter().all(|name| *name == "exit"));
    assert!(names[38..].iter().all(|name| *name == "trigger"));
}
