//! What must be equal before microseconds of two runs may be held against each other.

use std::fmt::Display;

use serde::Serialize;

use super::Side;
use crate::device::Facts;
use crate::record::Manifest;

/// Clocks further apart than this part are not the same clock: NVML's steps are 15 MHz.
const CLOCK: f64 = 0.005;

/// One thing that differs between two runs and that their times may depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// Kebab-case, stable: `driver`.
    pub code: String,
    /// What it was in the first run; `unknown` where the run does not tell.
    pub a: String,
    /// What it was in the second.
    pub b: String,
}

/// All that differs, in a fixed order. The seed, the program that measured and which GPU of one
/// model it was are no part: they are noted.
pub(super) fn mismatches(a: &Side, b: &Side) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let mut hold = |code: &str, a: String, b: String| {
        if a != b {
            found.push(Mismatch { code: code.to_owned(), a, b });
        }
    };
    let (left, right) = (&a.manifest.facts, &b.manifest.facts);
    hold("backend", left.backend.to_string(), right.backend.to_string());
    hold("device", text(&left.name), text(&right.name));
    hold("simulation", made_of(left), made_of(right));
    let capability = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    hold("capability", capability(left.capability), capability(right.capability));
    hold("sm-count", left.sm_count.to_string(), right.sm_count.to_string());
    hold("memory", left.memory_bytes.to_string(), right.memory_bytes.to_string());
    hold("driver", text(&left.driver), text(&right.driver));
    hold("driver-cuda", cuda(left.driver_cuda), cuda(right.driver_cuda));
    hold("toolkit", cuda(left.runtime_cuda), cuda(right.runtime_cuda));
    hold("ecc", known(left.ecc), known(right.ecc));
    hold("mig", known(left.mig), known(right.mig));
    hold("mps", known(left.mps), known(right.mps));
    hold("clocks-locked", known(left.clocks_locked), known(right.clocks_locked));
    let (left, right) = (a.sm_mhz(), b.sm_mhz());
    if !same_clock(left, right) {
        hold("sm-clock", mhz(left), mhz(right));
    }
    let (left, right) = (a.manifest.health.memory_mhz, b.manifest.health.memory_mhz);
    if !same_clock(left, right) {
        hold("memory-clock", mhz(left), mhz(right));
    }
    protocol(&a.manifest, &b.manifest, &mut hold);
    found
}

/// How samples were taken. Rounds, budget and margins are how many and what is made of them; the
/// points themselves are matched one by one.
fn protocol(a: &Manifest, b: &Manifest, hold: &mut impl FnMut(&str, String, String)) {
    hold("plan-what", text(&a.what), text(&b.what));
    let warm_up = |manifest: &Manifest| format!("{} s", manifest.plan.warm_up_s);
    hold("plan-warm-up", warm_up(a), warm_up(b));
    let gate = |manifest: &Manifest| {
        manifest.facts.no_gate.as_ref().map_or("used".to_owned(), |why| format!("none: {why}"))
    };
    hold("gate", gate(a), gate(b));
    hold("conditioning", conditioning(a).to_owned(), conditioning(b).to_owned());
}

/// Whether the launch path was brought into one state before every sample, as flag or variable.
fn conditioning(manifest: &Manifest) -> &'static str {
    let flag = |argument: &String| argument.starts_with("--no-conditioning");
    let off = |text: &str| matches!(text.trim(), "" | "0" | "false" | "no" | "off");
    let variable = |(name, value): &(String, String)| name == "PDL_NO_CONDITIONING" && !off(value);
    let without = manifest.argv.iter().any(flag) || manifest.environment.iter().any(variable);
    if without { "off" } else { "on" }
}

fn same_clock(a: Option<u32>, b: Option<u32>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => f64::from(a.abs_diff(b)) <= CLOCK * f64::from(a.max(b)),
        (a, b) => a == b,
    }
}

/// The profile and the model of a simulated device.
fn made_of(facts: &Facts) -> String {
    facts.simulation.as_ref().map_or_else(
        || "unknown".to_owned(),
        |made| format!("{} {:?} {:?}", made.profile, made.model, made.origin).to_lowercase(),
    )
}

fn text(value: &str) -> String {
    if value.is_empty() { "unknown".to_owned() } else { value.to_owned() }
}

fn known(value: Option<impl Display>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

fn mhz(value: Option<u32>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| format!("{value} MHz"))
}

fn cuda(version: u32) -> String {
    if version == 0 {
        return "unknown".to_owned();
    }
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
