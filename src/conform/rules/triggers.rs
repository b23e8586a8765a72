//! What the trigger is, and what it is not.

use super::*;
use crate::conform::{Actor, Grid, Moment, Rest, Role};

pub fn rules() -> Vec<Rule> {
    vec![implicit_trigger(), all_blocks(), first_thread(), publishes_nothing()]
}

/// B neither syncs nor reads: it shows when it may begin.
fn early_bird() -> Actor {
    Actor::secondary(Role::default(), &[])
}

fn implicit_trigger() -> Rule {
    let spins = Role { body_ns: 20 * US, ..Role::default() };
    let short = Role { body_ns: 2 * US, ..Role::default() };
    let syncs = || Actor::secondary(Role::syncs(), &[0]);
    Rule::scenes(
        "implicit-trigger",
        "a block that never triggers does so when it exits, and a sync behind it does not hang",
        GUIDE,
        vec![
            case(
                "A never triggers, spins 20 µs, writes; B syncs",
                Scene::line([Actor::new(spins), syncs()]),
                &[law(not_before(1, 0, Bound::End)), law(fresh(1, 0))],
            ),
            case(
                "half of A's blocks spin 2 µs, half 20 µs; B syncs",
                Scene::line([Actor::new(short).rest(Rest::SecondHalf, spins), syncs()]),
                &[law(not_before(1, 0, Bound::End)), law(fresh(1, 0))],
            ),
            case(
                "A never triggers, spins 20 µs, writes; B does not sync",
                Scene::line([Actor::new(spins), Actor::secondary(Role::default(), &[0])]),
                &[law(not_before(1, 0, Bound::End)), open(stale(1, 0))],
            ),
        ],
    )
}

fn all_blocks() -> Rule {
    let early = Role::primary(80 * US);
    let late = Role {
        trigger: Moment::BeforeSync,
        before_ns: 40 * US,
        body_ns: 40 * US,
        ..Role::default()
    };
    let gone = Role { before_ns: 40 * US, ..Role::default() };
    let claims = [law(not_before(1, 0, Bound::Trigger)), permitted(ahead(1, 0))];
    let pair = |first: Actor| Scene::line([first, early_bird()]);
    let last = |role: Role| Actor::new(early).rest(Rest::LastBlock, role);
    Rule::scenes(
        "all-blocks",
        "the secondary begins when every block has triggered or exited, and not before",
        PTX_LAUNCH,
        vec![
            case("the last block of A triggers 40 µs after the others", pair(last(late)), &claims),
            case("the last block of A exits after 40 µs, untriggered", pair(last(gone)), &claims),
            case(
                "all blocks of A but the last exit at once, untriggered",
                pair(Actor::new(Role::default()).rest(Rest::LastBlock, late)),
                &claims,
            ),
            case(
                "A of 2.5 waves triggers at entry",
                pair(Actor::new(Role::primary(10 * US)).grid(Grid::Waves(2.5))),
                &claims,
            ),
        ],
    )
}

fn first_thread() -> Rule {
    let first = || Actor::new(Role::primary(50 * US));
    let claims = [permitted(ahead(1, 0)), law(not_before(1, 0, Bound::Trigger))];
    let pair = |first: Actor| Scene::line([first, early_bird()]);
    Rule::scenes(
        "first-thread",
        "the first thread to trigger counts for its block; more triggers change nothing",
        "PTX ISA, griddepcontrol.launch_dependents: repeated invocations have no additional \
         side effects",
        vec![
            case("thread 0 of each block of A triggers, no other", pair(first()), &claims),
            case(
                "the last thread of each block of A triggers, no other",
                pair(Actor { last_thread_triggers: true, ..first() }),
                &claims,
            ),
            case(
                "thread 0 of each block of A triggers, all threads again at their end",
                pair(Actor { retriggers: true, ..first() }),
                &claims,
            ),
        ],
    )
}

fn publishes_nothing() -> Rule {
    let reader = || Actor::secondary(Role::default(), &[0]);
    let writes_first = Role {
        trigger: Moment::AfterWrite,
        before_ns: 2 * US,
        after_ns: 30 * US,
        ..Role::default()
    };
    let fenced = Role { fence: true, ..writes_first };
    let then = Role { after_ns: 20 * US, ..Role::primary(20 * US) };
    let claims = [open(stale(1, 0)), permitted(ahead(1, 0))];
    let pair = |role: Role| Scene::line([Actor::new(role), reader()]);
    Rule::scenes(
        "trigger-publishes-nothing",
        "the trigger alone makes nothing visible to a reader that does not sync",
        "PTX ISA promises visibility for griddepcontrol.wait alone; copies of it name a release \
         fence before the trigger as the one exception",
        vec![
            case("A triggers, spins 20 µs, then writes; B does not sync", pair(then), &claims),
            case("A writes, barrier, triggers; B does not sync", pair(writes_first), &claims),
            case("A writes, fence, barrier, triggers; B does not sync", pair(fenced), &claims),
        ],
    )
}
