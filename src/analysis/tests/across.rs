//! What is said of several rows: answers, groups, warnings.

use super::*;
use crate::chain::{Mode, Target};
use crate::device::Backend;

/// Appends another run of the same plan, as another group, with its chains changed.
fn append(to: &mut Fixture, mut other: Fixture, group: u32, change: impl Fn(&mut PointRecord)) {
    let name = |point: &str| format!("g{group}-{point}");
    for point in &mut other.manifest.plan.points {
        (point.point, point.group) = (name(&point.point), group);
        let mut record = fixture::record("", Arm::Graph, None);
        record.chain = point.chain;
        change(&mut record);
        point.chain = record.chain;
    }
    for record in &mut other.points {
        (record.point, record.group) = (name(&record.point), group);
        change(record);
    }
    other.samples.iter_mut().for_each(|sample| sample.point = name(&sample.point).into());
    to.manifest.plan.points.extend(other.manifest.plan.points);
    to.points.extend(other.points);
    to.samples.extend(other.samples);
}

#[test]
fn the_answer_recommends_the_latest_trigger_of_the_plateau() {
    let summary = of(&fixture());
    let [answer] = summary.answers.as_slice() else { panic!("one group, one submission") };
    assert_eq!(answer.verdict, Verdict::Helps);
    let plateau = answer.plateau.as_ref().unwrap();
    assert_eq!(plateau.triggers, [Trigger::AtEntry, at(0), at(4)]);
    assert_eq!(plateau.recommended.trigger, at(4));
    near(plateau.recommended.dependency_saved_ns, 1200.0, 5.0);
    near(Some(plateau.given_up_ns), 0.0, 10.0);
    assert!(
        answer.sentence.starts_with("In a graph, the trigger at 4/8 saves "),
        "{}",
        answer.sentence
    );
    assert!(answer.obligation.contains("before the sync"));
}

#[test]
fn a_trigger_slower_by_less_than_the_margin_is_as_good() {
    // 8/8 is 20 ns worse than 4/8, beyond doubt; the margin is 0.5 % of 6 µs, then 0.1 %.
    let close = |arm: Arm, trigger: Option<Trigger>| match (arm, trigger) {
        (Arm::GraphPdl, Some(trigger)) if trigger == at(4) => 1000.0,
        (Arm::GraphPdl, _) => 980.0,
        _ => 0.0,
    };
    for (ratio, expected) in [(0.005, at(8)), (0.001, at(4))] {
        let mut run = Fixture::new(&[at(4), at(8)], 40, 100.0, &close);
        (run.manifest.plan.margin_us, run.manifest.plan.margin_ratio) = (0.001, ratio);
        let summary = of(&run);
        let plateau = summary.answers[0].plateau.as_ref().unwrap();
        assert_eq!(plateau.best.trigger, at(4));
        assert_eq!(plateau.recommended.trigger, expected, "{ratio}");
        near(Some(plateau.given_up_ns), if expected == at(8) { 20.0 } else { 0.0 }, 2.0);
    }
}

#[test]
fn warnings_name_what_was_seen() {
    let codes = |fixture: &Fixture| -> Vec<String> {
        of(fixture).warnings.into_iter().map(|warning| warning.code).collect()
    };
    let quiet = || Fixture::new(&triggers(), 40, 100.0, &truth);
    assert_eq!(codes(&quiet()), Vec::<String>::new());
    let with = |change: &dyn Fn(&mut Fixture)| {
        let mut fixture = quiet();
        change(&mut fixture);
        codes(&fixture)
    };
    type Change<'c> = &'c dyn Fn(&mut Fixture);
    let cases: [(&str, Change); 19] = [
        ("gate-timeout", &|f| f.flag(Flag::GateTimeout, |s| s.round == 3)),
        ("watchdog", &|f| f.flag(Flag::Watchdog, |s| s.round == 3)),
        ("no-gate", &|f| f.flag(Flag::NoGate, |_| true)),
        ("split", &|f| f.flag(Flag::Split, |s| s.arm == Arm::Graph)),
        ("throttled", &|f| f.flag(Flag::Throttled, |s| s.round == 3)),
        ("co-tenant", &|f| f.flag(Flag::CoTenant, |s| s.round == 3)),
        ("drift", &|f| f.flag(Flag::Drift, |s| s.round == 3)),
        ("resumed", &|f| f.flag(Flag::Resumed, |s| s.round > 20)),
        ("health-unknown", &|f| f.manifest.health.sm_mhz = None),
        ("co-tenant", &|f| f.manifest.health.other_processes = Some(2)),
        ("clock-range", &|f| f.samples[5].sm_mhz = Some(1950)),
        ("clocks-not-locked", &|f| f.manifest.facts.clocks_locked = Some(false)),
        ("sentinel-drift", &|f| {
            for sample in f.samples.iter_mut().filter(|s| s.arm == Arm::Sentinel && s.round > 25) {
                sample.duration_ns *= 1.05;
            }
        }),
        ("false-positives", &|f| {
            // 8 ns a hop: far outside the rounds' noise, and less than anybody cares for.
            for sample in f.samples.iter_mut().filter(|s| s.arm == Arm::GraphAa) {
                sample.duration_ns += 8.0 * f64::from(NODES - 1);
            }
        }),
        ("code-differs", &|f| {
            // Both are faster, and the edge between them saves what it did.
            let own = |s: &&mut SampleRow| matches!(s.arm, Arm::GraphFull | Arm::GraphPdl);
            for sample in f.samples.iter_mut().filter(own) {
                sample.duration_ns -= 2000.0 * f64::from(NODES - 1);
            }
        }),
        ("no-floor", &|f| f.samples.retain(|s| s.arm != Arm::GraphAa)),
        ("floor-above-margin", &|f| f.manifest.plan.margin_us = 0.0),
        ("malformed-samples", &|f| f.samples[0].duration_ns = f64::NAN),
        ("unplanned", &|f| f.samples[0].point = "p999".into()),
    ];
    for (code, change) in cases {
        assert_eq!(with(change), [code]);
    }
    // A simulated clock is not there to be locked.
    let simulated = with(&|f| {
        f.manifest.facts.backend = Backend::Sim;
        f.manifest.facts.clocks_locked = Some(false);
    });
    assert!(simulated.iter().all(|code| code != "clocks-not-locked"), "{simulated:?}");
}

#[test]
fn an_arm_at_another_clock_than_its_baseline_is_told_and_marked() {
    // The subject at 4/8 ran 2 % slower in every round, its control in every tenth.
    let mut offset = Fixture::new(&triggers(), 40, 100.0, &truth);
    for sample in &mut offset.samples {
        let subject = sample.arm == Arm::GraphPdl && sample.point.as_ref() == "p002";
        let now_and_then = sample.arm == Arm::GraphFull && sample.round % 10 == 0;
        if subject || now_and_then {
            sample.sm_mhz = Some(1940);
        }
    }
    let summary = of(&offset);
    let warning = summary.warnings.iter().find(|w| w.code == "clock-offset").unwrap();
    assert!(warning.cause.starts_with("p002 graph-pdl "), "{}", warning.cause);
    assert!(warning.cause.contains("-2.0 %"), "{}", warning.cause);
    let marked = summary.rows.iter().filter(|row| row.reason.contains("clock-offset"));
    let marked: Vec<_> = marked.map(|row| (row.point.as_str(), row.arm)).collect();
    assert_eq!(marked, [("p002", Arm::GraphPdl)]);
}

#[test]
fn flags_are_counted_with_what_they_do() {
    let mut run = Fixture::new(&triggers(), 40, 100.0, &truth);
    run.flag(Flag::GateTimeout, |s| s.round == 3 && s.arm == Arm::Graph && s.nodes == NODES);
    run.flag(Flag::Resumed, |s| s.round > 20);
    let summary = of(&run);
    assert_eq!(summary.flags.iter().map(|one| one.flag).collect::<Vec<_>>(), Flag::ALL);
    for one in &summary.flags {
        let (excludes, samples) = match one.flag {
            Flag::GateTimeout => (true, 1),
            Flag::Watchdog | Flag::Wrong => (true, 0),
            Flag::Resumed => (false, 19 * 13),
            _ => (false, 0),
        };
        assert_eq!((one.excludes, one.samples), (excludes, samples), "{:?}", one.flag);
    }
    // Rounds of both processes are in every row; the left-out sample is in its own alone.
    for row in &summary.rows {
        assert!(row.reason.contains("resumed"), "{} {}", row.point, row.arm);
        let left_out = row.reason.contains("samples-left-out");
        assert_eq!(left_out, row.arm == Arm::Graph, "{} {}", row.point, row.arm);
    }
}

#[test]
fn no_difference_and_harm_are_answers_too() {
    let flat = Fixture::new(&triggers(), 40, 100.0, &|_, _| 0.0);
    let summary = of(&flat);
    assert_eq!(summary.answers[0].verdict, Verdict::Equivalent);
    assert_eq!(summary.answers[0].plateau, None);
    assert!(summary.answers[0].sentence.contains("no trigger makes a difference"));
    let harm = Fixture::new(&triggers(), 40, 100.0, &|arm, _| match arm {
        Arm::GraphPdl => -700.0,
        _ => 0.0,
    });
    let summary = of(&harm);
    assert_eq!(summary.answers[0].verdict, Verdict::Hurts);
    assert_eq!(summary.answers[0].hurting.len(), 5);
    let few = Fixture::new(&triggers(), 4, 100.0, &truth);
    let summary = of(&few);
    assert_eq!(summary.answers[0].verdict, Verdict::Inconclusive);
    let subject = row(&summary, Arm::GraphPdl, Some(at(4)));
    assert_eq!((subject.reason.as_str(), subject.saved_lo_ns), ("few-rounds", None));
}

#[test]
fn longer_bodies_stop_paying_at_a_crossover() {
    let mut run = fixture();
    let flat = || Fixture::new(&triggers(), 40, 100.0, &|_, _| 0.0);
    for (group, body_ns) in [(1, 16_000.0), (2, 8000.0)] {
        let other = if group == 1 { flat() } else { fixture() };
        append(&mut run, other, group, |record| {
            record.chain.body.target = Target::Ns(body_ns);
            record.body_ns = Some(body_ns);
        });
    }
    let summary = of(&run);
    let [crossover] = summary.crossovers.as_slice() else { panic!("{:?}", summary.crossovers) };
    assert_eq!(crossover.axis, "body length");
    let groups: Vec<u32> = crossover.steps.iter().map(|step| step.group).collect();
    assert_eq!(groups, [0, 2, 1]);
    assert_eq!(crossover.pays_to, Some(8000.0));
    assert_eq!(crossover.stops_by, Some(16_000.0));
    assert_eq!(crossover.course, Course::UpTo);
    assert!(
        crossover.sentence.contains("it pays from 4 µs to 8 µs and no longer at 16 µs"),
        "{}",
        crossover.sentence
    );
}

#[test]
fn grids_have_crossovers_and_kinds_have_none() {
    let flat = || Fixture::new(&triggers(), 40, 100.0, &|_, _| 0.0);
    let mut run = fixture();
    append(&mut run, flat(), 1, |record| record.chain.shape.grid_blocks = 264);
    append(&mut run, flat(), 2, |record| record.chain.body.kind = crate::chain::BodyKind::Hbm);
    let summary = of(&run);
    let [crossover] = summary.crossovers.as_slice() else { panic!("{:?}", summary.crossovers) };
    assert_eq!((crossover.axis.as_str(), crossover.family.as_str()), ("blocks", "fma 4 µs"));
    assert_eq!((crossover.pays_to, crossover.stops_by), (Some(132.0), Some(264.0)));
}

#[test]
fn a_user_s_own_chain_has_crossovers_along_its_own_axes() {
    use crate::record::{KernelNode, KernelRun, KernelVariant};
    let flat = || Fixture::new(&triggers(), 40, 100.0, &|_, _| 0.0);
    let mut run = fixture();
    append(&mut run, flat(), 1, |record| record.chain.body.units = 1);
    let node = KernelNode {
        kernel: "gemv".into(),
        grid: [8, 1, 1],
        block: [128, 1, 1],
        shared_bytes: 0,
        cluster: [1, 1, 1],
    };
    let variant = |batch| KernelVariant {
        axes: [("HIDDEN".to_owned(), 4096), ("M".to_owned(), batch)].into(),
        nodes: vec![node.clone()],
        repeat: 51,
    };
    run.manifest.kernel = Some(KernelRun {
        name: "decode".into(),
        policy: None,
        variants: vec![variant(1), variant(64)],
        compiler: String::new(),
        unsafe_no_sync: true,
        sha256: String::new(),
    });
    let summary = of(&run);
    let [crossover] = summary.crossovers.as_slice() else { panic!("{:?}", summary.crossovers) };
    assert_eq!((crossover.axis.as_str(), crossover.course), ("M", Course::UpTo));
    assert!(
        crossover.sentence.starts_with(
            "Along M (M = 1 to M = 64), in a graph: it pays at M = 1 and no longer at M = 64"
        ),
        "{}",
        crossover.sentence
    );
    let names: Vec<String> = group_names(&run.manifest).into_values().collect();
    assert_eq!(names, ["HIDDEN = 4096, M = 1", "HIDDEN = 4096, M = 64"]);
    let paste = &summary.paste;
    assert!(
        paste.contains(", decode, UNSAFE: kernels without a sync: HIDDEN = 4096, M = 1: graph")
    );
    assert!(!paste.contains("body") && !paste.contains("preamble"), "{paste}");
}

#[test]
fn pipelining_that_flatters_the_subject_has_an_index_below_one() {
    let mut run = fixture();
    let flattered = Fixture::new(&triggers(), 40, 500.0, &|arm, trigger| match arm {
        Arm::GraphPdl => truth(arm, trigger) + 600.0,
        _ => truth(arm, trigger),
    });
    append(&mut run, flattered, 1, |record| record.chain.mode = Mode::Pipelined);
    // A drift that adds the same to all arms leaves differences alone, but not ratios.
    for sample in &mut run.samples {
        sample.duration_ns -= 10.0 * 500.0 * (f64::from(sample.round) / 3.0).sin();
    }
    let summary = of(&run);
    let index = |arm| {
        let mut found = summary.contamination.iter().filter(|one| one.arm == arm);
        let one = found.find(|one| one.trigger == Some(at(0))).unwrap();
        assert_eq!((one.isolated.as_str(), one.pipelined.as_str()), ("p002", "g1-p002"));
        let interval = one.interval.unwrap_or_else(|| panic!("{one:?}"));
        assert!(interval.lo < one.index && one.index < interval.hi);
        one.index
    };
    near(Some(index(Arm::GraphFull)), 1.0, 0.002);
    // The rows that could mislead carry it, and the answer says what it means.
    let marked = |row: &SummaryRow| row.contamination.is_some();
    assert!(summary.rows.iter().filter(|row| row.mode == Mode::Isolated).all(|row| !marked(row)));
    let pipelined = summary.row("g1-p002", Arm::GraphPdl).unwrap();
    assert_eq!(pipelined.contamination, Some(index(Arm::GraphPdl)));
    assert_eq!(summary.row("g1-p000", Arm::Graph).unwrap().contamination, None);
    let [isolated, answer] = summary.answers.as_slice() else { panic!("two groups") };
    assert!(!isolated.sentence.contains("contamination"));
    assert!(answer.headline.starts_with("Pipelined, in a graph, "), "{}", answer.headline);
    assert!(answer.headline.contains("at 4/8 seems to save 1.7"), "{}", answer.headline);
    let told = answer.details.last().unwrap();
    assert!(told.starts_with("Isolated it saves +1.1") && told.contains("flatters it"), "{told}");
    assert!(summary.paste.contains("saves 1.1") && !summary.paste.contains("1.77"));
    assert_eq!(summary.bests.iter().map(|best| best.group).collect::<Vec<_>>(), [0]);
    let share = f64::from(NODES - 1) / f64::from(NODES);
    let periods = (BASELINE_NS - share * 1770.0) / (BASELINE_NS - share * 1170.0);
    near(Some(index(Arm::GraphPdl)), periods, 0.002);
}

#[test]
fn a_simulated_answer_says_so() {
    let mut simulated = fixture();
    simulated.manifest.facts.backend = Backend::Sim;
    assert!(of(&simulated).answers[0].sentence.starts_with("SIMULATED: "));
}
