//! Estimates from given numbers of set bits. The behaviour of filters is tested in `tests/it`.

use super::Estimate;
use crate::{FilterParams, Layout};

/// The mean number of set bits after `n` keys, by the definition of the layout: a bit is missed by
/// k throws into m places, or by the k/8 throws into its lane (of four for k = 4, of eight else) if
/// its block is hit at all.
fn mean_ones(layout: Layout, m: f64, k: f64, n: f64) -> f64 {
    let clear_after_a_key = match layout {
        Layout::Standard => libm::pow(1.0 - 1.0 / m, k),
        Layout::Blocked | Layout::Blocked128 | Layout::Blocked64 => {
            let block_bits = layout.block_bits() as f64;
            let is_hit = block_bits / m;
            let lanes = k.min(8.0);
            1.0 - is_hit + is_hit * libm::pow(1.0 - lanes / block_bits, k / lanes)
        }
    };
    m * (1.0 - libm::pow(clear_after_a_key, n))
}

#[test]
fn the_mean_number_of_ones_is_taken_back_to_the_number_of_keys() {
    for (layout, m, k) in [
        (Layout::Standard, 1 << 30, 1),
        (Layout::Standard, (1 << 30) + 7, 32),
        (Layout::Blocked, 1 << 30, 4),
        (Layout::Blocked, 1 << 30, 8),
        (Layout::Blocked, 1 << 30, 16),
        (Layout::Blocked128, 1 << 30, 8),
        (Layout::Blocked64, 1 << 30, 8),
    ] {
        for load in [0.01, 0.5, 1.0, 3.0] {
            let n = libm::round(load * m as f64 / f64::from(k));
            let params = FilterParams::new(layout, m, k, 100, 0.01).unwrap();
            let ones = mean_ones(layout, m as f64, f64::from(k), n);
            let estimate = Estimate::from_ones(&params, libm::round(ones) as u64);
            let off = estimate.items / n - 1.0;
            assert!(off.abs() < 1e-5, "{layout} k {k} n {n}: {} is off by {off}", estimate.items);
            assert!(estimate.low < n && n < estimate.high, "{layout} k {k} n {n}: {estimate:?}");
        }
    }
}

#[test]
fn the_interval_widens_with_the_fill_and_ends_at_infinity() {
    for (layout, k) in [
        (Layout::Standard, 7),
        (Layout::Blocked, 4),
        (Layout::Blocked, 8),
        (Layout::Blocked, 16),
        (Layout::Blocked128, 8),
        (Layout::Blocked64, 8),
    ] {
        let params = FilterParams::new(layout, 1 << 20, k, 100, 0.01).unwrap();
        let mut last = -1.0;
        for percent in [0, 1, 10, 50, 90, 99] {
            let estimate = Estimate::from_ones(&params, (1 << 20) * percent / 100);
            let width = estimate.high - estimate.low;
            assert!(width > last && estimate.high.is_finite(), "{layout} k {k} {percent} %");
            last = width;
        }
        let full = Estimate::from_ones(&params, 1 << 20);
        assert_eq!(
            (full.items, full.high, full.rounded()),
            (f64::INFINITY, f64::INFINITY, u64::MAX)
        );
        let almost = Estimate::from_ones(&params, (1 << 20) - 1);
        assert!(full.low >= almost.items * 0.99, "{layout} k {k}: {full:?} {almost:?}");
    }
}
