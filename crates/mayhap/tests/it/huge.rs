//! Filters of more than 2^32 bits: 1 GiB of address space, with a few pages touched.
#![cfg(all(not(miri), target_pointer_width = "64"))]

use super::{empty, shape, with_layout};
use mayhap::{Digest, FilterParams, Layout, LayoutKind};

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

fn bit<L: LayoutKind>(filter: &mayhap::Filter<L>, position: u64) -> bool {
    let block = filter.storage().as_ref()[(position / 512) as usize];
    block.0[(position / 64 % 8) as usize] >> (position % 64) & 1 == 1
}

fn mulhi(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

#[test]
fn positions_above_2_to_the_32_are_set_and_found() {
    let num_bits = (1 << 33) + 64;
    with_layout!(high_positions(shape(Layout::Standard, num_bits, 3), |digest, num_bits| mulhi(
        digest.get(),
        num_bits
    )));
    let num_bits = (1 << 33) + 512;
    with_layout!(high_positions(shape(Layout::Blocked, num_bits, 8), |digest, num_bits| {
        let product = digest.get().wrapping_mul(MULTIPLIER);
        mulhi(digest.get(), num_bits / 512) * 512 + (product >> 58)
    }));
}

/// `first_position` is the specification's formula for the first of the digest's bits.
fn high_positions<L: LayoutKind>(params: FilterParams, first_position: fn(Digest, u64) -> u64) {
    let num_bits = params.num_bits();
    let mut filter = empty::<L>(params);
    // From the middle, 2^32, to the very last bit or block.
    let digests: Vec<Digest> =
        [1 << 63, (1 << 63) + (1 << 62) + 12345, u64::MAX - 1, u64::MAX].map(Digest::new).into();
    for &digest in &digests {
        assert!(!filter.contains_digest(digest));
        assert!(filter.insert_digest(digest));
        assert!(filter.contains_digest(digest) && !filter.insert_digest(digest));
        let position = first_position(digest, num_bits);
        assert!(position >= 1 << 32 && position < num_bits);
        assert!(bit(&filter, position), "bit {position}");
        // A position cut to 32 bits would be here.
        let cut = position & u64::from(u32::MAX);
        assert!(!bit(&filter, cut), "bit {cut} is set for {position}");
    }
    assert!(first_position(digests[3], num_bits) >= num_bits - 512, "the end is reached");
    assert_eq!(filter.contains_digests(&digests).count_ones(), digests.len());
    let absent: Vec<Digest> = (1..100u64).map(|i| Digest::new(i << 56 | i)).collect();
    assert_eq!(filter.contains_digests(&absent).count_ones(), 0);

    let shared = filter.into_concurrent();
    assert!(digests.iter().all(|&digest| shared.contains_digest(digest)));
    assert!(shared.insert_digest(Digest::new(u64::MAX - (1 << 40))));
}
