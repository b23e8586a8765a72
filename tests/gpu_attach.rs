//! Graphs made elsewhere, on the device: `cargo test --test gpu_attach -- --ignored`.
#![cfg(feature = "cuda")]

use std::rc::Rc;

use pdl_lab::attach::{EdgeAdvice, Flips, Options, RaceVerdict, Report, Residence, SyncEvidence};
use pdl_lab::chain::{Dependency, Submission};
use pdl_lab::gpu::Gpu;
use pdl_lab::gpu::user_graph::sample::{Consumer, SampleGraph};
use pdl_lab::gpu::user_graph::{Code, UserGraph};

const NEEDS: &str = "this test needs a GPU of compute capability 9.0 or newer";
/// Threads of one block: 132 blocks are a wave of which every block fits.
const WORDS: u32 = 132 * 256;

fn gpu() -> Rc<Gpu> {
    Rc::new(pdl_lab::gpu::open().expect(NEEDS).expect(NEEDS))
}

fn attach(gpu: &Rc<Gpu>, sample: &SampleGraph, code: &Code) -> UserGraph {
    // SAFETY: the sample outlives the subject in every test.
    unsafe { UserGraph::attach(gpu.clone(), sample.raw(), sample.memory(), code) }.unwrap()
}

/// Finds no machine code at all.
fn blind() -> Code {
    Code { images: Vec::new(), search_process: false }
}

fn quick() -> Options {
    Options { rounds: 20, budget_s: 20.0, ..Options::default() }
}

fn attribute(subject: &mut UserGraph, options: &Options) -> Report {
    subject.attribute(options, &mut |_| true).unwrap()
}

#[test]
#[ignore = "needs an sm_90 GPU"]
fn the_code_of_loaded_kernels_is_read() {
    let gpu = gpu();
    let sample = SampleGraph::chain(
        &gpu,
        &[Consumer::Syncs, Consumer::NoSync, Consumer::EarlyWriter],
        WORDS,
    )
    .unwrap();
    let subject = attach(&gpu, &sample, &Code::default());
    let listing = subject.listing();
    let syncs = |node: u32| match &listing.kernel(node).unwrap().code {
        SyncEvidence::Found { syncs, .. } => Some(*syncs),
        SyncEvidence::Absent { .. } => Some(0),
        SyncEvidence::Unknown { .. } => None,
    };
    assert_eq!([0, 1, 2].map(syncs), [Some(1), Some(0), Some(1)]);
    let standings: Vec<_> = listing.edges.iter().map(|edge| edge.standing.name()).collect();
    assert_eq!(standings, ["refused", "eligible"]);
    assert_eq!(listing.kernel(0).unwrap().grid, [132, 1, 1]);
}

#[test]
#[ignore = "needs an sm_90 GPU"]
fn the_race_check_tells_consumers_apart_without_their_code() {
    let gpu = gpu();
    for (consumer, verdict) in [
        (Consumer::Syncs, RaceVerdict::Clean),
        (Consumer::NoSync, RaceVerdict::ReadsEarly),
        (Consumer::EarlyWriter, RaceVerdict::WritesEarly),
    ] {
        let sample = SampleGraph::chain(&gpu, &[Consumer::Syncs, consumer], WORDS).unwrap();
        let mut subject = attach(&gpu, &sample, &blind());
        let forms = [Submission::Graph, Submission::Stream];
        let races = subject.races(0, &forms, &Options::default()).unwrap();
        for (form, race) in forms.iter().zip(races) {
            assert_eq!(race.verdict, verdict, "{consumer:?} {form:?}: {race:?}");
            // A stream may show by times alone that the consumer was there.
            if *form == Submission::Graph {
                assert_eq!(race.residence, Residence::AllBlocks, "{consumer:?}: {race:?}");
            }
            eprintln!("{consumer:?} {form:?}: {:?}, {}", race.residence, race.reason);
        }
    }
}

#[test]
#[ignore = "needs an sm_90 GPU"]
fn a_grid_of_many_waves_is_tested_by_its_first() {
    let gpu = gpu();
    let words = 132 * 256 * 8 * 4;
    for (consumer, verdict) in
        [(Consumer::Syncs, RaceVerdict::Clean), (Consumer::NoSync, RaceVerdict::ReadsEarly)]
    {
        let sample = SampleGraph::chain(&gpu, &[Consumer::Syncs, consumer], words).unwrap();
        let mut subject = attach(&gpu, &sample, &blind());
        let forms = [Submission::Graph, Submission::Stream];
        for race in subject.races(0, &forms, &Options::default()).unwrap() {
            assert_eq!(race.verdict, verdict, "{consumer:?}: {race:?}");
        }
    }
}

#[test]
#[ignore = "needs an sm_90 GPU"]
fn flipped_edges_keep_the_result() {
    let gpu = gpu();
    let sample = SampleGraph::chain(&gpu, &[Consumer::Syncs; 20], WORDS).unwrap();
    let mut subject = attach(&gpu, &sample, &Code::default());
    for flips in [Flips::none(), Flips::of([3]), Flips::of(0..19)] {
        for dependency in [Dependency::Programmatic, Dependency::LaunchCompletion] {
            let found = subject.verify(&flips, dependency).unwrap();
            assert_eq!((found.wrong_bytes, found.bytes), (0, 4 * u64::from(WORDS)), "{flips:?}");
        }
    }
}

#[test]
#[ignore = "needs an sm_90 GPU"]
fn a_chain_of_small_kernels_gains_on_every_edge() {
    let gpu = gpu();
    let sample = SampleGraph::chain(&gpu, &[Consumer::Syncs; 50], WORDS).unwrap();
    let mut subject = attach(&gpu, &sample, &Code::default());
    let report = attribute(&mut subject, &quick());
    assert!(report.chosen_edges.len() >= 45, "{:?}", report.chosen);
    // An empty hop of 132 blocks saves 0.3 µs (right after the sync) to 0.5 µs.
    let saved_ns = report.chosen.as_ref().unwrap().saved_ns.unwrap();
    assert!((100.0..1000.0).contains(&saved_ns), "{saved_ns}");
}

#[test]
#[ignore = "needs an sm_90 GPU"]
fn what_may_not_be_flipped_is_left() {
    let gpu = gpu();
    let chain = [
        Consumer::Syncs,
        Consumer::Syncs,
        Consumer::Memset,
        Consumer::Syncs,
        Consumer::NoSync,
        Consumer::EarlyWriter,
        Consumer::Syncs,
    ];
    let sample = SampleGraph::chain(&gpu, &chain, WORDS).unwrap();
    for code in [Code::default(), blind()] {
        let mut subject = attach(&gpu, &sample, &code);
        let report = attribute(&mut subject, &quick());
        let advice: Vec<_> = report.edges.iter().map(|row| row.advice).collect();
        use EdgeAdvice::{LeftAlone, Refused};
        assert_eq!(advice[1..5], [LeftAlone, LeftAlone, Refused, Refused], "{code:?}");
        for free in [advice[0], advice[5]] {
            assert!(matches!(free, EdgeAdvice::Flip | EdgeAdvice::Keep), "{advice:?}");
        }
    }
}

#[test]
#[ignore = "needs an sm_90 GPU"]
fn three_hundred_nodes_take_less_than_a_minute() {
    let gpu = gpu();
    let sample = SampleGraph::chain(&gpu, &[Consumer::Syncs; 300], WORDS).unwrap();
    let mut subject = attach(&gpu, &sample, &Code::default());
    let report = attribute(&mut subject, &Options::default());
    println!("{}", pdl_lab::attach::report_table(&report));
    assert!(report.elapsed_s < 60.0, "{}", report.elapsed_s);
}

#[test]
#[ignore = "needs an sm_90 GPU"]
fn a_run_directory_says_what_the_attribution_said() {
    use pdl_lab::cmd::{rebuild, save_attributed};
    use pdl_lab::record::Verdict;

    let gpu = gpu();
    let sample = SampleGraph::chain(&gpu, &[Consumer::Syncs; 6], WORDS).unwrap();
    let mut subject = attach(&gpu, &sample, &Code::default());
    let (said, attributed) = subject.attribute_recorded(&quick(), &mut |_| true).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    save_attributed(&attributed, &path).unwrap();
    let text = std::fs::read_to_string(path.join("report.json")).unwrap();
    let again: Report = serde_json::from_str(&text).unwrap();
    assert_eq!(again, said);
    // Of the same samples, the row of every edge flipped and the report's effect agree.
    let (summary, run) = rebuild(&path).unwrap();
    let attached = run.manifest.attached.as_ref().unwrap();
    let (point, _) = attached.flips.iter().find(|(_, flips)| flips.len() == 5).unwrap();
    let row = summary.rows.iter().find(|row| row.point == *point).unwrap();
    println!("{:?} ns a hop, {:?}", row.saved_ns, said.all.as_ref().map(|all| all.saved_ns));
    assert_ne!(row.verdict, Some(Verdict::Wrong));
    assert!(row.correct == Some(true) && row.saved_ns.unwrap() > 0.0);
    let sentinels = summary.rows.iter().filter(|row| row.arm == pdl_lab::chain::Arm::Sentinel);
    assert!(
        sentinels.clone().count() > 0 && sentinels.clone().all(|row| row.period_ns > Some(0.0))
    );
}
