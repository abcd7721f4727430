//! Bits per key against the rate, for every kind of filter.

use super::frame::{Axis, BLUE, Frame, GREEN, GREY, INK, OCHRE, PURPLE, RED, Side, Stroke};
use super::frame::{Words, picture, rate_ticks};
use mayhap::sizing::compact::CompactParams;
use mayhap::sizing::fuse::{self, FuseWidth};
use mayhap::sizing::window::{self, Load, MAX_OLDER_GENERATIONS};
use mayhap::sizing::{ribbon, scalable};
use mayhap::{Error, Layout, sizing};
use plotters::style::RGBColor;
use std::f64::consts::LOG2_E;

/// The bits of all kinds are computed for this number of keys; per key they hardly depend on it.
const ITEMS: u64 = 10_000_000;

const LOWEST_FPP: f64 = 1e-6;

/// The upper end of the chart; lines may continue beyond it.
const MOST_BITS: f64 = 120.0;

/// Bits for [`ITEMS`] keys at a rate.
type Model = fn(f64) -> Result<f64, Error>;

struct Curve {
    name: &'static str,
    stroke: Stroke,
    bits: Model,
    /// Moves the label by pixels, so that it does not cover its neighbour's.
    shift: i32,
}

const fn curve(name: &'static str, color: RGBColor, shift: i32, bits: Model) -> Curve {
    Curve { name, stroke: Stroke::solid(color), bits, shift }
}

const CURVES: [Curve; 8] = [
    curve("standard", BLUE, 8, |p| in_layout(Layout::Standard, p)),
    curve("blocked", RED, 0, |p| in_layout(Layout::Blocked, p)),
    curve("window", PURPLE, -30, of_window),
    curve("scalable, full", GREEN, 26, of_full_chain),
    curve("counting, 4 bits", OCHRE, 0, of_counters),
    curve("compact", INK, 0, of_copies),
    Curve { stroke: Stroke::dashed(INK), ..curve("binary fuse", INK, 16, of_fingerprints) },
    Curve { stroke: Stroke::dashed(BLUE), ..curve("ribbon", BLUE, 30, of_ribbon) },
];

/// The fewest bits per key with which a task is done at a rate.
struct Bound {
    name: &'static str,
    bits: fn(f64) -> f64,
    /// The bits at which the name stands, in the area below all lines.
    label: f64,
}

/// Sets that never change (Carter, Floyd, Gill, Markowsky & Wegman 1978); sets whose keys are
/// removed again (Kuszmaul & Walzer 2024, *Space Lower Bounds for Dynamic Filters and
/// Value-Dynamic Retrieval*); filters of bits that keys set, of which half are (Bloom 1970).
const BOUNDS: [Bound; 3] = [
    Bound { name: "any filter: log2(1/p)", bits: |p| -p.log2(), label: 5.0 },
    Bound { name: "with removals: log2(1/p) + 1.44", bits: |p| -p.log2() + LOG2_E, label: 6.2 },
    Bound {
        name: "bits that keys set: 1.44 log2(1/p), below standard",
        bits: |p| -p.log2() * LOG2_E,
        label: 7.7,
    },
];

fn in_layout(layout: Layout, target_fpp: f64) -> Result<f64, Error> {
    Ok(sizing::for_items(layout, ITEMS, target_fpp)?.num_bits() as f64)
}

/// Three slots for each key of a set that never changes.
fn of_fingerprints(target_fpp: f64) -> Result<f64, Error> {
    Ok(fuse::num_bits(FuseWidth::check_target(ITEMS, target_fpp)?, ITEMS)? as f64)
}

/// Layers of slots for a set that never changes.
fn of_ribbon(target_fpp: f64) -> Result<f64, Error> {
    Ok(ribbon::num_bits(ribbon::check_target(ITEMS, target_fpp)?, ITEMS)? as f64)
}

/// Buckets of fingerprints.
fn of_copies(target_fpp: f64) -> Result<f64, Error> {
    Ok(CompactParams::for_items(ITEMS, target_fpp)?.num_bytes() as f64 * 8.0)
}

/// Counters of 4 bits, 128 to a line: one for each bit of a filter with blocks of 128 bits.
fn of_counters(target_fpp: f64) -> Result<f64, Error> {
    Ok(in_layout(Layout::Blocked128, target_fpp)? * 4.0)
}

/// A window of [`ITEMS`] keys in its older generations and one that is being filled.
fn of_window(target_fpp: f64) -> Result<f64, Error> {
    let generation = Load::Counted(ITEMS.div_ceil(MAX_OLDER_GENERATIONS.into()));
    let (rows, _) = window::for_items(generation, MAX_OLDER_GENERATIONS + 1, target_fpp)?;
    Ok((rows * u64::from(window::NUM_COLUMNS)) as f64)
}

/// A chain that has grown a thousandfold, its newest layer full.
fn of_full_chain(target_fpp: f64) -> Result<f64, Error> {
    const LAYERS: u32 = 10;
    let first = ITEMS / (scalable::GROWTH.pow(LAYERS) - 1);
    let (mut bits, mut items) = (0, 0);
    for layer in scalable::chain(first, target_fpp).take(LAYERS as usize) {
        let layer = layer?;
        bits += layer.num_bits();
        items += layer.expected_items();
    }
    Ok(bits as f64 / items as f64 * ITEMS as f64)
}

const WORDS: Words<'static> = Words {
    title: "What a rate costs: bits per key for each kind of filter",
    subtitle: "The fewest bits with which the exact model keeps the rate, for 10 million keys. \
               From the dot on, blocks set 16 bits a key, not 8.",
    x: "false-positive rate p: fewer mistakes to the right",
    y: "bits per key",
    right: 250,
};

pub(super) fn svg() -> Result<String, Error> {
    let ticks = [4, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100];
    let y_ticks = ticks.map(|bits| (f64::from(bits), bits.to_string())).to_vec();
    let mut x_ticks = rate_ticks(-6);
    x_ticks.retain(|(p, _)| *p < 0.5);
    let (x, y) = (Axis::new(0.1, LOWEST_FPP, x_ticks), Axis::new(3.0, MOST_BITS, y_ticks));
    let rates: Vec<f64> = x.values(60).map(|p| p.clamp(LOWEST_FPP, 0.1)).collect();
    let mut lines = Vec::new();
    for curve in &CURVES {
        let point = |&p: &f64| Ok::<_, Error>((p, (curve.bits)(p)? / ITEMS as f64));
        lines.push((curve, rates.iter().map(point).collect::<Result<Vec<_>, _>>()?));
    }
    Ok(picture(&WORDS, x, y, |frame| paint(frame, &lines)))
}

fn paint(frame: &mut Frame<'_>, lines: &[(&Curve, Vec<(f64, f64)>)]) {
    for (i, Bound { name, bits, label }) in BOUNDS.into_iter().enumerate() {
        let line: Vec<_> = frame.x().values(60).map(|p| (p, bits(p))).collect();
        if i == 0 {
            frame.area_below(RGBColor(0xF2, 0xF2, 0xF2), line.iter().copied());
        }
        frame.line(Stroke::dashed(GREY), line);
        frame.text(GREY, (2e-5, label), Side::Below, (0, 0), name);
    }
    frame.text(GREY, (2e-5, 9.6), Side::Below, (0, 0), "lower bounds, the dashed grey lines:");
    for (curve, points) in lines {
        frame.line(curve.stroke, points.iter().copied());
        let inside = points.iter().rposition(|(_, bits)| *bits <= MOST_BITS);
        let Some(last) = inside else { continue };
        if last + 1 == points.len() {
            let shift = (0, curve.shift);
            frame.text(curve.stroke.color, points[last], Side::Right, shift, curve.name);
        } else {
            frame.text(curve.stroke.color, points[last], Side::Right, (-4, 18), curve.name);
        }
    }
    blocks_change_k(frame);
}

/// Marks the rate from which on blocks are better with 16 bits per key than with 8.
fn blocks_change_k(frame: &mut Frame<'_>) {
    let params = |p: f64| sizing::for_items(Layout::Blocked, ITEMS, p.clamp(LOWEST_FPP, 0.1));
    let mut blocks = frame.x().values(250).filter_map(|p| params(p).ok());
    if let Some(first) = blocks.find(|params| params.num_hashes() == 16) {
        let point = (first.target_fpp(), first.bits_per_item());
        frame.dot(RED, point);
    }
}
