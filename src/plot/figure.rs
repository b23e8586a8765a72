//! What all charts share: title, subtitle, legend, panels with axes, notes and caption, stacked
//! from top to bottom so that nothing overlaps whatever the texts are.

use super::Context;
use super::canvas::{Anchor, Canvas, Font};
use super::layout;
use super::scale::Scale;
use super::style::{ArmStyle, FAINT, GRID, INK, Marker, Stroke};
use plotters::style::RGBColor;

/// Width of every chart, CSS pixels.
pub(super) const WIDTH: f64 = 900.0;
const MARGIN: f64 = 16.0;
/// Size of labels and legends.
pub(super) const SMALL: f64 = 12.0;

/// What a legend entry shows before its text.
pub(super) enum Key {
    /// Line and marker of an arm.
    Arm(ArmStyle),
    /// A line.
    Line(Stroke),
    /// A marker; filled or hollow.
    Mark(Marker, RGBColor, bool),
    /// A ring around a value.
    Ring,
    /// A tinted area, with its opacity.
    Area(RGBColor, f64),
}

/// A rectangle of the chart that data is drawn in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    /// Left edge.
    pub(super) left: f64,
    /// Right edge.
    pub(super) right: f64,
    /// Upper edge.
    pub(super) top: f64,
    /// Lower edge.
    pub(super) bottom: f64,
}

/// A chart under construction, from top to bottom.
pub(super) struct Figure<'a> {
    /// The surface, for the data.
    pub(super) canvas: Canvas,
    /// Where the next thing goes.
    pub(super) y: f64,
    title: String,
    ctx: &'a Context,
}

impl<'a> Figure<'a> {
    /// Starts a chart whose title states `finding`, with what was run beneath it.
    pub(super) fn new(finding: &str, subtitle: &str, ctx: &'a Context) -> Figure<'a> {
        let title =
            if ctx.simulated { format!("SIMULATED: {finding}") } else { finding.to_owned() };
        let mut canvas = Canvas::new(WIDTH);
        let mut y = MARGIN;
        let room = WIDTH - 2.0 * MARGIN;
        for line in layout::wrap(&title, 17.0, true, room, 3) {
            canvas.text(&line, (MARGIN, y + 10.0), Font::new(17.0, INK).bold(), Anchor::Start);
            y += 22.0;
        }
        for line in layout::wrap(subtitle, SMALL, false, room, 3) {
            canvas.text(&line, (MARGIN, y + 9.0), Font::new(SMALL, FAINT), Anchor::Start);
            y += 17.0;
        }
        Figure { canvas, y: y + 4.0, title, ctx }
    }

    /// A legend in as many rows as it needs.
    pub(super) fn legend(&mut self, entries: &[(Key, String)]) {
        let mut x = MARGIN;
        for (key, text) in entries {
            let key_width = if matches!(key, Key::Mark(..) | Key::Ring) { 14.0 } else { 34.0 };
            let lines = layout::wrap(text, SMALL, false, WIDTH - 2.0 * MARGIN - key_width, 1);
            let room = key_width + 5.0 + layout::width(&lines[0], SMALL, false);
            if x > MARGIN && x + room > WIDTH - MARGIN {
                x = MARGIN;
                self.y += 19.0;
            }
            self.key(key, (x, self.y + 9.0), key_width);
            let at = (x + key_width + 5.0, self.y + 9.0);
            self.canvas.text(&lines[0], at, Font::new(SMALL, INK), Anchor::Start);
            x += room + 14.0;
        }
        if !entries.is_empty() {
            self.y += 22.0;
        }
    }

    fn key(&mut self, key: &Key, (x, y): (f64, f64), width: f64) {
        let middle = x + width / 2.0;
        let across = [(x, y), (x + width, y)];
        match key {
            Key::Arm(style) => {
                self.canvas.line(&across, &style.stroke);
                self.canvas.marker(style.marker, (middle, y), 5.0, style.stroke.color, true);
            }
            Key::Line(stroke) => self.canvas.line(&across, stroke),
            Key::Mark(marker, color, filled) => {
                self.canvas.marker(*marker, (middle, y), 5.0, *color, *filled);
            }
            Key::Ring => {
                self.canvas.marker(Marker::Circle, (middle, y), 7.5, INK, false);
                self.canvas.marker(Marker::Circle, (middle, y), 3.0, FAINT, true);
            }
            Key::Area(color, opacity) => {
                self.canvas.rect((x, y - 6.0), (x + width, y + 6.0), *color, *opacity);
            }
        }
    }

    /// Reserves a panel of this height between two horizontal edges.
    pub(super) fn panel(&mut self, left: f64, right: f64, height: f64) -> Panel {
        let panel = Panel { left, right, top: self.y + 8.0, bottom: self.y + 8.0 + height };
        self.y = panel.bottom;
        panel
    }

    /// Grid lines across a panel, with tick labels at its left edge.
    pub(super) fn y_ticks(&mut self, panel: Panel, scale: &Scale) {
        for (value, text) in scale.ticks(((panel.bottom - panel.top) / 34.0) as usize) {
            let y = scale.px(value);
            self.canvas.line(&[(panel.left, y), (panel.right, y)], &Stroke::solid(GRID, 1.0));
            self.canvas.text(&text, (panel.left - 7.0, y), Font::new(SMALL, INK), Anchor::End);
        }
    }

    /// A vertical axis at the panel's left edge: grid lines, tick labels, and what it measures.
    pub(super) fn y_axis(&mut self, panel: Panel, scale: &Scale, label: &str) {
        self.y_ticks(panel, scale);
        let room = panel.bottom - panel.top + 30.0;
        let lines = layout::wrap(label, SMALL, false, room, 2);
        let middle = (panel.top + panel.bottom) / 2.0;
        let first = if lines.len() > 1 { 9.0 } else { 16.0 };
        for (i, line) in lines.iter().enumerate() {
            let x = first + 14.0 * i as f64;
            self.canvas.text(line, (x, middle), Font::new(SMALL, INK), Anchor::Upwards);
        }
    }

    /// What the horizontal axis measures, under its tick labels.
    pub(super) fn x_label(&mut self, panel: Panel, label: &str) {
        let lines = layout::wrap(label, SMALL, false, panel.right - panel.left + 60.0, 2);
        for line in lines {
            let at = ((panel.left + panel.right) / 2.0, self.y + 10.0);
            self.canvas.text(&line, at, Font::new(SMALL, INK), Anchor::Middle);
            self.y += 16.0;
        }
        self.y += 4.0;
    }

    /// The frame of a panel: its left and lower edge.
    pub(super) fn frame(&mut self, panel: Panel) {
        let corner =
            [(panel.left, panel.top), (panel.left, panel.bottom), (panel.right, panel.bottom)];
        self.canvas.line(&corner, &Stroke::solid(INK, 1.0));
    }

    /// Texts at the right of a panel, each at the height of what it names, moved apart.
    pub(super) fn margin_labels(&mut self, panel: Panel, labels: &[(f64, String, RGBColor)]) {
        let heights: Vec<f64> = labels.iter().map(|label| label.0).collect();
        let placed = layout::spread(&heights, 15.0, panel.top + 4.0, panel.bottom - 4.0);
        for ((wanted, text, color), y) in labels.iter().zip(placed) {
            let elbow = [(panel.right + 1.0, *wanted), (panel.right + 8.0, y)];
            self.canvas.line(&elbow, &Stroke::solid(*color, 1.0));
            let room = WIDTH - panel.right - 14.0;
            let lines = layout::wrap(text, SMALL, false, room, 1);
            let at = (panel.right + 11.0, y);
            self.canvas.text(&lines[0], at, Font::new(SMALL, *color), Anchor::Start);
        }
    }

    /// A remark under the panels.
    pub(super) fn note(&mut self, text: &str) {
        self.small_print(text, SMALL, INK, 3);
    }

    fn small_print(&mut self, text: &str, size: f64, color: RGBColor, most: usize) {
        for line in layout::wrap(text, size, false, WIDTH - 2.0 * MARGIN, most) {
            let at = (MARGIN, self.y + 9.0);
            self.canvas.text(&line, at, Font::new(size, color), Anchor::Start);
            self.y += size + 5.0;
        }
    }

    /// Ends the chart with the caption; `name` is the file's, `desc` says in words what is drawn.
    pub(super) fn finish(mut self, name: &str, desc: &str) -> String {
        let caption = self.ctx.caption.clone();
        self.y += 2.0;
        self.small_print(&caption, 11.0, FAINT, 3);
        let desc = format!("{desc} {caption}");
        self.canvas.finish(name, self.y + 10.0, &self.title, &desc)
    }
}
