//! Races of marked kernels on a device whose sites are places in a simulated body.

use super::*;
use crate::chain::{Body, BodyKind, Sites, Trigger};
use crate::device::{Facts, Health, Prepared};
use crate::measure::Stopping;
use crate::record::{KernelNode, KernelRun, KernelVariant, PlanPoint, read_run};
use crate::sim::SimDevice;

/// Site n triggers before segment n of 8, and 0 at entry.
struct Marked(SimDevice);

fn site(site: u32) -> Trigger {
    Trigger::of_sites(Sites { triggers: 1 << site, syncs: Sites::EVERY })
}

impl Device for Marked {
    fn facts(&self) -> &Facts {
        self.0.facts()
    }

    fn now(&self) -> std::time::Duration {
        self.0.now()
    }

    fn health(&self) -> Health {
        self.0.health()
    }

    fn prepare<'a>(&'a self, chain: &Chain, arm: Arm) -> Result<Box<dyn Prepared + 'a>> {
        let trigger = match chain.trigger {
            Trigger::Site(Sites { triggers: 1, .. }) => Trigger::AtEntry,
            Trigger::Site(sites) => Trigger::Segment { at: sites.triggers.ilog2(), of: 8 },
            other => other,
        };
        let body = Body { units: 500, ..Chain::default().body };
        let mut simulated = Chain { body, trigger, nodes: chain.nodes, ..Chain::default() };
        simulated.preamble.units = 250;
        self.0.prepare(&simulated, arm)
    }
}

fn own() -> KernelRun {
    let node = |kernel: &str| KernelNode {
        kernel: kernel.into(),
        grid: [132, 1, 1],
        block: [128, 1, 1],
        shared_bytes: 0,
        cluster: [1, 1, 1],
    };
    KernelRun {
        name: "decode".into(),
        policy: None,
        variants: vec![KernelVariant {
            axes: [("M".to_owned(), 4)].into(),
            nodes: vec![node("norm"), node("gemv")],
            repeat: 10,
        }],
        compiler: String::new(),
        unsafe_no_sync: false,
        sha256: String::new(),
    }
}

fn plan(stopping: Stopping) -> Plan {
    let body = Body { kind: BodyKind::Kernel, units: 0, ..Chain::default().body };
    let chain = Chain { body, nodes: 20, ..Chain::default() };
    let point = |at: usize, trigger: Option<Trigger>, arms: &[Arm]| PlanPoint {
        point: format!("p{at:03}"),
        group: 0,
        trigger,
        arms: arms.to_vec(),
        chain: trigger.map_or(chain, |trigger| chain.with_trigger(trigger)),
    };
    let fixed = [Arm::Stream, Arm::StreamAa, Arm::Graph, Arm::GraphAa, Arm::Sentinel];
    let swept = [Arm::StreamFull, Arm::StreamPdl, Arm::GraphFull, Arm::GraphPdl];
    let triggers = std::iter::once(Trigger::Implicit).chain((0..8).map(site)).enumerate();
    let mut points = vec![point(0, None, &fixed)];
    points.extend(triggers.map(|(at, trigger)| point(at + 1, Some(trigger), &swept)));
    Plan { points, seed: 1, stopping }
}

/// The lowest median of the chain over 40 samples of every candidate, ns a node.
fn best_ns(device: &Marked, plan: &Plan) -> f64 {
    let mut best = f64::INFINITY;
    for point in &plan.points {
        for &arm in point.arms.iter().filter(|&&arm| arm != Arm::Sentinel) {
            let mut prepared = device.prepare(&point.chain, arm).unwrap();
            let mut samples: Vec<f64> =
                (0..40).map(|_| prepared.sample().unwrap().duration_ns / 20.0).collect();
            samples.sort_by(f64::total_cmp);
            best = best.min(samples[20]);
        }
    }
    best
}

#[test]
fn sites_race_as_triggers_do() {
    let device = Marked(SimDevice::h200(3));
    let mut plan = plan(Stopping::race(false));
    without_controls(&mut plan, &[]);
    assert!(plan.points.iter().all(|point| !point.arms.contains(&Arm::GraphFull)));
    let dir = tempfile::tempdir().unwrap();
    let mut run = RunDir::create(Some(&dir.path().join("run")), TUNE, Timestamp::now()).unwrap();
    let mut manifest = manifest(TUNE, &device, &plan);
    manifest.kernel = Some(own());
    run.write_manifest(&manifest).unwrap();
    let (path, raced) = race_into(run, &device, &plan, &|_, _| None).unwrap();
    let findings = Findings::new(&device, &plan, &raced, Some(&own()));
    let race = &findings.races[0];
    let winner = race.winner.as_ref().unwrap();
    let best = best_ns(&Marked(SimDevice::h200(4)), &plan);
    assert!(winner.period_ns.unwrap() < best * 1.005, "{winner:?} against {best}");
    assert!(race.settled && winner.saved_ns > Some(0.0));
    assert!(race.samples * 4 <= race.sweep_samples, "{} of {}", race.samples, race.sweep_samples);
    assert_eq!(read_run(&path).unwrap().samples.len(), race.samples);

    let text = render(&findings, FindingsFormat::Table).unwrap();
    for said in
        ["decode: M = 4; norm 132 × 128 → gemv 132 × 128, 10 times", "with the trigger site-"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(text.contains("half of it would take about"), "{text}");
}

#[test]
fn edges_that_are_not_worth_it_are_said() {
    let device = Marked(SimDevice::h200(3));
    let plan = plan(Stopping { rounds_max: 6, ..Stopping::race(false) });
    let mut sink = Nowhere;
    let found = race_group(&device, &plan, &plan.points, &|_, _| None, &mut sink).unwrap();
    let mut findings = Findings::new(&device, &plan, &[found], Some(&own()));
    let lane = |secondary: &str, saved_ns: f64, chosen| EdgeLane {
        primary: "x".into(),
        secondary: secondary.into(),
        edges: 10,
        saved_ns: Some(saved_ns),
        saved_interval_ns: None,
        verdict: if chosen { crate::record::Verdict::Helps } else { crate::record::Verdict::Hurts },
        chosen,
    };
    let render = |findings: &Findings| render(findings, FindingsFormat::Table).unwrap();
    assert!(!render(&findings).contains("kind of edge"));
    findings.races[0].edges = vec![lane("gemv", 400.0, true), lane("norm", -300.0, false)];
    let text = render(&findings);
    assert!(text.contains("Not every kind of edge") && text.contains("x → norm"), "{text}");
    findings.races[0].edges = vec![lane("gemv", 400.0, true), lane("norm", 300.0, true)];
    assert!(render(&findings).contains("Every kind of edge is worth"));
}

/// Keeps nothing.
struct Nowhere;

impl crate::measure::Sink for Nowhere {
    fn point(&mut self, _: crate::record::PointRecord) -> Result<()> {
        Ok(())
    }

    fn sample(&mut self, _: crate::record::SampleRow) -> Result<()> {
        Ok(())
    }

    fn progress(&mut self, _: &str, _: f64) {}
}
