//! The horizontal axis of triggers: a line from 0 to 1 for positions in the body, and slots of
//! their own for triggers that are not positions in it.

use crate::chain::Trigger;

use super::canvas::{Anchor, Font};
use super::figure::{Figure, Panel, SMALL};
use super::layout;
use super::style::{INK, Stroke, WALL};

/// Room of the slot of each trigger outside the body, CSS pixels.
pub(super) const SLOT_PX: f64 = 84.0;
const AFTER_PX: f64 = 48.0;

/// Pixels of every trigger of a chart.
pub(super) struct TriggerAxis {
    entry: Option<f64>,
    body: (f64, f64),
    after: Option<f64>,
    implicit: Option<f64>,
    none: Option<f64>,
    segments: Vec<Trigger>,
    walls: Vec<f64>,
}

impl TriggerAxis {
    /// An axis between two pixels that has a place for each of `triggers`, and no others; `None`
    /// stands for arms without a trigger.
    pub(super) fn new(triggers: &[Option<Trigger>], left: f64, right: f64) -> TriggerAxis {
        let has = |t: Option<Trigger>| triggers.contains(&t);
        let mut segments: Vec<Trigger> = triggers
            .iter()
            .flatten()
            .copied()
            .filter(|t| matches!(t, Trigger::Segment { .. } | Trigger::Site(_)))
            .collect();
        segments.sort_by(|a, b| a.order().total_cmp(&b.order()));
        segments.dedup();
        if segments.is_empty() && !has(Some(Trigger::After)) {
            return TriggerAxis::of_slots(has, left, right);
        }
        let (mut lo, mut hi) = (left, right);
        let mut walls = Vec::new();
        let mut take = |wanted: bool, room: f64, from_left: bool| {
            wanted.then(|| {
                if from_left {
                    lo += room;
                    walls.push(lo);
                    lo - room / 2.0
                } else {
                    hi -= room;
                    walls.push(hi);
                    hi + room / 2.0
                }
            })
        };
        let none = take(has(None), SLOT_PX, false);
        let implicit = take(has(Some(Trigger::Implicit)), SLOT_PX, false);
        let entry = take(has(Some(Trigger::AtEntry)), SLOT_PX, true);
        let after = has(Some(Trigger::After)).then(|| {
            hi -= AFTER_PX;
            hi + AFTER_PX - 24.0
        });
        let pad = 24.0_f64.min((hi - lo) / 2.0);
        TriggerAxis { entry, body: (lo + pad, hi - pad), after, implicit, none, segments, walls }
    }

    /// An axis without positions in the body: slots alone, evenly spaced.
    fn of_slots(has: impl Fn(Option<Trigger>) -> bool, left: f64, right: f64) -> TriggerAxis {
        let wanted = [has(Some(Trigger::AtEntry)), has(Some(Trigger::Implicit)), has(None)];
        let count = wanted.iter().filter(|&&w| w).count().max(1) as f64;
        let width = (right - left) / count;
        let before = |slot: usize| wanted[..slot].iter().filter(|&&w| w).count() as f64;
        let px = |slot: usize| wanted[slot].then(|| left + width * (before(slot) + 0.5));
        let walls = (1..count as usize).map(|i| left + width * i as f64).collect();
        TriggerAxis {
            entry: px(0),
            body: (left, right),
            after: None,
            implicit: px(1),
            none: px(2),
            segments: Vec::new(),
            walls,
        }
    }

    /// The pixel of a trigger; `None` is the place of arms without one.
    pub(super) fn px(&self, trigger: Option<Trigger>) -> f64 {
        let (lo, hi) = self.body;
        let middle = (lo + hi) / 2.0;
        match trigger {
            None => self.none.unwrap_or(middle),
            Some(Trigger::AtEntry) => self.entry.unwrap_or(middle),
            Some(Trigger::Implicit) => self.implicit.unwrap_or(middle),
            Some(Trigger::After) => self.after.unwrap_or(middle),
            Some(t @ Trigger::Segment { .. }) => lo + (hi - lo) * t.position().unwrap_or(0.5),
            // Sites have an order and no distances.
            Some(t @ Trigger::Site(_)) => {
                let place = self.segments.iter().position(|&other| other == t).unwrap_or(0) as f64;
                lo + (hi - lo) * (place + 0.5) / self.segments.len().max(1) as f64
            }
        }
    }

    /// What stands under the axis.
    pub(super) fn label(&self) -> &'static str {
        label(self.segments.iter().copied().chain(self.after.map(|_| Trigger::After)))
    }

    /// Least distance between two triggers, for marks that stand side by side.
    pub(super) fn least_gap(&self) -> f64 {
        let mut px: Vec<f64> = self.segments.iter().map(|&t| self.px(Some(t))).collect();
        px.extend(self.after);
        px.windows(2).map(|w| w[1] - w[0]).fold(SLOT_PX, f64::min)
    }

    /// Lines between the slots: drawn before the data.
    pub(super) fn walls(&self, figure: &mut Figure, panel: Panel) {
        let dash = Stroke { color: WALL, width: 1.2, dash: &[3.0, 3.0] };
        for &wall in &self.walls {
            figure.canvas.line(&[(wall, panel.top), (wall, panel.bottom)], &dash);
        }
    }

    /// Ticks and their labels under the panel.
    pub(super) fn draw(&self, figure: &mut Figure, panel: Panel, labels: bool) {
        for (x, text) in self.ticks() {
            let tick = [(x, panel.bottom), (x, panel.bottom + 4.0)];
            figure.canvas.line(&tick, &Stroke::solid(INK, 1.0));
            if let (true, Some(text)) = (labels, text) {
                let at = (x, panel.bottom + 13.0);
                figure.canvas.text(&text, at, Font::new(SMALL, INK), Anchor::Middle);
            }
        }
        figure.y += if labels { 22.0 } else { 6.0 };
    }

    /// Ticks from left to right; labels are left out where they would touch.
    fn ticks(&self) -> Vec<(f64, Option<String>)> {
        let slots = [
            (self.entry, "at-entry"),
            (self.after, "after"),
            (self.implicit, "implicit"),
            (self.none, "no trigger"),
        ];
        let mut ticks: Vec<_> =
            slots.iter().filter_map(|(x, t)| x.map(|x| (x, Some((*t).to_owned())))).collect();
        let at: Vec<(f64, String)> =
            self.segments.iter().map(|&t| (self.px(Some(t)), t.to_string())).collect();
        let stride = (1..=at.len().max(1)).find(|&stride| fits(&at, stride)).unwrap_or(1);
        ticks.extend(
            at.into_iter()
                .enumerate()
                .map(|(i, (x, text))| (x, i.is_multiple_of(stride).then_some(text))),
        );
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        ticks
    }
}

/// What stands under an axis of these triggers.
pub(super) fn label(triggers: impl IntoIterator<Item = Trigger>) -> &'static str {
    let place = |trigger: &Trigger| {
        matches!(trigger, Trigger::Site(_) | Trigger::Segment { .. } | Trigger::After)
    };
    match triggers.into_iter().find(place) {
        Some(Trigger::Site(_)) => "trigger: site of the source where a block issues it",
        Some(_) => "trigger: segments of the body done when a block issues it",
        None => "trigger",
    }
}

/// Whether every `stride`-th label keeps clear of the next.
fn fits(labels: &[(f64, String)], stride: usize) -> bool {
    let kept: Vec<_> = labels.iter().step_by(stride).collect();
    kept.windows(2).all(|pair| {
        let half = |text: &str| layout::width(text, SMALL, false) / 2.0;
        pair[1].0 - half(&pair[1].1) > pair[0].0 + half(&pair[0].1) + 6.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_stand_in_order_of_time() {
        let triggers: Vec<_> = Trigger::defaults().into_iter().map(Some).chain([None]).collect();
        let axis = TriggerAxis::new(&triggers, 60.0, 780.0);
        let px: Vec<_> = triggers.iter().map(|&t| axis.px(t)).collect();
        assert!(px.is_sorted_by(|a, b| b - a > 25.0), "{px:?}");
        assert!(px[0] > 60.0 && px[px.len() - 1] < 780.0);
    }

    #[test]
    fn sites_are_no_segments() {
        let site: Trigger = "site-2".parse().unwrap();
        for (triggers, part) in [
            (vec![Trigger::Implicit, site], "site of the source"),
            (vec![Trigger::Implicit, Trigger::Segment { at: 1, of: 8 }], "segments of the body"),
            (vec![Trigger::After], "segments of the body"),
            (vec![Trigger::Implicit], ""),
        ] {
            let triggers: Vec<_> = triggers.into_iter().map(Some).collect();
            let label = TriggerAxis::new(&triggers, 60.0, 780.0).label();
            assert_eq!(label.strip_prefix("trigger: ").is_none(), part.is_empty(), "{label}");
            assert!(label.contains(part), "{label}");
        }
    }

    #[test]
    fn labels_of_many_triggers_are_thinned() {
        let triggers: Vec<_> = (0..=40).map(|at| Some(Trigger::Segment { at, of: 40 })).collect();
        let axis = TriggerAxis::new(&triggers, 60.0, 780.0);
        let ticks = axis.ticks();
        assert_eq!(ticks.len(), 41);
        let labels: Vec<_> =
            ticks.into_iter().filter_map(|t| t.1.map(|text| (t.0, text))).collect();
        assert!((5..=20).contains(&labels.len()) && fits(&labels, 1), "{labels:?}");
        assert_eq!(labels[0].1, "0/40");
    }

    #[test]
    fn one_trigger_has_a_place_inside() {
        for trigger in Trigger::defaults() {
            let px = TriggerAxis::new(&[Some(trigger)], 60.0, 780.0).px(Some(trigger));
            assert!((61.0..779.0).contains(&px), "{trigger} {px}");
        }
    }
}
