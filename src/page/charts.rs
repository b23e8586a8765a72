//! Charts, drawn into the page.

use minijinja::value::Value;
use serde::Serialize;

/// Charts in the order they are read.
#[derive(Serialize)]
pub(super) struct View {
    /// What answers: gains, lengths, heat maps.
    main: Vec<Chart>,
    /// What stands behind it: periods, then every sample.
    behind: Vec<Behind>,
}

/// Charts that are folded away.
#[derive(Serialize)]
struct Behind {
    title: &'static str,
    charts: Vec<Chart>,
}

/// One chart.
#[derive(Serialize)]
struct Chart {
    /// Its file under `charts/`.
    file: String,
    svg: Value,
}

pub(super) fn view(charts: &[(String, String)]) -> View {
    let chart = |(file, svg): &(String, String)| Chart {
        file: file.clone(),
        // Drawn by this program: names in it were escaped when it was drawn.
        svg: Value::from_safe_string(svg.clone()),
    };
    let of = |kind: &str| -> Vec<Chart> {
        let named = charts.iter().filter(|(file, _)| file.starts_with(kind));
        named.map(chart).collect()
    };
    let folded = [
        ("What the exposed time is made of", "exposed-"),
        ("Period of every arm", "period-"),
        ("Every sample", "samples-"),
    ];
    let is_main = |file: &str| folded.iter().all(|(_, kind)| !file.starts_with(kind));
    // What tells of many groups comes before what tells of one.
    let (one, many): (Vec<_>, Vec<_>) = charts
        .iter()
        .filter(|(file, _)| is_main(file))
        .partition(|(file, _)| file.starts_with("gain-"));
    View {
        main: many.into_iter().chain(one).map(chart).collect(),
        behind: folded
            .into_iter()
            .map(|(title, kind)| Behind { title, charts: of(kind) })
            .filter(|behind| !behind.charts.is_empty())
            .collect(),
    }
}
