use std::collections::HashSet;

use super::*;
use crate::chain::{Mode, Shape, Submission, Trigger};
use crate::error::Kind;
use crate::oracle::mix;

const POISON: u64 = 0xDEAD_DEAD_DEAD_DEAD;

fn case(test: Test, kernel: Kernel, mode: Mode) -> Case {
    let (grid, submission) = (Grid::Small, Submission::Graph);
    Case { test, kernel, trigger: Trigger::AtEntry, grid, submission, mode }
}

fn layout(test: Test, mode: Mode) -> Layout {
    let shape = Shape { grid_blocks: 3, block_threads: 2, shared_bytes: 0, cluster_blocks: 1 };
    Layout::new(&case(test, test.correct(), mode), shape)
}

/// Whether any node from the second on may overwrite what the node `distance` before it reads.
fn overwrites(layout: &Layout, distance: usize) -> bool {
    layout.nodes.windows(distance + 1).any(|pair| {
        let (reader, writer) = (pair[0], pair[distance]);
        !writer.idle && reader.input == Input::Slot(writer.output)
    })
}

#[test]
fn each_test_has_the_hazard_it_names() {
    // Test, whether a node reads its primary's slot, overwrites its primary's input, stores where
    // its primary stores.
    for (test, raw, war, waw) in [
        (Test::Raw1, true, true, true),
        (Test::Raw2, true, true, false),
        (Test::Raw3, true, false, false),
        (Test::War, true, true, false),
        (Test::Waw, false, false, true),
        (Test::Across, false, false, false),
        (Test::Idle, false, false, false),
        (Test::Loop, true, true, false),
        (Test::Ring, true, true, false),
    ] {
        let layout = layout(test, Mode::Isolated);
        let pairs = || layout.nodes.windows(2).map(|pair| (pair[0], pair[1]));
        assert_eq!(pairs().all(|(a, b)| b.input == Input::Slot(a.output)), raw, "{test} RAW");
        assert_eq!(overwrites(&layout, 1), war, "{test} WAR");
        assert_eq!(pairs().all(|(a, b)| a.output == b.output), waw, "{test} WAW");
        assert_eq!(layout.clears, test == Test::War, "{test}");
    }
}

#[test]
fn what_reaches_across_a_node_reads_what_only_completion_orders() {
    for test in [Test::Across, Test::Idle] {
        let layout = layout(test, Mode::Isolated);
        for (index, node) in layout.nodes.iter().enumerate() {
            let middle = index % 2 == 1;
            assert_eq!(node.idle, middle && test == Test::Idle, "{test} {index}");
            let across = index > 0 && !middle;
            let input = if across { Input::Slot(index as u32 - 2) } else { Input::Seeds };
            assert_eq!(node.input, input, "{test} {index}");
        }
        assert_eq!(layout.reach, 2);
    }
}

#[test]
fn the_mistake_is_only_in_the_middle_of_what_reaches_across() {
    let shape = Shape { grid_blocks: 3, block_threads: 2, ..Shape::default() };
    let across = Layout::new(&case(Test::Across, Kernel::NoSync, Mode::Isolated), shape);
    let kernels: Vec<Kernel> = across.nodes.iter().map(|node| node.kernel).collect();
    use Kernel::{Correct, NoSync};
    assert_eq!(kernels, [Correct, NoSync, Correct, NoSync, Correct]);
    let raw = Layout::new(&case(Test::Raw2, NoSync, Mode::Isolated), shape);
    assert!(raw.nodes.iter().all(|node| node.kernel == NoSync));
}

#[test]
fn three_slots_are_enough_for_the_ring_and_two_are_not() {
    let layout = layout(Test::Ring, Mode::Pipelined);
    // Node n stages as soon as it begins: when all before it have begun and triggered. One that
    // triggers after its sync has begun after its primary completed.
    let waits = |node: usize| layout.nodes[node].trigger != Trigger::AtEntry;
    for node in 0..layout.nodes.len() {
        let syncs = (0..node).rev().find(|&before| waits(before));
        // That node's primary and all before are complete; the rest may be running.
        let running = syncs.map_or(0, |before| before)..node;
        let collides = |slots: usize| running.clone().any(|other| other % slots == node % slots);
        assert!(!collides(3), "node {node} may stage over {running:?} in three slots");
        if node >= 3 && node % 2 == 1 {
            assert!(collides(2), "node {node} cannot stage over {running:?} in two slots");
        }
    }
}

#[test]
fn only_the_first_node_has_a_full_dependency_and_the_device_holds_all_of_them() {
    for test in Test::ALL {
        for (mode, chains) in [(Mode::Isolated, 1), (Mode::Pipelined, 3)] {
            let layout = layout(test, mode);
            let full: Vec<bool> = layout.nodes.iter().map(|node| node.full).collect();
            assert!(full[0] && !full[1..].contains(&true), "{test} {mode}");
            assert!(layout.nodes.len() <= 16, "{test} {mode}");
            let firsts = layout.nodes.len() / chains;
            for first in layout.nodes.iter().step_by(firsts) {
                assert_eq!(first.input, Input::Seeds, "{test} {mode}");
            }
        }
    }
}

#[test]
fn the_oracle_is_the_recurrence_thread_by_thread() {
    let layout = layout(Test::Raw2, Mode::Isolated);
    let rows = expected(&layout, 5);
    let seeds = seeds(&layout, 5);
    let mut previous = seeds.clone();
    for node in 0..4_u32 {
        let mut next = vec![0; 6];
        for at in 0..6 {
            // Three blocks of two threads: block b reads block b + 1.
            let from = [2, 3, 4, 5, 0, 1][at];
            let row = |row: u64| rows[row as usize * 6 + at];
            assert_eq!(row(2 * u64::from(node)), previous[from]);
            assert_eq!(row(2 * u64::from(node) + 1), previous[from]);
            next[at] = mix(previous[from], 0, node, at as u32);
        }
        previous = next;
    }
    // Node 3 is the last to write slot 1, node 2 slot 0.
    assert_eq!(rows[9 * 6..], previous);
    assert_eq!(rows.len() as u64, layout.rows() * layout.width());
    assert_ne!(expected(&layout, 6), rows, "a round's values are its own");
}

#[test]
fn nodes_without_work_write_nothing() {
    let layout = layout(Test::Idle, Mode::Isolated);
    let rows = expected(&layout, 0);
    let row = |row: u64| &rows[row as usize * 6..][..6];
    for node in [1, 3] {
        assert!(row(layout.first_row(node)).iter().all(|&value| value == POISON));
        assert!(row(layout.slot_row(node as u32)).iter().all(|&value| value == POISON));
    }
    assert_eq!(row(layout.first_row(2))[0], row(layout.slot_row(0))[2]);
    assert_eq!(layout.idle_nodes(), 0b01010);
}

/// Runs the nodes with one mistake at node `bad`, as a device could, and compares.
fn first_wrong(test: Test, mistake: impl Fn(usize, &mut [u64])) -> (Record, u32, Found) {
    let layout = layout(test, Mode::Isolated);
    let mut rows = expected(&layout, 1);
    mistake(layout.width() as usize, &mut rows);
    let right = expected(&layout, 1);
    let index = rows.iter().zip(&right).position(|(a, b)| a != b).expect("something is wrong");
    let (record, node) = layout.record(index as u64);
    (record, node, identify(&layout, index as u64, rows[index], 1, 4))
}

#[test]
fn a_wrong_value_is_told_apart() {
    // Node 2 reads too early: the slot is poisoned, or still holds what node 0 wrote there.
    let early = first_wrong(Test::Raw2, |width, rows| rows[4 * width + 3] = POISON);
    assert_eq!(early, (Record::FirstRead, 2, Found::Poison));
    let layout = layout(Test::Raw3, Mode::Isolated);
    let right = expected(&layout, 1);
    let node_0 = right[layout.slot_row(0) as usize * 6..][..6].to_vec();
    // In raw-3 the last to write slot 0 is node 3: an older store there is node 0's.
    let seeds = seeds(&layout, 1);
    let old = mix(seeds[2], 0, 0, 0);
    assert_ne!(node_0[0], old);
    let late_store = first_wrong(Test::Raw3, |width, rows| rows[8 * width] = old);
    assert_eq!(late_store, (Record::LastStore, 3, Found::Node(0)));
    // Node 1 reads again after node 2 cleared its slot.
    let cleared = first_wrong(Test::War, |width, rows| rows[3 * width + 1] = 0);
    assert_eq!(cleared, (Record::LateRead, 1, Found::Cleared));
    // Node 1 finds the stage of node 3.
    let staged = mix(0x57A6E, 0, 3, 4);
    let overwritten = first_wrong(Test::Ring, |width, rows| rows[3 * width + 4] = staged);
    assert_eq!(overwritten, (Record::LateRead, 1, Found::Node(3)));
    // Node 1 reads what node 0 wrote a round before; and nobody wrote 1.
    let stale = expected(&self::layout(Test::Raw2, Mode::Isolated), 0)[2 * 6];
    let left_over = first_wrong(Test::Raw2, |width, rows| rows[2 * width] = stale);
    assert_eq!(left_over, (Record::FirstRead, 1, Found::Stale));
    let unknown = first_wrong(Test::Raw2, |width, rows| rows[2 * width] = 1);
    assert_eq!(unknown, (Record::FirstRead, 1, Found::Unknown));
}

fn measured(wrong: u64, co_resident: u64, same: Option<bool>) -> Measured {
    let code = Code { kernel: "k".into(), syncs: Some(1), same_as_correct: same };
    Measured {
        repetitions: 1000,
        wrong,
        co_resident,
        mismatches: wrong,
        values: 10,
        overlap_ns: None,
        margin_ns: 100,
        seconds: 1.0,
        first: None,
        code,
    }
}

#[test]
fn without_co_residence_nothing_is_clean() {
    use Verdict::{Clean, NotTested, Race, SameCode};
    // wrong, co-resident, code equals the correct kernel's; as a mutant, as a correct kernel.
    for (wrong, co_resident, same, mutant, correct) in [
        (0, 0, Some(false), NotTested, NotTested),
        (0, 1, Some(false), Clean, Clean),
        (1, 0, Some(false), Race, Race),
        (7, 900, None, Race, Race),
        (0, 900, None, Clean, Clean),
        (0, 900, Some(true), SameCode, Clean),
        (0, 0, Some(true), SameCode, NotTested),
        (3, 900, Some(true), SameCode, Race),
    ] {
        let measured = measured(wrong, co_resident, same);
        assert_eq!(verdict(&measured, true), mutant, "{wrong} {co_resident} {same:?}");
        assert_eq!(verdict(&measured, false), correct, "{wrong} {co_resident} {same:?}");
    }
}

#[test]
fn only_co_resident_repetitions_bound_a_race() {
    let few = measured(0, 10, None).bound();
    assert!((few - 0.2589).abs() < 1e-3, "{few}");
    assert_eq!(measured(0, 0, None).bound(), 1.0);
    let rate = measured(5, 0, None).rate().unwrap();
    assert!(rate.lo > 0.0016 && rate.lo < 0.0017 && rate.hi > 0.0116 && rate.hi < 0.0117);
}

fn outcome(mutant: Option<&'static str>, verdict: Verdict) -> Outcome {
    let (case, reason) = (String::new(), String::new());
    let (mutant, test) = (mutant.map(str::to_owned), "raw-2".to_owned());
    Outcome { mutant, case, test, verdict, measured: None, reason }
}

#[test]
fn the_exit_code_follows_the_worst_finding() {
    use Verdict::*;
    let (correct, m, n) = (None, Some("no-sync"), Some("two-slots"));
    for (outcomes, kind) in [
        (vec![(correct, Clean), (m, Race)], None),
        (vec![(correct, NotTested), (m, NotTested), (n, SameCode)], None),
        (vec![(correct, Race), (m, Race)], Some(Kind::Wrong)),
        // One test is enough to catch a mutant, but only its own.
        (vec![(m, Clean), (m, Race)], None),
        (vec![(m, Clean), (n, Race)], Some(Kind::Wrong)),
        (vec![(m, Hang), (n, Race)], Some(Kind::Failed)),
        (vec![(m, Fault), (correct, Race)], Some(Kind::Wrong)),
        (vec![], None),
    ] {
        let all: Vec<Outcome> = outcomes.iter().map(|&(m, v)| outcome(m, v)).collect();
        assert_eq!(exit_kind(&all), kind, "{outcomes:?}");
    }
}

#[test]
fn the_plan_names_every_case_once_and_accuses_only_mutants() {
    for quick in [false, true] {
        let plan = Plan::new(quick, None).unwrap();
        let names: HashSet<String> = plan.correct.iter().map(Case::to_string).collect();
        assert_eq!(names.len(), plan.correct.len());
        assert!(plan.correct.iter().all(|case| case.kernel.is_correct()));
        for test in Test::ALL {
            for submission in [Submission::Graph, Submission::Stream] {
                for mode in [Mode::Isolated, Mode::Pipelined] {
                    let has = |case: &&Case| {
                        (case.test, case.submission, case.mode) == (test, submission, mode)
                    };
                    assert!(plan.correct.iter().any(|case| has(&case)), "{test} {submission:?}");
                }
            }
        }
        for (mutant, cases) in &plan.mutants {
            assert!(!cases.is_empty() && !mutant.kernel.is_correct(), "{}", mutant.name);
            let tests: HashSet<Test> = cases.iter().map(|case| case.test).collect();
            assert_eq!(tests, mutant.tests.iter().copied().collect(), "{}", mutant.name);
        }
        assert_eq!(plan.mutants.len(), 8);
    }
}

#[test]
fn only_keeps_what_was_named() {
    for (only, correct, mutants) in [
        ("correct", true, vec![]),
        ("waw", true, vec!["no-sync"]),
        ("two-slots", false, vec!["two-slots"]),
        ("ring", true, vec!["two-slots"]),
        ("fault", false, vec!["fault"]),
        ("raw-1", true, vec![]),
    ] {
        let plan = Plan::new(true, Some(only)).unwrap();
        assert_eq!(!plan.correct.is_empty(), correct, "{only}");
        let names: Vec<&str> = plan.mutants.iter().map(|(mutant, _)| mutant.name).collect();
        assert_eq!(names, mutants, "{only}");
    }
    let unknown = Plan::new(true, Some("raw")).unwrap_err();
    assert_eq!(unknown.kind(), Kind::Usage);
    assert!(unknown.to_string().contains("raw-1, raw-2"), "{unknown}");
}

#[test]
fn sleeps_fill_the_table_and_short_ones_come_more_often() {
    let count = |sleeps: &Sleeps, us: f64| {
        sleeps.table_ns.iter().filter(|&&ns| ns == (us * 1e3) as u32).count()
    };
    let asked = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
    let sleeps = Sleeps::new(&asked).unwrap();
    assert_eq!(sleeps.table_ns.len(), 64);
    let counts: Vec<usize> = asked.iter().map(|&us| count(&sleeps, us)).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b) && counts[8] == 1, "{counts:?}");
    assert_eq!(count(&Sleeps::new(&[200.0]).unwrap(), 200.0), 64);
    let many: Vec<f64> = (0..64).map(f64::from).collect();
    let all = Sleeps::new(&many).unwrap();
    assert!(many.iter().all(|&us| count(&all, us) == 1));
    for bad in [&[][..], &[-1.0], &[200.5], &[f64::NAN], &[1.0; 65]] {
        assert_eq!(Sleeps::new(bad).unwrap_err().kind(), Kind::Usage, "{bad:?}");
    }
}
