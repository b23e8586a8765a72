//! The attribution on simulated graphs whose truth is known.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::record::{SampleRow, Verdict};

/// A graph whose launches take a base time less what each flipped edge saves, with noise.
struct Simulated {
    base_ns: f64,
    /// What flipping an edge saves, ns.
    saves_ns: BTreeMap<u32, f64>,
    /// What two edges flipped together save beyond that.
    together_ns: BTreeMap<(u32, u32), f64>,
    /// Edges whose flip makes outputs wrong.
    wrong: BTreeSet<u32>,
    noise_ns: f64,
    random: ChaCha8Rng,
    elapsed_s: f64,
    sample_s: f64,
    /// Stops at this step.
    stop_at: Option<&'static str>,
}

impl Simulated {
    fn new(saves_ns: &[(u32, f64)]) -> Simulated {
        Simulated {
            base_ns: 300_000.0,
            saves_ns: saves_ns.iter().copied().collect(),
            together_ns: BTreeMap::new(),
            wrong: BTreeSet::new(),
            noise_ns: 60.0,
            random: ChaCha8Rng::seed_from_u64(7),
            elapsed_s: 0.0,
            sample_s: 1e-3,
            stop_at: None,
        }
    }

    fn duration_ns(&mut self, flips: &Flips) -> f64 {
        let own: f64 = flips.edges().iter().filter_map(|edge| self.saves_ns.get(edge)).sum();
        let pairs = self
            .together_ns
            .iter()
            .filter(|((a, b), _)| flips.edges().contains(a) && flips.edges().contains(b));
        let together: f64 = pairs.map(|(_, ns)| ns).sum();
        let noise: f64 = (0..4).map(|_| self.random.random_range(-0.5..0.5)).sum::<f64>();
        self.base_ns - own - together + noise * self.noise_ns
    }

    fn is_wrong(&self, flips: &Flips) -> bool {
        flips.edges().intersection(&self.wrong).next().is_some()
    }
}

fn sample(variant: Option<u32>, round: u32, order: u32, duration_ns: f64) -> RawSample {
    let duration_ns = SampleRow::stored_ns(duration_ns);
    RawSample { variant, round, order, duration_ns, sm_mhz: Some(1980), flags: Vec::new() }
}

impl Trials for Simulated {
    fn rounds(&mut self, variants: &[Flips], rounds: u32, _: u64) -> Result<Rounds> {
        let mut found = Rounds::new(variants.len());
        for round in 0..rounds {
            found.push(sample(None, round, 0, 20_000.0));
            for (at, variant) in (0..).zip(variants) {
                found.push(sample(Some(at), round, at + 1, self.duration_ns(variant)));
            }
        }
        for (place, variant) in variants.iter().enumerate() {
            found.wrong_bytes[place] = if self.is_wrong(variant) { 64 } else { 0 };
        }
        self.elapsed_s += self.sample_s * f64::from(rounds + 1) * variants.len() as f64;
        Ok(found)
    }

    fn wrong_bytes(&mut self, variant: &Flips) -> Result<u64> {
        Ok(if self.is_wrong(variant) { 64 } else { 0 })
    }

    fn tell(&mut self, progress: &Progress) -> Result<()> {
        match self.stop_at {
            Some(step) if progress.step.contains(step) => {
                Err(Error::new(Kind::Interrupted, "attribute", "interrupted"))
            }
            _ => Ok(()),
        }
    }

    fn elapsed_s(&self) -> f64 {
        self.elapsed_s
    }
}

fn kernel(name: &str, code: SyncEvidence) -> Option<KernelNode> {
    Some(KernelNode {
        name: name.into(),
        grid: [132, 1, 1],
        block: [128, 1, 1],
        shared_bytes: 0,
        cluster_blocks: 1,
        registers: Some(32),
        blocks_per_sm: Some(8),
        binary_version: Some(90),
        code,
    })
}

fn synced() -> SyncEvidence {
    SyncEvidence::Found { syncs: 1, triggers: 1, source: "a test".into() }
}

/// A chain of kernels; names repeat as given.
fn chain(names: &[&str], code: impl Fn(&str) -> SyncEvidence) -> Listing {
    let nodes = names.iter().enumerate().map(|(index, name)| Node {
        index: index as u32,
        kind: if *name == "memset" { NodeKind::Memset } else { NodeKind::Kernel },
        kernel: if *name == "memset" { None } else { kernel(name, code(name)) },
    });
    let edges: Vec<RawEdge> = (1..names.len() as u32)
        .map(|to| RawEdge { from: to - 1, to, edge_type: 0, from_port: 0, to_port: 0 })
        .collect();
    Listing::new(nodes.collect(), &edges)
}

fn layers(count: usize) -> Listing {
    let names: Vec<&str> = ["norm", "gemv", "act"].into_iter().cycle().take(3 * count).collect();
    chain(&names, |_| synced())
}

fn run(listing: &Listing, simulated: &mut Simulated) -> Report {
    run_with(listing, simulated, &BTreeMap::new(), &Options::default())
}

/// The attribution of three layers whose edges save what is given, and what it was made from.
pub(crate) fn attributed(seed: u64, rounds: u32, saves_ns: &[(u32, f64)]) -> (Report, Attributed) {
    let mut simulated = Simulated::new(saves_ns);
    simulated.random = ChaCha8Rng::seed_from_u64(seed);
    let origin = Origin { device: "a simulated graph".into(), ..Origin::default() };
    let recording = Recording::new(&mut simulated);
    let options = Options { rounds, ..Options::default() };
    let made = recording.attribute(&layers(3), &BTreeMap::new(), &options, &origin);
    let (report, recorded) = made.unwrap();
    let device = crate::sim::SimDevice::quick(1);
    let (facts, health) = (device.facts().clone(), device.health());
    (report, Attributed { facts, health, recorded })
}

fn run_with(
    listing: &Listing,
    simulated: &mut Simulated,
    races: &BTreeMap<u32, Race>,
    options: &Options,
) -> Report {
    attribute(listing, races, options, &Origin::default(), simulated).unwrap()
}

fn race(edge: u32, verdict: RaceVerdict) -> Race {
    Race {
        edge,
        verdict,
        residence: Residence::AllBlocks,
        repetitions: 3,
        primary_bytes: 4096,
        secondary_bytes: 4096,
        wrong_bytes: u64::from(verdict == RaceVerdict::ReadsEarly),
        early_bytes: 0,
        region: String::new(),
        reason: "a test".into(),
    }
}

/// Edges of the kind whose secondary is `name`.
fn edges_to(listing: &Listing, name: &str) -> Vec<u32> {
    let kind = listing.kinds.iter().find(|kind| kind.secondary == name).unwrap();
    kind.edges.clone()
}

#[test]
fn edges_of_a_repeated_layer_fall_into_kinds() {
    let listing = layers(10);
    let found: Vec<_> = listing.kinds.iter().map(|kind| kind.edges.len()).collect();
    assert_eq!(found, [10, 10, 9]);
    assert!(listing.edges.iter().all(|edge| edge.standing == Standing::Eligible));
}

#[test]
fn what_may_be_flipped_follows_from_nodes_edges_and_code() {
    let unknown = || SyncEvidence::Unknown { reason: "compressed".into() };
    let absent = || SyncEvidence::Absent { triggers: 0, source: "a test".into() };
    let listing = chain(&["a", "b", "memset", "c", "d", "e"], |name| match name {
        "b" => absent(),
        "d" => unknown(),
        _ => synced(),
    });
    let standings: Vec<_> = listing.edges.iter().map(|edge| edge.standing.name()).collect();
    assert_eq!(standings, ["refused", "left-alone", "left-alone", "unknown", "eligible"]);
    // (type, port of the edge, dependency): what is programmatic already is left alone.
    for (edge_type, from_port, expected) in [
        (1, 1, crate::chain::Dependency::Programmatic),
        (1, 2, crate::chain::Dependency::LaunchCompletion),
    ] {
        let nodes = chain(&["a", "b"], |_| synced()).nodes;
        let raw = RawEdge { from: 0, to: 1, edge_type, from_port, to_port: 0 };
        let edge = Listing::new(nodes, &[raw]).edges.remove(0);
        assert_eq!((edge.dependency, edge.standing.name()), (expected, "left-alone"));
    }
}

#[test]
fn every_kind_gets_what_it_saves() {
    let listing = layers(30);
    let (gemv, act) = (edges_to(&listing, "gemv"), edges_to(&listing, "act"));
    let norm = edges_to(&listing, "norm");
    let mut saves: Vec<(u32, f64)> = gemv.iter().map(|&edge| (edge, 500.0)).collect();
    saves.extend(act.iter().map(|&edge| (edge, -300.0)));
    saves.extend(norm.iter().map(|&edge| (edge, 0.0)));
    let report = run(&listing, &mut Simulated::new(&saves));
    for (name, truth, verdict, advice) in [
        ("gemv", 500.0, Verdict::Helps, EdgeAdvice::Flip),
        ("act", -300.0, Verdict::Hurts, EdgeAdvice::Keep),
        ("norm", 0.0, Verdict::Equivalent, EdgeAdvice::Keep),
    ] {
        let edges = edges_to(&listing, name);
        let row = report.kinds.iter().find(|row| row.edges == edges).unwrap();
        for effect in [&row.alone, &row.in_all, &row.in_chosen] {
            let effect = effect.as_ref().unwrap();
            assert_eq!(effect.verdict, verdict, "{name}: {effect:?}");
            assert!((effect.saved_ns.unwrap() - truth).abs() < 5.0, "{name}: {effect:?}");
        }
        assert!(edges.iter().all(|&edge| report.edges[edge as usize].advice == advice), "{name}");
    }
    assert_eq!(report.chosen_edges, gemv);
    let chosen = report.chosen.as_ref().unwrap();
    assert!((chosen.saved_ns.unwrap() - 500.0).abs() < 5.0, "{chosen:?}");
    assert_eq!(report.stopped, "done");
}

#[test]
fn an_edge_that_differs_from_its_kind_is_found() {
    let listing = layers(12);
    let gemv = edges_to(&listing, "gemv");
    let odd = gemv[3];
    let saves: Vec<(u32, f64)> =
        gemv.iter().map(|&edge| (edge, if edge == odd { -900.0 } else { 700.0 })).collect();
    let report = run(&listing, &mut Simulated::new(&saves));
    let mut expected = gemv.clone();
    expected.retain(|&edge| edge != odd);
    assert_eq!(report.chosen_edges, expected);
    let row = &report.edges[odd as usize];
    assert_eq!(row.advice, EdgeAdvice::Keep);
    assert!((row.in_chosen.as_ref().unwrap().saved_ns.unwrap() + 900.0).abs() < 60.0, "{row:?}");
}

#[test]
fn edges_that_only_hurt_together_are_not_taken_together() {
    let listing = chain(&["a", "b", "c"], |_| synced());
    let mut simulated = Simulated::new(&[(0, 400.0), (1, 700.0)]);
    simulated.together_ns.insert((0, 1), -900.0);
    let report = run(&listing, &mut simulated);
    assert_eq!(report.chosen_edges, [1]);
}

#[test]
fn nothing_is_recommended_where_nothing_is_gained() {
    let listing = layers(8);
    let report = run(&listing, &mut Simulated::new(&[]));
    assert!(report.chosen_edges.is_empty());
    assert!(report.edges.iter().all(|row| row.advice == EdgeAdvice::Keep));
    assert!(report_table(&report).contains("make no edge programmatic"));
}

#[test]
fn a_wrong_result_has_no_speed() {
    let listing = layers(8);
    let (gemv, act) = (edges_to(&listing, "gemv"), edges_to(&listing, "act"));
    let saves: Vec<(u32, f64)> = gemv.iter().chain(&act).map(|&edge| (edge, 800.0)).collect();
    let mut simulated = Simulated::new(&saves);
    simulated.wrong.insert(act[2]);
    let report = run(&listing, &mut simulated);
    assert_eq!(report.chosen_edges, gemv);
    assert!(act.iter().all(|&edge| report.edges[edge as usize].advice == EdgeAdvice::Refused));
    assert!(report.kinds.iter().all(|row| row.edges != act));
}

#[test]
fn races_decide_before_times_do() {
    let unknown = || SyncEvidence::Unknown { reason: "compressed".into() };
    let listing = chain(&["a", "b", "c", "d", "e"], |name| match name {
        "b" | "c" => unknown(),
        _ => synced(),
    });
    let races: BTreeMap<u32, Race> = [
        (0, race(0, RaceVerdict::Clean)),
        (1, race(1, RaceVerdict::NotTested)),
        (2, race(2, RaceVerdict::ReadsEarly)),
    ]
    .into();
    let saves: Vec<(u32, f64)> = (0..4).map(|edge| (edge, 800.0)).collect();
    let report = run_with(&listing, &mut Simulated::new(&saves), &races, &Options::default());
    let advice: Vec<_> = report.edges.iter().map(|row| row.advice).collect();
    use EdgeAdvice::{Flip, Refused, Unknown};
    assert_eq!(advice, [Flip, Unknown, Refused, Flip]);
    let unsafe_options = Options { unsafe_no_sync: true, ..Options::default() };
    let report = run_with(&listing, &mut Simulated::new(&saves), &races, &unsafe_options);
    assert_eq!(report.chosen_edges, [0, 1, 2, 3]);
    assert!(report_table(&report).contains("UNSAFE"));
}

#[test]
fn the_budget_is_kept_and_said() {
    let listing = layers(100);
    let gemv = edges_to(&listing, "gemv");
    let saves: Vec<(u32, f64)> = gemv.iter().map(|&edge| (edge, 500.0)).collect();
    let mut simulated = Simulated::new(&saves);
    simulated.sample_s = 4e-3;
    let options = Options { budget_s: 20.0, ..Options::default() };
    let report = run_with(&listing, &mut simulated, &BTreeMap::new(), &options);
    assert!(simulated.elapsed_s <= options.budget_s, "{}", simulated.elapsed_s);
    assert_eq!(report.stopped, "budget");
    assert_eq!(report.chosen_edges, gemv);
    assert!(report.chosen.is_some());
}

#[test]
fn an_interruption_ends_it() {
    let mut simulated = Simulated::new(&[]);
    simulated.stop_at = Some("turn kinds");
    let found = attribute(
        &layers(4),
        &BTreeMap::new(),
        &Options::default(),
        &Origin::default(),
        &mut simulated,
    );
    assert_eq!(found.unwrap_err().kind(), Kind::Interrupted);
}

#[test]
fn a_report_is_read_back_as_it_was_written() {
    let listing = chain(&["a", "memset", "b", "c"], |_| synced());
    let races = [(2, race(2, RaceVerdict::Clean))].into();
    let report =
        run_with(&listing, &mut Simulated::new(&[(2, 900.0)]), &races, &Options::default());
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}

#[test]
fn a_page_escapes_names_and_says_what_the_table_says() {
    let listing = chain(&["a", "<b>", "c"], |_| synced());
    let report = run(&listing, &mut Simulated::new(&[(1, 900.0)]));
    let page = report_page(&report).unwrap();
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
    assert!(page.contains("make 1 edges programmatic"), "{page}");
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn a_listing_says_why_edges_are_left_alone() {
    let listing = chain(&["a", "memset", "b", "c"], |_| synced());
    let table = listing_table(&listing);
    for said in [
        "4 nodes (3 kernel, 1 memset), 3 edges",
        "left alone, edge 0: its secondary is a memset node",
        "eligible",
    ] {
        assert!(table.contains(said), "{said}\n{table}");
    }
}

#[test]
fn a_patch_names_the_launches_of_the_chosen_edges() {
    let listing = layers(6);
    let gemv = edges_to(&listing, "gemv");
    let saves: Vec<(u32, f64)> = gemv.iter().map(|&edge| (edge, 700.0)).collect();
    let text = patch(&run(&listing, &mut Simulated::new(&saves)));
    assert!(text.contains("// gemv: every launch of it after norm"), "{text}");
    assert!(!text.contains("// act:"), "{text}");
    let nothing = patch(&run(&listing, &mut Simulated::new(&[])));
    assert_eq!(nothing, "// no edge is worth changing\n");
}

/// The report that the tests of the Python package read: `BLESS=1` writes it.
#[test]
fn the_fixture_of_the_python_package_is_a_report_of_today() {
    const PATH: &str = "python/tests/report.json";
    let listing = layers(3);
    let gemv = edges_to(&listing, "gemv");
    let saves: Vec<(u32, f64)> = gemv.iter().map(|&edge| (edge, 700.0)).collect();
    let origin = Origin {
        version: "fixture".into(),
        device: "a SIMULATED graph".into(),
        ..Origin::default()
    };
    let options = Options { rounds: 12, ..Options::default() };
    let mut simulated = Simulated::new(&saves);
    let report = attribute(&listing, &BTreeMap::new(), &options, &origin, &mut simulated).unwrap();
    let text = serde_json::to_string_pretty(&report).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(PATH, text).unwrap();
    }
    let kept: Report = serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
    assert!(kept == report, "{PATH} is of another time; BLESS=1 writes it again");
}

#[test]
fn the_trials_of_the_python_package_are_those_of_today() {
    const PATH: &str = "python/tests/trials.json";
    let mut trials = attributed(11, 20, &[(1, 500.0), (4, 500.0), (7, 500.0)]).1;
    // Where it was made is not what is tested.
    trials.facts.simulation = None;
    let text = serde_json::to_string(&trials).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(PATH, text).unwrap();
    }
    let kept: Attributed = serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
    assert!(kept == trials, "{PATH} is of another time; BLESS=1 writes it again");
}
