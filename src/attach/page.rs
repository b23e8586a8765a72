//! A report as a page that needs no network.

use minijinja::{Environment, context};
use serde::Serialize;

use super::report::{Effect, Report};
use super::text::{head_and_answer, interval, loud, saved};
use crate::error::{Error, Result};
use crate::units::ABSENT;

#[derive(Serialize)]
struct KindLine {
    primary: String,
    secondary: String,
    edges: usize,
    alone: String,
    in_all: String,
    in_chosen: String,
    interval: String,
    verdict: String,
}

#[derive(Serialize)]
struct EdgeLine {
    edge: u32,
    primary: String,
    secondary: String,
    advice: &'static str,
    why: String,
    in_chosen: String,
    race: String,
}

/// Renders the page. Names of kernels are escaped: they are somebody else's text.
///
/// # Errors
/// Those of the template engine.
pub fn report_page(report: &Report) -> Result<String> {
    let fail = |error: minijinja::Error| Error::failed("render the page", error);
    let mut environment = Environment::new();
    environment.add_template("page.html", include_str!("page.html")).map_err(fail)?;
    let unsafe_mark = if report.options.unsafe_no_sync { "UNSAFE: " } else { "" };
    let title = format!("{unsafe_mark}edges of a graph on {}", report.origin.device);
    environment
        .get_template("page.html")
        .and_then(|page| {
            page.render(context! {
                title => title,
                head => head_and_answer(report),
                report => report,
                kinds => kinds(report),
                edges => edges(report),
            })
        })
        .map_err(fail)
}

fn kinds(report: &Report) -> Vec<KindLine> {
    let lines = report.kinds.iter().map(|row| {
        let kind = &report.listing.kinds[row.kind as usize];
        let of = |effect: &Option<Effect>| saved(effect.as_ref());
        KindLine {
            primary: kind.primary.clone(),
            secondary: kind.secondary.clone(),
            edges: row.edges.len(),
            alone: of(&row.alone),
            in_all: of(&row.in_all),
            in_chosen: of(&row.in_chosen),
            interval: row.in_chosen.as_ref().map_or(ABSENT.into(), interval),
            verdict: row.in_chosen.as_ref().map_or(ABSENT.into(), |e| loud(e.verdict)),
        }
    });
    lines.collect()
}

fn edges(report: &Report) -> Vec<EdgeLine> {
    let lines = report.edges.iter().filter_map(|row| {
        let edge = report.listing.edges.get(row.edge as usize)?;
        let race = row.race.as_ref();
        Some(EdgeLine {
            edge: row.edge,
            primary: report.listing.node_name(edge.from),
            secondary: report.listing.node_name(edge.to),
            advice: row.advice.name(),
            why: row.why.clone(),
            in_chosen: saved(row.in_chosen.as_ref()),
            race: race
                .map_or(ABSENT.into(), |race| format!("{}: {}", race.verdict.name(), race.reason)),
        })
    });
    lines.collect()
}
