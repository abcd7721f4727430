//! Sizing formulas in the operation order of the originals: the last bit of a double decides
//! whether two filters have the same size.
//!
//! The conversions are Java's: `(long)` of a double truncates, saturates, and maps NaN to 0, as
//! `as` does. The logarithm is that of `libm`, so every platform computes the same size.

use std::f64::consts::LN_2;

/// `(long)(-n * ln(p) / (ln 2)^2)`, not rounded up: Guava, Spark and Redisson.
pub(crate) fn optimal_num_bits(expected_items: i64, fpp: f64) -> i64 {
    (expected_items.wrapping_neg() as f64 * libm::log(fpp) / (LN_2 * LN_2)) as i64
}

/// `max(1, round(m / n * ln 2))`: Guava up to 31.1, Spark and Redisson.
pub(crate) fn optimal_num_hashes(expected_items: i64, num_bits: i64) -> i64 {
    round_half_up(num_bits as f64 / expected_items as f64 * LN_2).max(1)
}

/// `Math.round`.
pub(crate) fn round_half_up(x: f64) -> i64 {
    libm::floor(x + 0.5) as i64
}

/// `round(−ln(1 − set bits / m) m / k)`: Guava's count of elements; `None` if all bits are set.
pub(crate) fn approximate_count(fill: f64, num_bits: u64, num_hashes: u32) -> Option<u64> {
    let items = -libm::log1p(-fill) * num_bits as f64;
    let items = items / f64::from(num_hashes);
    items.is_finite().then(|| round_half_up(items) as u64)
}

/// `(set bits / m)^k`, as in Guava and Spark. The power is the platform's: unlike `libm`'s, it
/// agrees with the JVM's to the last bit on all of their files that are kept here.
pub(crate) fn expected_fpp(fill: f64, num_hashes: u32) -> f64 {
    // WebAssembly has no platform `pow`: Rust's would be a second copy of the one in `libm`.
    if cfg!(target_family = "wasm") {
        return libm::pow(fill, f64::from(num_hashes));
    }
    fill.powf(f64::from(num_hashes))
}
