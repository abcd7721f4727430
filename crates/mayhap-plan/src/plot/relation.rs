//! The rate against each of n, m and k, with the others as given.

use super::frame::{Axis, BLUE, Frame, GREEN, GREY, INK, OCHRE, PURPLE, RED, Side, Stroke};
use super::frame::{Words, picture, rate_ticks};
use crate::cost::without_zeros;
use crate::solve::{Known, best_num_hashes};
use mayhap::sizing::{self, standard};
use mayhap::{Digest, Error, Layout};
use mayhap_units::number::{format_count, format_fpp};
use plotters::style::RGBColor;

/// The lowest rate that is drawn, and its exponent.
const LOWEST: (f64, i32) = (1e-8, -8);

/// Colours of curves, in their order.
const COLORS: [RGBColor; 5] = [OCHRE, PURPLE, RED, BLUE, GREEN];

/// k of the curves, if none is given.
const HASHES: [u32; 5] = [1, 2, 4, 7, 14];

/// k of the curves of `blocked`.
const BLOCKED_HASHES: [u32; 3] = [4, 8, 16];

/// Bits per key of the curves against k.
const BITS_PER_ITEM: [u64; 5] = [4, 8, 12, 16, 24];

/// The most keys: axes go up to 64 bits for each of them.
const MAX_ITEMS: u64 = sizing::MAX_NUM_BITS / 64;

/// m and n, if they are not given.
const NUM_BITS: u64 = 1 << 23;
const ITEMS: u64 = 1_000_000;

/// The variable that the rate is drawn against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    Items,
    Bits,
    Hashes,
}

/// A curve: its name and its rates, in the direction of the axis.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

pub(super) fn svg(against: Against, given: &Known) -> Result<String, Error> {
    check(given)?;
    let drawing = match against {
        Against::Items => against_items(given),
        Against::Bits => against_bits(given),
        Against::Hashes => against_hashes(given),
    };
    Ok(drawing.picture(against, given))
}

/// Refuses numbers of a filter that cannot be drawn.
fn check(given: &Known) -> Result<(), Error> {
    given.check()?;
    if let Some(found) = given.items.filter(|items| *items > MAX_ITEMS) {
        return Err(Error::OutOfRange { parameter: "items", min: 1, max: MAX_ITEMS, found });
    }
    let block = given.layout.block_bits();
    let num_bits = given.num_bits.unwrap_or(block);
    let usual = if given.layout == Layout::Standard { 1 } else { 8 };
    let num_hashes = given.num_hashes.unwrap_or(usual);
    // Any digest will do: only the shape is checked, in whole blocks.
    let whole = if num_bits < block { num_bits } else { num_bits - num_bits % block };
    mayhap::positions(given.layout, whole, num_hashes, Digest::new(0)).map(drop)
}

/// The curves and labels of a picture.
struct Drawing {
    title: String,
    subtitle: String,
    x: &'static str,
    axis: Axis,
    curves: Vec<Curve>,
    /// The rate with the best k.
    best: Vec<(f64, f64)>,
    /// The label of the dashed line.
    best_name: &'static str,
}

fn against_items(given: &Known) -> Drawing {
    let num_bits = given.num_bits.unwrap_or(NUM_BITS) as f64;
    let axis = log_axis((num_bits / 160.0).max(1.0), (num_bits * 1.25).max(8.0));
    let whole = whole_blocks(given.layout, num_bits);
    drawn_over(
        given,
        format!("In {} bits, more keys mean more mistakes", short(whole)),
        "keys in the filter, n",
        axis,
        move |items| (whole, items as u64),
    )
}

fn against_bits(given: &Known) -> Drawing {
    let items = given.items.unwrap_or(ITEMS);
    let axis = log_axis(items as f64 * 2.0, items as f64 * 64.0);
    let layout = given.layout;
    drawn_over(
        given,
        format!("With {} keys, more bits mean fewer mistakes", short(items)),
        "bits of the filter, m",
        axis,
        move |bits| (whole_blocks(layout, bits), items),
    )
}

/// A curve for each k over n or m; `at` has m and n at a place of the axis.
fn drawn_over(
    given: &Known,
    title: String,
    x: &'static str,
    axis: Axis,
    at: impl Fn(f64) -> (u64, u64),
) -> Drawing {
    let layout = given.layout;
    let places: Vec<f64> = axis.values(240).map(f64::round).collect();
    let rate = |place: f64, k: u32| {
        let (num_bits, items) = at(place);
        (place, sizing::expected_fpp(layout, num_bits, k, items))
    };
    let curve = |&k: &u32| Curve {
        name: format!("k = {k}"),
        points: places.iter().map(|&place| rate(place, k)).collect(),
    };
    let best = |&place: &f64| {
        let (num_bits, items) = at(place);
        rate(place, best_num_hashes(layout, num_bits, items).unwrap_or(8))
    };
    Drawing {
        title,
        subtitle: format!("A {layout} filter in which a key sets k bits. Exact model."),
        x,
        curves: hashes(given).iter().map(curve).collect(),
        best: places.iter().map(best).collect(),
        best_name: "dashed: the best k at each place",
        axis,
    }
}

fn against_hashes(given: &Known) -> Drawing {
    let ticks = [1u32, 2, 3, 4, 6, 8, 12, 16, 24, 32];
    let ticks = ticks.map(|k| (f64::from(k), k.to_string())).to_vec();
    let axis = Axis::new(1.0, 32.0, ticks);
    let items = given.items.unwrap_or(ITEMS);
    let sizes: Vec<u64> = match given.num_bits {
        Some(num_bits) => vec![num_bits],
        None => BITS_PER_ITEM.map(|bits| bits * items).to_vec(),
    };
    let all: Vec<u32> = match given.layout {
        Layout::Standard => (1..=32).collect(),
        _ => BLOCKED_HASHES.to_vec(),
    };
    let curve = |&size: &u64| {
        let num_bits = whole_blocks(given.layout, size as f64);
        let rate = |&k: &u32| sizing::expected_fpp(given.layout, num_bits, k, items);
        let name = format!("{:.1} bits a key", num_bits as f64 / items as f64);
        Curve { name, points: all.iter().map(|k| (f64::from(*k), rate(k))).collect() }
    };
    let curves: Vec<Curve> = sizes.iter().map(curve).collect();
    // The size for which a k is the best, m = k n / ln 2; blocks have their own.
    let best = |&k: &u32| {
        let num_bits = (f64::from(k) * items as f64 / std::f64::consts::LN_2).round() as u64;
        (f64::from(k), standard::expected_fpp(num_bits, k, items))
    };
    let is_standard = given.layout == Layout::Standard;
    let best = if is_standard { all.iter().map(best).collect() } else { Vec::new() };
    Drawing {
        title: format!("Too few hashes test too little, too many fill: {} keys", short(items)),
        subtitle: format!("A {} filter. Exact model.", given.layout),
        x: "bits that a key sets, k",
        axis,
        curves,
        best,
        best_name: if is_standard { "dashed: the best k, (m/n) ln 2" } else { "" },
    }
}

/// k of the curves: the one that is given, or several.
fn hashes(given: &Known) -> Vec<u32> {
    match (given.num_hashes, given.layout) {
        (Some(k), _) => vec![k],
        (None, Layout::Standard) => HASHES.to_vec(),
        (None, _) => BLOCKED_HASHES.to_vec(),
    }
}

/// m, in whole blocks and at least one of them.
fn whole_blocks(layout: Layout, num_bits: f64) -> u64 {
    let (bits, block) = (num_bits as u64, layout.block_bits());
    (bits - bits % block).max(block)
}

/// A count in three digits, without zeros behind the point: `1M`, `1.5M`.
fn short(count: u64) -> String {
    let text = format_count(count);
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    format!("{}{unit}", without_zeros(number))
}

/// An axis with ticks at 1, 2 and 5 of every decade.
fn log_axis(from: f64, to: f64) -> Axis {
    let mut ticks = Vec::new();
    let mut decade = 1u64;
    while (decade as f64) < to {
        for step in [1, 2, 5] {
            let value = decade.saturating_mul(step);
            if (from..=to).contains(&(value as f64)) {
                ticks.push((value as f64, short(value)));
            }
        }
        decade = decade.saturating_mul(10);
    }
    Axis::new(from, to, ticks)
}

impl Drawing {
    fn picture(self, against: Against, given: &Known) -> String {
        let words = Words {
            title: &self.title,
            subtitle: &self.subtitle,
            x: self.x,
            y: "false-positive rate p",
            right: 230,
        };
        let y = Axis::new(LOWEST.0, 1.0, rate_ticks(LOWEST.1));
        picture(&words, self.axis, y, |frame| {
            for (curve, color) in self.curves.iter().zip(COLORS) {
                frame.line(Stroke::solid(color), curve.points.iter().copied());
                label(frame, against, curve, color);
            }
            frame.line(Stroke::dashed(INK), self.best.iter().copied());
            let left = frame.x().from;
            frame.text(GREY, (left, LOWEST.0), Side::Right, (0, -20), self.best_name);
            if let Some(target) = given.target_fpp {
                target_line(frame, target, &self.curves, &self.best);
            }
        })
    }
}

/// The name of a curve: over n, where all end at 100 %, below its first point in the chart, and
/// otherwise next to the last one.
fn label(frame: &mut Frame<'_>, against: Against, curve: &Curve, color: RGBColor) {
    let is_drawn = |point: &&(f64, f64)| (LOWEST.0..=1.0).contains(&point.1);
    let (point, shift) = if against == Against::Items {
        (curve.points.iter().find(is_drawn), (8, 22))
    } else {
        (curve.points.iter().rfind(is_drawn), (0, 0))
    };
    let Some(&point) = point else { return };
    // Not on the axis.
    let shift = if point.1 < LOWEST.0 * 2.0 { (8, -18) } else { shift };
    frame.text(color, point, Side::Right, shift, &curve.name);
}

/// A line at the rate to keep, with a dot where a curve, or the best k, meets it.
fn target_line(frame: &mut Frame<'_>, target: f64, curves: &[Curve], best: &[(f64, f64)]) {
    let (from, to) = (frame.x().from, frame.x().to);
    frame.line(Stroke::dashed(GREY), [(from, target), (to, target)]);
    frame.text(GREY, (to, target), Side::Right, (0, 0), &format!("p = {}", format_fpp(target)));
    let all = curves.iter().map(|curve| &curve.points[..]).chain([best]);
    for points in all {
        let crossing = points.windows(2).find(|pair| {
            let above = |point: &(f64, f64)| point.1 > target;
            above(&pair[0]) != above(&pair[1])
        });
        if let Some(pair) = crossing {
            let kept = if pair[0].1 <= target { pair[0] } else { pair[1] };
            frame.dot(INK, kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_numbers_that_a_filter_has_are_drawn() {
        for layout in [Layout::Standard, Layout::Blocked] {
            for (items, num_bits) in [(1, 512), (3, 20_000), (1 << 50, 1 << 56)] {
                let given = Known {
                    layout,
                    items: Some(items),
                    num_bits: Some(num_bits),
                    num_hashes: Some(8),
                    target_fpp: Some(1e-3),
                };
                for against in [Against::Items, Against::Bits, Against::Hashes] {
                    let svg = svg(against, &given).unwrap();
                    let is_drawn = svg.starts_with("<svg") && svg.matches("<polyline").count() > 2;
                    assert!(is_drawn && !svg.contains("NaN"), "{against:?} {given:?}");
                }
            }
        }
    }

    #[test]
    fn others_are_refused() {
        let standard = Known::default();
        let refused = [
            Known { items: Some(0), ..standard },
            Known { items: Some((1 << 50) + 1), ..standard },
            Known { num_bits: Some(0), ..standard },
            Known { num_bits: Some((1 << 56) + 1), ..standard },
            Known { num_hashes: Some(33), ..standard },
            Known { target_fpp: Some(1.0), ..standard },
            Known { layout: Layout::Blocked, num_bits: Some(511), ..standard },
            Known { layout: Layout::Blocked, num_hashes: Some(7), ..standard },
        ];
        for given in refused {
            assert!(svg(Against::Items, &given).is_err(), "{given:?}");
        }
    }

    /// The size on the dashed line is the one for which its k is the best.
    #[test]
    fn no_other_k_is_better_at_the_size_of_a_point_on_the_dashed_line() {
        let drawing = against_hashes(&Known::default());
        assert_eq!(drawing.best.len(), 32);
        for (k, fpp) in drawing.best {
            let num_bits = (k * ITEMS as f64 / std::f64::consts::LN_2).round() as u64;
            for other in [k as u32 - 1, k as u32 + 1].into_iter().filter(|k| (1..33).contains(k)) {
                let other_fpp = standard::expected_fpp(num_bits, other, ITEMS);
                assert!(other_fpp > fpp, "k = {k}: {other_fpp} with {other}, {fpp}");
            }
        }
        assert_eq!([1_000_000, 10_000, 100, 20].map(short), ["1M", "10k", "100", "20"]);
    }
}
