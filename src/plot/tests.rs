//! Charts of whole sweeps, good and spoiled.

use roxmltree::{Document, Node};

use crate::chain::{Arm, BodyKind, Trigger};
use crate::record::Verdict;

use super::fixture::{ARMS, Fixture, chain, default_sweep, row_mut, spoil, sweep};
use super::spoiled::sweeps;
use super::{Chosen, layout, render_all};

fn at(at: u32, of: u32) -> Trigger {
    Trigger::Segment { at, of }
}

fn render(fixture: &Fixture) -> Vec<(String, String)> {
    render_all(&fixture.rows, &fixture.samples, &fixture.ctx)
}

fn named<'a>(charts: &'a [(String, String)], name: &str) -> &'a str {
    let found = charts.iter().find(|chart| chart.0 == name);
    &found.unwrap_or_else(|| panic!("no {name} in {:?}", names(charts))).1
}

fn names(charts: &[(String, String)]) -> Vec<&str> {
    charts.iter().map(|chart| chart.0.as_str()).collect()
}

fn title(svg: &str) -> String {
    let document = Document::parse(svg).unwrap();
    let title = document.root_element().children().find(|n| n.has_tag_name("title")).unwrap();
    title.text().unwrap().to_owned()
}

fn groups<'a>(document: &'a Document<'a>, name: &str) -> Vec<Node<'a, 'a>> {
    let named = |n: &Node| n.attribute("data-name") == Some(name);
    document.descendants().filter(named).collect()
}

#[test]
fn every_chart_is_a_document_with_a_name_and_finite_numbers() {
    for (sweep, fixture) in sweeps() {
        let charts = render(&fixture);
        let mut files = names(&charts);
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), charts.len(), "{sweep}: names repeat");
        for (file, svg) in &charts {
            let document = Document::parse(svg).unwrap_or_else(|e| panic!("{sweep} {file}: {e}"));
            let root = document.root_element();
            assert_eq!(root.attribute("role"), Some("img"));
            for part in ["title", "desc"] {
                let node = root.children().find(|n| n.has_tag_name(part)).unwrap();
                assert!(node.text().unwrap().len() > 20, "{sweep} {file}: no {part}");
            }
            for node in document.descendants() {
                for attribute in node.attributes() {
                    let value = attribute.value();
                    assert!(!value.contains("NaN") && !value.contains("inf"), "{sweep} {file}");
                }
                let text = node.text().unwrap_or_default();
                assert!(!text.contains("NaN") && !text.contains("inf "), "{sweep} {file}: {text}");
            }
        }
        assert_eq!(charts, render(&fixture), "{sweep} is not the same twice");
    }
}

/// Numbers of an attribute: coordinates separated by spaces or commas.
fn numbers(text: &str) -> Vec<f64> {
    text.split([' ', ',']).filter(|t| !t.is_empty()).map(|t| t.parse().unwrap()).collect()
}

#[test]
fn nothing_leaves_the_view_box_and_no_two_texts_overlap() {
    for (sweep, fixture) in sweeps() {
        for (file, svg) in render(&fixture) {
            let document = Document::parse(&svg).unwrap();
            let view = numbers(document.root_element().attribute("viewBox").unwrap());
            let (width, height) = (view[2], view[3]);
            let mut boxes: Vec<(f64, f64, f64, f64, String)> = Vec::new();
            for node in document.descendants() {
                if let Some(points) = node.attribute("points") {
                    for pair in numbers(points).chunks(2) {
                        let inside =
                            (0.0..=width).contains(&pair[0]) && (0.0..=height).contains(&pair[1]);
                        assert!(inside, "{sweep} {file}: {pair:?}");
                    }
                }
                if node.has_tag_name("text") {
                    boxes.push(text_box(node));
                }
            }
            for (i, a) in boxes.iter().enumerate() {
                let inside = a.0 >= 0.0 && a.1 >= 0.0 && a.2 <= width && a.3 <= height;
                assert!(inside, "{sweep} {file}: {a:?} leaves {width} × {height}");
                for b in &boxes[..i] {
                    let apart = a.0 >= b.2 || b.0 >= a.2 || a.1 >= b.3 || b.1 >= a.3;
                    assert!(apart, "{sweep} {file}: {a:?} overlaps {b:?}");
                }
            }
        }
    }
}

/// Left, top, right and bottom of a text, on the grid of the document.
fn text_box(node: Node) -> (f64, f64, f64, f64, String) {
    let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let (x, y, size) = (number("x"), number("y"), number("font-size"));
    let text = node.text().unwrap().trim().to_owned();
    let bold = node.attribute("font-weight") == Some("bold");
    let along = layout::width(&text, size, bold);
    // Ink without the room above and below.
    let across = size * 0.8;
    if node.attribute("transform").is_some() {
        return (x - across / 2.0, y - along / 2.0, x + across / 2.0, y + along / 2.0, text);
    }
    let left = match node.attribute("text-anchor").unwrap() {
        "start" => x,
        "middle" => x - along / 2.0,
        _ => x - along,
    };
    (left, y - across / 2.0, left + along, y + across / 2.0, text)
}

#[test]
fn a_sweep_gets_the_charts_that_apply() {
    let cases: [(&str, &[&str]); 4] = [
        (
            "default",
            &[
                "gain-g0-fma-graph.svg",
                "gain-g0-fma-stream.svg",
                "period-g0-fma.svg",
                "gain-g1-hbm-graph.svg",
                "gain-g1-hbm-stream.svg",
                "period-g1-hbm.svg",
                "heat-body-kind-g0-graph-pdl.svg",
                "heat-body-kind-g0-stream-pdl.svg",
                "samples-g0-fma.svg",
                "samples-g1-hbm.svg",
            ],
        ),
        (
            "one-trigger",
            &[
                "gain-g0-fma-graph.svg",
                "gain-g0-fma-stream.svg",
                "period-g0-fma.svg",
                "samples-g0-fma.svg",
            ],
        ),
        ("baselines", &["samples-g0-fma.svg"]),
        ("no-baseline", &["gain-g0-fma-graph.svg", "period-g0-fma.svg", "samples-g0-fma.svg"]),
    ];
    let sweeps = sweeps();
    for (sweep, expected) in cases {
        let fixture = &sweeps.iter().find(|s| s.0 == sweep).unwrap().1;
        assert_eq!(names(&render(fixture)), expected, "{sweep}");
    }
}

#[test]
fn each_arm_is_one_series_with_a_mark_a_value() {
    let fixture = default_sweep();
    let charts = render(&fixture);
    let gain = Document::parse(named(&charts, "gain-g0-fma-graph.svg")).unwrap();
    assert_eq!(groups(&gain, "graph-pdl").len(), 1);
    assert_eq!(groups(&gain, "graph-full").len(), 1);
    assert_eq!(groups(&gain, "stream-pdl").len(), 0);
    let circles = groups(&gain, "graph-pdl")[0]
        .descendants()
        .filter(|n| {
            n.has_tag_name("polygon") && numbers(n.attribute("points").unwrap()).len() == 32
        })
        .count();
    assert_eq!(circles, 12);
    let period = Document::parse(named(&charts, "period-g0-fma.svg")).unwrap();
    for arm in ["stream", "graph", "stream-full", "stream-pdl", "graph-full", "graph-pdl"] {
        assert_eq!(groups(&period, arm).len(), 1, "{arm}");
    }
    let samples = Document::parse(named(&charts, "samples-g0-fma.svg")).unwrap();
    for arm in ARMS {
        let strips = groups(&samples, &arm.to_string());
        assert_eq!(strips.len(), 1, "{arm}");
        let dots = strips[0].descendants().filter(|n| n.has_tag_name("circle")).count();
        // Two of sixty are left out, and two lie far in the tail.
        assert!((54..=58).contains(&dots), "{arm}: {dots}");
    }
}

#[test]
fn marks_that_share_a_slot_stand_side_by_side_inside_the_panel() {
    let all = sweeps();
    let fixture = &all.iter().find(|s| s.0 == "all-arms").unwrap().1;
    let charts = render(fixture);
    let document = Document::parse(named(&charts, "period-g0-fma.svg")).unwrap();
    let mut last: Vec<f64> = Vec::new();
    for arm in ["stream-full", "stream-pdl", "graph-full", "graph-pdl", "graph-completion"] {
        let marks = groups(&document, arm)[0].descendants().filter(|n| n.has_tag_name("polygon"));
        let centre = |n: Node| {
            let x: Vec<f64> =
                numbers(n.attribute("points").unwrap()).chunks(2).map(|p| p[0]).collect();
            x.iter().sum::<f64>() / x.len() as f64
        };
        // The mark at `implicit` is the rightmost.
        last.push(marks.map(centre).fold(0.0, f64::max));
    }
    assert!(last.is_sorted_by(|a, b| b - a > 100.0), "{last:?}");
    assert!(last[0] > 5900.0 && last[4] < 6820.0, "{last:?}");
}

/// Lines (not markers or bands) of an arm, as lists of x.
fn lines(svg: &str, arm: &str) -> Vec<Vec<f64>> {
    let document = Document::parse(svg).unwrap();
    let group = groups(&document, arm)[0];
    let open = |points: &Vec<f64>| points[..2] != points[points.len() - 2..];
    group
        .descendants()
        .filter(|n| n.has_tag_name("polyline") && n.attribute("stroke-width") == Some("20"))
        .map(|n| numbers(n.attribute("points").unwrap()))
        .filter(open)
        .map(|points| points.chunks(2).map(|p| p[0]).collect())
        .collect()
}

#[test]
fn lines_join_positions_in_the_body_and_break_where_there_is_no_value() {
    let mut fixture = default_sweep();
    let whole = lines(named(&render(&fixture), "gain-g0-fma-graph.svg"), "graph-pdl");
    assert_eq!(whole.iter().map(Vec::len).collect::<Vec<_>>(), [10], "0/8 to 8/8 and after");
    spoil(row_mut(&mut fixture, 0, Arm::GraphPdl, at(3, 8)), Verdict::Wrong, "wrong");
    let broken = lines(named(&render(&fixture), "gain-g0-fma-graph.svg"), "graph-pdl");
    assert_eq!(broken.iter().map(Vec::len).collect::<Vec<_>>(), [3, 6]);
}

#[test]
fn a_wrong_result_shows_no_speed() {
    let mut fixture = default_sweep();
    let row = row_mut(&mut fixture, 0, Arm::GraphPdl, at(0, 8));
    row.correct = Some(false);
    row.saved_ns = Some(98_765.0);
    row.verdict = Some(Verdict::Helps);
    for (file, svg) in render(&fixture) {
        assert!(!svg.contains("98.8") && !svg.contains("98.77"), "{file}");
    }
    fixture.rows.iter_mut().for_each(|row| spoil(row, Verdict::Wrong, "wrong"));
    let charts = render(&fixture);
    let charts = names(&charts).join(" ");
    assert!(!charts.contains("samples") && !charts.contains("period"), "{charts}");
}

#[test]
fn titles_state_the_finding() {
    let file = "gain-g0-fma-graph.svg";
    let mut fixture = default_sweep();
    let best = title(named(&render(&fixture), file));
    assert!(best.starts_with("graph-pdl saves 2.5") && best.contains("(95 % "), "{best}");
    fixture.ctx.chosen = vec![Chosen { group: 0, arm: Arm::GraphPdl, trigger: Some(at(4, 8)) }];
    let chosen = title(named(&render(&fixture), file));
    assert!(chosen.contains("at trigger 4/8"), "{chosen}");
    fixture.ctx.simulated = true;
    for (file, svg) in render(&fixture) {
        assert!(title(&svg).starts_with("SIMULATED"), "{file}");
    }
    let mut open = default_sweep();
    open.rows.iter_mut().for_each(|row| row.verdict = Some(Verdict::Inconclusive));
    for (file, svg) in render(&open) {
        let says = title(&svg);
        assert!(!says.contains("saves"), "{file}: {says}");
    }
    let harm = title(named(&render(&default_sweep()), "gain-g1-hbm-graph.svg"));
    assert!(harm.contains("a trigger at 7/8 makes the chain 1.5"), "{harm}");
    let sweeps = sweeps();
    let of = |name: &str| {
        let fixture = &sweeps.iter().find(|s| s.0 == name).unwrap().1;
        title(named(&render(fixture), file))
    };
    assert!(of("negative").starts_with("No trigger helps graph-pdl; a trigger at"));
    assert_eq!(of("wrong"), "No speed can be given for graph-pdl: results were wrong");
    assert_eq!(of("empty"), "No speed can be given for graph-pdl: every point was skipped");
    assert!(of("spoiled").ends_with("wrong results at trigger 3/8"), "{}", of("spoiled"));
}

#[test]
fn the_crossover_is_where_the_saving_changes_sign() {
    let chains: Vec<_> = [1.0, 4.0, 16.0].iter().map(|&us| chain(BodyKind::Fma, us)).collect();
    let mut fixture = sweep(&chains, &[at(0, 8)], &ARMS);
    for (group, saved) in [(0, 1000.0), (1, 500.0), (2, -500.0)] {
        let row = row_mut(&mut fixture, group, Arm::GraphPdl, at(0, 8));
        row.saved_ns = Some(saved);
        row.body_ns = Some(1000.0 * 4f64.powi(group as i32));
        row.verdict = Some(if saved > 0.0 { Verdict::Helps } else { Verdict::Hurts });
    }
    // Halfway between 4 and 16 µs on a logarithmic axis.
    let charts = render(&fixture);
    let text = title(named(&charts, "body-length-g0-graph-pdl.svg"));
    assert!(text.ends_with("crosses zero at a body of 8.00 µs"), "{text}");
}

#[test]
#[ignore = "writes the charts of every fixture to a directory for a person to look at"]
fn write_charts() {
    let Some(out) = std::env::var_os("PDL_CHARTS_OUT") else { return };
    for (sweep, fixture) in sweeps() {
        let directory = std::path::Path::new(&out).join(sweep);
        std::fs::create_dir_all(&directory).unwrap();
        for (file, svg) in render(&fixture) {
            std::fs::write(directory.join(file), svg).unwrap();
        }
    }
}
