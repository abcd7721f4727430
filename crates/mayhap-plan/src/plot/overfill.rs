//! The rate of filters with more keys than they were made for.

use super::frame::{Axis, BLUE, Frame, GREEN, GREY, PURPLE, RED, Side, Stroke};
use super::frame::{Words, picture, rate_ticks};
use mayhap::sizing;
use mayhap::sizing::scalable::{self, LayerParams};
use mayhap::{Error, FilterParams, Layout};

const ITEMS: u64 = 10_000_000;

/// The place of a name: from which rate on, on which side, and how far from the curve.
type Place = (f64, Side, (i32, i32));

/// Filters that are overfilled: the name, layout and target of each, its stroke, and the place of
/// its name.
const CURVES: [(&str, Layout, f64, Stroke, Place); 4] = [
    ("standard, 1 %", Layout::Standard, 0.01, Stroke::solid(BLUE), (0.2, Side::Left, (-6, -12))),
    ("blocked, 1 %", Layout::Blocked, 0.01, Stroke::solid(RED), (0.4, Side::Left, (-6, -14))),
    ("standard, 0.1 %", Layout::Standard, 1e-3, Stroke::dashed(BLUE), (0.0071, Side::Left, (2, 0))),
    ("blocked, 0.1 %", Layout::Blocked, 1e-3, Stroke::dashed(RED), (0.05, Side::Right, (0, 16))),
];

/// The rate promised by the kinds that cannot be overfilled.
const FLAT_FPP: f64 = 0.01;

const WORDS: Words<'static> = Words {
    title: "Twice the planned keys break the promise, ten times the keys break the filter",
    subtitle: "Exact models. Dashed: filters with a target of 0.1 %, solid: for 1 %.",
    x: "keys, as a multiple of what was planned",
    y: "false-positive rate p",
    right: 48,
};

pub(super) fn svg() -> Result<String, Error> {
    let ticks = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0];
    let ticks = ticks.map(|times: f64| (times, format!("{times}×"))).to_vec();
    let (x, y) = (Axis::new(1.0, 10.0, ticks), Axis::new(2e-4, 1.0, rate_ticks(-3)));
    let params =
        CURVES.map(|(_, layout, target_fpp, ..)| sizing::for_items(layout, ITEMS, target_fpp));
    let params = params.into_iter().collect::<Result<Vec<_>, _>>()?;
    let layers = layers()?;
    let chain =
        x.values(240).map(|times| (times, chain_fpp(&layers, (times * ITEMS as f64) as u64)));
    let chain: Vec<_> = chain.collect();
    Ok(picture(&WORDS, x, y, |frame| paint(frame, &params, &chain)))
}

/// The layers of a growing filter whose first one was made for [`ITEMS`] keys: for 15 times as
/// many.
fn layers() -> Result<Vec<LayerParams>, Error> {
    scalable::chain(ITEMS, FLAT_FPP).take(4).collect()
}

/// The rate of these layers, filled one after the other.
fn chain_fpp(layers: &[LayerParams], items: u64) -> f64 {
    let (mut left, mut absent) = (items, 1.0);
    for layer in layers {
        let in_layer = left.min(layer.expected_items());
        absent *= 1.0 - layer.expected_fpp(in_layer);
        left -= in_layer;
    }
    1.0 - absent
}

fn paint(frame: &mut Frame<'_>, params: &[FilterParams], chain: &[(f64, f64)]) {
    let times: Vec<f64> = frame.x().values(240).collect();
    let end = times.last().copied().unwrap_or(1.0);
    frame.line(Stroke::solid(GREEN), chain.iter().copied());
    if let Some(&point) = chain.last() {
        let text = "scalable, 1 %: grows and keeps it";
        frame.text(GREEN, point, Side::Left, (16, 46), text);
    }
    frame.line(Stroke::solid(PURPLE), [(1.0, FLAT_FPP), (end, FLAT_FPP)]);
    let text = "window, 1 %: forgets the oldest and keeps it";
    frame.text(PURPLE, (end, FLAT_FPP), Side::Left, (16, -24), text);
    for ((name, _, _, stroke, (from, side, shift)), params) in CURVES.into_iter().zip(params) {
        let point = |&times: &f64| (times, params.expected_fpp((times * ITEMS as f64) as u64));
        let points: Vec<_> = times.iter().map(point).collect();
        frame.line(stroke, points.iter().copied());
        if let Some(&point) = points.iter().find(|(_, p)| *p >= from) {
            frame.text(stroke.color, point, side, shift, name);
        }
    }
    let text = "binary fuse: frozen, no key can be added, so it has no line";
    frame.text(GREY, (end, 3.2e-4), Side::Left, (16, 0), text);
}
