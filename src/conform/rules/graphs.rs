//! Ports, events and the life of a graph.

use super::*;
use crate::conform::{Actor, Event, Moment, Port, Role, Test, Usage};

pub fn rules() -> Vec<Rule> {
    vec![
        completion_edge(),
        programmatic_event(),
        completion_event(),
        graph_life(),
        Rule {
            id: "many-launches",
            statement: "a graph keeps its edges however often it is launched",
            source: PTX_WAIT,
            test: Test::ManyLaunches,
        },
        Rule {
            id: "lossy-query",
            statement: "programmatic edges are not handed out without their data",
            source: "CUDA runtime API, cudaGraphGetEdges: cudaErrorLossyQuery",
            test: Test::LossyQuery,
        },
    ]
}

fn completion_edge() -> Rule {
    let first = Actor::new(Role { body_ns: 50 * US, ..Role::default() });
    let second = Actor { reads: vec![0], ..Actor::new(Role::syncs()) };
    Rule::scenes(
        "launch-completion-edge",
        "over a launch-completion port the secondary begins when all blocks have begun, and its \
         sync covers the primary",
        "CUDA runtime API, cudaGraphKernelNodePortLaunchCompletion and \
         cudaGraphDependencyTypeProgrammatic",
        vec![graph_case(
            "A never triggers, spins 50 µs, writes; B syncs",
            Scene::graph([first, second], &[(0, 1, Port::LaunchCompletion)]),
            &[law(not_before(1, 0, Bound::Begin)), law(covers(1, 0)), permitted(ahead(1, 0))],
        )],
    )
}

/// A records the event, B waits for it in a second stream, with the attribute or without.
fn over_event(event: Event, trigger: Moment, programmatic: bool) -> Scene {
    let role = Role { trigger, before_ns: 20 * US, body_ns: 40 * US, ..Role::default() };
    let first = Actor { event: Some(event), ..Actor::new(role) };
    let second = Actor { programmatic, reads: vec![0], ..Actor::new(Role::syncs()) };
    Scene::line([first, second])
}

fn programmatic_event() -> Rule {
    let fires = |event, trigger, bound: Asserted, name: &str| {
        [false, true].map(|programmatic| {
            let with = if programmatic { "B with the attribute" } else { "B without" };
            let claims = [bound, law(fresh(1, 0)), open(ahead(1, 0))];
            case(format!("{name}; {with}"), over_event(event, trigger, programmatic), &claims)
        })
    };
    let mut cases = fires(
        Event::Programmatic,
        Moment::BeforeSync,
        law(not_before(1, 0, Bound::Trigger)),
        "A triggers after 20 µs, writes after 60",
    )
    .to_vec();
    cases.extend(fires(
        Event::AtBlockStart,
        Moment::Never,
        open(not_before(1, 0, Bound::Begin)),
        "triggerAtBlockStart; A writes after 60 µs",
    ));
    Rule::scenes(
        "programmatic-event",
        "a programmatic event fires after all blocks have triggered, and the waiting kernel's sync \
         covers the primary",
        "CUDA runtime API, cudaLaunchAttributeProgrammaticEvent",
        cases,
    )
}

fn completion_event() -> Rule {
    Rule::scenes(
        "launch-completion-event",
        "a launch-completion event fires when all blocks have begun; the sync does not know it",
        "CUDA runtime API, cudaLaunchAttributeLaunchCompletionEvent: best effort",
        vec![case(
            "A never triggers, writes after 60 µs; B syncs",
            over_event(Event::LaunchCompletion, Moment::Never, false),
            &[open(not_before(1, 0, Bound::Begin)), open(ahead(1, 0)), open(uncovered(1, 0))],
        )],
    )
}

fn graph_life() -> Rule {
    let scene = |usage| {
        let pair = [Actor::new(Role::primary(50 * US)), Actor::secondary(Role::syncs(), &[0])];
        Scene { usage, ..Scene::line(pair) }
    };
    let claims = [law(covers(1, 0)), permitted(ahead(1, 0))];
    Rule::scenes(
        "graph-life",
        "edges keep their type when a graph is cloned, instantiated again or updated",
        "CUDA runtime API; the rule of the sync",
        vec![
            graph_case("cloned, the original destroyed", scene(Usage::Cloned), &claims),
            graph_case("instantiated a second time", scene(Usage::Reinstantiated), &claims),
            graph_case("updated from half the times", scene(Usage::Updated), &claims),
        ],
    )
}
