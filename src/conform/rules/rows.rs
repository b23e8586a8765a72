//! Three kernels in a row, and several readers of one primary.

use super::*;
use crate::conform::{Actor, Moment, Port, Role};

pub fn rules() -> Vec<Rule> {
    vec![middle_without_sync(), middle_with_sync(), two_consumers(), fan_in(), fan_out()]
}

fn first() -> Actor {
    Actor::new(Role::primary(80 * US))
}

fn third() -> Actor {
    Actor::secondary(Role::syncs(), &[0])
}

fn middle_without_sync() -> Rule {
    let row = |trigger| {
        let middle = Actor::secondary(Role::default().trigger(trigger), &[]);
        Scene::line([first(), middle, third()])
    };
    let claims = [open(uncovered(2, 0)), open(ahead(2, 0))];
    Rule::scenes(
        "middle-without-sync",
        "what the third kernel's sync covers when the second does not sync",
        UNDOCUMENTED,
        vec![
            case(
                "A spins 80 µs, then writes; B triggers at entry; C syncs and reads A",
                row(Moment::AtEntry),
                &claims,
            ),
            case(
                "A spins 80 µs, then writes; B never triggers; C syncs and reads A",
                row(Moment::Never),
                &claims,
            ),
        ],
    )
}

fn middle_with_sync() -> Rule {
    let row = |trigger| {
        let middle = Actor::secondary(Role::syncs().trigger(trigger), &[0]);
        Scene::line([first(), middle, third()])
    };
    Rule::scenes(
        "middle-with-sync",
        "the third kernel's sync covers the first where the second syncs, since the second \
         completes after the first",
        "follows from the rule of the sync",
        vec![
            case(
                "B triggers before its sync; C syncs and reads A",
                row(Moment::AtEntry),
                &[law(covers(1, 0)), law(covers(2, 0)), permitted(ahead(2, 0))],
            ),
            case(
                "B triggers after its sync; C syncs and reads A",
                row(Moment::AfterSync),
                &[law(covers(1, 0)), law(not_before(2, 0, Bound::End)), law(fresh(2, 0))],
            ),
        ],
    )
}

fn two_consumers() -> Rule {
    let both = |trigger| {
        let second = Role { body_ns: 20 * US, ..Role::syncs().trigger(trigger) };
        let third = Actor::secondary(Role::syncs(), &[0, 1]);
        Scene::line([first(), Actor::secondary(second, &[0]), third])
    };
    let b = Claim::Covers { reader: 2, of: 1, slot: 1 };
    Rule::scenes(
        "two-consumers",
        "two successive kernels may both read what one primary wrote, if both sync",
        "follows from the rule of the sync",
        vec![
            case(
                "B triggers before its sync, spins 20 µs after it; C reads A and B",
                both(Moment::AtEntry),
                &[law(covers(1, 0)), law(covers(2, 0)), law(b)],
            ),
            case(
                "B triggers after its sync, spins 20 µs; C reads A and B",
                both(Moment::AfterSync),
                &[law(covers(1, 0)), law(fresh(2, 0)), law(b)],
            ),
        ],
    )
}

fn fan_in() -> Rule {
    let long = Actor::new(Role::primary(100 * US));
    let short = Actor::new(Role { body_ns: 30 * US, ..Role::default() });
    let reader = || Actor { reads: vec![0, 1], ..Actor::new(Role::syncs()) };
    let b = Claim::Fresh { reader: 2, of: 1, slot: 1 };
    let covers_b = Claim::Covers { reader: 2, of: 1, slot: 1 };
    Rule::scenes(
        "fan-in",
        "a kernel with a programmatic and a full edge waits for each as the edge says",
        "CUDA driver API, CUgraphEdgeData",
        vec![
            graph_case(
                "A (100 µs) over a programmatic edge, B (30 µs) over a full edge; C syncs",
                Scene::graph(
                    [long.clone(), short, reader()],
                    &[(0, 2, Port::Programmatic), (1, 2, Port::Full)],
                ),
                &[
                    law(not_before(2, 1, Bound::End)),
                    law(fresh(2, 0)),
                    law(b),
                    permitted(ahead(2, 0)),
                ],
            ),
            graph_case(
                "A (100 µs) and B (60 µs) over programmatic edges; C syncs",
                Scene::graph(
                    [long, Actor::new(Role::primary(60 * US)), reader()],
                    &[(0, 2, Port::Programmatic), (1, 2, Port::Programmatic)],
                ),
                &[law(covers(2, 0)), law(covers_b), permitted(ahead(2, 0))],
            ),
        ],
    )
}

fn fan_out() -> Rule {
    let first = || Actor::new(Role::primary(50 * US));
    let reader = || Actor { reads: vec![0], ..Actor::new(Role::syncs()) };
    Rule::scenes(
        "fan-out",
        "a programmatic edge and a full edge from one kernel do not change one another",
        "CUDA driver API, CUgraphEdgeData",
        vec![
            graph_case(
                "B over a programmatic edge, C over a full edge",
                Scene::graph(
                    [first(), reader(), reader()],
                    &[(0, 1, Port::Programmatic), (0, 2, Port::Full)],
                ),
                &[
                    law(fresh(1, 0)),
                    law(not_before(2, 0, Bound::End)),
                    law(fresh(2, 0)),
                    permitted(ahead(1, 0)),
                ],
            ),
            graph_case(
                "B and C over programmatic edges",
                Scene::graph(
                    [first(), reader(), reader()],
                    &[(0, 1, Port::Programmatic), (0, 2, Port::Programmatic)],
                ),
                &[law(covers(1, 0)), law(covers(2, 0))],
            ),
        ],
    )
}
