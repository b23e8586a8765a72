use std::path::Path;
use pdl_lab::chain::*;
use pdl_lab::measure::calibrate;
use pdl_lab::profile::{self, Model};
use pdl_lab::record::read_run;
use pdl_lab::sim::{SimDevice, predict};
fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let prof = if args[0].ends_with(".toml") { profile::read(Path::new(&args.remove(0))).unwrap() } else { profile::BUILT_IN.clone() };
    let verbose = args[0] == "-v"; if verbose { args.remove(0); }
    let mut errs: [Vec<f64>; 2] = [vec![], vec![]];
    for dir in &args {
        let run = read_run(Path::new(dir)).unwrap();
        let summary = pdl_lab::analysis::summarise(&run.manifest, &run.points, &run.samples).rows;
        let mut kept: Option<((u32, bool), [Option<Chain>; 2])> = None;
        for rec in &run.points {
            if rec.arm == Arm::Sentinel || rec.skipped.is_some() { continue }
            let Some(row) = summary.iter().find(|r| r.point == rec.point && r.arm == rec.arm) else { continue };
            let Some(measured) = row.period_ns else { continue };
            let key = (rec.group, false);
            if kept.as_ref().map(|k| k.0) != Some(key) {
                let cal = |model| {
                    let mut c = rec.chain;
                    let fetches = matches!(c.preamble.kind, PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem);
                    if fetches || c.body.kind == BodyKind::None { return Some(c) }
                    c.preamble.target_ns = rec.preamble_ns.unwrap_or(0.0).max(0.0);
                    if let Some(b) = rec.body_ns { c.body.target = Target::Ns(b) }
                    let d = SimDevice::new(prof.clone(), model, 1);
                    calibrate(&d, &c).ok().map(|c| c.chain)
                };
                kept = Some((key, [cal(Model::Closed), cal(Model::Events)]));
            }
            let chains = kept.as_ref().unwrap().1;
            let mut line = format!("{:5} {:16} {:9} g{:<5} b{:<5} {:12} {:5.0} {:5} {:6.0} meas {:8.0}", rec.point, rec.arm.to_string(), rec.trigger.map(|t| t.to_string()).unwrap_or_default(), rec.chain.shape.grid_blocks, rec.chain.shape.block_threads, rec.chain.preamble.kind, rec.preamble_ns.unwrap_or(0.0), rec.chain.body.kind, rec.body_ns.unwrap_or(0.0), measured);
            for (i, model) in [Model::Closed, Model::Events].into_iter().enumerate() {
                let Some(c) = chains[i] else { line += "   no calibration"; continue };
                let c = Chain { trigger: rec.chain.trigger, ..c };
                let c = if let Some(t) = rec.trigger { c.with_trigger(t) } else { c };
                match predict(&prof, model, &c, rec.arm) {
                    Ok(p) => { let e = p / measured - 1.0; errs[i].push(e.abs()); line += &format!("  {:8.0} {:+6.1}%", p, e * 100.0); }
                    Err(e) => line += &format!("  {e}"),
                }
            }
            if verbose { println!("{line}"); }
        }
    }
    for (i, n) in ["closed", "events"].iter().enumerate() {
        let e = &mut errs[i]; e.sort_by(f64::total_cmp);
        if e.is_empty() { continue }
        println!("{n}: n {} median {:.2}% p90 {:.2}% p95 {:.2}% max {:.1}%", e.len(), e[e.len()/2]*100.0, e[e.len()*9/10]*100.0, e[e.len()*95/100]*100.0, e[e.len()-1]*100.0);
    }
}
