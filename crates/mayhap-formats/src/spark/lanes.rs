//! [`Scheme`]: the positions of one key, and many keys at once: their hashes and positions side by
//! side, in vector registers.
#![expect(
    clippy::needless_range_loop,
    reason = "lanes of several arrays; adapters of iterators may stay functions of their own, \
              compiled for any CPU"
)]

use super::hash::{LANES, Rows, murmur3_x86_32};
use super::scheme::{SparkScheme, SparkVersion};
use crate::{Bits, Scheme};
use mayhap::on_this_cpu;

impl Scheme for SparkScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.k()
    }

    #[inline]
    fn positions(&self, key: &[u8], each: impl FnMut(u64) -> bool) {
        let h1 = murmur3_x86_32(key, self.version().seed().cast_unsigned());
        let h2 = murmur3_x86_32(key, h1);
        self.spread(h1, h2, each);
    }

    fn contains_each(&self, keys: &[&[u8]], bits: &Bits, _: &mut Vec<u64>) -> u64 {
        on_this_cpu(
            #[inline(always)]
            || contains_each(self, keys, bits),
        )
    }
}

/// The answers for up to 64 keys, bit `i` for `keys[i]`. Meant to be compiled for the detected CPU.
///
/// Keys are queried in groups of [`LANES`], the remaining ones one by one.
#[inline(always)]
fn contains_each(scheme: &SparkScheme, keys: &[&[u8]], bits: &Bits) -> u64 {
    let mut rows = Rows::new();
    let mut found = 0;
    let (groups, rest) = keys.as_chunks::<LANES>();
    for (i, group) in groups.iter().enumerate() {
        let mut all = [1; LANES];
        each_position(
            scheme,
            rows.hash(group, scheme.version().seed().cast_unsigned()),
            #[inline(always)]
            |indices, shifts| judge(&mut all, bits.words(), indices, shifts),
        );
        for lane in 0..LANES {
            found |= (all[lane] & 1) << (i * LANES + lane);
        }
    }
    for (i, key) in rest.iter().enumerate() {
        let mut all = true;
        scheme.positions(key, |position| {
            all = bits.get(position);
            all
        });
        found |= u64::from(all) << (groups.len() * LANES + i);
    }
    found
}

/// Calls `each` k times with the next position of every key: its word and its bit there.
#[inline(always)]
fn each_position(
    scheme: &SparkScheme,
    (h1, h2): ([u32; LANES], [u32; LANES]),
    each: impl FnMut([u32; LANES], [u32; LANES]),
) {
    match scheme.version() {
        SparkVersion::V1 => v1(scheme, h1, h2, each),
        SparkVersion::V2 { .. } => v2(scheme, h1, h2, each),
    }
}

#[inline(always)]
fn v1(
    scheme: &SparkScheme,
    mut combined: [u32; LANES],
    h2: [u32; LANES],
    mut each: impl FnMut([u32; LANES], [u32; LANES]),
) {
    for _ in 0..scheme.num_hashes() {
        let (mut indices, mut shifts) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            combined[lane] = combined[lane].wrapping_add(h2[lane]);
            let flipped = combined[lane] ^ (combined[lane].cast_signed() >> 31).cast_unsigned();
            // n modulo 64 L is n / 64 modulo L, and the same bit.
            indices[lane] = scheme.num_longs().of(flipped / 64);
            shifts[lane] = flipped % 64;
        }
        each(indices, shifts);
    }
}

#[inline(always)]
fn v2(
    scheme: &SparkScheme,
    h1: [u32; LANES],
    h2: [u32; LANES],
    mut each: impl FnMut([u32; LANES], [u32; LANES]),
) {
    let num_bits = scheme.num_bits().divisor();
    let (mut combined, mut steps) = ([0; LANES], [0; LANES]);
    let (mut rests, mut rest_steps) = ([0; LANES], [0; LANES]);
    for lane in 0..LANES {
        combined[lane] = i64::from(h1[lane].cast_signed()) * 0x7FFF_FFFF;
        steps[lane] = i64::from(h2[lane].cast_signed());
        rests[lane] = scheme.num_bits().of_signed(combined[lane]);
        rest_steps[lane] = scheme.num_bits().of_signed(steps[lane]);
    }
    for _ in 0..scheme.num_hashes() {
        let (mut indices, mut shifts) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            // The sum cannot wrap, |h1| (2^31 - 1) + k |h2| < 2^63, so that its remainder is the
            // sum of the remainders: a subtraction in place of a division.
            combined[lane] = combined[lane].wrapping_add(steps[lane]);
            let sum = rests[lane] + rest_steps[lane];
            rests[lane] = sum.min(sum.wrapping_sub(num_bits));
            // The remainder of a complement counts from the other end.
            let sign = (combined[lane] >> 63).cast_unsigned();
            let position = (rests[lane] ^ sign).wrapping_add(num_bits & sign);
            indices[lane] = (position / 64) as u32;
            shifts[lane] = (position % 64) as u32;
        }
        each(indices, shifts);
    }
}

/// Ands a bit of each key into the result so far, in bit 0.
#[inline(always)]
fn judge(all: &mut [u64; LANES], words: &[u64], indices: [u32; LANES], shifts: [u32; LANES]) {
    // Every index is below the number of words. Expressed without a panic, so that the words are
    // gathered eight at a time.
    let Some(last) = words.len().checked_sub(1) else { return };
    let mut found = [0; LANES];
    for lane in 0..LANES {
        debug_assert!(indices[lane] as usize <= last);
        found[lane] = words[(indices[lane] as usize).min(last)];
    }
    for lane in 0..LANES {
        all[lane] &= found[lane] >> shifts[lane];
    }
}

#[cfg(test)]
mod tests {
    use super::{LANES, Rows, contains_each, each_position};
    use crate::{Bits, Limits, Scheme, SparkScheme, SparkVersion};

    const VERSIONS: [SparkVersion; 3] =
        [SparkVersion::V1, SparkVersion::V2 { seed: 0 }, SparkVersion::V2 { seed: -7 }];

    #[test]
    fn positions_of_many_keys_are_those_of_each_at_every_size() {
        let sizes = [1, 2, 3, 150, 1 << 24, (1 << 25) - 1, (1 << 25) + 1, 1 << 26, (1 << 31) - 1];
        let schemes = VERSIONS.into_iter().flat_map(|version| {
            sizes.map(|num_longs| SparkScheme::new(version, 9, num_longs).unwrap())
        });
        let mut rows = Rows::new();
        for scheme in schemes {
            for first in 0..20 {
                let keys: [[u8; 8]; LANES] = std::array::from_fn(|lane| {
                    [first * 99, lane as u32]
                        .map(u32::to_le_bytes)
                        .as_flattened()
                        .try_into()
                        .unwrap()
                });
                let mut positions = [[0; 9]; LANES];
                let mut i = 0;
                let hashes =
                    rows.hash(&keys.each_ref().map(|key| &key[..]), scheme.version().seed() as u32);
                each_position(&scheme, hashes, |indices, shifts| {
                    for lane in 0..LANES {
                        positions[lane][i] =
                            u64::from(indices[lane]) * 64 + u64::from(shifts[lane]);
                    }
                    i += 1;
                });
                for (key, positions) in keys.iter().zip(positions) {
                    let mut expected = Vec::new();
                    scheme.positions(key, |position| {
                        expected.push(position);
                        true
                    });
                    assert_eq!(positions[..], expected, "{scheme:?}");
                }
            }
        }
    }

    #[test]
    fn a_cpu_without_vectors_answers_alike() {
        let keys: Vec<_> = (0..64i64).map(i64::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        for version in VERSIONS {
            let scheme = SparkScheme::new(version, 3, 3).unwrap();
            let mut bits = Bits::new(192, &Limits::default()).unwrap();
            for key in &keys[..20] {
                scheme.positions(key, |position| {
                    bits.set(position);
                    true
                });
            }
            for len in [0, 1, 31, 32, 33, 63, 64] {
                let plain = contains_each(&scheme, &keys[..len], &bits);
                let on_this_cpu = scheme.contains_each(&keys[..len], &bits, &mut Vec::new());
                assert_eq!(plain, on_this_cpu, "{version:?}, {len} keys");
                let members = u64::MAX.checked_shr(64 - len.min(20) as u32).unwrap_or(0);
                assert_eq!(plain & members, members, "{version:?}, {len} keys");
                assert!(len < 64 || plain != u64::MAX, "the test must see misses");
            }
        }
    }
}
