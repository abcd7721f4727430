//! A growing filter as a plain one, without its keys.
//!
//! The first part of each layer is a blocked filter of the keys themselves, and block `i` of `m`
//! has the keys whose digests are in the `i`-th of `m` equal ranges. So each block of a later layer
//! is ored into the blocks of the first layer whose ranges overlap its own: no key is lost, and one
//! of a later layer counts for up to two. That keeps the rate as long as there is hardly more than
//! the first layer. The other parts of layers, which low rates have, are left out.

use super::bits::{Bits, Reading};
use super::dump::Dump;
use crate::error::Error;
use crate::io::messages::{counted, rate};
use crate::memory;
use crate::set::notes::say;
use mayhap::native::{Header, Kind, Native, PAGE_BYTES};
use mayhap::sizing::scalable::LayerParams;
use mayhap::{
    AnyFilter, Block, DigestFunction, FilterParams, Layout, OwnedBlocks, ScalableBloomFilter,
};
use mayhap_sets::open_snapshot;
use std::path::Path;

/// Blocks that are read at once: 4 MiB.
const PIECE: u64 = (4 << 20) / Block::BYTES as u64;

/// The bits of a growing filter in a file, with its log, at most at this rate or its own.
///
/// # Errors
///
/// [`Error::Store`], [`Error::TooMuchMemory`]; [`Error::Usage`] if it has grown too far.
pub(super) fn of_file(
    path: &Path,
    how: Reading<'_>,
    fpp: Option<f64>,
) -> Result<Bits<'static>, Error> {
    let name = path.display().to_string();
    let snapshot = open_snapshot(path, how.without_log, &|note| say([note], how.talk))?;
    let header = snapshot.header();
    memory::check(header.body_bytes().saturating_mul(2), how.max_bytes)?;
    let mut set = snapshot.image().load_set(how.key)?;
    snapshot.replay(|record| mayhap_store::apply(&mut *set, record))?;
    let Some(chain) = set.as_any().downcast_ref::<ScalableBloomFilter>() else {
        return Err(changed(&name));
    };
    let filter = flatten(&name, chain, fpp)?;
    Ok(Bits::of_owned(name, header.key_options().to_owned(), filter))
}

/// The same of a growing filter of `mayhap serve`, from its dump.
///
/// # Errors
///
/// [`Error::Remote`]; as [`of_file`].
pub(super) fn of_dump(
    (dump, header): (&Dump<'_>, &Header),
    name: &str,
    how: Reading<'_>,
    fpp: Option<f64>,
) -> Result<Bits<'static>, Error> {
    memory::check(header.body_bytes().saturating_mul(2), how.max_bytes)?;
    let all = header.body_bytes() / Block::BYTES as u64;
    let (mut segments, mut start) = (Vec::new(), 0);
    for &len in header.segment_blocks() {
        let mut segment = OwnedBlocks::zeroed(len)?;
        for from in (0..len).step_by(PIECE as usize) {
            let to = len.min(from + PIECE);
            let blocks = dump.blocks(start + from..start + to, all)?;
            segment.as_mut()[from as usize..to as usize].copy_from_slice(&blocks);
        }
        segments.push(segment);
        // The next one begins on a page of its own.
        start += len.next_multiple_of((PAGE_BYTES / Block::BYTES) as u64);
    }
    let function: DigestFunction =
        header.digest_function(how.key).map_err(|source| dump.error(source))?;
    if header.kind() != Kind::Scalable {
        return Err(changed(name));
    }
    let chain = ScalableBloomFilter::from_segments(header.fields(), function, segments)?;
    let filter = flatten(name, &chain, fpp)?;
    Ok(Bits::of_owned(name.to_owned(), header.key_options().to_owned(), filter))
}

/// The error for a filter that was replaced by one of another kind.
fn changed(name: &str) -> Error {
    Error::usage(format!("{name} is another filter now"), "run it again")
}

/// A plain filter of the size of the first layer that has all keys.
fn flatten(name: &str, chain: &ScalableBloomFilter, fpp: Option<f64>) -> Result<AnyFilter, Error> {
    let layers = first_parts(chain);
    let Some(((params, first), later)) = layers.split_first() else { return Err(changed(name)) };
    let target_fpp = fpp.unwrap_or(chain.target_fpp());
    let params = sized(params, target_fpp)?;
    let mut blocks = OwnedBlocks::copy_of(first)?;
    for (theirs, from) in later {
        if theirs.part().num_hashes() != params.num_hashes() {
            return Err(Error::usage(
                format!("{name} has layers with different numbers of hash functions"),
                otherwise(None),
            ));
        }
        or_into(blocks.as_mut(), from);
    }
    let uncounted = AnyFilter::from_parts(params, *chain.digest_function(), blocks.as_ref(), 0)?;
    let items = chain.distinct_items().rounded();
    let now = uncounted.estimated_fpp().max(params.expected_fpp(items));
    if now > target_fpp {
        return Err(Error::usage(
            format!(
                "{name} cannot become a plain filter of its first layer, which has room for {} at \
                 {}: it has {} in {}, where the rate would be {}",
                counted(params.expected_items(), "key"),
                rate(target_fpp),
                counted(items, "key"),
                counted(layers.len() as u64, "layer"),
                rate(now)
            ),
            otherwise(Some(now)),
        ));
    }
    Ok(AnyFilter::from_parts(params, *chain.digest_function(), blocks, items)?)
}

/// The first part of each layer.
fn first_parts(chain: &ScalableBloomFilter) -> Vec<(LayerParams, &[Block])> {
    let mut parts = Native::segments(chain).into_iter();
    let first = |(params, _): (LayerParams, u64)| {
        let first = parts.next();
        let others = params.num_parts() as usize - 1;
        parts.by_ref().take(others).for_each(drop);
        first.map(|first| (params, first))
    };
    chain.layers().filter_map(first).collect()
}

/// The first part of a layer as a filter of its own, for as many keys as keep the rate.
fn sized(layer: &LayerParams, target_fpp: f64) -> Result<FilterParams, Error> {
    let (num_bits, num_hashes) = (layer.part().num_bits(), layer.part().num_hashes());
    let of = |items| FilterParams::new(Layout::Blocked, num_bits, num_hashes, items, target_fpp);
    let any = of(1)?;
    // It keeps no rate below 1 with a key for each bit.
    let (mut low, mut high) = (0, num_bits);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if any.expected_fpp(middle) <= target_fpp { low = middle } else { high = middle }
    }
    Ok(of(low.max(1))?)
}

/// Ors each block into those whose digests it may have.
fn or_into(into: &mut [Block], from: &[Block]) {
    let (ours, theirs) = (into.len() as u128, from.len() as u128);
    for (i, block) in from.iter().enumerate().filter(|(_, block)| block.0 != [0; 8]) {
        let first = i as u128 * ours / theirs;
        let end = ((i as u128 + 1) * ours).div_ceil(theirs);
        for block_of_ours in &mut into[first as usize..end as usize] {
            block_of_ours.0.iter_mut().zip(block.0).for_each(|(lane, other)| *lane |= other);
        }
    }
}

/// The ways out, for a filter that would have this rate.
fn otherwise(now: Option<f64>) -> String {
    // Nobody needs a filter that is wrong more often than not.
    let accept = now.filter(|now| *now < 0.5).map_or(String::new(), |now| {
        let percent = (now * 1.05 * 1000.0).ceil() / 10.0;
        format!("accept that with -p {percent}%, its clients see more false positives; or ")
    });
    accept
        + "make a plain one, and move that: where digests are kept, mayhap grow --layout blocked \
           -n COUNT -o PLAIN FILE; else from its keys, mayhap build -o PLAIN -n COUNT KEYS"
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Digest;

    fn chain(first: u64, fpp: f64, keys: u64) -> ScalableBloomFilter {
        let mut chain = ScalableBloomFilter::new(first, fpp, DigestFunction::xxh3(7)).unwrap();
        for key in 0..keys {
            chain.insert(&key).unwrap();
        }
        chain
    }

    fn positives(filter: &AnyFilter, keys: std::ops::Range<u64>) -> usize {
        let digest = |key: u64| -> Digest { filter.digest_function().digest(&key) };
        keys.filter(|&key| filter.contains_digest(digest(key))).count()
    }

    #[test]
    fn a_plain_filter_has_all_keys_of_a_chain_at_the_rate_that_is_said() {
        // One layer, full; one that has just grown; and one with two parts.
        for (first, fpp, keys, layers, at) in [
            (5_000, 0.01, 5_000, 1, None),
            (5_000, 0.01, 5_600, 2, None),
            (5_000, 0.01, 14_000, 2, Some(0.5)),
            (5_000, 1e-5, 5_000, 1, Some(0.2)),
            (5_000, 0.01, 20_000, 3, Some(0.99)),
        ] {
            let chain = chain(first, fpp, keys);
            assert_eq!(chain.num_layers(), layers);
            let flat = flatten("f", &chain, at).unwrap();
            assert_eq!(positives(&flat, 0..keys), keys as usize, "{first} {fpp} {keys}");
            let wrong = positives(&flat, 1_000_000..1_100_000) as f64 / 100_000.0;
            let most = at.unwrap_or(fpp);
            assert!(wrong <= most + 3.0 * (most / 100_000.0).sqrt(), "{wrong} of {most}");
        }
    }

    #[test]
    fn a_chain_that_has_grown_too_far_is_refused_with_the_ways_out() {
        for (fpp, keys) in [(0.01, 14_000), (1e-5, 5_000)] {
            let error = flatten("f", &chain(5_000, fpp, keys), None).unwrap_err();
            let Error::Usage { problem, hint } = error else { panic!("{error}") };
            assert!(problem.contains("which has room for"), "{problem}");
            assert!(hint.contains("-p ") && hint.contains("mayhap grow"), "{hint}");
        }
    }

    #[test]
    fn blocks_go_to_all_that_overlap() {
        for (ours, theirs) in [(3usize, 7usize), (7, 3), (4, 8), (8, 4), (1, 5), (5, 5)] {
            for i in 0..theirs {
                let mut from = vec![Block::default(); theirs];
                from[i].0[0] = 1;
                let mut into = vec![Block::default(); ours];
                or_into(&mut into, &from);
                for digest in (0..10_000u64).map(|n| n * (u64::MAX / 10_000)) {
                    let at = |len: usize| ((u128::from(digest) * len as u128) >> 64) as usize;
                    assert!(at(theirs) != i || into[at(ours)].0[0] == 1, "{ours} {theirs} {i}");
                }
            }
        }
    }
}
