//! The memory of alternatives to a filter, by textbook formulas.

/// Bytes of the keys alone, without any structure for lookups: n · bytes.
///
/// # Examples
///
/// ```
/// use mayhap::plan::memory::keys_bytes;
/// assert_eq!(keys_bytes(100_000_000, 50.0), 5e9); // URLs of 50 characters
/// assert_eq!(keys_bytes(100_000_000, 16.0), 1.6e9); // their MD5 digests
/// ```
pub fn keys_bytes(items: u64, key_bytes: f64) -> f64 {
    items as f64 * key_bytes
}

/// Bytes of a hash set of keys of a fixed size, as Rust's `HashSet` lays it out: a power of two of
/// slots, at most 7/8 full, each with a key and one byte.
///
/// Keys of variable size are counted as stored in place, without a pointer: a lower bound.
///
/// # Examples
///
/// ```
/// use mayhap::plan::memory::hash_set_bytes;
/// assert_eq!(hash_set_bytes(1_000_000, 22.0), 2f64.powi(21) * 23.0);
/// ```
pub fn hash_set_bytes(items: u64, key_bytes: f64) -> f64 {
    let mut places = 4.0;
    while places * 7.0 / 8.0 < items as f64 {
        places *= 2.0;
    }
    places * (key_bytes + 1.0)
}

/// Bits of a bitmap with one hash that keeps `target_fpp`: p = 1 − (1 − 1/m)^n, so
/// m ≈ −n / ln(1 − p), which is about n / p.
///
/// # Examples
///
/// ```
/// use mayhap::plan::memory::one_hash_bits;
/// assert_eq!((one_hash_bits(1_000_000, 0.01) / 1e6).round(), 99.0); // "100 times"
/// ```
pub fn one_hash_bits(items: u64, target_fpp: f64) -> f64 {
    -(items as f64) / libm::log1p(-target_fpp)
}

/// Bytes of the ideal Bloom filter by the textbook formula −n ln p / (8 (ln 2)²): no real one
/// takes less.
///
/// # Examples
///
/// ```
/// use mayhap::plan::memory::textbook_bytes;
/// let mib = textbook_bytes(1_000_000, 1e-4) / 1024.0 / 1024.0;
/// assert_eq!(format!("{mib:.2}"), "2.29");
/// ```
pub fn textbook_bytes(items: u64, target_fpp: f64) -> f64 {
    crate::sizing::standard::ideal_num_bits(items, target_fpp) / 8.0
}
