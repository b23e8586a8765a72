//! What this program's way to launch a user's chain costs beside the same chain written by hand in
//! C++ (`cuda/by_hand.cpp`), on the device and on the host, in shuffled rounds. Needs a GPU and nvcc.
//!
//! `PDL_CHAIN` names another chain file; its first set of axis values is taken.

mod argv;

use std::process::ExitCode;

use pdl_lab::error::Result;
use pdl_lab::interrupt;

fn main() -> ExitCode {
    interrupt::install();
    argv::run(bench)
}

fn skip(reason: &str) -> Result<()> {
    argv::skip("by_hand", "compare with launches by hand", reason)
}

#[cfg(not(feature = "cuda"))]
fn bench(_argv: &argv::Argv) -> Result<()> {
    skip("this program was built without the cuda feature")
}

#[cfg(feature = "cuda")]
use on_gpu::bench;

#[cfg(feature = "cuda")]
mod on_gpu {
    use std::path::PathBuf;

    use comfy_table::presets::NOTHING;
    use comfy_table::{CellAlignment, Table};
    use pdl_lab::analysis::judge;
    use pdl_lab::chain::{Arm, L2, Submission, Trigger};
    use pdl_lab::chain_file::read;
    use pdl_lab::cli::SweepArgs;
    use pdl_lab::compile::{Cache, Nvcc};
    use pdl_lab::device::Device;
    use pdl_lab::error::{Error, Result};
    use pdl_lab::gpu::{self, Absence, ByHand, Launcher, UserChains};
    use pdl_lab::kernel::{Build, Code, Target, plan};
    use pdl_lab::measure::Stopping;
    use pdl_lab::record::Verdict;
    use pdl_lab::stats::{CONFIDENCE, estimate_median, holm, median, sign_p_value};
    use pdl_lab::units::{ABSENT, fixed, format_interval, or_absent, signed_us};
    use rand::SeedableRng;
    use rand::seq::SliceRandom;
    use rand_chacha::ChaCha8Rng;

    use super::argv::{Argv, Task};
    use super::skip;

    const ARMS: [Arm; 4] = [Arm::StreamFull, Arm::StreamPdl, Arm::GraphFull, Arm::GraphPdl];
    /// Rounds thrown away while clocks and caches settle.
    const WARM_UP_ROUNDS: u32 = 5;
    /// The part of the queue that one batch may fill, so that no launch waits for room.
    const QUEUE_PART: u32 = 2;
    /// Batches of one sample of host time.
    const BATCHES: u32 = 5;
    /// Rounds between two looks at how much is known.
    const LOOK_ROUNDS: u32 = 50;
    /// Most chains of one batch of host time.
    const MOST_CHAINS: u32 = 20;

    /// One arm, by every launcher.
    struct Cell {
        arm: Arm,
        /// Chains that one batch of host time queues.
        chains: u32,
        nodes: u32,
        /// Of each launcher, the chain on the device by round, ns; `None`: left out.
        device_ns: [Vec<Option<f64>>; 3],
        /// Of each launcher, host time of one call, ns.
        host_ns: [Vec<Option<f64>>; 3],
        wrong: u64,
    }

    /// One comparison: hand − pdl, ns of what `unit` says, and what two hands differ by.
    struct Compared<'a> {
        cell: &'a Cell,
        what: &'static str,
        pdl_ns: Option<f64>,
        hand_ns: Option<f64>,
        saved_ns: Vec<f64>,
        floor_ns: Option<f64>,
        margin_ns: f64,
    }

    pub fn bench(argv: &Argv) -> Result<()> {
        let asked: Vec<Arm> = ARMS.into_iter().filter(|&arm| argv.matches(&id(arm))).collect();
        if argv.task == Task::List {
            asked.iter().for_each(|&arm| println!("{}: benchmark", id(arm)));
            return Ok(());
        }
        let gpu = match gpu::open()? {
            Ok(gpu) => gpu,
            Err(Absence::None(reason) | Absence::Old(reason)) => return skip(&reason),
        };
        let nvcc = match Nvcc::find() {
            Ok(nvcc) => nvcc,
            Err(error) => return skip(error.cause()),
        };
        let args = SweepArgs::from_environment();
        let path = std::env::var_os("PDL_CHAIN").map(PathBuf::from);
        let path = path.unwrap_or_else(|| "examples/rmsnorm_gemv/chain.toml".into());
        let loaded = read(&path)?;
        let (major, minor) = gpu.facts().capability;
        let target = Target { arch: format!("sm_{major}{minor}"), capability: (major, minor) };
        let codes = [Code::Off, Code::at(Trigger::Implicit)];
        let cache = Cache::open(None)?;
        let build = Build::new(&loaded, &codes, &target, Some(&nvcc), &cache)
            .map_err(|failure| failure.error)?;
        build.demand_syncs(&[Trigger::Implicit])?;
        let device = UserChains::new(&gpu, &loaded, &build);
        let plan = plan(&build, &[Trigger::Implicit], L2::Hot, args.seed, Stopping::default());
        let chain = plan.points[0].chain;
        let most = match (argv.task, args.quick) {
            (Task::Test, _) => 1,
            (_, true) => 100,
            (_, false) => 1000,
        };
        let room = (gpu.facts().queue_depth / QUEUE_PART / chain.nodes).clamp(1, MOST_CHAINS);
        let mut ready = Vec::new();
        for &arm in &asked {
            ready.push((Cell::new(arm, room, chain.nodes), device.by_hand(&chain, arm)?));
        }
        let rounds = measure(&mut ready, most, args.seed)?;
        let cells: Vec<Cell> = ready.into_iter().map(|(cell, _)| cell).collect();
        if let Some(wrong) = cells.iter().find(|cell| cell.wrong > 0) {
            let cause = format!("{} bytes of {} are wrong", wrong.wrong, wrong.arm);
            return Err(Error::failed("compare with launches by hand", cause));
        }
        if argv.task == Task::Test {
            asked.iter().for_each(|&arm| println!("Testing {}\nSuccess", id(arm)));
            return Ok(());
        }
        let what = format!("{}, {} nodes, on {}", loaded.name(), chain.nodes, gpu.facts().label());
        print!("{}", report(&what, &cells, rounds));
        Ok(())
    }

    fn id(arm: Arm) -> String {
        format!("by_hand/{arm}")
    }

    impl Cell {
        fn new(arm: Arm, chains: u32, nodes: u32) -> Cell {
            Cell {
                arm,
                chains,
                nodes,
                device_ns: Default::default(),
                host_ns: Default::default(),
                wrong: 0,
            }
        }

        /// Calls of one chain.
        fn calls(&self) -> u32 {
            if self.arm.submission() == Submission::Graph { 1 } else { self.nodes }
        }
    }

    /// Everything once a round, shuffled, until every difference is known to half of the margin, or for
    /// `most` rounds. Says how many there were.
    fn measure(ready: &mut [(Cell, ByHand)], most: u32, seed: u64) -> Result<u32> {
        let mut order: Vec<(usize, usize, bool)> = (0..ready.len())
            .flat_map(|cell| (0..3).flat_map(move |by| [(cell, by, true), (cell, by, false)]))
            .collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for round in 0..WARM_UP_ROUNDS + most {
            let done = round.saturating_sub(WARM_UP_ROUNDS);
            if done > 0 && done.is_multiple_of(LOOK_ROUNDS) {
                let cells: Vec<&Cell> = ready.iter().map(|(cell, _)| cell).collect();
                if compared(&cells).iter().all(Compared::is_precise) {
                    return Ok(done);
                }
            }
            order.shuffle(&mut rng);
            for &(at, by, on_device) in &order {
                let (cell, chain) = &mut ready[at];
                let launcher = Launcher::ALL[by];
                let (series, found) = if on_device {
                    let sample = chain.sample(launcher)?;
                    cell.wrong += sample.mismatches;
                    let excluded = sample.flags.iter().any(|flag| flag.excludes());
                    (&mut cell.device_ns[by], (!excluded).then_some(sample.duration_ns))
                } else {
                    let took = host_ns(chain, launcher, cell.chains, cell.calls())?;
                    (&mut cell.host_ns[by], took)
                };
                if round >= WARM_UP_ROUNDS {
                    series.push(found);
                }
            }
        }
        Ok(most)
    }

    /// Host time of one call, ns: the median of some batches, since one may be interrupted.
    fn host_ns(chain: &ByHand, launcher: Launcher, chains: u32, calls: u32) -> Result<Option<f64>> {
        let mut all = Vec::new();
        for _ in 0..BATCHES {
            all.extend(chain.host(launcher, chains)?.map(|time| time.as_nanos() as f64));
        }
        Ok(median(&all).map(|ns| ns / f64::from(chains * calls)))
    }

    /// Every comparison, device and host of each arm.
    fn compared<'a>(cells: &[&'a Cell]) -> Vec<Compared<'a>> {
        let of = |cell: &&'a Cell| {
            let cell: &'a Cell = cell;
            let hops = f64::from(cell.nodes.saturating_sub(1).max(1));
            [
                Compared::new(cell, "device, a hop", &cell.device_ns, hops),
                Compared::new(cell, "host, a call", &cell.host_ns, 1.0),
            ]
        };
        cells.iter().flat_map(of).collect()
    }

    impl<'a> Compared<'a> {
        fn new(cell: &'a Cell, what: &'static str, all: &[Vec<Option<f64>>; 3], per: f64) -> Self {
            let [pdl, hand, again] = all;
            let own = |series: &[Option<f64>]| {
                median(&series.iter().flatten().map(|ns| ns / per).collect::<Vec<_>>())
            };
            let paired = |other: &[Option<f64>]| -> Vec<f64> {
                let pairs = hand.iter().zip(other);
                pairs.filter_map(|(hand, other)| Some(((*hand)? - (*other)?) / per)).collect()
            };
            let floor = estimate_median(&paired(again), CONFIDENCE).and_then(|e| e.interval);
            let hand_ns = own(hand);
            Compared {
                cell,
                what,
                pdl_ns: own(pdl),
                hand_ns,
                saved_ns: paired(pdl),
                floor_ns: floor.map(|interval| interval.reach()),
                margin_ns: Stopping::default().margin_ns(hand_ns.unwrap_or(0.0)),
            }
        }

        /// Whether difference and floor are known well enough.
        fn is_precise(&self) -> bool {
            let stopping = Stopping::default();
            stopping.is_precise(&self.saved_ns, self.margin_ns)
                && self.floor_ns.is_some_and(|floor_ns| floor_ns <= self.margin_ns)
        }

        fn p_value(&self) -> f64 {
            let estimate = estimate_median(&self.saved_ns, CONFIDENCE);
            estimate.map_or(1.0, |e| sign_p_value(&self.saved_ns, e.serial.evidence_inflation))
        }

        fn row(&self, adjusted_p: f64) -> [String; 8] {
            let us = |ns: Option<f64>| or_absent(ns, |ns| fixed(ns / 1e3, 3));
            let estimate = estimate_median(&self.saved_ns, CONFIDENCE);
            let said = estimate.as_ref().map_or("open: no rounds".to_owned(), |estimate| {
                let (verdict, why) = judge(estimate, adjusted_p, self.margin_ns, self.floor_ns);
                match verdict {
                    Verdict::Equivalent => "EQUIVALENT".to_owned(),
                    Verdict::Helps => "pdl is FASTER".to_owned(),
                    Verdict::Hurts => "pdl is SLOWER".to_owned(),
                    _ => format!("open: {}", why.join(", ")),
                }
            });
            let interval = estimate.as_ref().and_then(|estimate| estimate.interval);
            [
                self.cell.arm.to_string(),
                self.what.to_owned(),
                us(self.pdl_ns),
                us(self.hand_ns),
                or_absent(estimate.map(|e| e.median), signed_us),
                interval.map_or(ABSENT.to_owned(), |i| format_interval(i.lo, i.hi)),
                us(self.floor_ns),
                said,
            ]
        }
    }

    fn report(what: &str, cells: &[Cell], rounds: u32) -> String {
        let compared = compared(&cells.iter().collect::<Vec<_>>());
        let adjusted = holm(&compared.iter().map(Compared::p_value).collect::<Vec<_>>());
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header(["arm", "time", "pdl µs", "C++ µs", "C++ − pdl", "95 % µs", "floor", ""]);
        for (one, p) in compared.iter().zip(adjusted) {
            table.add_row(one.row(p));
        }
        for column in table.column_iter_mut().skip(2).take(5) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!(
            "The same launches by pdl and by hand in C++: {what}, {rounds} shuffled rounds\n\n{}\n\n\
             EQUIVALENT: the interval of the paired difference lies inside ±0.02 µs or ±0.5 % of the \
             time by hand, whichever is larger,\nand so does what two instances by hand differ by \
             (floor). device: between events around the chain. host: of one launch, or of one\nreplay \
             of the graph, behind a closed gate. Every result was compared.\n",
            table.trim_fmt()
        )
    }
}
