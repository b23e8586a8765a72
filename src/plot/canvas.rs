//! A drawing surface in CSS pixels over the SVG backend of plotters.
//!
//! The backend has integer coordinates, no groups, no dashes and no accessible name. So drawing
//! happens on a grid of tenths of a pixel, each element becomes a fragment of its own, and the
//! document around the fragments (groups, dashes, title, description) is written here.

use std::fmt::Write;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{Marker, Stroke};

/// Steps of the grid a CSS pixel.
pub(super) const STEPS: f64 = 10.0;
/// plotters divides a font's size by this before writing it.
const FONT_DIVISOR: f64 = 1.24;
/// Sides of the area that plotters draws on; it moves what lies outside to the edge.
const BOUNDS: (u32, u32) = (1_000_000, 1_000_000);

/// Where text sits relative to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The position is the middle of the left edge.
    Start,
    /// The position is the centre.
    Middle,
    /// The position is the middle of the right edge.
    End,
    /// The position is the centre; the text reads upwards.
    Upwards,
}

/// How text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Font {
    /// Height of the em square, CSS pixels.
    pub(super) size: f64,
    /// Bold.
    pub(super) bold: bool,
    /// Ink.
    pub(super) color: RGBColor,
}

impl Font {
    /// Regular text.
    pub(super) fn new(size: f64, color: RGBColor) -> Font {
        Font { size, bold: false, color }
    }

    /// The same text, bold.
    pub(super) fn bold(self) -> Font {
        Font { bold: true, ..self }
    }
}

/// An SVG under construction. Coordinates are CSS pixels from the top left corner.
pub(super) struct Canvas {
    width: f64,
    body: String,
}

impl Canvas {
    /// An empty canvas of this width; the height is given when it is finished.
    pub(super) fn new(width: f64) -> Canvas {
        Canvas { width, body: String::new() }
    }

    /// Starts a group that assistive technology and scripts can name.
    pub(super) fn open(&mut self, class: &str, name: &str) {
        let name = escape(name);
        let class = escape(class);
        writeln!(self.body, "<g class=\"{class}\" data-name=\"{name}\"><title>{name}</title>")
            .expect("writing to a string cannot fail");
    }

    /// Ends the group that was started last.
    pub(super) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// A piece of SVG as it is, on the grid of [`STEPS`] a pixel: what the backend cannot draw.
    pub(super) fn raw(&mut self, svg: &str) {
        self.body.push_str(svg);
    }

    /// A line through `points`.
    pub(super) fn line(&mut self, points: &[(f64, f64)], stroke: &Stroke) {
        if points.len() < 2 {
            return;
        }
        let points: Vec<_> = points.iter().map(|&p| grid(p)).collect();
        let style = stroke.color.stroke_width((stroke.width * STEPS).round() as u32);
        let fragment = fragment(|area| area.draw(&PathElement::new(points, style)));
        let dash = stroke.dash.iter().map(|d| (d * STEPS).to_string()).collect::<Vec<_>>();
        let dash = if dash.is_empty() {
            String::new()
        } else {
            format!(" stroke-dasharray=\"{}\"", dash.join(" "))
        };
        writeln!(self.body, "<g stroke-linejoin=\"round\"{dash}>{fragment}</g>")
            .expect("writing to a string cannot fail");
    }

    /// A filled polygon.
    pub(super) fn polygon(&mut self, points: &[(f64, f64)], color: RGBColor, opacity: f64) {
        let points: Vec<_> = points.iter().map(|&p| grid(p)).collect();
        let polygon = Polygon::new(points, color.mix(opacity).filled());
        self.body.push_str(&fragment(|area| area.draw(&polygon)));
    }

    /// A filled rectangle between two opposite corners.
    pub(super) fn rect(&mut self, a: (f64, f64), b: (f64, f64), color: RGBColor, opacity: f64) {
        let from = grid((a.0.min(b.0), a.1.min(b.1)));
        let to = grid((a.0.max(b.0), a.1.max(b.1)));
        let rect = Rectangle::new([from, to], color.mix(opacity).filled());
        self.body.push_str(&fragment(|area| area.draw(&rect)));
    }

    /// Small discs of one colour, as compact as SVG allows.
    pub(super) fn dots(
        &mut self,
        at: &[(f64, f64)],
        radius: f64,
        color: RGBColor,
        filled: bool,
        opacity: f64,
    ) {
        if at.is_empty() {
            return;
        }
        let radius = (radius * STEPS).round() as u32;
        let ink = color.mix(opacity);
        let style = if filled { ink.filled() } else { ink.stroke_width(STEPS as u32) };
        let dots = fragment(|area| {
            at.iter().try_for_each(|&p| area.draw(&Circle::new(grid(p), radius, style)))
        });
        // Every dot carries the same attributes: written once, on the group around them.
        let Some(shared) = dots.find("opacity=").and_then(|from| {
            let to = dots[from..].find("/>")?;
            Some(dots[from..from + to].to_owned())
        }) else {
            self.body.push_str(&dots);
            return;
        };
        let compact = dots.replace(&format!(" {shared}"), "");
        writeln!(self.body, "<g {shared}>\n{compact}</g>")
            .expect("writing to a string cannot fail");
    }

    /// A marker centred on `at`; a hollow one shows the background within its outline.
    pub(super) fn marker(
        &mut self,
        marker: Marker,
        at: (f64, f64),
        radius: f64,
        color: RGBColor,
        filled: bool,
    ) {
        let mut outline: Vec<_> = marker
            .outline()
            .into_iter()
            .map(|(x, y)| (at.0 + radius * x, at.1 + radius * y))
            .collect();
        if filled {
            self.polygon(&outline, color, 1.0);
            return;
        }
        self.polygon(&outline, WHITE, 1.0);
        outline.push(outline[0]);
        self.line(&outline, &Stroke::solid(color, 1.4));
    }

    /// One line of text.
    pub(super) fn text(&mut self, text: &str, at: (f64, f64), font: Font, anchor: Anchor) {
        let fragment = text_fragment(text, at, font, anchor);
        self.body.push_str(&fragment);
    }

    /// One line of text with a white rim, to stay legible over lines.
    pub(super) fn text_over(&mut self, text: &str, at: (f64, f64), font: Font, anchor: Anchor) {
        let fragment = text_fragment(text, at, font, anchor);
        let rim = 3.0 * STEPS;
        writeln!(
            self.body,
            "<g stroke=\"#FFFFFF\" stroke-width=\"{rim}\" stroke-linejoin=\"round\" \
             paint-order=\"stroke\">{fragment}</g>"
        )
        .expect("writing to a string cannot fail");
    }

    /// The document: `id` prefixes the ids of title and description, so that several charts can
    /// be inlined in one page.
    pub(super) fn finish(self, id: &str, height: f64, title: &str, desc: &str) -> String {
        let id: String =
            id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let (width, height) = (self.width.round(), height.round());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" \
             style=\"max-width:100%;height:auto\">\n\
             <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n{}</svg>\n",
            width * STEPS,
            height * STEPS,
            escape(title),
            escape(desc),
            self.body
        )
    }
}

/// A pixel position on the backend's grid. Positions come from clamped scales and are finite.
fn grid((x, y): (f64, f64)) -> (i32, i32) {
    ((x * STEPS).round() as i32, (y * STEPS).round() as i32)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// What `draw` writes, without the document that the backend puts around it.
fn fragment(draw: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>) -> String {
    let mut document = String::new();
    {
        let area = SVGBackend::with_string(&mut document, BOUNDS).into_drawing_area();
        draw(&area).and_then(|()| area.present()).expect("writing to a string cannot fail");
    }
    let inner = document.split_once('\n').map_or("", |(_, rest)| rest);
    inner.trim_end().trim_end_matches("</svg>").to_owned()
}

fn text_fragment(text: &str, at: (f64, f64), font: Font, anchor: Anchor) -> String {
    let (h, transform) = match anchor {
        Anchor::Start => (HPos::Left, FontTransform::None),
        Anchor::Middle => (HPos::Center, FontTransform::None),
        Anchor::End => (HPos::Right, FontTransform::None),
        Anchor::Upwards => (HPos::Center, FontTransform::Rotate270),
    };
    let weight = if font.bold { FontStyle::Bold } else { FontStyle::Normal };
    let size = font.size * STEPS * FONT_DIVISOR;
    let face = FontDesc::new(FontFamily::SansSerif, size, weight).transform(transform);
    let style = TextStyle::from(face).color(&font.color).pos(Pos::new(h, VPos::Center));
    let clean = clean(text);
    let text = fragment(|area| area.draw(&Text::new(clean.as_str(), grid(at), style)));
    // The backend's division leaves 120.00000000000001 where 120 was meant.
    let attribute = |size: f64| format!(" font-size=\"{size}\"");
    text.replacen(&attribute(size / FONT_DIVISOR), &attribute(font.size * STEPS), 1)
}

/// Text without the characters that XML cannot hold, however they are escaped.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' | '\n' | '\r' => ' ',
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => '\u{FFFD}',
            c => c,
        })
        .collect()
}

/// Text as XML, in content or in an attribute.
fn escape(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&apos;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_the_document() {
        let hostile = "a<b> & \"c\" 'd' \u{0}\u{1b}[31m ]]> \u{FFFF}µ";
        let mut canvas = Canvas::new(100.0);
        canvas.open("arm", hostile);
        canvas.text(hostile, (10.0, 10.0), Font::new(12.0, BLACK), Anchor::Start);
        canvas.close();
        let svg = canvas.finish("x<\"y", 50.0, hostile, hostile);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let read = "a<b> & \"c\" 'd' \u{FFFD}\u{FFFD}[31m ]]> \u{FFFD}µ";
        let texts: Vec<_> = ["title", "desc", "text"]
            .iter()
            .map(|tag| {
                let node = document.descendants().find(|n| n.has_tag_name(*tag)).unwrap();
                node.text().unwrap().trim().to_owned()
            })
            .collect();
        assert_eq!(texts, [read; 3]);
    }

    #[test]
    fn dots_share_their_attributes_and_keep_their_places() {
        let mut canvas = Canvas::new(100.0);
        canvas.dots(&[(1.0, 2.0), (3.0, 4.0)], 1.5, RED, true, 0.5);
        let svg = canvas.finish("x", 50.0, "t", "d");
        let document = roxmltree::Document::parse(&svg).unwrap();
        let dots: Vec<_> = document.descendants().filter(|n| n.has_tag_name("circle")).collect();
        assert_eq!(
            dots.iter().map(|d| d.attribute("cx").unwrap()).collect::<Vec<_>>(),
            ["10", "30"]
        );
        assert!(dots.iter().all(|d| d.attribute("fill").is_none()));
        assert_eq!(dots[0].parent().unwrap().attribute("fill"), Some("#FF0000"));
    }
}
