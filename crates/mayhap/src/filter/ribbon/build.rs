//! Finds slot values such that the slots of every key give its fingerprint.
//!
//! Dillinger, Hübschle-Schneider, Sanders & Walzer 2022, *Fast Succinct Retrieval and Approximate
//! Membership Using Ribbon*: keys in the order of their places, each an equation over 64
//! neighbouring slots, solved by Gaussian elimination that never leaves these slots. There are more
//! keys than slots; a bucket whose keys contradict those before them leaves the first few of its
//! own to the next layer ("bumping").

use super::layer::{BUCKET, CODES, Layer, Row, THRESHOLDS};
use super::params::Digests;
use crate::bits::block;
use crate::filter::fuse::{mix, try_filled, unmix};
use crate::simd::{PLANES, with_popcount};
use crate::sizing::ribbon::{MAX_LAYERS, code_words, segments_for};
use crate::{Error, FuseWidth, OwnedBlocks, RibbonParams};
use alloc::vec::Vec;

/// The equations of a layer, each where its first coefficient is that is not 0.
struct Rows {
    coefficients: Vec<u64>,
    fingerprints: Vec<u32>,
    /// The bits of a fingerprint that count.
    mask: u32,
}

impl Rows {
    fn new(segments: usize, bits: u32) -> Result<Self, Error> {
        Ok(Self {
            coefficients: try_filled(0, segments * 64)?,
            fingerprints: try_filled(0, segments * 64)?,
            mask: u32::MAX >> (32 - bits),
        })
    }

    /// Adds an equation; returns whether it agrees with those before it. If it takes a slot, the
    /// slot is added to `taken`.
    #[inline(always)]
    fn insert(&mut self, place: usize, row: Row, taken: &mut Vec<usize>) -> bool {
        let (mut slot, mut coefficients) = (place, row.coefficients);
        let mut fingerprint = row.fingerprint & self.mask;
        loop {
            let known = self.coefficients[slot];
            if known == 0 {
                self.coefficients[slot] = coefficients;
                self.fingerprints[slot] = fingerprint;
                taken.push(slot);
                return true;
            }
            coefficients ^= known;
            fingerprint ^= self.fingerprints[slot];
            if coefficients == 0 {
                return fingerprint == 0;
            }
            let zeros = coefficients.trailing_zeros();
            coefficients >>= zeros;
            slot += zeros as usize;
        }
    }

    fn remove(&mut self, taken: &[usize]) {
        for &slot in taken {
            self.coefficients[slot] = 0;
            self.fingerprints[slot] = 0;
        }
    }

    /// The slots, from the last equation to the first; a slot without one is 0.
    ///
    /// Word i of eight planes is 64 slots of plane i.
    #[inline(always)]
    fn solve(&self, segments: usize, bits: u32, words: &mut [u64]) {
        let bits = bits as usize;
        let mut planes = [0u64; 32];
        for segment in (0..segments).rev() {
            for slot in (64 * segment..64 * segment + 64).rev() {
                let (coefficients, fingerprint) =
                    (self.coefficients[slot], self.fingerprints[slot]);
                for (i, plane) in planes[..bits].iter_mut().enumerate() {
                    let later = *plane << 1;
                    let sum = (later & coefficients).count_ones() ^ (fingerprint >> i);
                    *plane = later | u64::from(sum & 1);
                }
            }
            for (group, planes) in planes[..bits].chunks(PLANES).enumerate() {
                let at = group * PLANES * segments + segment * planes.len();
                words[at..at + planes.len()].copy_from_slice(planes);
            }
        }
    }
}

/// A layer with its contents.
struct Solved {
    segments: u64,
    words: Vec<u64>,
    codes: Vec<u64>,
    /// The mixed digests that it leaves to the next.
    bumped: Vec<u64>,
}

/// Solves one layer for keys in the order of their places; `row` gives place and mixed digest.
#[inline(always)]
fn solve(
    keys: &[u64],
    segments: u64,
    bits: u32,
    row: impl Fn(u64) -> (usize, u64),
) -> Result<Solved, Error> {
    let no_room = |_| Error::OutOfMemory { bytes: segments.saturating_mul(64 * 12) };
    let length = usize::try_from(segments).map_err(no_room)?;
    let mut rows = Rows::new(length, bits)?;
    let mut codes = try_filled(0, code_words(segments) as usize)?;
    let (mut bumped, mut taken) = (Vec::new(), Vec::new());
    let mut left = keys;
    while let Some(&first) = left.first() {
        let bucket = row(first).0 / BUCKET;
        let same = |key: &&u64| row(**key).0 / BUCKET == bucket;
        let (mut own, later) = left.split_at(left.iter().take_while(same).count());
        left = later;
        // The last keys first: the keys of the bucket before have taken most of the first slots.
        let mut code = THRESHOLDS.len() - 1;
        while code > 0 {
            let limit = bucket * BUCKET + THRESHOLDS[code - 1];
            let from = own.iter().rposition(|&key| row(key).0 < limit).map_or(0, |last| last + 1);
            taken.clear();
            let fit = own[from..].iter().rev().all(|&key| {
                let (place, mixed) = row(key);
                rows.insert(place, Row::of(mixed), &mut taken)
            });
            if !fit {
                rows.remove(&taken);
                break;
            }
            own = &own[..from];
            code -= 1;
        }
        codes[bucket / CODES] |= (code as u64) << (3 * (bucket % CODES));
        let bytes = (bumped.len() + own.len()) as u64 * 8;
        bumped.try_reserve(own.len()).map_err(|_| Error::OutOfMemory { bytes })?;
        bumped.extend(own.iter().map(|&key| row(key).1));
    }
    let mut words = try_filled(0, length * bits as usize)?;
    with_popcount(
        #[inline(always)]
        || rows.solve(length, bits, &mut words),
    );
    Ok(Solved { segments, words, codes, bumped })
}

/// The layers of the keys with fingerprints of one width, and the digests that none took, in order.
struct SolvedPart {
    layers: Vec<Solved>,
    rest: Vec<u64>,
}

/// Solves layer after layer, until all keys are in one or there are as many layers as a header has
/// room for. For digests chosen without regard to the layers each leaves 5 % of a large number of
/// keys to the next, and none of a small one but once in 2^16.
fn solve_part(digests: &[u64], part: &Digests) -> Result<SolvedPart, Error> {
    let (mut layers, mut left): (Vec<Solved>, Vec<u64>) = (Vec::new(), Vec::new());
    while layers.len() < MAX_LAYERS {
        let keys = if layers.is_empty() { digests.len() } else { left.len() };
        if keys == 0 {
            break;
        }
        let segments = segments_for(keys as u64);
        let layer = Layer::new(layers.len(), segments, part, 0, 0);
        let mut solved = if layers.is_empty() {
            let row = |digest| (layer.first_place(digest - part.first), mix(digest, 0));
            solve(digests, segments, part.bits, row)?
        } else {
            for key in &mut left {
                *key = layer.hash(*key);
            }
            left.sort_unstable();
            let inverse = layer.inverse();
            let row = |hash: u64| (layer.place(hash), hash.wrapping_mul(inverse));
            solve(&left, segments, part.bits, row)?
        };
        left = core::mem::take(&mut solved.bumped);
        layers.push(solved);
    }
    for key in &mut left {
        *key = unmix(*key, 0);
    }
    left.sort_unstable();
    Ok(SolvedPart { layers, rest: left })
}

/// The filter of these digests, which must be in order and distinct.
pub(super) fn build(
    width: FuseWidth,
    digests: &[u64],
) -> Result<(RibbonParams, OwnedBlocks), Error> {
    let wide = Digests::of(width, true);
    let (low, high) =
        digests.split_at(digests.partition_point(|&digest| u128::from(digest) < wide.range));
    let parts = [solve_part(low, &wide)?, solve_part(high, &Digests::of(width, false))?];
    let rest = parts.iter().map(|part| part.rest.len() as u64).sum();
    let segments =
        [0, 1].map(|i: usize| parts[i].layers.iter().map(|layer| layer.segments).collect());
    let params = RibbonParams::new(width, digests.len() as u64, segments, rest)?;
    let mut blocks = OwnedBlocks::zeroed(params.num_blocks())?;
    let words = block::words_mut(blocks.as_mut());
    let (mut codes_at, mut rest_at) = (params.codes_at() as usize, params.rest_at() as usize);
    for (part, places) in parts.iter().zip(params.parts()) {
        for (layer, place) in part.layers.iter().zip(places.layers) {
            words[place.words_at..][..layer.words.len()].copy_from_slice(&layer.words);
            words[codes_at..][..layer.codes.len()].copy_from_slice(&layer.codes);
            codes_at += layer.codes.len();
        }
        words[rest_at..][..part.rest.len()].copy_from_slice(&part.rest);
        rest_at += part.rest.len();
    }
    Ok((params, blocks))
}
