//! The rate against the number of keys for several k in the same memory, and the best k.

use super::frame::{Axis, BLUE, Frame, GREEN, GREY, INK, OCHRE, PURPLE, RED, Side, Stroke};
use super::frame::{Words, picture, rate_ticks};
use mayhap::Layout;
use mayhap::sizing::{self, standard};
use plotters::style::RGBColor;

/// 1 MiB.
const NUM_BITS: u64 = 1 << 23;

/// k, and the place of its name: from which rate on, on which side.
const CURVES: [(u32, RGBColor, f64, Side); 5] = [
    (1, OCHRE, 7e-3, Side::Above),
    (2, PURPLE, 2e-4, Side::Above),
    (4, RED, 1.5e-6, Side::Left),
    (7, BLUE, 6e-8, Side::Left),
    (14, GREEN, 6e-8, Side::Left),
];

const WORDS: Words<'static> = Words {
    title: "In the same memory, more keys mean more mistakes, and the best k shrinks",
    subtitle: "A standard Bloom filter of 1 MiB: k bits are set for a key. Exact model, not the \
               textbook formula.",
    x: "keys in the filter, n",
    y: "false-positive rate p",
    right: 40,
};

pub(super) fn svg() -> String {
    let ticks = [(1e5, "100 k"), (2e5, "200 k"), (5e5, "500 k"), (1e6, "1 M"), (2e6, "2 M")];
    let ticks = ticks.into_iter().chain([(5e6, "5 M"), (1e7, "10 M")]);
    let x = Axis::new(5e4, 1e7, ticks.map(|(n, label)| (n, label.into())).collect());
    let y = Axis::new(1e-8, 1.0, rate_ticks(-8));
    picture(&WORDS, x, y, paint)
}

fn best(items: f64) -> (f64, f64) {
    let num_hashes = standard::best_num_hashes(NUM_BITS, items as u64);
    (items, standard::expected_fpp(NUM_BITS, num_hashes, items as u64))
}

fn paint(frame: &mut Frame<'_>) {
    let items: Vec<f64> = frame.x().values(240).map(f64::round).collect();
    frame.area_below(RGBColor(0xF2, 0xF2, 0xF2), items.iter().copied().map(best));
    for (num_hashes, color, from, side) in CURVES {
        let fpp = |n: f64| (n, standard::expected_fpp(NUM_BITS, num_hashes, n as u64));
        let points: Vec<_> = items.iter().copied().map(fpp).collect();
        frame.line(Stroke::solid(color), points.iter().copied());
        if let Some(&point) = points.iter().find(|(_, p)| *p >= from) {
            frame.text(color, point, side, (0, -4), &format!("k = {num_hashes}"));
        }
    }
    frame.line(Stroke::dashed(INK), items.iter().copied().map(best));
    for (target, text) in [(0.01, "1 %"), (1e-3, "0.1 %"), (1e-4, "1e-4")] {
        let Ok(items) = sizing::max_items(Layout::Standard, NUM_BITS, target) else { continue };
        let (point, bits) = (best(items as f64), NUM_BITS as f64 / items as f64);
        frame.dot(INK, point);
        frame.text(INK, point, Side::Right, (6, 14), &format!("{text} at {bits:.1} bits a key"));
    }
    frame.text(
        GREY,
        (2e6, 3e-6),
        Side::Below,
        (0, 0),
        "no k gets below the dashed line, the best k for each n",
    );
}
