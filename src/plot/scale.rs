//! From values to pixels and back to words: ranges, ticks, and how numbers are written.

use crate::units;

/// Values beyond this are no times of this world (11 days in µs) and would overflow the layout.
const MOST: f64 = 1e12;

/// The value, when it can be drawn.
pub(super) fn drawable(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite() && v.abs() < MOST)
}

/// The value in µs, when it can be drawn.
pub(super) fn us(ns: Option<f64>) -> Option<f64> {
    drawable(ns.map(|v| v / 1e3))
}

/// A map from a range of values to a range of pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    lo: f64,
    hi: f64,
    from_px: f64,
    to_px: f64,
    log: bool,
}

impl Scale {
    /// A linear map of `range` onto the pixels from `from_px` to `to_px`; an empty range is
    /// widened.
    pub(super) fn linear(range: (f64, f64), from_px: f64, to_px: f64) -> Scale {
        let (lo, hi) = widened(range.0.min(range.1), range.0.max(range.1));
        Scale { lo, hi, from_px, to_px, log: false }
    }

    /// A logarithmic map; both ends must be above zero.
    pub(super) fn log(range: (f64, f64), from_px: f64, to_px: f64) -> Scale {
        let (lo, hi) = (range.0.min(range.1).max(1e-12), range.0.max(range.1).max(1e-12));
        let (lo, hi) = if hi / lo < 1.01 { (lo / 1.5, hi * 1.5) } else { (lo, hi) };
        Scale { lo, hi, from_px, to_px, log: true }
    }

    /// Lowest and highest value.
    pub(super) fn range(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// The pixel of a value, clamped to the range.
    pub(super) fn px(&self, value: f64) -> f64 {
        let value = value.clamp(self.lo, self.hi);
        let part = if self.log {
            (value / self.lo).ln() / (self.hi / self.lo).ln()
        } else {
            (value - self.lo) / (self.hi - self.lo)
        };
        self.from_px + part * (self.to_px - self.from_px)
    }

    /// About `most` round values within the range (a few more where they are rounder), and the
    /// text of each.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        if self.log {
            return self.log_ticks(most);
        }
        let step = round_step((self.hi - self.lo) / most.max(1) as f64);
        let first = (self.lo / step - 1e-9).ceil() as i64;
        let last = (self.hi / step + 1e-9).floor() as i64;
        let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
        let scientific = step < 1e-6 || self.lo.abs().max(self.hi.abs()) >= 1e6;
        (first..=last)
            .map(|i| {
                let value = i as f64 * step;
                let text = match scientific {
                    true if i == 0 => "0".to_owned(),
                    true => format!("{value:.1e}"),
                    false => format!("{value:.decimals$}"),
                };
                (value, signless(&text))
            })
            .collect()
    }

    /// 1, 2 and 5 times the powers of ten, or the powers alone where that is too many.
    fn log_ticks(&self, most: usize) -> Vec<(f64, String)> {
        let (first, last) = (self.lo.log10().floor() as i32, self.hi.log10().ceil() as i32);
        let within = |mantissas: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|e| mantissas.iter().map(move |m| m * 10f64.powi(e)))
                .filter(|v| (self.lo * 0.999..=self.hi * 1.001).contains(v))
                .collect()
        };
        let mut values = within(&[1.0, 2.0, 5.0]);
        if values.len() > most {
            values = within(&[1.0]);
        }
        values.into_iter().map(|v| (v, plain(v))).collect()
    }
}

/// The range, or a little around its one value.
fn widened(lo: f64, hi: f64) -> (f64, f64) {
    let least = (lo.abs().max(hi.abs()) * 1e-9).max(1e-9);
    if hi - lo > least { (lo, hi) } else { (lo - 1e3 * least, hi + 1e3 * least) }
}

/// The smallest 1, 2 or 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let mantissa = least / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|m| mantissa <= m * (1.0 + 1e-9)).unwrap_or(10.0);
    round * power
}

/// The lowest and highest of `values`, widened by `pad` of their span; `None` without any.
pub(super) fn span(values: impl IntoIterator<Item = f64>, pad: f64) -> Option<(f64, f64)> {
    let (lo, hi) = values
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    (lo <= hi).then(|| {
        let (lo, hi) = widened(lo, hi);
        let pad = (hi - lo) * pad;
        (lo - pad, hi + pad)
    })
}

/// A range around zero whose negative part does not flatten the positive one: harm grows with the
/// body and savings do not. Values below the range have to be told in words.
pub(super) fn without_chasm((lo, hi): (f64, f64)) -> (f64, f64) {
    if hi > 0.0 && lo < -4.0 * hi { (-2.0 * hi, hi) } else { (lo, hi) }
}

/// The pieces of a line (pixels across, values up) that lie at or above `least`, cut where it
/// crosses.
pub(super) fn above(line: &[(f64, f64)], least: f64) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut piece: Vec<(f64, f64)> = Vec::new();
    for (i, &point) in line.iter().enumerate() {
        let last = i.checked_sub(1).map(|before| line[before]);
        let crossing = last.filter(|l| (l.1 < least) != (point.1 < least)).map(|l| {
            let part = (least - l.1) / (point.1 - l.1);
            (l.0 + part * (point.0 - l.0), least)
        });
        piece.extend(crossing);
        if point.1 >= least {
            piece.push(point);
        } else if !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    pieces.push(piece);
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

/// A number with a typographic minus, and without the sign of a zero.
fn signless(text: &str) -> String {
    let zero = text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.'));
    let text = if zero { text.trim_start_matches('-') } else { text };
    text.replace('-', "\u{2212}")
}

/// A value in µs as titles and labels show it: two decimals, fewer from 100 and more below 0.1.
pub(super) fn figure(value: f64) -> String {
    let magnitude = value.abs();
    signless(&match magnitude {
        m if m >= 1e6 || (m > 0.0 && m < 5e-5) => format!("{value:.1e}"),
        m if m >= 1000.0 => format!("{value:.0}"),
        m if m >= 100.0 => format!("{value:.1}"),
        m if m >= 0.1 || m == 0.0 => format!("{value:.2}"),
        m if m >= 5e-4 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    })
}

/// The same with its sign, for cells and marks that must not depend on colour.
pub(super) fn signed(value: f64) -> String {
    let text = figure(value);
    if value > 0.0 { format!("+{text}") } else { text }
}

/// A number without trailing zeros.
pub(super) fn plain(value: f64) -> String {
    signless(&units::plain(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let cases: [((f64, f64), &[&str]); 6] = [
            ((0.0, 3.2), &["0", "1", "2", "3"]),
            ((-0.05, 0.21), &["0.0", "0.1", "0.2"]),
            ((-3.0, 0.2), &["−3", "−2", "−1", "0"]),
            ((4190.0, 4191.0), &["4190.0", "4190.2", "4190.4", "4190.6", "4190.8", "4191.0"]),
            ((0.0, 4e9), &["0", "1.0e9", "2.0e9", "3.0e9", "4.0e9"]),
            ((-2e-8, 2e-8), &["−2.0e−8", "−1.0e−8", "0", "1.0e−8", "2.0e−8"]),
        ];
        for (range, expected) in cases {
            let scale = Scale::linear(range, 0.0, 100.0);
            let texts: Vec<_> = scale.ticks(5).into_iter().map(|t| t.1).collect();
            assert_eq!(texts, expected, "{range:?}");
        }
    }

    #[test]
    fn a_logarithmic_axis_labels_without_trailing_zeros() {
        let texts: Vec<_> =
            Scale::log((0.5, 200.0), 0.0, 1.0).ticks(10).into_iter().map(|t| t.1).collect();
        assert_eq!(texts, ["0.5", "1", "2", "5", "10", "20", "50", "100", "200"]);
        assert_eq!(Scale::log((1e-3, 1e6), 0.0, 1.0).ticks(10).len(), 10);
    }

    #[test]
    fn pixels_are_clamped_and_finite() {
        for range in [(0.0, 0.0), (5.0, 5.0), (-1e11, 1e11), (1e-9, 1e-9), (-3.0, -3.0)] {
            let scale = Scale::linear(range, 200.0, 20.0);
            for value in [f64::MIN, -1.0, 0.0, 1e-30, 5.0, f64::MAX] {
                let px = scale.px(value);
                assert!((20.0..=200.0).contains(&px), "{range:?} {value} {px}");
            }
            assert!(scale.ticks(6).len() <= 8, "{range:?}");
        }
    }

    #[test]
    fn lines_are_cut_where_they_leave() {
        let line = [(0.0, 2.0), (10.0, -2.0), (20.0, -2.0), (30.0, 2.0), (40.0, 3.0)];
        let expected =
            [vec![(0.0, 2.0), (7.5, -1.0)], vec![(22.5, -1.0), (30.0, 2.0), (40.0, 3.0)]];
        assert_eq!(above(&line, -1.0), expected);
        assert_eq!(above(&line, -5.0), [line.to_vec()]);
        assert!(above(&line, 5.0).is_empty());
        assert!(above(&line[..1], -5.0).is_empty());
    }

    #[test]
    fn numbers_read_like_numbers() {
        let cases = [
            (2.534, "2.53"),
            (-0.0001, "−0.0001"),
            (2e-6, "2.0e−6"),
            (0.0, "0.00"),
            (-0.0, "0.00"),
            (0.0123, "0.012"),
            (-12.345, "−12.35"),
            (209.52, "209.5"),
            (4190.4, "4190"),
            (3.2e9, "3.2e9"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text, "{value}");
        }
        assert_eq!(signed(0.5), "+0.50");
        assert_eq!(signed(-0.5), "−0.50");
        assert_eq!([plain(4.0), plain(0.25), plain(132.0)], ["4", "0.25", "132"]);
    }
}
