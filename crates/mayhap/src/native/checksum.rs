//! The checksum of everything in a file.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// XXH3-64, seed 0: by the function that digests keys, so that a module for browsers has one.
pub(super) fn checksum_of(bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, 0)
}
