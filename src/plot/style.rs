//! Colours, dashes and markers: one of each per arm in every chart, so that no reader depends on
//! colour alone. Hues are Okabe and Ito's palette for colour vision deficiency.

use plotters::style::RGBColor;

use crate::chain::Arm;

/// Text and axes.
pub(super) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Secondary text.
pub(super) const FAINT: RGBColor = RGBColor(0x59, 0x59, 0x59);
/// Grid lines.
pub(super) const GRID: RGBColor = RGBColor(0xE2, 0xE2, 0xE2);
/// Lines between the slots of an axis.
pub(super) const WALL: RGBColor = RGBColor(0xBB, 0xBB, 0xBB);
/// The band of the noise floor.
pub(super) const FLOOR: RGBColor = RGBColor(0xB5, 0xB5, 0xB5);
/// The tint of the region where a chain is slower than its baseline.
pub(super) const HARM: RGBColor = RGBColor(0xFD, 0xEC, 0xE6);
/// Text about harm.
pub(super) const HARM_INK: RGBColor = RGBColor(0xA8, 0x3A, 0x00);
/// The line of the limit.
pub(super) const LIMIT: RGBColor = RGBColor(0x00, 0x6B, 0x4E);
/// Its dashes.
pub(super) const LIMIT_DASH: &[f64] = &[10.0, 3.0, 2.0, 3.0, 2.0, 3.0];

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    /// Ink.
    pub(super) color: RGBColor,
    /// Width, CSS pixels.
    pub(super) width: f64,
    /// Dashes and gaps in turn, CSS pixels; empty is solid.
    pub(super) dash: &'static [f64],
}

impl Stroke {
    /// An unbroken line.
    pub(super) fn solid(color: RGBColor, width: f64) -> Stroke {
        Stroke { color, width, dash: &[] }
    }
}

/// Shapes that mark a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// Disc.
    Circle,
    /// Square.
    Square,
    /// Triangle that points up.
    Up,
    /// Triangle that points down.
    Down,
    /// Square on its corner.
    Diamond,
    /// Five corners.
    Pentagon,
    /// Five points.
    Star,
    /// Two triangles that meet.
    Hourglass,
    /// Upright cross.
    Plus,
    /// Wide bar.
    Bar,
    /// Tall bar.
    Post,
    /// Diagonal cross.
    Times,
}

impl Marker {
    /// Corners in units of the marker's radius.
    pub(super) fn outline(self) -> Vec<(f64, f64)> {
        let ring = |n: usize, radius: fn(usize) -> f64| -> Vec<(f64, f64)> {
            (0..n)
                .map(|i| {
                    let angle = std::f64::consts::TAU * i as f64 / n as f64;
                    (radius(i) * angle.sin(), -radius(i) * angle.cos())
                })
                .collect()
        };
        // A twelfth of the plus: arms of length 1 and half width 0.36.
        let plus =
            [(0.36, -1.0), (0.36, -0.36), (1.0, -0.36), (1.0, 0.36), (0.36, 0.36), (0.36, 1.0)];
        let plus: Vec<_> =
            plus.iter().copied().chain(plus.iter().map(|&(x, y)| (-x, -y))).collect();
        match self {
            Marker::Circle => ring(16, |_| 1.0),
            Marker::Square => vec![(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
            Marker::Up => ring(3, |_| 1.2),
            Marker::Down => ring(3, |_| 1.2).into_iter().map(|(x, y)| (x, -y)).collect(),
            Marker::Diamond => ring(4, |_| 1.2),
            Marker::Pentagon => ring(5, |_| 1.15),
            Marker::Star => ring(10, |i| if i % 2 == 0 { 1.4 } else { 0.6 }),
            Marker::Hourglass => vec![(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)],
            Marker::Plus => plus,
            Marker::Bar => vec![(-1.2, -0.4), (1.2, -0.4), (1.2, 0.4), (-1.2, 0.4)],
            Marker::Post => vec![(-0.4, -1.2), (0.4, -1.2), (0.4, 1.2), (-0.4, 1.2)],
            Marker::Times => {
                let turn = std::f64::consts::FRAC_1_SQRT_2;
                plus.into_iter().map(|(x, y)| ((x - y) * turn, (x + y) * turn)).collect()
            }
        }
    }
}

/// How one arm looks in every chart.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArmStyle {
    /// Line.
    pub(super) stroke: Stroke,
    /// Values.
    pub(super) marker: Marker,
}

const DASHED: &[f64] = &[7.0, 4.0];
const DOTTED: &[f64] = &[2.0, 3.0];
const DASH_DOT: &[f64] = &[8.0, 3.0, 2.0, 3.0];
const LONG: &[f64] = &[14.0, 5.0];

/// The look of `arm`: controls are dashed, subjects solid.
pub(super) fn of(arm: Arm) -> ArmStyle {
    let (rgb, dash, marker): (_, &'static [f64], _) = match arm {
        Arm::Graph => ((0x00, 0x00, 0x00), LONG, Marker::Square),
        Arm::GraphFull => ((0x56, 0xB4, 0xE9), DASHED, Marker::Up),
        Arm::GraphPdl => ((0x00, 0x72, 0xB2), &[], Marker::Circle),
        Arm::Stream => ((0x7A, 0x7A, 0x7A), LONG, Marker::Plus),
        Arm::StreamFull => ((0xE6, 0x9F, 0x00), DASHED, Marker::Down),
        Arm::StreamPdl => ((0xD5, 0x5E, 0x00), &[], Marker::Diamond),
        Arm::GraphCompletion => ((0x00, 0x9E, 0x73), DASH_DOT, Marker::Pentagon),
        Arm::Flags => ((0xCC, 0x79, 0xA7), DOTTED, Marker::Star),
        Arm::Persistent => ((0x8A, 0x63, 0x0A), DASH_DOT, Marker::Hourglass),
        Arm::GraphAa => ((0x8C, 0x8C, 0x8C), DOTTED, Marker::Times),
        Arm::StreamAa => ((0x9E, 0x9E, 0x9E), DOTTED, Marker::Post),
        Arm::Sentinel => ((0xB0, 0xB0, 0xB0), DOTTED, Marker::Bar),
    };
    let color = RGBColor(rgb.0, rgb.1, rgb.2);
    ArmStyle { stroke: Stroke { color, width: 2.0, dash }, marker }
}

/// Colour of a signed value in a heat map: blue saves, orange costs, white is none; `part` is the
/// value as a part of the largest magnitude.
pub(super) fn diverging(part: f64) -> RGBColor {
    let end = if part < 0.0 { (0xD5, 0x5E, 0x00) } else { (0x00, 0x72, 0xB2) };
    let strength = part.abs().min(1.0).powf(0.8);
    let mix = |to: u8| (255.0 + (f64::from(to) - 255.0) * strength).round() as u8;
    RGBColor(mix(end.0), mix(end.1), mix(end.2))
}

/// Black or white, whichever has the higher contrast on `background` (relative luminance of
/// WCAG 2).
pub(super) fn ink_on(background: RGBColor) -> RGBColor {
    let linear = |channel: u8| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    let RGBColor(r, g, b) = background;
    let luminance = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    if luminance > 0.179 { RGBColor(0, 0, 0) } else { RGBColor(255, 255, 255) }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn arms_differ_by_colour_and_by_marker() {
        let arms = Arm::value_variants();
        for (i, &a) in arms.iter().enumerate() {
            for &b in &arms[..i] {
                assert_ne!(of(a).stroke.color, of(b).stroke.color, "{a} {b}");
                assert_ne!(of(a).marker, of(b).marker, "{a} {b}");
            }
        }
    }

    #[test]
    fn cell_text_keeps_a_contrast_of_at_least_four_and_a_half() {
        for step in -20..=20 {
            let background = diverging(f64::from(step) / 20.0);
            let channel = |c: u8| {
                let c = f64::from(c) / 255.0;
                if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
            };
            let luminance = |RGBColor(r, g, b): RGBColor| {
                0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b)
            };
            let (a, b) = (luminance(background), luminance(ink_on(background)));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{step}: {contrast}");
        }
    }

    #[test]
    fn the_sign_decides_the_hue() {
        assert_eq!(diverging(0.0), RGBColor(255, 255, 255));
        let (saves, costs) = (diverging(1.0), diverging(-1.0));
        assert!(saves.2 > saves.0 && costs.0 > costs.2);
    }
}
