//! Period against the position of the trigger: every arm of a group in one chart, baselines as
//! horizontal lines.

use crate::chain::{Arm, Submission};

use super::figure::{Figure, Key};
use super::finding;
use super::group::{Group, period};
use super::scale::{self, Scale, figure as number};
use super::series::{self, Field, Series};
use super::style::{self, INK, LIMIT, LIMIT_DASH, Stroke};
use super::triggers::TriggerAxis;
use super::{Context, Named, overlay};

const LEFT: f64 = 76.0;
const RIGHT: f64 = 766.0;

/// The chart of a group; `None` without a measured period.
pub(super) fn chart(group: &Group, ctx: &Context) -> Option<Named> {
    let flat = |arm: &Arm| matches!(arm, Arm::Stream | Arm::Graph);
    let unseen = |arm: &Arm| arm.is_again() || *arm == Arm::Sentinel;
    let arms: Vec<_> = group.arms().into_iter().filter(|arm| !unseen(arm)).collect();
    let series: Vec<_> = arms
        .iter()
        .filter(|arm| !flat(arm))
        .map(|&arm| Series { arm, rows: group.arm(arm), value: period, hollow: false })
        .collect();
    let baselines: Vec<(Arm, f64)> = arms
        .iter()
        .filter(|arm| flat(arm))
        .filter_map(|&arm| Some((arm, group.baseline_us(arm.submission())?)))
        .collect();
    let values: Vec<f64> = series
        .iter()
        .flat_map(|s| s.rows.iter().flat_map(|row| period(row).extent()))
        .chain(baselines.iter().map(|b| b.1))
        .collect();
    let limits: Vec<(Submission, f64)> = [Submission::Graph, Submission::Stream]
        .into_iter()
        .filter_map(|submission| Some((submission, group.limit_us(submission)?)))
        .collect();
    let predicted: Vec<f64> = overlay::values(&series, overlay::period).collect();
    let (lo, hi) = scale::span(
        values.iter().copied().chain(limits.iter().map(|l| l.1)).chain(predicted),
        0.06,
    )?;
    if values.is_empty() || series.is_empty() {
        return None;
    }
    // Zero is shown unless that would leave less than a third of the height to the data.
    let from_zero = lo < 0.67 * hi && lo > 0.0;
    let lo = if from_zero { 0.0 } else { lo };

    let name = format!("period-{}.svg", group.slug());
    let finding = title(&series, &baselines);
    let mut figure = Figure::new(&finding, &group.label(None), ctx);
    let mut legend = legend(&series, &baselines);
    legend.extend(overlay::legend(&series, overlay::period, ctx.predicted.as_deref()));
    figure.legend(&legend);

    let panel = figure.panel(LEFT, RIGHT, 340.0);
    let y = Scale::linear((lo, hi), panel.bottom, panel.top);
    let label = if from_zero {
        "period: µs a node".to_owned()
    } else {
        format!("period: µs a node (axis starts at {}, not zero)", number(y.range().0))
    };
    figure.y_axis(panel, &y, &label);
    let triggers: Vec<_> =
        series.iter().flat_map(|s| s.rows.iter().map(|row| row.trigger)).collect();
    let axis = TriggerAxis::new(&triggers, LEFT, RIGHT);
    axis.walls(&mut figure, panel);
    let mut labels = Vec::new();
    for &(arm, value) in &baselines {
        let stroke = style::of(arm).stroke;
        figure.canvas.open("arm", &arm.to_string());
        figure.canvas.line(&[(LEFT, y.px(value)), (RIGHT, y.px(value))], &stroke);
        figure.canvas.close();
        labels.push((y.px(value), format!("{arm} {}", number(value)), INK));
    }
    for (text, limit) in limit_lines(&limits) {
        let stroke = Stroke { color: LIMIT, width: 1.6, dash: LIMIT_DASH };
        figure.canvas.line(&[(LEFT, y.px(limit)), (RIGHT, y.px(limit))], &stroke);
        labels.push((y.px(limit), text, LIMIT));
    }
    let field = Field { panel, axis: &axis, y: &y };
    series::draw(&mut figure, &field, &series);
    overlay::draw(&mut figure, &field, &series, overlay::period);
    figure.frame(panel);
    figure.margin_labels(panel, &labels);
    axis.draw(&mut figure, panel, true);
    figure.x_label(panel, axis.label());
    let spoken: Vec<_> = series
        .iter()
        .map(|s| finding::spoken(s.arm, &s.rows, period))
        .chain(baselines.iter().map(|(arm, value)| format!("{arm}: {}.", number(*value))))
        .collect();
    let desc = format!(
        "{finding}. Period, microseconds a node, by trigger, with 95 % intervals. {}",
        spoken.join(" ")
    );
    Some((name.clone(), figure.finish(&name, &desc)))
}

/// One line for each limit, one for both where they are the same.
fn limit_lines(limits: &[(Submission, f64)]) -> Vec<(String, f64)> {
    match limits {
        [(_, a), (_, b)] if number(*a) == number(*b) => vec![(format!("limit {}", number(*a)), *a)],
        [(_, one)] => vec![(format!("limit {}", number(*one)), *one)],
        _ => {
            let named = |&(submission, us): &(Submission, f64)| {
                (format!("limit {} {}", submission.name(), number(us)), us)
            };
            limits.iter().map(named).collect()
        }
    }
}

fn legend(series: &[Series], baselines: &[(Arm, f64)]) -> Vec<(Key, String)> {
    let mut legend = series::legend(series);
    let styled = |arm: Arm| (Key::Line(style::of(arm).stroke), format!("{arm} (baseline)"));
    legend.extend(baselines.iter().map(|b| styled(b.0)));
    legend.push((Key::Area(INK, 0.22), "95 % interval".to_owned()));
    legend
}

/// The shortest period, against the fastest baseline.
fn title(series: &[Series], baselines: &[(Arm, f64)]) -> String {
    let shortest = series
        .iter()
        .flat_map(|s| {
            s.rows.iter().filter_map(|row| Some((s.arm, row.trigger, period(row).value()?)))
        })
        .min_by(|a, b| a.2.total_cmp(&b.2));
    let fastest = baselines.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    match (shortest, fastest) {
        (Some((arm, trigger, us)), Some(&(base, base_us))) if us < base_us => format!(
            "Shortest period {} µs a node: {arm}{}; {base} takes {} µs",
            number(us),
            finding::at(trigger),
            number(base_us)
        ),
        (Some((_, _, us)), Some(&(base, base_us))) => format!(
            "No arm has a shorter period than {base}: {} µs a node; the next takes {} µs",
            number(base_us),
            number(us)
        ),
        (Some((arm, trigger, us)), None) => format!(
            "Shortest period {} µs a node: {arm}{}; no baseline was measured",
            number(us),
            finding::at(trigger)
        ),
        _ => "Only baselines were measured".to_owned(),
    }
}
