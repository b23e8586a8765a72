//! The rules, and how each is tested.

mod between;
mod graphs;
mod launches;
mod rows;
mod sync;
mod triggers;

use super::{Asserted, Bound, Case, Claim, Forms, Kind, Rule, Scene};

/// What people argue about in public: `--quick` tests these.
pub const RULES_OF_QUICK: [&str; 5] = [
    "sync-at-completion",
    "runs-ahead",
    "implicit-trigger",
    "trigger-publishes-nothing",
    "middle-without-sync",
];

/// All rules, in the order in which they are told.
pub fn rules() -> Vec<Rule> {
    let mut all = sync::rules();
    all.extend(triggers::rules());
    all.extend(rows::rules());
    all.extend(between::rules());
    all.extend(graphs::rules());
    all.extend(launches::rules());
    all
}

/// Sources that several rules share.
const PTX_WAIT: &str = "PTX ISA, griddepcontrol.wait: all prerequisite grids in flight have \
                        completed and their memory operations are performed and made visible";
const PTX_LAUNCH: &str = "PTX ISA, griddepcontrol.launch_dependents: when all blocks have issued \
                          it or have completed";
const GUIDE: &str = "CUDA programming guide, programmatic dependent launch";
const UNDOCUMENTED: &str = "not documented";

const US: u32 = 1000;

fn case(name: impl Into<String>, scene: Scene, claims: &[Asserted]) -> Case {
    Case { name: name.into(), scene, claims: claims.to_vec(), forms: Forms::Both }
}

fn graph_case(name: impl Into<String>, scene: Scene, claims: &[Asserted]) -> Case {
    Case { forms: Forms::GraphOnly, ..case(name, scene, claims) }
}

fn law(claim: Claim) -> Asserted {
    Asserted { kind: Kind::Law, claim }
}

fn permitted(claim: Claim) -> Asserted {
    Asserted { kind: Kind::Permitted, claim }
}

fn open(claim: Claim) -> Asserted {
    Asserted { kind: Kind::Open, claim }
}

fn covers(reader: usize, of: usize) -> Claim {
    Claim::Covers { reader, of, slot: 0 }
}

fn fresh(reader: usize, of: usize) -> Claim {
    Claim::Fresh { reader, of, slot: 0 }
}

fn stale(reader: usize, of: usize) -> Claim {
    Claim::Stale { reader, of, slot: 0 }
}

fn uncovered(reader: usize, of: usize) -> Claim {
    Claim::Uncovered { reader, of, slot: 0 }
}

fn ahead(actor: usize, of: usize) -> Claim {
    Claim::Ahead { actor, of }
}

fn not_before(actor: usize, of: usize, bound: Bound) -> Claim {
    Claim::NotBefore { actor, of, bound }
}
