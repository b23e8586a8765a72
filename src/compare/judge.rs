//! What may be said of a change, in this order:
//!
//! 1. a wrong result is no time at all;
//! 2. what was not measured in both, or not with the same work, in the same state, has no verdict;
//! 3. every reference has its interval inside the margin: `equivalent`;
//! 4. every reference has it beyond the allowance, on the same side, and Holm's correction over
//!    all rows is survived: `regression` or `improvement`;
//! 5. else `inconclusive`, with the reason.

use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use super::views::View;
use crate::analysis::LEVEL;
use crate::stats::Interval;

/// What is said of a point, or of everything that was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The second computes wrong values.
    Wrong,
    /// The second is slower, by more than two runs of the same differ.
    Regression,
    /// Nothing can be said.
    Inconclusive,
    /// The second is faster, by more than two runs of the same differ.
    Improvement,
    /// The change is inside the margin.
    Equivalent,
    /// This device cannot run the point.
    Skipped,
}

impl Change {
    /// Every verdict, the one that decides an overall verdict first.
    pub const ALL: [Change; 6] = [
        Change::Wrong,
        Change::Regression,
        Change::Inconclusive,
        Change::Improvement,
        Change::Equivalent,
        Change::Skipped,
    ];

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Change::Wrong => "wrong",
            Change::Regression => "regression",
            Change::Inconclusive => "inconclusive",
            Change::Improvement => "improvement",
            Change::Equivalent => "equivalent",
            Change::Skipped => "skipped",
        }
    }
}

/// On which side of the allowance all references lie: +1 slower, −1 faster, 0 neither.
fn side(views: &[View], beyond_ns: f64) -> i8 {
    let all =
        |test: &dyn Fn(Interval) -> bool| views.iter().all(|v| v.interval_ns.is_some_and(test));
    match (all(&|i| i.lo > beyond_ns), all(&|i| i.hi < -beyond_ns)) {
        (true, _) => 1,
        (_, true) => -1,
        _ => 0,
    }
}

/// Whether Holm's correction needs the p-value of a row: only one that claims a change has any.
pub(super) fn claims(views: &[View], allowance: &Allowance) -> bool {
    !views.is_empty() && side(views, allowance.allowance_ns) != 0
}

/// The verdict on a row that was measured in both runs, with the same work, in the same state.
pub(super) fn judge(
    views: &[View],
    allowance: &Allowance,
    adjusted_p: f64,
) -> (Change, Vec<&'static str>) {
    if views.is_empty() || views.iter().any(|view| view.interval_ns.is_none()) {
        return (Change::Inconclusive, vec!["few-rounds"]);
    }
    let inside = |view: &View| view.interval_ns.is_some_and(|i| i.inside(allowance.margin_ns));
    if views.iter().all(inside) {
        return (Change::Equivalent, vec!["inside-margin"]);
    }
    let side_of_allowance = side(views, allowance.allowance_ns);
    if side_of_allowance != 0 && adjusted_p < LEVEL {
        let reasons = if allowance.source == "margin" { vec![] } else { vec![allowance.source] };
        let change = if side_of_allowance > 0 { Change::Regression } else { Change::Improvement };
        return (change, reasons);
    }
    if side_of_allowance != 0 {
        return (Change::Inconclusive, vec!["holm"]);
    }
    if side(views, allowance.margin_ns) != 0 {
        return (Change::Inconclusive, vec![allowance.source]);
    }
    let outside = |view: &View| side(std::slice::from_ref(view), allowance.margin_ns) != 0;
    let disagree = views.iter().any(outside) && views.iter().any(|view| !outside(view));
    let mut reasons = vec![if disagree { "references-disagree" } else { "spans-margin" }];
    if allowance.source != "margin" {
        reasons.push(allowance.source);
    }
    (Change::Inconclusive, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(lo: f64, hi: f64) -> View {
        let interval_ns = Some(Interval { lo, hi });
        View { reference: "own", change_ns: (lo + hi) / 2.0, interval_ns }
    }

    #[test]
    fn a_change_is_what_every_reference_shows_beyond_the_allowance() {
        use Change::{Equivalent, Improvement, Inconclusive, Regression};
        let margin = Allowance { margin_ns: 30.0, allowance_ns: 30.0, source: "margin" };
        let modes = Allowance { margin_ns: 30.0, allowance_ns: 200.0, source: "stream-modes" };
        let slower = || vec![view(60.0, 80.0), view(70.0, 90.0), view(65.0, 85.0)];
        let none = View { interval_ns: None, ..view(0.0, 0.0) };
        type Case = (Vec<View>, Allowance, f64, Change, &'static [&'static str]);
        let cases: [Case; 12] = [
            (slower(), margin, 1e-6, Regression, &[]),
            (slower(), margin, 0.2, Inconclusive, &["holm"]),
            (slower(), modes, 1e-6, Inconclusive, &["stream-modes"]),
            (vec![view(210.0, 300.0)], modes, 1e-6, Regression, &["stream-modes"]),
            (vec![view(-90.0, -50.0), view(-80.0, -40.0)], margin, 1e-6, Improvement, &[]),
            (vec![view(-9.0, 20.0), view(-29.0, 2.0)], margin, 1.0, Equivalent, &["inside-margin"]),
            // The launch path took another state: an overlapping arm stands still, what it is held
            // against does not.
            (
                vec![view(-20.0, 5.0), view(160.0, 190.0), view(165.0, 185.0)],
                margin,
                1.0,
                Inconclusive,
                &["references-disagree"],
            ),
            // All bodies grew: the baseline of the same group grew with the arm.
            (
                vec![view(70.0, 90.0), view(70.0, 90.0), view(-9.0, 9.0)],
                margin,
                1.0,
                Inconclusive,
                &["references-disagree"],
            ),
            (vec![view(20.0, 50.0)], margin, 1.0, Inconclusive, &["spans-margin"]),
            // As wide as the allowance is no equivalence.
            (
                vec![view(-150.0, 150.0)],
                modes,
                1.0,
                Inconclusive,
                &["spans-margin", "stream-modes"],
            ),
            (vec![view(60.0, 80.0), none], margin, 1e-6, Inconclusive, &["few-rounds"]),
            (vec![], margin, 1e-6, Inconclusive, &["few-rounds"]),
        ];
        for (views, allowance, p, change, reasons) in cases {
            let found = judge(&views, &allowance, p);
            assert_eq!(found, (change, reasons.to_vec()), "{views:?} {allowance:?}");
            assert_eq!(
                claims(&views, &allowance),
                matches!(change, Regression | Improvement) || reasons == ["holm"],
                "{views:?}"
            );
        }
    }

    #[test]
    fn the_worst_verdict_comes_first() {
        let mut sorted = Change::ALL;
        sorted.sort();
        assert_eq!(sorted, Change::ALL);
    }
}
