//! Other launch attributes, other load, other code.

use super::*;
use crate::conform::{Actor, Grid, Priority, Role};

pub fn rules() -> Vec<Rule> {
    vec![priorities(), clusters(), cooperative(), busy(), below_90()]
}

fn first() -> Actor {
    Actor::new(Role::primary(50 * US))
}

fn second() -> Actor {
    Actor::secondary(Role::syncs(), &[0])
}

fn priorities() -> Rule {
    let pair = |first: Actor, a: Priority, b: Priority| {
        let first = Actor { priority: a, ..first };
        Scene::line([first, Actor { priority: b, ..second() }])
    };
    let claims = [law(not_before(1, 0, Bound::Trigger)), law(fresh(1, 0)), open(ahead(1, 0))];
    let waves = || Actor::new(Role::primary(10 * US)).grid(Grid::Waves(2.5));
    use Priority::{Highest, Lowest};
    Rule::scenes(
        "priorities",
        "priorities change neither when the secondary may begin nor what its sync covers",
        PTX_WAIT,
        vec![
            case("A lowest, B highest", pair(first(), Lowest, Highest), &claims),
            case("A highest, B lowest", pair(first(), Highest, Lowest), &claims),
            case("A of 2.5 waves lowest, B highest", pair(waves(), Lowest, Highest), &claims),
        ],
    )
}

fn clusters() -> Rule {
    let pair = |cluster_blocks| {
        let of = |actor: Actor| Actor { cluster_blocks, grid: Grid::Half, ..actor };
        Scene::line([of(first()), of(second())])
    };
    let claims = [law(not_before(1, 0, Bound::Trigger)), law(fresh(1, 0)), open(ahead(1, 0))];
    let size = |blocks| case(format!("clusters of {blocks}"), pair(blocks), &claims);
    Rule::scenes(
        "clusters",
        "clusters change neither when the secondary may begin nor what its sync covers",
        PTX_WAIT,
        [2, 4, 8].map(size).to_vec(),
    )
}

fn cooperative() -> Rule {
    let of = |actor: Actor, cooperative| Actor { cooperative, grid: Grid::Half, ..actor };
    let pair = |a, b| Scene::line([of(first(), a), of(second(), b)]);
    let claims = [law(fresh(1, 0)), open(ahead(1, 0))];
    Rule::scenes(
        "cooperative",
        "a cooperative launch may carry the programmatic attribute",
        UNDOCUMENTED,
        vec![
            case("B cooperative", pair(false, true), &claims),
            case("A and B cooperative", pair(true, true), &claims),
        ],
    )
}

fn busy() -> Rule {
    let pair = Scene { busy: true, ..Scene::line([first(), second()]) };
    Rule::scenes(
        "busy-stream",
        "a second stream that keeps the SMs busy changes nothing",
        PTX_WAIT,
        vec![case(
            "another stream runs a block on every SM meanwhile",
            pair,
            &[law(covers(1, 0)), permitted(ahead(1, 0))],
        )],
    )
}

fn below_90() -> Rule {
    let old = Actor { below_90: true, ..Actor::secondary(Role::default(), &[0]) };
    Rule::scenes(
        "below-90",
        "code built below compute capability 9.0 has lost its sync, and the attribute still makes \
         it run ahead",
        "not documented; CUB and llama.cpp ask for the PTX version before they set the attribute",
        vec![case(
            "B is PTX of compute_80, compiled by the driver",
            Scene::line([first(), old]),
            &[open(ahead(1, 0)), open(stale(1, 0))],
        )],
    )
}
