//! Time saved a hop against the position of the trigger, and beneath it what the trigger does to
//! the primary and how the secondary spends its time before the sync returns.

use crate::chain::{Arm, Submission};
use crate::record::{LimitBy, ProofVerdict, SummaryRow, Verdict};

use super::figure::{Figure, Key, Panel};
use super::finding;
use super::group::{Group, Shown, baseline, saved};
use super::scale::{self, Scale, figure as number};
use super::series::{self, Field, Series};
use super::style::{self, FAINT, FLOOR, HARM, HARM_INK, INK, LIMIT, LIMIT_DASH, Marker, Stroke};
use super::triggers::TriggerAxis;
use super::{Context, Named, overlay, stamped};

const LEFT: f64 = 76.0;
const RIGHT: f64 = 766.0;

/// The chart of one submission of a group; `None` when no arm has an effect to draw.
pub(super) fn chart(group: &Group, submission: Submission, ctx: &Context) -> Option<Named> {
    let series = effects(group, submission);
    let subject = subject(&series)?;
    let name = format!("gain-{}-{}.svg", group.slug(), submission.name());
    let finding = finding::gain(group, subject, ctx);
    let base = group.baseline_us(submission);
    let against = base.map(|b| format!(" (period {} µs)", number(b))).unwrap_or_default();
    let subtitle = format!("baseline {}{against} · {}", baseline(submission), group.label(None));
    let mut figure = Figure::new(&finding, &subtitle, ctx);
    let triggers: Vec<_> =
        series.iter().flat_map(|s| s.rows.iter().map(|row| row.trigger)).collect();
    let axis = TriggerAxis::new(&triggers, LEFT, RIGHT);
    let floor = scale::drawable(ctx.floors_us.get(&(group.id, submission)).copied());
    let limit = group.limit_saved_us(submission);

    let best = finding::best(group, subject, ctx).filter(|row| row.verdict == Some(Verdict::Helps));
    let mut legend = series::legend(&series);
    legend.push((Key::Area(style::of(subject).stroke.color, 0.3), "95 % interval".to_owned()));
    if limit.is_some() {
        let stroke = Stroke { color: LIMIT, width: 1.6, dash: LIMIT_DASH };
        let by = group.limit_by(submission).map_or("body alone", LimitBy::words);
        legend.push((Key::Line(stroke), format!("limit: {by}")));
    }
    legend.extend(overlay::legend(&series, overlay::saved, ctx.predicted.as_deref()));
    if floor.is_some() {
        legend.push((Key::Area(FLOOR, 0.6), "A/A noise floor".to_owned()));
    }
    if best.is_some() {
        legend.push((Key::Ring, "named in the title".to_owned()));
    }
    figure.legend(&legend);

    let slowed = series.iter().find(|s| s.arm == subject).filter(|s| stamped::any(&s.rows));
    let panel = figure.panel(LEFT, RIGHT, 300.0);
    let least = upper(&mut figure, panel, &axis, &series, Marks { floor, limit, submission, best });
    axis.draw(&mut figure, panel, slowed.is_none());
    if let Some(subject) = slowed {
        stamped::panel(&mut figure, &axis, subject.arm, &subject.rows, (LEFT, RIGHT));
    }
    let last = Panel { bottom: figure.y, ..panel };
    figure.x_label(last, axis.label());
    for note in notes(group, &series, least) {
        figure.note(&note);
    }
    let spoken: Vec<_> = series.iter().map(|s| finding::spoken(s.arm, &s.rows, saved)).collect();
    let desc = format!(
        "{finding}. Microseconds saved a hop against {}, by trigger, with 95 % intervals. {} {}",
        baseline(submission),
        spoken.join(" "),
        limit.map(|l| format!("At most {} could be saved.", number(l))).unwrap_or_default()
    );
    Some((name.clone(), figure.finish(&name, &desc)))
}

/// The arms of a submission that are compared with a baseline.
fn effects<'a>(group: &Group<'a>, submission: Submission) -> Vec<Series<'a>> {
    let drawn =
        |arm: &Arm| arm.submission() == submission && arm.baseline().is_some() && !arm.is_again();
    let series = |arm| Series { arm, rows: group.arm(arm), value: saved, hollow: true };
    group.arms().into_iter().filter(drawn).map(series).collect()
}

/// The arm that the chart is about: the programmatic one, else the first that is not a control.
fn subject(series: &[Series]) -> Option<Arm> {
    let arms: Vec<_> = series.iter().map(|s| s.arm).collect();
    let programmatic = arms.iter().find(|a| matches!(a, Arm::StreamPdl | Arm::GraphPdl));
    let effect = arms.iter().find(|a| !matches!(a, Arm::StreamFull | Arm::GraphFull));
    programmatic.or(effect).or(arms.first()).copied()
}

struct Marks<'a> {
    floor: Option<f64>,
    limit: Option<f64>,
    submission: Submission,
    best: Option<&'a SummaryRow>,
}

/// A ring around the value that the title names.
fn ring(figure: &mut Figure, field: &Field, series: &[Series], best: &SummaryRow) {
    let Some(i) = series.iter().position(|s| s.arm == best.arm) else { return };
    let Some(value) = saved(best).value() else { return };
    let (x, y) = (series::place(field, series, i, best), field.y.px(value));
    let outline: Vec<_> = Marker::Circle
        .outline()
        .into_iter()
        .map(|(dx, dy)| (x + 10.0 * dx, y + 10.0 * dy))
        .collect();
    let closed: Vec<_> = outline.iter().copied().chain(outline.first().copied()).collect();
    figure.canvas.line(&closed, &Stroke::solid(INK, 1.4));
}

/// Draws the savings and returns the lowest value of the axis.
fn upper(
    figure: &mut Figure,
    panel: Panel,
    axis: &TriggerAxis,
    series: &[Series],
    marks: Marks,
) -> f64 {
    let values = series.iter().flat_map(|s| s.rows.iter().flat_map(|row| saved(row).extent()));
    let around_zero = [0.0, marks.floor.unwrap_or(0.0), -marks.floor.unwrap_or(0.0)];
    let predicted = overlay::values(series, overlay::saved);
    let (lo, hi) =
        scale::span(values.chain(predicted).chain(around_zero), 0.0).unwrap_or((-1.0, 1.0));
    let (lo, hi) = scale::without_chasm((lo, hi));
    let pad = 0.06 * (hi - lo);
    let (lo, hi) = (lo - pad, hi + pad);
    // A limit far above everything measured would flatten it; then it is named at the edge.
    let reach = 1.6 * (hi - lo);
    let limit_drawn = marks.limit.filter(|&l| l < hi + reach && l > lo - reach);
    let hi = limit_drawn.map_or(hi, |l| hi.max(l + 0.04 * (hi - lo)));
    let lo = limit_drawn.map_or(lo, |l| lo.min(l));
    let lo = lo.min(-0.14 * (hi - lo));
    let y = Scale::linear((lo, hi), panel.bottom, panel.top);

    let zero = y.px(0.0);
    figure.canvas.rect((panel.left, zero), (panel.right, panel.bottom), HARM, 1.0);
    figure.y_axis(panel, &y, "µs saved a hop (baseline − arm)");
    if let Some(floor) = marks.floor {
        let (top, bottom) = (y.px(floor.abs()), y.px(-floor.abs()));
        figure.canvas.rect((panel.left, top), (panel.right, bottom), FLOOR, 0.6);
    }
    axis.walls(figure, panel);
    figure.canvas.line(&[(panel.left, zero), (panel.right, zero)], &Stroke::solid(INK, 1.4));
    let mut labels = vec![(zero, format!("zero: as {}", baseline(marks.submission)), INK)];
    labels.push(((zero + panel.bottom) / 2.0, "harm: slower".to_owned(), HARM_INK));
    if let Some(floor) = marks.floor {
        let text = format!("A/A floor ±{}", number(floor.abs()));
        labels.push((y.px(floor.abs()), text, FAINT));
    }
    if let Some(limit) = marks.limit {
        let (at, text) = match limit_drawn {
            Some(_) => (y.px(limit), format!("limit {}", number(limit))),
            None if limit > 0.0 => (panel.top, format!("limit {} ↑", number(limit))),
            None => (panel.bottom, format!("limit {} ↓", number(limit))),
        };
        if limit_drawn.is_some() {
            let stroke = Stroke { color: LIMIT, width: 1.6, dash: LIMIT_DASH };
            figure.canvas.line(&[(panel.left, at), (panel.right, at)], &stroke);
        }
        labels.push((at, text, LIMIT));
    }
    let field = Field { panel, axis, y: &y };
    series::draw(figure, &field, series);
    overlay::draw(figure, &field, series, overlay::saved);
    if let Some(best) = marks.best {
        ring(figure, &field, series, best);
    }
    figure.frame(panel);
    figure.margin_labels(panel, &labels);
    y.range().0
}

/// Remarks that a reader must not miss.
fn notes(group: &Group, series: &[Series], least: f64) -> Vec<String> {
    let mut notes: Vec<_> = series.iter().filter_map(|s| series::below(s, least)).collect();
    for s in series {
        let inactive: Vec<_> = s
            .rows
            .iter()
            .filter(|row| row.proof == Some(ProofVerdict::Inactive))
            .map(|row| row.trigger.map_or_else(|| "all".to_owned(), |t| t.to_string()))
            .collect();
        if !inactive.is_empty() {
            let at = inactive.join(", ");
            notes.push(format!("{}: edges or code are missing (inactive) at {at}.", s.arm));
        }
    }
    let told = |row: &&&SummaryRow| saved(row) == Shown::Skipped && !row.reason.is_empty();
    if let Some(row) = group.rows.iter().find(told) {
        notes.push(format!("Skipped: {}.", row.reason));
    }
    notes
}
