//! What the sync waits for.

use super::*;
use crate::conform::{Actor, Role};

pub fn rules() -> Vec<Rule> {
    vec![sync_at_completion(), runs_ahead(), full_dependency(), early_return()]
}

/// A triggers at entry, B syncs and reads.
fn pair(body_ns: u32) -> Scene {
    Scene::line([Actor::new(Role::primary(body_ns)), Actor::secondary(Role::syncs(), &[0])])
}

fn sync_at_completion() -> Rule {
    let spin = |us: u32| {
        let name = format!("A triggers at entry, spins {us} µs, then writes");
        // Without a spin A is over before B begins: then what A wrote is all there is to see.
        let claims: &[Asserted] = match us {
            0 => &[law(fresh(1, 0))],
            _ => &[law(covers(1, 0)), permitted(ahead(1, 0))],
        };
        case(name, pair(us * US), claims)
    };
    Rule::scenes(
        "sync-at-completion",
        "the sync returns when the primary has completed, not when it has triggered",
        PTX_WAIT,
        [0, 10, 50, 200].map(spin).to_vec(),
    )
}

fn runs_ahead() -> Rule {
    let scene =
        Scene::line([Actor::new(Role::primary(50 * US)), Actor::secondary(Role::default(), &[0])]);
    Rule::scenes(
        "runs-ahead",
        "without a sync nothing waits for the primary",
        GUIDE,
        vec![case(
            "A triggers at entry, spins 50 µs, then writes; B does not sync",
            scene,
            &[permitted(ahead(1, 0)), permitted(stale(1, 0))],
        )],
    )
}

fn full_dependency() -> Rule {
    let reader = Actor { reads: vec![0], ..Actor::new(Role::syncs()) };
    let scene = Scene::line([Actor::new(Role::primary(20 * US)), reader]);
    Rule::scenes(
        "full-dependency",
        "without the attribute, trigger and sync have no effect",
        "Triton, gdc_wait and gdc_launch_dependents: no-ops where programmatic launch is off; \
         stream order",
        vec![case(
            "A triggers at entry, spins 20 µs, then writes; B has no attribute",
            scene,
            &[law(not_before(1, 0, Bound::End)), law(fresh(1, 0))],
        )],
    )
}

fn early_return() -> Rule {
    use crate::conform::Rest;
    let early = Role { returns: true, ..Role::primary(0) };
    let half = Actor::secondary(Role { sync: true, ..Role::primary(0) }, &[0])
        .rest(Rest::SecondHalf, early);
    let third = || Actor::secondary(Role::syncs(), &[0]);
    let first = || Actor::new(Role::primary(50 * US));
    Rule::scenes(
        "early-return",
        "blocks that return before the sync take nothing from the blocks that sync",
        PTX_WAIT,
        vec![
            case(
                "half of B's blocks return before the sync; C syncs",
                Scene::line([first(), half, third()]),
                &[law(covers(1, 0)), law(covers(2, 0))],
            ),
            case(
                "all of B's blocks return before the sync; C syncs",
                Scene::line([first(), Actor::secondary(early, &[]), third()]),
                &[open(uncovered(2, 0)), open(ahead(2, 0))],
            ),
        ],
    )
}
