//! A chain that is ready to run on the simulated device.

use std::rc::Rc;

use super::execute::Values;
use super::load::Load;
use super::model::{self, Node};
use super::stamping::Stamping;
use super::{SimDevice, instruments, profile};
use crate::chain::{Arm, Chain, Dependency, L2, Mode, Submission};
use crate::device::{Clocks, EdgeCount, Flag, Prepared, Proof, Reading, Sample, Verification};
use crate::error::Result;
use crate::stamps::Stamps;

/// One chain in one arm.
pub struct Simulated<'a> {
    device: &'a SimDevice,
    chain: Chain,
    arm: Arm,
    load: Load,
    proof: Proof,
    /// What the closed form says of one chain, ns.
    duration_ns: f64,
    values: Option<Rc<Values>>,
    sampled: bool,
}

impl<'a> Simulated<'a> {
    /// Prepares `chain`, which is valid and fits, with `load`.
    pub fn new(device: &'a SimDevice, chain: Chain, arm: Arm, load: Load) -> Simulated<'a> {
        Simulated {
            device,
            chain,
            arm,
            load,
            proof: proof(&chain, arm, &load),
            duration_ns: duration_ns(&chain, arm, &load),
            values: None,
            sampled: false,
        }
    }

    /// Values compared with the oracle's; the sentinel writes none.
    fn check(&mut self) -> Verification {
        if self.arm == Arm::Sentinel {
            return Verification::default();
        }
        let values = self.values.get_or_insert_with(|| self.device.values(&self.chain));
        values.verify(self.chain.nodes)
    }

    /// Runs the chain once on the device's clock and returns its duration, ns.
    fn run(&mut self) -> f64 {
        let mut factor = self.device.noise.borrow_mut().factor();
        if !std::mem::replace(&mut self.sampled, true) {
            factor += profile::FIRST_SLOWER;
        }
        let duration_ns = self.duration_ns * factor;
        self.device.advance(duration_ns + host_ns(&self.chain, self.arm));
        duration_ns
    }

    fn nodes(&self) -> Vec<Node> {
        model::timeline(&self.chain, self.arm, &self.load, self.chain.nodes)
    }
}

impl Prepared for Simulated<'_> {
    fn proof(&self) -> &Proof {
        &self.proof
    }

    fn verify(&mut self) -> Result<Verification> {
        self.device.advance(self.duration_ns + host_ns(&self.chain, self.arm));
        Ok(self.check())
    }

    fn sample(&mut self) -> Result<Sample> {
        let duration_ns = self.run();
        let mismatches = self.check().mismatches;
        let mut flags = vec![];
        if splits(&self.chain, self.arm) {
            flags.push(Flag::Split);
        }
        if mismatches > 0 {
            flags.push(Flag::Wrong);
        }
        Ok(Sample { duration_ns, flags, mismatches })
    }

    fn stamps(&mut self, repetitions: u32) -> Result<Option<Stamps>> {
        if matches!(self.arm, Arm::Persistent | Arm::Sentinel) {
            return Ok(None);
        }
        let mut durations: Vec<f64> = (0..repetitions.max(1)).map(|_| self.run()).collect();
        durations.sort_by(f64::total_cmp);
        let duration_ns = durations[(durations.len() - 1) / 2];
        let (chain, arm, load) = (&self.chain, self.arm, &self.load);
        let stamping = Stamping { chain, arm, load, factor: duration_ns / self.duration_ns };
        let blocks = stamping.blocks(&self.nodes());
        Ok(Some(Stamps {
            grid_blocks: chain.shape.grid_blocks,
            blocks,
            duration_ns,
            ..Stamps::default()
        }))
    }

    fn clocks(&mut self, reading: Reading) -> Result<Option<Clocks>> {
        let (events_ns, stamps, flags) = match reading.stamped {
            true => match self.stamps(1)? {
                Some(stamps) => (stamps.duration_ns, Some(stamps), Vec::new()),
                None => return Ok(None),
            },
            false => {
                let sample = self.sample()?;
                (sample.duration_ns, None, sample.flags)
            }
        };
        let (arm, nodes) = (self.arm, self.chain.nodes);
        let clocks = instruments::around(self.device, arm, nodes, reading, events_ns);
        Ok(Some(Clocks { stamps, flags, ..clocks }))
    }
}

/// Whether the chain is longer than the queue behind a gate.
fn splits(chain: &Chain, arm: Arm) -> bool {
    arm.submission() == Submission::Stream && chain.nodes > profile::QUEUE_DEPTH
}

/// Duration of one chain by the closed form, ns.
fn duration_ns(chain: &Chain, arm: Arm, load: &Load) -> f64 {
    if arm == Arm::Sentinel {
        return profile::EVENT_PAIR_NS + profile::SENTINEL_NS;
    }
    let end_ns = |nodes: u32| {
        model::timeline(chain, arm, load, nodes).last().map_or(0.0, |node| node.end_ns)
    };
    let nodes = chain.nodes;
    match chain.mode {
        Mode::Isolated if splits(chain, arm) => {
            let (pieces, rest) = (nodes / profile::QUEUE_DEPTH, nodes % profile::QUEUE_DEPTH);
            let piece_ns = |nodes| profile::EVENT_PAIR_NS + end_ns(nodes);
            let rest_ns = if rest > 0 { piece_ns(rest) } else { 0.0 };
            f64::from(pieces) * piece_ns(profile::QUEUE_DEPTH) + rest_ns
        }
        Mode::Isolated => profile::EVENT_PAIR_NS + end_ns(nodes),
        Mode::Pipelined => {
            let steady_ns = match arm {
                Arm::Persistent => end_ns(nodes) + load.hop.full_gap_ns,
                _ => end_ns(2 * nodes) - end_ns(nodes),
            };
            steady_ns + profile::EVENT_PAIR_NS / profile::PIPELINED_CHAINS
        }
    }
}

/// Host time that one sample takes beside the chain, ns.
fn host_ns(chain: &Chain, arm: Arm) -> f64 {
    let launches_ns = match arm.submission() {
        Submission::Stream => profile::STREAM_LAUNCH_NS * f64::from(chain.nodes),
        Submission::Graph => profile::GRAPH_LAUNCH_NS,
    };
    let flush_ns = match chain.l2 {
        L2::Hot => 0.0,
        L2::Rotated => 4.0 * profile::L2_BYTES as f64 / profile::HBM_BYTES_PER_NS,
    };
    profile::SAMPLE_OVERHEAD_NS + launches_ns + flush_ns
}

/// What a capture of the simulated calls holds. There is no machine code to read.
fn proof(chain: &Chain, arm: Arm, load: &Load) -> Proof {
    let (edge_type, from_port) = match arm.dependency() {
        Dependency::Full => ("default", "default"),
        Dependency::Programmatic => ("programmatic", "programmatic"),
        Dependency::LaunchCompletion => ("programmatic", "launch-completion"),
    };
    let edge = EdgeCount {
        edge_type: edge_type.to_owned(),
        from_port: from_port.to_owned(),
        count: chain.hops(),
    };
    let one_kernel = matches!(arm, Arm::Persistent | Arm::Sentinel);
    Proof {
        kernel: format!("simulated {arm}"),
        edges: if one_kernel { vec![] } else { vec![edge] },
        registers: Some(profile::THREAD_REGISTERS),
        blocks_per_sm: Some(load.blocks_per_sm),
        ..Proof::default()
    }
}
