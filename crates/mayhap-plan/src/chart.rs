//! The rate against the number of keys, drawn with characters, at most 80 columns wide and less on
//! a narrow terminal.
//!
//! Each character is 2 × 4 dots of Braille (U+2800 …), so that the curve is fine enough. Both axes
//! are logarithmic.

use crate::columns::wrapped;
use crate::text::rough;
use mayhap_units::number::{format_count, format_fpp};
use std::cmp::Ordering;
use std::fmt::Write;

/// Characters of the area of the curve, at most and at least.
const MAX_WIDTH: usize = 66;
const MIN_WIDTH: usize = 22;
const HEIGHT: usize = 14;
const DOTS_Y: usize = HEIGHT * 4;

/// Columns to the left of the area, and to its right for the last number below it.
const MARGINS: usize = 14;

/// From a tenth of the keys to ten times as many.
const SPAN: f64 = 10.0;

/// On a slow curve, one dot in this many is computed, and the dots between are interpolated.
const SLOW_STEP: usize = 6;

/// Rates this far below the target are not drawn.
const MAX_DECADES_BELOW: f64 = 6.0;

/// A curve to draw.
pub struct Curve<'a> {
    /// The name of the filter.
    pub name: &'a str,
    /// The keys in the middle, with a mark.
    pub items: u64,
    /// The rate with this number of keys; `None` where no more are accepted.
    pub fpp_after: &'a dyn Fn(u64) -> Option<f64>,
    /// Whether that takes long, so that it is not computed for every dot.
    pub is_slow: bool,
}

/// Draws a curve from a tenth of its keys to ten times as many, on a terminal of `max_columns`
/// columns.
pub fn chart(curve: &Curve<'_>, max_columns: usize, color: bool) -> String {
    let &Curve { name, items, fpp_after, is_slow } = curve;
    let width = (max_columns.saturating_sub(MARGINS) & !1).clamp(MIN_WIDTH, MAX_WIDTH);
    let dots_x = width * 2;
    let at = |dot: usize| {
        let exponent = 2.0 * dot as f64 / (dots_x - 1) as f64 - 1.0;
        ((items as f64 * SPAN.powf(exponent)).round() as u64).max(1)
    };
    let rates = rates(dots_x, if is_slow { SLOW_STEP } else { 1 }, |dot| fpp_after(at(dot)));
    let target = fpp_after(items).unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let bottom = lowest_decade(&rates, target);
    let mut area = Area::new(bottom, width);
    area.curve(&rates);
    let mark = (width / 2, area.row(target) / 4);
    let paint = |code: &str, text: &str| {
        if color { format!("\x1B[{code}m{text}\x1B[0m") } else { text.into() }
    };
    let words = format!("{} with {} keys", rough(target), format_count(items));
    let heading = format!("rate of {name} with more and more keys");
    let mut text = wrapped(&heading, 0, max_columns) + "\n";
    // Next to the mark, or else on a line of their own.
    let fits = mark.0 + 4 + words.len() <= width;
    if !fits {
        let _ = writeln!(text, "{:11}{}", "", paint("1", &format!("● {words}")));
    }
    let words = format!(" {words} ");
    for row in 0..HEIGHT {
        let label = area.label(row);
        let tick = if label.is_empty() { '│' } else { '┤' };
        let _ = write!(text, "{label:>9} {tick}");
        let mut column = 0;
        while column < width {
            if (column, row) == mark {
                text += &paint("1", "●");
            } else if fits && row == mark.1 + 1 && column == mark.0 + 2 && row < HEIGHT {
                // Below and to the right of the mark the curve never is.
                text += &paint("1", &words);
                column += words.chars().count();
                continue;
            } else {
                let code = if column < mark.0 { "32" } else { "33" };
                match area.character(column, row) {
                    ' ' => text.push(' '),
                    dots => text += &paint(code, &dots.to_string()),
                }
            }
            column += 1;
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text + &axis(items, width)
}

/// The rates at all dots; one in `step` is computed.
fn rates(dots: usize, step: usize, fpp_at: impl Fn(usize) -> Option<f64>) -> Vec<Option<f64>> {
    let knots: Vec<Option<f64>> = (0..=dots.div_ceil(step)).map(|i| fpp_at(i * step)).collect();
    let between = |dot: usize| {
        let (from, share) = (dot / step, (dot % step) as f64 / step as f64);
        match share {
            0.0 => knots[from],
            // The axis is logarithmic, so straight lines are geometric means.
            _ => Some(knots[from]?.powf(1.0 - share) * knots[from + 1]?.powf(share)),
        }
    };
    (0..dots).map(between).collect()
}

/// The exponent of ten at which the picture ends below: of the lowest rate, but not too far below
/// the target.
fn lowest_decade(rates: &[Option<f64>], target: f64) -> f64 {
    let lowest = rates.iter().flatten().copied().fold(target, f64::min).max(f64::MIN_POSITIVE);
    let lowest = lowest.log10().max(target.log10() - MAX_DECADES_BELOW);
    // With room below the mark; at least one decade, or there is nothing to divide by.
    lowest.floor().min((target.log10() - 0.5).floor()).min(-1.0)
}

/// The line below the area, and the numbers of keys at both ends and in the middle.
fn axis(items: u64, width: usize) -> String {
    let mut line: Vec<char> = "─".repeat(width).chars().collect();
    for tick in [0, width / 2, width - 1] {
        line[tick] = '┬';
    }
    let line: String = line.into_iter().collect();
    let middle = format_count(items);
    let (less, more) = (format_count(items / 10), format_count(items.saturating_mul(10)));
    let (left, right) = (format!("{less:<9}"), format!("{more} keys"));
    let before = (width / 2 + 11).saturating_sub(11 + left.len() + middle.len() / 2);
    let text = format!("{:11}{left}{:before$}{middle}", "", "");
    let gap = (11 + width).saturating_sub(text.len() + right.len());
    format!("{:9} └{line}\n{text}{:gap$}{right}\n", "", "")
}

/// The dots.
struct Area {
    bottom: f64,
    cells: [Vec<u8>; HEIGHT],
}

impl Area {
    fn new(bottom: f64, width: usize) -> Self {
        Self { bottom, cells: std::array::from_fn(|_| vec![0; width]) }
    }

    /// The row of dots of a rate, from the top.
    fn row(&self, fpp: f64) -> usize {
        let height = (fpp.max(f64::MIN_POSITIVE).log10() / self.bottom).clamp(0.0, 1.0);
        (height * (DOTS_Y - 1) as f64).round() as usize
    }

    /// Sets the dots of a curve, without gaps where it is steep.
    fn curve(&mut self, rates: &[Option<f64>]) {
        let mut before: Option<usize> = None;
        for (x, fpp) in rates.iter().enumerate() {
            // Points below the picture are left out, not drawn along its edge.
            let inside = |fpp: &f64| fpp.log10() >= self.bottom - 1e-9;
            let Some(y) = fpp.filter(inside).map(|fpp| self.row(fpp)) else {
                before = None;
                continue;
            };
            // The dot before is set already.
            let from = before.map_or(y, |before| match before.cmp(&y) {
                Ordering::Less => before + 1,
                Ordering::Equal => y,
                Ordering::Greater => before - 1,
            });
            for y in from.min(y)..=from.max(y) {
                self.set(x, y);
            }
            before = Some(y);
        }
    }

    fn set(&mut self, x: usize, y: usize) {
        /// The bit of each dot of a character, by row and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        self.cells[y / 4][x / 2] |= BITS[y % 4][x % 2];
    }

    fn character(&self, column: usize, row: usize) -> char {
        match self.cells[row][column] {
            0 => ' ',
            dots => char::from_u32(0x2800 + u32::from(dots)).unwrap_or('*'),
        }
    }

    /// The label of a row: a power of ten, if one is nearest to it and there is room for it.
    fn label(&self, row: usize) -> String {
        let decades = -self.bottom as i32;
        // At most every other row has a label.
        let step = 1 + decades * 2 / i32::try_from(HEIGHT).unwrap_or(i32::MAX);
        let label = |decade: &i32| self.row(10f64.powi(-decade)) / 4 == row;
        let decade = (0..=decades).filter(|decade| decade % step == 0).find(label);
        decade.map_or_else(String::new, |decade| format_fpp(10f64.powi(-decade)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Curve, chart};

    fn grows(keys: u64) -> f64 {
        (keys as f64 / 1e6).powi(8) * 1e-8
    }

    #[test]
    fn the_curve_goes_through_the_mark_and_ends_at_certainty() {
        let fpp_after = |keys| Some(grows(keys));
        let mut curve =
            Curve { name: "x", items: 1_000_000, fpp_after: &fpp_after, is_slow: false };
        let text = chart(&curve, 80, false);
        curve.is_slow = true;
        // This one is made of straight lines.
        assert_eq!(chart(&curve, 80, false), text);
        let rows: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
        assert!(rows.iter().all(|row| row.len() <= 80), "{text}");
        let (y, row) = rows.iter().enumerate().find(|(_, row)| row.contains(&'●')).unwrap();
        assert_eq!(row.iter().position(|&c| c == '●'), Some(11 + 33));
        // The dots next to the mark are the curve's.
        let braille = |c: Option<&char>| c.is_some_and(|c| ('\u{2801}'..'\u{28FF}').contains(c));
        assert!(braille(rows[y - 1].get(45)) || braille(row.get(45)), "{text}");
        assert!(braille(rows[1].get(11 + 65)), "{text}");
        let axis = text.lines().last().unwrap();
        assert!(axis.starts_with("           100k") && axis.ends_with("10.0M keys"), "{text}");
    }

    #[test]
    fn any_curve_fits_in_its_columns() {
        let rates: [fn(u64) -> Option<f64>; 5] = [
            |_| None,
            |_| Some(0.0),
            |_| Some(1.0),
            |_| Some(1e-300),
            |keys| Some(grows(keys).min(1.0)),
        ];
        for fpp_after in rates {
            for items in [1, 9, 999_999, u64::MAX / 10, u64::MAX] {
                let is_slow = items == 9;
                let curve = Curve { name: "x", items, fpp_after: &fpp_after, is_slow };
                let text = chart(&curve, 80, false);
                assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
                assert_eq!(text.lines().count(), 17);
                for columns in [40, 41, 60] {
                    let text = chart(&curve, columns, false);
                    assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
                    assert!(text.contains('●'), "{text}");
                }
            }
        }
    }
}
