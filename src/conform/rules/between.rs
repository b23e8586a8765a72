//! What may stand between two kernels.

use super::*;
use crate::conform::{Actor, Between, Role, Step};

pub fn rules() -> Vec<Rule> {
    vec![between()]
}

const WHAT: [(Between, &str); 8] = [
    (Between::Memset, "a memset"),
    (Between::Memcpy, "a copy on the device"),
    (Between::Record, "an event record without timing"),
    (Between::TimedRecord, "an event record with timing"),
    (Between::RecordNode, "an event record node"),
    (Between::Wait, "a wait for an event of another stream"),
    (Between::HostFunction, "a host function"),
    (Between::Blas, "a cuBLAS product"),
];

/// A, then `what`, then B, which syncs or does not.
fn scene(what: Option<Step>, role: Role) -> Scene {
    let first = Step::Actor(Actor::new(Role::primary(50 * US)));
    let second = Step::Actor(Actor::secondary(role, &[0]));
    let steps = [Some(first), what, Some(second)].into_iter().flatten().collect();
    Scene { steps, ..Scene::default() }
}

fn between() -> Rule {
    let mut cases = vec![case(
        "nothing between A and B",
        scene(None, Role::default()),
        &[permitted(ahead(1, 0))],
    )];
    for (what, name) in WHAT {
        let step = || Some(Step::Between(what));
        // A record node exists in a graph alone.
        let case = if what == Between::RecordNode { graph_case } else { case_of };
        cases.push(case(
            format!("{name}; B does not sync"),
            scene(step(), Role::default()),
            &[open(ahead(1, 0))],
        ));
        cases.push(case(
            format!("{name}; B syncs"),
            scene(step(), Role::syncs()),
            &[law(fresh(1, 0))],
        ));
    }
    let ordinary = || Step::Actor(Actor::new(Role { body_ns: 5 * US, ..Role::default() }));
    cases.push(case(
        "an ordinary kernel, B; C does not sync",
        scene(Some(ordinary()), Role::default()),
        &[law(not_before(1, 0, Bound::End)), law(not_before(2, 0, Bound::End))],
    ));
    Rule::scenes(
        "between",
        "what may stand between two kernels without the second losing its early begin, or its sync \
         what it covers",
        "CUDA runtime API: programmatic edges exist between kernel nodes alone; the rest is open",
        cases,
    )
}

fn case_of(name: String, scene: Scene, claims: &[Asserted]) -> Case {
    case(name, scene, claims)
}
