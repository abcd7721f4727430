//! `xxh3`: XXH3-64 with a 64-bit seed, for files exchanged between users and languages.
//!
//! Public and fast. Not a PRF, with or without a seed: an attacker that chooses keys can forge
//! false positives. For keys chosen by untrusted parties, use `sip13`.

use xxhash_rust::xxh3::xxh3_64_with_seed;

#[inline(always)]
pub(super) fn digest(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}
