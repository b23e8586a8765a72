//! A chain that is ready to run on the simulated device.

use std::rc::Rc;

use super::SimDevice;
use super::execute::Values;
use super::fixed;
use super::instruments;
use super::load::Load;
use super::recorded::Recorded;
use crate::chain::{Arm, Chain, Dependency, L2, Submission};
use crate::device::{Clocks, EdgeCount, Flag, Prepared, Proof, Reading, Sample, Verification};
use crate::error::Result;
use crate::profile::Profile;
use crate::stamps::Stamps;

/// Runs of the event-driven model that the samples of one chain are drawn from: what blocks do that
/// end a little earlier or later is in them, and a run takes longer than a sample should.
const VARIANTS: u64 = 4;

/// One chain in one arm.
pub struct Simulated<'a> {
    device: &'a SimDevice,
    chain: Chain,
    arm: Arm,
    load: Load<'a>,
    proof: Proof,
    /// Durations of one chain, ns, one a variant that was drawn so far.
    durations_ns: Vec<Option<f64>>,
    values: Option<Rc<Values>>,
    samples: u64,
}

impl<'a> Simulated<'a> {
    /// Prepares `chain`, which is valid and fits, with `load`.
    pub fn new(device: &'a SimDevice, chain: Chain, arm: Arm, load: Load<'a>) -> Simulated<'a> {
        Simulated {
            device,
            chain,
            arm,
            load,
            proof: proof(&chain, arm, &load),
            durations_ns: vec![None; VARIANTS as usize],
            values: None,
            samples: 0,
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

    fn recorded(&self, variant: u64) -> Recorded<'_> {
        Recorded {
            chain: &self.chain,
            arm: self.arm,
            load: &self.load,
            model: self.device.model,
            seed: self.device.seed.wrapping_mul(VARIANTS).wrapping_add(variant),
        }
    }

    fn duration_ns(&mut self, variant: u64) -> f64 {
        let known = self.durations_ns[variant as usize];
        let duration_ns = known.unwrap_or_else(|| self.recorded(variant).duration_ns());
        self.durations_ns[variant as usize] = Some(duration_ns);
        duration_ns
    }

    /// Runs the chain once on the device's clock; returns its duration, ns, and by what factor it
    /// is longer than the model says.
    fn run(&mut self) -> (f64, f64, u64) {
        let mut factor = self.device.noise.borrow_mut().factor();
        if self.samples == 0 {
            factor += self.device.profile.noise.first_slower_ratio.value;
        }
        let variant = self.samples % VARIANTS;
        self.samples += 1;
        let duration_ns = self.duration_ns(variant) * factor;
        self.device.advance(duration_ns + self.host_ns());
        (duration_ns, factor, variant)
    }

    fn host_ns(&self) -> f64 {
        host_ns(&self.device.profile, &self.chain, self.arm)
    }
}

impl Prepared for Simulated<'_> {
    fn proof(&self) -> &Proof {
        &self.proof
    }

    fn verify(&mut self) -> Result<Verification> {
        let duration_ns = self.duration_ns(0);
        self.device.advance(duration_ns + self.host_ns());
        Ok(self.check())
    }

    fn sample(&mut self) -> Result<Sample> {
        let (duration_ns, ..) = self.run();
        let mismatches = self.check().mismatches;
        let mut flags = vec![];
        if splits(&self.device.profile, &self.chain, self.arm) {
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
        let mut runs: Vec<_> = (0..repetitions.max(1)).map(|_| self.run()).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (duration_ns, factor, variant) = runs[(runs.len() - 1) / 2];
        let blocks = self.recorded(variant).blocks(factor);
        Ok(Some(Stamps {
            grid_blocks: self.chain.shape.grid_blocks,
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
pub fn splits(profile: &Profile, chain: &Chain, arm: Arm) -> bool {
    let depth = profile.instruments.queue_depth.value as u32;
    arm.submission() == Submission::Stream && chain.nodes > depth
}

/// Host time that one sample takes beside the chain, ns.
fn host_ns(profile: &Profile, chain: &Chain, arm: Arm) -> f64 {
    let (host, nodes) = (&profile.host, f64::from(chain.nodes));
    let launches_ns = match (arm.submission(), arm.dependency()) {
        (Submission::Stream, Dependency::Programmatic) => host.stream_pdl_launch_ns.value * nodes,
        (Submission::Stream, _) => host.stream_launch_ns.value * nodes,
        (Submission::Graph, _) => host.graph_launch_ns.value + host.graph_node_ns.value * nodes,
    };
    let flush_ns = match chain.l2 {
        L2::Hot => 0.0,
        L2::Rotated => fixed::stream_bytes(profile) as f64 / profile.memory.hbm_bytes_per_ns.value,
    };
    host.sample_ns.value + launches_ns + flush_ns
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
        registers: Some(load.thread_registers),
        blocks_per_sm: Some(load.blocks_per_sm),
        ..Proof::default()
    }
}
