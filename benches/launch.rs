//! What a launch costs the host, by arm: the Rust path of every timed chain beside a plain C++
//! loop over the same calls, in shuffled rounds. Host time, so it needs a GPU and no other.
//!
//! Not criterion's: the figure is a ratio, and a ratio of two numbers taken one after another
//! would hold the drift between them.

mod argv;

use std::process::ExitCode;

use pdl_lab::error::Result;
use pdl_lab::interrupt;

fn main() -> ExitCode {
    interrupt::install();
    argv::run(bench)
}

fn skip(reason: &str) -> Result<()> {
    argv::skip("launch", "measure the host's cost of a launch", reason)
}

#[cfg(not(feature = "cuda"))]
fn bench(_argv: &argv::Argv) -> Result<()> {
    skip("this program was built without the cuda feature")
}

#[cfg(feature = "cuda")]
use on_gpu::bench;

#[cfg(feature = "cuda")]
mod on_gpu {
    use comfy_table::presets::NOTHING;
    use comfy_table::{CellAlignment, Table};
    use pdl_lab::chain::Arm;
    use pdl_lab::cli::{BackendChoice, SweepArgs};
    use pdl_lab::cmd::note;
    use pdl_lab::device::Device;
    use pdl_lab::error::Result;
    use pdl_lab::gpu::{self, Absence, Gpu, HostCost, HostLoop};
    use pdl_lab::stats::{CONFIDENCE, estimate_median, median};
    use pdl_lab::units::{ABSENT, fixed, format_interval, or_absent, signed_us};
    use rand::SeedableRng;
    use rand::seq::SliceRandom;
    use rand_chacha::ChaCha8Rng;

    use super::argv::{Argv, Task};
    use super::skip;

    const ARMS: [Arm; 4] = [Arm::Stream, Arm::StreamFull, Arm::StreamPdl, Arm::GraphPdl];
    /// What the Rust path may cost, C++ being 1.
    const RATIO_TO_REACH: f64 = 1.05;
    /// Rounds thrown away while clocks and caches settle.
    const WARM_UP_ROUNDS: u32 = 5;

    /// One arm, gated or not, in both loops.
    struct Cell {
        arm: Arm,
        gated: bool,
        calls: u32,
        nodes_a_call: u32,
        /// Host time of one call in each round, ns; `None` where the gate timed out.
        rust_ns: Vec<Option<f64>>,
        cpp_ns: Vec<Option<f64>>,
    }

    pub fn bench(argv: &Argv) -> Result<()> {
        let names = ARMS.iter().flat_map(|&arm| [(arm, true), (arm, false)]);
        let asked: Vec<(Arm, bool)> = names.filter(|&name| argv.matches(&id(name))).collect();
        if argv.task == Task::List {
            asked.iter().for_each(|&name| println!("{}: benchmark", id(name)));
            return Ok(());
        }
        let args = SweepArgs::from_environment();
        if asked.is_empty() || args.dry_run {
            return Ok(());
        }
        if args.backend == BackendChoice::Sim {
            return skip("the simulated device has no host cost");
        }
        let gpu = match gpu::open()? {
            Ok(gpu) => gpu,
            Err(Absence::None(reason) | Absence::Old(reason)) => return skip(&reason),
        };
        let rounds = match (argv.task, args.quick) {
            (Task::Test, _) => 1,
            (_, true) => 40,
            (_, false) => 200,
        };
        let cells = measure(&gpu, &asked, rounds, args.seed)?;
        if argv.task == Task::Test {
            asked.iter().for_each(|&name| println!("Testing {}\nSuccess", id(name)));
            return Ok(());
        }
        print!("{}", report(&gpu.facts().label(), &cells, rounds));
        Ok(())
    }

    fn id((arm, gated): (Arm, bool)) -> String {
        format!("launch/{arm}/{}", gate(gated))
    }

    fn gate(gated: bool) -> &'static str {
        if gated { "gated" } else { "ungated" }
    }

    /// Every cell in both loops once a round, shuffled.
    fn measure(gpu: &Gpu, asked: &[(Arm, bool)], rounds: u32, seed: u64) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        let mut costs: Vec<HostCost> = Vec::new();
        for &(arm, gated) in asked {
            if let (true, Some(reason)) = (gated, &gpu.facts().no_gate) {
                note(format_args!("note: {} is skipped: {reason}", id((arm, gated))));
                continue;
            }
            let cost = gpu.host_cost(arm)?;
            let (calls, nodes_a_call) = (cost.calls(), cost.nodes_a_call());
            let (rust_ns, cpp_ns) = (Vec::new(), Vec::new());
            cells.push(Cell { arm, gated, calls, nodes_a_call, rust_ns, cpp_ns });
            costs.push(cost);
        }
        let loops = [HostLoop::Rust, HostLoop::Cpp];
        let mut order: Vec<(usize, HostLoop)> =
            (0..cells.len()).flat_map(|cell| loops.map(|by| (cell, by))).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for round in 0..WARM_UP_ROUNDS + rounds {
            order.shuffle(&mut rng);
            for &(index, by) in &order {
                let cell = &mut cells[index];
                let batch = costs[index].batch(cell.gated, by)?;
                let call_ns = batch.map(|time| time.as_nanos() as f64 / f64::from(cell.calls));
                if round >= WARM_UP_ROUNDS {
                    match by {
                        HostLoop::Rust => cell.rust_ns.push(call_ns),
                        HostLoop::Cpp => cell.cpp_ns.push(call_ns),
                    }
                }
            }
        }
        Ok(cells)
    }

    /// The table, and what the attribute costs.
    fn report(device: &str, cells: &[Cell], rounds: u32) -> String {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header([
            "arm",
            "gate",
            "calls",
            "Rust µs",
            "C++ µs",
            "ratio",
            "95 %",
            "Rust µs/node",
            "",
        ]);
        for cell in cells {
            table.add_row(row(cell));
        }
        for column in table.column_iter_mut().skip(2).take(6) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut text = format!(
            "Host cost of a launch on {device}, {rounds} shuffled rounds, batches of `calls`\n\n{}\n\n\
             µs: of one call, median; a graph's call queues 50 nodes. ratio: Rust ÷ C++, median of \
             rounds; to reach: at most {RATIO_TO_REACH}.\ngated: behind a closed gate, the device takes up \
             nothing meanwhile.\n",
            table.trim_fmt()
        );
        for gated in [true, false] {
            text += &attribute(cells, gated);
        }
        text
    }

    fn row(cell: &Cell) -> [String; 9] {
        let own = |series: &[Option<f64>]| {
            let values: Vec<f64> = series.iter().copied().flatten().collect();
            median(&values)
        };
        let us = |ns: Option<f64>| or_absent(ns, |ns| fixed(ns / 1e3, 3));
        let logs = paired(&cell.rust_ns, &cell.cpp_ns, |rust, cpp| (rust / cpp).ln());
        let estimate = estimate_median(&logs, CONFIDENCE);
        let interval = estimate.and_then(|e| e.interval).map(|interval| interval.map(f64::exp));
        let rust = own(&cell.rust_ns);
        [
            cell.arm.to_string(),
            gate(cell.gated).to_owned(),
            cell.calls.to_string(),
            us(rust),
            us(own(&cell.cpp_ns)),
            or_absent(estimate.map(|e| e.median.exp()), |ratio| fixed(ratio, 3)),
            interval.map_or(ABSENT.to_owned(), |i| format!("{:.3} to {:.3}", i.lo, i.hi)),
            us(rust.map(|ns| ns / f64::from(cell.nodes_a_call))),
            match interval {
                Some(interval) if interval.hi <= RATIO_TO_REACH => "reached".into(),
                Some(interval) if interval.lo > RATIO_TO_REACH => "NOT reached".into(),
                _ => "open".into(),
            },
        ]
    }

    /// Programmatic attribute on against off: the same kernel and path in the same rounds.
    fn attribute(cells: &[Cell], gated: bool) -> String {
        let find = |arm: Arm| cells.iter().find(|cell| cell.arm == arm && cell.gated == gated);
        let (Some(on), Some(off)) = (find(Arm::StreamPdl), find(Arm::StreamFull)) else {
            return String::new();
        };
        let differences = paired(&on.rust_ns, &off.rust_ns, |on, off| on - off);
        let Some(estimate) = estimate_median(&differences, CONFIDENCE) else {
            return String::new();
        };
        let interval = estimate.interval.map_or(String::new(), |interval| {
            format!(" (95 %: {} µs)", format_interval(interval.lo, interval.hi))
        });
        let difference = signed_us(estimate.median);
        format!("the programmatic attribute, {}: {difference} a launch{interval}\n", gate(gated))
    }

    /// What each round says, where neither side is left out.
    fn paired(a: &[Option<f64>], b: &[Option<f64>], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        a.iter().zip(b).filter_map(|(&a, &b)| Some(of(a?, b?))).collect()
    }
}
