use super::*;
use crate::chain::Arm;
use crate::timeline::fixture::{named_track, track};

fn context() -> Context {
    Context { caption: "A device, driver 1.2".into(), ..Context::default() }
}

fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let nodes = document.descendants().filter(|node| node.has_tag_name("text"));
    nodes.filter_map(|node| Some(node.text()?.trim().to_owned())).collect()
}

#[test]
fn the_quantities_of_the_hop_are_written_on_it() {
    let tracks = [
        track(Arm::GraphFull, 50, 132, -900.0, f64::NAN),
        track(Arm::GraphPdl, 50, 132, 3000.0, 2000.0),
    ];
    let svg = timeline(&tracks, 132, Lanes::Node, "what was run", &context());
    let texts = texts(&svg);
    for expected in [
        "launch gap 0.90\u{A0}µs",
        "launch gap −3.00\u{A0}µs",
        "graph-full",
        "graph-pdl, trigger 4/8",
    ] {
        assert!(texts.iter().any(|text| text == expected), "{expected}: {texts:?}");
    }
    assert!(svg.contains("begins 3.00\u{A0}µs before its primary ends"));
    assert!(texts.iter().any(|text| text.contains("even in all 50 nodes")));
}

#[test]
fn what_a_kernel_names_is_on_the_chart() {
    let svg = timeline(&[named_track(Arm::GraphPdl, 6, 4)], 132, Lanes::Node, "", &context());
    let texts = texts(&svg);
    for expected in ["weights", "sum", "begin of what a kernel names"] {
        assert!(texts.iter().any(|text| text == expected), "{expected}: {texts:?}");
    }
    let svg = timeline(&[track(Arm::GraphPdl, 6, 4, 0.0, 0.0)], 132, Lanes::Node, "", &context());
    assert!(!svg.contains("begin of what a kernel names"));
}

#[test]
fn a_large_chain_stays_below_a_megabyte() {
    let tracks =
        [track(Arm::GraphFull, 50, 132, -900.0, f64::NAN), track(Arm::GraphPdl, 50, 132, 3e3, 2e3)];
    let svg = timeline(&tracks, 132, Lanes::Node, "", &context());
    assert!(svg.len() < 1_000_000, "{}", svg.len());
    let long = [track(Arm::GraphPdl, 2000, 16, 3e3, 2e3)];
    assert!(timeline(&long, 132, Lanes::Node, "", &context()).len() < 1_000_000);
    let short = [track(Arm::GraphPdl, 8, 512, 3e3, 2e3)];
    let svg = timeline(&short, 512, Lanes::Sm, "", &context());
    assert!(svg.len() < 1_000_000, "{}", svg.len());
}

#[test]
fn every_chain_can_be_drawn() {
    for (nodes, blocks) in [(1, 1), (2, 1), (3, 7), (9, 2)] {
        for lanes in [Lanes::Node, Lanes::Sm] {
            let tracks = [
                track(Arm::GraphFull, nodes, blocks, -900.0, f64::NAN),
                // A trigger at entry: all of the body is after it.
                track(Arm::GraphPdl, nodes, blocks, 9000.0, -5000.0),
            ];
            let svg = timeline(&tracks, 4, lanes, "", &context());
            let document = roxmltree::Document::parse(&svg).unwrap();
            for path in document.descendants().filter(|node| node.has_tag_name("path")) {
                let path = path.attribute("d").unwrap();
                assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
            }
            let sms = texts(&svg).iter().any(|text| text == "SM");
            assert_eq!(sms, lanes == Lanes::Sm && nodes <= SM_LANES_NODES, "{nodes} {lanes:?}");
        }
    }
}

#[test]
fn areas_are_bounded_by_the_moments_of_the_blocks() {
    let track = track(Arm::GraphPdl, 3, 10, 3000.0, 2000.0);
    let x = Scale::linear((0.0, 100.0), 0.0, 1000.0);
    let areas = lanes::areas(track.stamps.node(0), 0.0, &x, (0.0, 40.0), 24);
    let phases: Vec<Phase> = areas.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(phases, Phase::ALL);
    // 10 px a µs; the preamble of the first block is from 0 to 2 µs, of the last 72 ns later.
    let preamble = &areas[0].1;
    let corners = [(0.0, 0.0), (0.72, 40.0), (20.72, 40.0), (20.0, 0.0)];
    for corner in corners {
        let near = |p: &&(f64, f64)| (p.0 - corner.0).abs() < 0.01 && (p.1 - corner.1).abs() < 0.01;
        assert!(preamble.iter().any(|p| near(&p)), "{corner:?} in {preamble:?}");
    }
}
