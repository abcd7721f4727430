//! Finds slot values such that the slots of every key give its fingerprint.
//!
//! Dillinger, Hübschle-Schneider, Sanders & Walzer 2022, *Fast Succinct Retrieval and Approximate
//! Membership Using Ribbon*: keys in the order of their places, each an equation over 64
//! neighbouring slots, solved by Gaussian elimination that never leaves these slots. There are more
//! keys than slots; a bucket whose keys contradict those before them leaves the first few of its
//! own to the next layer ("bumping").
//!
//! `eliminate.rs` goes through the keys, from the first layer to the last; then the slots are
//! computed from the last equation to the first.

use super::eliminate::{CHUNK_SEGMENTS, Eliminated, Keys, chunk_words, eliminate};
use super::external::{Scratch, Sorted, SortedDigests};
use super::layer::Layer;
use super::params::Digests;
use crate::bits::block;
use crate::filter::fuse::{mix, try_filled, unmix};
use crate::simd::{PLANES, with_popcount};
use crate::sizing::ribbon::{MAX_LAYERS, num_bits, segments_for};
use crate::{Error, FuseWidth, OwnedBlocks, RibbonParams};
use alloc::vec::Vec;

/// The layers of the keys with fingerprints of one width, and the digests that none took, in order.
struct EliminatedPart {
    layers: Vec<Eliminated>,
    rest: Vec<u64>,
}

/// Goes through layer after layer, until all keys are in one or there are as many layers as a
/// header has room for. For digests chosen without regard to the layers each leaves 5 % of a large
/// number of keys to the next, and none of a small one but once in 2^16.
fn eliminate_part<E: From<Error>>(
    digests: &mut impl SortedDigests<E>,
    items: u64,
    part: &Digests,
    scratch: &mut impl Scratch<E>,
) -> Result<EliminatedPart, E> {
    let (mut layers, mut left): (Vec<Eliminated>, Vec<u64>) = (Vec::new(), Vec::new());
    while layers.len() < MAX_LAYERS {
        let keys = if layers.is_empty() { items } else { left.len() as u64 };
        if keys == 0 {
            break;
        }
        let segments = segments_for(keys);
        let layer = Layer::new(layers.len(), segments, part, 0, 0);
        let mut done = if layers.is_empty() {
            let row = |digest| (layer.first_place(digest - part.first), mix(digest, 0));
            let keys = Keys::new(digests, keys, part.first, part.last());
            eliminate(keys, segments, part.bits, row, scratch)?
        } else {
            for key in &mut left {
                *key = layer.hash(*key);
            }
            left.sort_unstable();
            let inverse = layer.inverse();
            let row = |hash: u64| (layer.place(hash), hash.wrapping_mul(inverse));
            let mut left = Sorted::new(core::mem::take(&mut left));
            let keys = Keys::new(&mut left, keys, 0, u64::MAX);
            eliminate(keys, segments, part.bits, row, scratch)?
        };
        left = core::mem::take(&mut done.bumped);
        layers.push(done);
    }
    for key in &mut left {
        *key = unmix(*key, 0);
    }
    left.sort_unstable();
    Ok(EliminatedPart { layers, rest: left })
}

/// The slots of a chunk, from the last equation to the first; a slot without one is 0.
///
/// Word i of eight planes is 64 slots of plane i; `words` are those of the whole layer of
/// `segments` segments, and `planes` the slots after the chunk.
#[inline(always)]
fn solve(
    chunk: &[u64],
    first: usize,
    segments: usize,
    bits: usize,
    planes: &mut [u64; 32],
    words: &mut [u64],
) {
    let (coefficients, fingerprints) = chunk.split_at(chunk.len() / 3 * 2);
    let fingerprints: &[u32] = bytemuck::cast_slice(fingerprints);
    let segments_here = coefficients.chunks_exact(64).zip(fingerprints.chunks_exact(64));
    for (i, (coefficients, fingerprints)) in segments_here.enumerate().rev() {
        for (&coefficients, &fingerprint) in coefficients.iter().zip(fingerprints).rev() {
            for (i, plane) in planes[..bits].iter_mut().enumerate() {
                let later = *plane << 1;
                let sum = (later & coefficients).count_ones() ^ (fingerprint >> i);
                *plane = later | u64::from(sum & 1);
            }
        }
        for (group, planes) in planes[..bits].chunks(PLANES).enumerate() {
            let at = group * PLANES * segments + (first + i) * planes.len();
            words[at..at + planes.len()].copy_from_slice(planes);
        }
    }
}

/// The slots of a layer whose equations are the last that were put away.
fn solve_layer<E: From<Error>>(
    layer: &Layer,
    bits: u32,
    scratch: &mut impl Scratch<E>,
    words: &mut [u64],
) -> Result<(), E> {
    let mut planes = [0; 32];
    let mut chunk = try_filled(0, chunk_words(64 * layer.segments.min(CHUNK_SEGMENTS)))?;
    for first in (0..layer.segments).step_by(CHUNK_SEGMENTS).rev() {
        let here = (layer.segments - first).min(CHUNK_SEGMENTS);
        let chunk = &mut chunk[..chunk_words(64 * here)];
        scratch.take(chunk)?;
        with_popcount(
            #[inline(always)]
            || solve(chunk, first, layer.segments, bits as usize, &mut planes, words),
        );
    }
    Ok(())
}

/// The filter of these digests.
pub(super) fn build<E: From<Error>>(
    width: FuseWidth,
    mut digests: impl SortedDigests<E>,
    mut scratch: impl Scratch<E>,
) -> Result<(RibbonParams, OwnedBlocks), E> {
    let items = digests.count();
    num_bits(width, items)?;
    let [wide, narrow] = [true, false].map(|is_wide| Digests::of(width, is_wide));
    let num_wide = if wide.range == 0 { 0 } else { digests.count_below(narrow.first)? };
    Error::check_range("digests below the limit", 0..=items, num_wide)?;
    let parts = [
        eliminate_part(&mut digests, num_wide, &wide, &mut scratch)?,
        eliminate_part(&mut digests, items - num_wide, &narrow, &mut scratch)?,
    ];
    drop(digests);
    let rest = parts.iter().map(|part| part.rest.len() as u64).sum();
    let segments =
        [0, 1].map(|i: usize| parts[i].layers.iter().map(|layer| layer.segments).collect());
    let params = RibbonParams::new(width, items, segments, rest)?;
    let mut blocks = OwnedBlocks::zeroed(params.num_blocks())?;
    let words = block::words_mut(blocks.as_mut());
    for place in params.parts().iter().rev() {
        for layer in place.layers.iter().rev() {
            let words = &mut words[layer.words_at..][..layer.segments * place.bits as usize];
            solve_layer(layer, place.bits, &mut scratch, words)?;
        }
    }
    let (mut codes_at, mut rest_at) = (params.codes_at() as usize, params.rest_at() as usize);
    for part in &parts {
        for layer in &part.layers {
            words[codes_at..][..layer.codes.len()].copy_from_slice(&layer.codes);
            codes_at += layer.codes.len();
        }
        words[rest_at..][..part.rest.len()].copy_from_slice(&part.rest);
        rest_at += part.rest.len();
    }
    Ok((params, blocks))
}
