//! Properties that the public API does not show: bumping compared with a dense solver, and digests
//! that no layer takes.

use super::layer::{BUCKET, CODES, Layer, Row, THRESHOLDS};
use super::params::Digests;
use super::*;
use crate::bits::OwnedBlocks;
use crate::filter::fuse::{mix, unmix};
use crate::positions::splitmix64;
use crate::sizing::ribbon::{MAX_LAYERS, segments_for};
use alloc::vec;
use alloc::vec::Vec;

const FUNCTION: DigestFunction = DigestFunction::xxh3(0);

fn digests(items: u64, seed: u64) -> Vec<u64> {
    let function = DigestFunction::xxh3(seed);
    let mut digests: Vec<u64> = (0..items).map(|i| function.digest(&i).get()).collect();
    digests.sort_unstable();
    digests
}

fn built(width: FuseWidth, digests: &[u64]) -> Result<(RibbonParams, OwnedBlocks), Error> {
    build::build(width, Sorted::new(digests.to_vec()), InMemory::default())
}

/// Gaussian elimination over all slots at once, without knowing that equations are short: rows in
/// echelon form, each with the slots of its equation and a fingerprint.
#[derive(Clone)]
struct Dense {
    slots: usize,
    rows: Vec<(Vec<u64>, u32)>,
}

impl Dense {
    fn first(row: &[u64]) -> Option<usize> {
        let word = row.iter().position(|&word| word != 0)?;
        Some(word * 64 + row[word].trailing_zeros() as usize)
    }

    /// Adds the equation; returns whether it agrees with those before it.
    fn insert(&mut self, place: usize, coefficients: u64, fingerprint: u32) -> bool {
        let mut row = (vec![0; self.slots / 64 + 1], fingerprint);
        for i in (0..64).filter(|i| coefficients >> i & 1 == 1) {
            row.0[(place + i) / 64] |= 1 << ((place + i) % 64);
        }
        for (other, sum) in &self.rows {
            let first = Self::first(other).unwrap();
            if row.0[first / 64] >> (first % 64) & 1 == 1 {
                row.0.iter_mut().zip(other).for_each(|(word, other)| *word ^= other);
                row.1 ^= sum;
            }
        }
        if Self::first(&row.0).is_none() {
            return row.1 == 0;
        }
        self.rows.push(row);
        true
    }

    /// The slots, those that no equation determines 0.
    fn solve(mut self) -> Vec<u32> {
        let mut slots = vec![0; self.slots];
        self.rows.sort_by_key(|(row, _)| core::cmp::Reverse(Self::first(row)));
        for (row, sum) in &self.rows {
            let first = Self::first(row).unwrap();
            let later = (first + 1..self.slots).filter(|i| row[i / 64] >> (i % 64) & 1 == 1);
            slots[first] = later.fold(*sum, |sum, i| sum ^ slots[i]);
        }
        slots
    }
}

/// Layer after layer, place after place: the same thresholds and the same slots as by elimination
/// over all slots.
#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn a_dense_solver_bumps_the_same_keys_and_finds_the_same_slots() {
    let (mut layers_seen, mut bumped_seen) = (0, 0);
    for (items, bits, sets) in [(1, 7, 3), (60, 32, 8), (300, 4, 8), (2_100, 5, 2), (4_000, 9, 1)] {
        for seed in 0..sets {
            let width = FuseWidth::from_bits(bits).unwrap();
            let all = digests(items, seed);
            let (params, blocks) = built(width, &all).unwrap();
            let words = block::words(blocks.as_ref());
            let [_, part] = params.parts();
            let mut left: Vec<u64> = all.iter().map(|&digest| mix(digest, 0)).collect();
            for (number, layer) in part.layers.iter().enumerate() {
                let place = |mixed: u64| match number {
                    0 => layer.first_place(unmix(mixed, 0)),
                    _ => layer.place(layer.hash(mixed)),
                };
                assert_eq!(layer.segments as u64, segments_for(left.len() as u64));
                let mut dense = Dense { slots: layer.segments * 64, rows: Vec::new() };
                let mut bumped = Vec::new();
                for bucket in 0..layer.segments.div_ceil(BUCKET / 64) {
                    let own: Vec<u64> =
                        left.iter().copied().filter(|&key| place(key) / BUCKET == bucket).collect();
                    let among = |key: u64, code: usize| {
                        let range = THRESHOLDS[code - 1]..THRESHOLDS[code];
                        range.contains(&(place(key) % BUCKET))
                    };
                    let mut code = THRESHOLDS.len() - 1;
                    while code > 0 {
                        let mut with = dense.clone();
                        let fits = own.iter().filter(|&&key| among(key, code)).all(|&key| {
                            let row = Row::of(key);
                            let mask = u32::MAX >> (32 - bits);
                            with.insert(place(key), row.coefficients, row.fingerprint & mask)
                        });
                        if !fits {
                            break;
                        }
                        (dense, code) = (with, code - 1);
                    }
                    let at = layer.codes_at + bucket / CODES;
                    assert_eq!((words[at] >> (3 * (bucket % CODES)) & 7) as usize, code);
                    let low = |key: &u64| place(*key) % BUCKET < THRESHOLDS[code];
                    bumped.extend(own.iter().copied().filter(low));
                }
                for (slot, value) in dense.solve().into_iter().enumerate() {
                    let found = (0..bits as usize).fold(0, |all, i| {
                        let planes = (bits as usize - i / 8 * 8).min(8);
                        let group = layer.words_at + i / 8 * 8 * layer.segments;
                        let word = words[group + slot / 64 * planes + i % 8];
                        all | ((word >> (slot % 64) & 1) as u32) << i
                    });
                    assert_eq!(found, value, "slot {slot} of layer {number}, {items} keys");
                }
                (layers_seen, bumped_seen) = (layers_seen + 1, bumped_seen + bumped.len());
                left = bumped;
            }
            assert!(left.is_empty() && params.rest() == 0);
        }
    }
    assert!(layers_seen > 20 && bumped_seen > 400, "{layers_seen} layers, {bumped_seen} bumped");
}

/// No set fails, and few layers are needed. (`tests/rates_large` has 10,000 seeds.)
fn check_seeds(sizes: &[u64], seeds: core::ops::Range<u64>) {
    let widths = [FuseWidth::from_bits(5).unwrap(), FuseWidth::mixed(9, 0xA000_0000).unwrap()];
    for &items in sizes {
        for seed in seeds.clone() {
            let (width, all) = (widths[seed as usize % 2], digests(items, seed));
            let (params, blocks) = built(width, &all).unwrap();
            assert_eq!((params.items(), params.rest()), (items, 0));
            let filter = RibbonFilter::from_parts(params, FUNCTION, blocks).unwrap();
            assert!(all.iter().all(|&digest| filter.contains_digest(Digest::new(digest))));
            let [wide, narrow] = filter.params().segments();
            let most = if items > 2_000 { 5 } else { 3 };
            assert!(wide.len().max(narrow.len()) <= most, "{items} keys, seed {seed}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn no_set_fails() {
    check_seeds(&[0, 1, 2, 10, 1_000], 0..500);
    check_seeds(&[100_000], 0..4);
}

/// Digests whose equations contradict each other in every layer: equal coefficients and places.
#[test]
fn digests_that_no_layer_takes_are_kept_whole() {
    // One segment has one place; mixed digests that differ in the lowest bit have one set of
    // coefficients, and rarely one fingerprint.
    let pairs: Vec<u64> = (0..20).flat_map(|i| [splitmix64(i) & !1, splitmix64(i) | 1]).collect();
    let mut all: Vec<u64> = pairs.iter().map(|&mixed| unmix(mixed, 0)).collect();
    all.sort_unstable();
    let width = FuseWidth::from_bits(32).unwrap();
    assert_eq!(segments_for(all.len() as u64), 1);
    let (params, blocks) = built(width, &all).unwrap();
    assert_eq!((params.rest(), params.segments()[1].len()), (40, MAX_LAYERS));
    let filter = RibbonFilter::from_parts(params, FUNCTION, blocks).unwrap();
    let found = |digest| filter.contains_digest(Digest::new(digest));
    assert!(all.iter().all(|&digest| found(digest)));
    assert!((0..1_000).all(|i| !found(splitmix64(1_000 + i))));
    let bytes = crate::native::encode(&filter, "");
    let (copy, _) = crate::native::decode_as::<RibbonFilter>(&bytes, None).unwrap();
    assert!(all.iter().all(|&digest| copy.contains_digest(Digest::new(digest))));
    assert_eq!(crate::native::encode(&copy, ""), bytes);
}

/// Digests in one place take more layers, and are all found.
#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn digests_in_one_place_are_found() {
    for items in [100, 5_000] {
        let all: Vec<u64> = (0..items).map(|i| (7 << 50) + i).collect();
        let (params, blocks) = built(FuseWidth::BITS_8, &all).unwrap();
        let slots = params.num_slots();
        assert!(params.rest() == 0 && slots < items * 21 / 10 + 200, "{slots} for {items}");
        let filter = RibbonFilter::from_parts(params, FUNCTION, blocks).unwrap();
        assert!(all.iter().all(|&digest| filter.contains_digest(Digest::new(digest))));
    }
}

/// Arithmetic needs no memory, so sizes beyond any machine can be tested.
#[test]
fn places_of_huge_layers_reach_every_part_and_stay_inside() {
    for width in [FuseWidth::BITS_8, FuseWidth::mixed(9, 0x4000_0000).unwrap()] {
        for is_wide in [true, false] {
            let part = Digests::of(width, is_wide);
            if part.range == 0 {
                continue;
            }
            for (number, items) in [(0, 1u64), (0, 1 << 33), (0, 1 << 45), (7, 1 << 45)] {
                let segments = segments_for(items);
                let layer = Layer::new(number, segments, &part, 0, 0);
                let places = params::starts(segments);
                let last = (part.range - 1) as u64;
                assert_eq!(layer.first_place(0), 0);
                if number == 0 {
                    let lost = places - 1 - layer.first_place(last) as u64;
                    assert!(lost <= places >> 30, "{lost} of {places}");
                }
                let mut eighths = [0u32; 8];
                for i in 0..8_000 {
                    let place = match number {
                        0 => layer.first_place(crate::positions::mulhi(splitmix64(i), last)),
                        _ => layer.place(layer.hash(splitmix64(i))),
                    } as u64;
                    assert!(place < places);
                    eighths[(u128::from(place) * 8 / u128::from(places)) as usize] += 1;
                    let mixed = splitmix64(i);
                    assert!(
                        number == 0 || layer.hash(mixed).wrapping_mul(layer.inverse()) == mixed
                    );
                }
                assert!(items == 1 || eighths.iter().all(|n| n.abs_diff(1_000) < 150));
            }
        }
    }
}

/// Groups of planes, parts, layers and lengths of a batch, with cache lines requested and without.
#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn batches_say_what_single_queries_say() {
    let widths = [4, 8, 9, 16, 20, 32].map(|bits| FuseWidth::from_bits(bits).unwrap());
    let mixed = [(4, 1 << 31), (8, 1 << 30), (15, 3 << 30)];
    let mixed = mixed.map(|(bits, wider)| FuseWidth::mixed(bits, wider).unwrap());
    let (mut members, mut bumped) = (0, 0);
    for (number, width) in widths.into_iter().chain(mixed).enumerate() {
        for items in [0, 1, 3, 300, 3_000, 60_000] {
            let own = digests(items, number as u64).into_iter().map(Digest::new);
            let filter = RibbonFilter::build(width, FUNCTION, own.clone()).unwrap();
            let other = digests(2_000, 1_000 + number as u64).into_iter().map(Digest::new);
            // Absent keys, members, and every third a member.
            let own: Vec<Digest> = own.collect();
            let third = other.clone().enumerate().map(|(i, other)| match own.get(i / 3) {
                Some(&own) if i % 3 == 0 => own,
                _ => other,
            });
            let asked: Vec<_> =
                other.clone().chain(own.iter().copied().take(2_000)).chain(third).collect();
            for length in [0, 1, 23, 24, 25, 63, 64, 65, 128, 129, 200, asked.len()] {
                let asked = &asked[..length.min(asked.len())];
                for is_far in [false, true] {
                    let mut found = vec![0u64; asked.len().div_ceil(64)];
                    filter.answer(asked, &mut found, is_far);
                    for (i, &digest) in asked.iter().enumerate() {
                        let is_in = filter.contains_digest(digest);
                        assert_eq!(found[i / 64] >> (i % 64) & 1 == 1, is_in, "{width:?} {items}");
                        members += usize::from(is_in);
                    }
                }
            }
            bumped +=
                filter.params().segments().iter().map(|layers| layers.len() / 3).sum::<usize>();
        }
    }
    assert!(members > 1_000 && bumped > 5, "{members} {bumped}");
}
