//! The common parts of all pictures: the canvas, axes, colours, and labels next to the lines.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// 16:9, in pixels; shown at half this size the smallest text is still readable.
const SIZE: (u32, u32) = (1600, 900);

/// Points are whole numbers for `plotters`: with four a pixel slanted lines are smooth.
const POINTS: u32 = 4;

pub(super) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
pub(super) const GREY: RGBColor = RGBColor(0x6B, 0x6B, 0x6B);
// Okabe & Ito's colours for all kinds of sight, darkened where text on white would be pale.
pub(super) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xB2);
pub(super) const RED: RGBColor = RGBColor(0xC9, 0x4F, 0x00);
pub(super) const GREEN: RGBColor = RGBColor(0x00, 0x7A, 0x5A);
pub(super) const PURPLE: RGBColor = RGBColor(0xA3, 0x4C, 0x86);
pub(super) const OCHRE: RGBColor = RGBColor(0x94, 0x6A, 0x00);

/// A logarithmic axis from one value to another, in either direction.
pub(super) struct Axis {
    pub(super) from: f64,
    pub(super) to: f64,
    /// The places of the grid, with their labels.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    pub(super) fn new(from: f64, to: f64, ticks: Vec<(f64, String)>) -> Self {
        Self { from, to, ticks }
    }

    /// Where a value is, from 0 at `from` to 1 at `to`.
    fn place(&self, value: f64) -> f64 {
        (value / self.from).ln() / (self.to / self.from).ln()
    }

    /// `count + 1` values from one end to the other, at equal distances in the drawing.
    pub(super) fn values(&self, count: u32) -> impl Iterator<Item = f64> + use<> {
        let (from, ratio) = (self.from, self.to / self.from);
        (0..=count).map(move |i| from * ratio.powf(f64::from(i) / f64::from(count)))
    }

    /// The coordinate of `plotters`, which is to draw the grid at the ticks.
    fn coordinate(&self) -> Unit {
        Unit(self.ticks.iter().map(|(value, _)| self.place(*value)).collect())
    }

    /// The label of a tick.
    fn label(&self, place: f64) -> String {
        let at = |value: f64| (self.place(value) - place).abs() < 1e-9;
        let tick = self.ticks.iter().find(|(value, _)| at(*value));
        tick.map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

/// The numbers from 0 to 1, with a grid at given values.
pub(super) struct Unit(Vec<f64>);

impl Ranged for Unit {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let place = f64::from(limit.0) + value * f64::from(limit.1 - limit.0);
        // The small addend keeps rounding errors from moving whole pixels.
        (place + 1e-3).floor() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.0.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        0.0..1.0
    }
}

/// A tick label of a rate: `10 %`, `1 %`, `0.1 %`, `1e-4`.
pub(super) fn rate_ticks(lowest: i32) -> Vec<(f64, String)> {
    let label = |exponent: i32| match exponent {
        0 => "100 %".into(),
        -1 => "10 %".into(),
        -2 => "1 %".into(),
        -3 => "0.1 %".into(),
        _ => format!("1e{exponent}"),
    };
    (lowest..=0).map(|exponent| (10f64.powi(exponent), label(exponent))).collect()
}

/// The style of a line.
#[derive(Clone, Copy)]
pub(super) struct Stroke {
    pub(super) color: RGBColor,
    pub(super) width: u32,
    pub(super) dashed: bool,
}

impl Stroke {
    pub(super) const fn solid(color: RGBColor) -> Self {
        Self { color, width: 5, dashed: false }
    }

    pub(super) const fn dashed(color: RGBColor) -> Self {
        Self { color, width: 4, dashed: true }
    }
}

/// The side of a point on which its text is.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Left,
    Right,
    Above,
    Below,
}

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Unit, Unit>>;

/// The texts around the chart.
pub(super) struct Words<'a> {
    /// The subject of the picture.
    pub(super) title: &'a str,
    /// The contents of the picture, and the way they were computed.
    pub(super) subtitle: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    /// Room for labels at the right, in pixels.
    pub(super) right: u32,
}

fn font(pixels: u32) -> FontDesc<'static> {
    ("sans-serif", pixels * POINTS).into_font()
}

/// A chart under way.
pub(super) struct Frame<'a> {
    chart: Chart<'a>,
    x: Axis,
    y: Axis,
}

/// A picture: the frame with the contents drawn by `paint`.
pub(super) fn picture(
    words: &Words<'_>,
    x: Axis,
    y: Axis,
    paint: impl FnOnce(&mut Frame<'_>),
) -> String {
    let mut svg = String::new();
    let size = (SIZE.0 * POINTS, SIZE.1 * POINTS);
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        written(root.fill(&WHITE));
        headings(&root, words);
        let mut chart = written(
            ChartBuilder::on(&root)
                .margin_top(152 * POINTS)
                .margin_left(24 * POINTS)
                .margin_right(words.right * POINTS)
                .margin_bottom(12 * POINTS)
                .set_label_area_size(LabelAreaPosition::Left, 96 * POINTS)
                .set_label_area_size(LabelAreaPosition::Bottom, 80 * POINTS)
                .build_cartesian_2d(x.coordinate(), y.coordinate()),
        );
        written(
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .bold_line_style(RGBColor(0xE3, 0xE3, 0xE3).stroke_width(2 * POINTS))
                .set_all_tick_mark_size(8 * POINTS)
                .axis_style(GREY.stroke_width(2 * POINTS))
                .label_style(font(26).color(&INK))
                .axis_desc_style(font(26).color(&GREY))
                .x_label_formatter(&|place| x.label(*place))
                .y_label_formatter(&|place| y.label(*place))
                .x_desc(words.x)
                .draw(),
        );
        paint(&mut Frame { chart, x, y });
        written(root.present());
    }
    let in_points = format!(r#"width="{}" height="{}""#, size.0, size.1);
    svg.replacen(&in_points, &format!(r#"width="{}" height="{}""#, SIZE.0, SIZE.1), 1)
}

/// Writing to a `String` cannot fail.
fn written<T, E: std::error::Error + Send + Sync>(result: Result<T, DrawingAreaErrorKind<E>>) -> T {
    result.unwrap_or_else(|error| unreachable!("drawing into a string: {error}"))
}

fn headings(root: &DrawingArea<SVGBackend<'_>, Shift>, words: &Words<'_>) {
    let bold = font(40).style(FontStyle::Bold).color(&INK);
    let plain = font(26).color(&GREY);
    for (text, style, y) in
        [(words.title, &bold, 24), (words.subtitle, &plain, 78), (words.y, &plain, 116)]
    {
        written(root.draw_text(text, style, (28 * POINTS.cast_signed(), y * POINTS.cast_signed())));
    }
}

impl Frame<'_> {
    pub(super) fn x(&self) -> &Axis {
        &self.x
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.place(x), self.y.place(y))
    }

    /// Draws a line through these points, as far as it is in the chart.
    pub(super) fn line(&mut self, stroke: Stroke, points: impl IntoIterator<Item = (f64, f64)>) {
        let points: Vec<_> = points.into_iter().map(|point| self.place(point)).collect();
        let style = stroke.color.stroke_width(stroke.width * POINTS);
        let points = clipped(&points);
        if stroke.dashed {
            let dashes = DashedPathElement::new(points, 14 * POINTS, 10 * POINTS, style);
            written(self.chart.draw_series(std::iter::once(dashes)));
        } else {
            written(self.chart.draw_series(std::iter::once(PathElement::new(points, style))));
        }
    }

    /// Fills between a line and the bottom of the chart.
    pub(super) fn area_below(&mut self, color: RGBColor, points: impl Iterator<Item = (f64, f64)>) {
        let points: Vec<_> = points.map(|point| self.place(point)).collect();
        let mut outline = clipped(&points);
        let ends = outline.first().copied().zip(outline.last().copied());
        if let Some((first, last)) = ends {
            outline.extend([(last.0, 0.0), (first.0, 0.0)]);
            written(self.chart.draw_series(std::iter::once(Polygon::new(outline, color))));
        }
    }

    /// Draws a dot.
    pub(super) fn dot(&mut self, color: RGBColor, point: (f64, f64)) {
        let dot = Circle::new(self.place(point), 10 * POINTS, color.filled());
        written(self.chart.draw_series(std::iter::once(dot)));
    }

    /// Writes next to a point; `shift` moves the text by pixels to the right and down.
    pub(super) fn text(
        &mut self,
        color: RGBColor,
        point: (f64, f64),
        side: Side,
        shift: (i32, i32),
        text: &str,
    ) {
        let (pos, (dx, dy)) = match side {
            Side::Left => (Pos::new(HPos::Right, VPos::Center), (-16, 0)),
            Side::Right => (Pos::new(HPos::Left, VPos::Center), (16, 0)),
            Side::Above => (Pos::new(HPos::Center, VPos::Bottom), (0, -14)),
            Side::Below => (Pos::new(HPos::Center, VPos::Top), (0, 14)),
        };
        let style = font(26).color(&color).pos(pos);
        let (x, y) = self.chart.backend_coord(&self.place(point));
        let pixels = POINTS.cast_signed();
        let place = (x + (dx + shift.0) * pixels, y + (dy + shift.1) * pixels);
        // Labels may be outside the chart, so they belong to the whole picture.
        let root = self.chart.plotting_area().strip_coord_spec();
        let base = root.get_base_pixel();
        written(root.draw_text(text, &style, (place.0 - base.0, place.1 - base.1)));
    }
}

/// The part of a line that is in the unit square; lines leave it at most at either end.
fn clipped(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let inside = |y: f64| (0.0..=1.0).contains(&y);
    let mut kept = Vec::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        if inside(y) {
            kept.push((x, y));
        } else {
            let edge = if y < 0.0 { 0.0 } else { 1.0 };
            let neighbours = [i.checked_sub(1), Some(i + 1)];
            let neighbours = neighbours.into_iter().flatten().filter_map(|i| points.get(i));
            // Where the line crosses the edge between this point and a neighbour that is inside.
            let crossing = neighbours.filter(|(_, other)| inside(*other)).map(|&(x2, y2)| {
                let share = (edge - y) / (y2 - y);
                (x + (x2 - x) * share, edge)
            });
            kept.extend(crossing);
        }
    }
    kept
}
