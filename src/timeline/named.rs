//! Phases that kernels name themselves, kernel by kernel.

use serde::Serialize;

use super::{Moments, Track};
use crate::stats;

/// A phase of one kernel, medians over its nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedPhase {
    /// The kernel; empty where all nodes run the same one.
    pub kernel: String,
    /// Its name.
    pub name: String,
    /// Nodes that reached it.
    pub nodes: usize,
    /// From the node's median begin to the phase's, ns.
    pub after_begin_ns: f64,
    /// How long it lasts, ns.
    pub duration_ns: f64,
}

/// Phases in the order of kernels and of their begins. The first node is left out where there are
/// others, since it starts on an empty device.
pub fn named_phases(track: &Track) -> Vec<NamedPhase> {
    type Seen = (Vec<f64>, Vec<f64>);
    let stamps = &track.stamps;
    let mut all: Vec<(String, String, Seen)> = Vec::new();
    for node in u32::from(stamps.nodes() > 1)..stamps.nodes() {
        let kernel = track.kernels.get(node as usize).cloned().unwrap_or_default();
        let Some(moments) = Moments::of(stamps.node(node)) else { continue };
        for (name, from, to) in stamps.named_phases(node) {
            let known = all.iter_mut().position(|(k, n, _)| *k == kernel && n == name);
            let at = known.unwrap_or_else(|| {
                all.push((kernel.clone(), name.to_owned(), Seen::default()));
                all.len() - 1
            });
            let (begins, durations) = &mut all[at].2;
            begins.push(from - moments.begin.median);
            durations.push(to - from);
        }
    }
    let medians = |(kernel, name, (begins, durations)): (String, String, Seen)| {
        let (after_begin_ns, duration_ns) = (stats::median(&begins)?, stats::median(&durations)?);
        Some(NamedPhase { kernel, name, nodes: begins.len(), after_begin_ns, duration_ns })
    };
    all.into_iter().filter_map(medians).collect()
}
