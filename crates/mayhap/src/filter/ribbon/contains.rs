//! Queries of a ribbon filter.

use super::layer::{Part, Row};
use super::{RibbonFilter, for_each_digest_chunk};
use crate::bits::{Block, block};
use crate::filter::fuse::mix;
use crate::simd::{fits_cache, prefetch, with_popcount};
use crate::{Bitmap, Digest, Key};

/// The number of keys whose cache lines are requested together.
const GROUP: usize = 32;

/// The values computed for a key: its part, its place in the first layer, and its mixed digest.
#[derive(Debug, Clone, Copy, Default)]
struct Probe {
    digest: u64,
    mixed: u64,
    place: usize,
    part: usize,
}

impl<S: AsRef<[Block]>> RibbonFilter<S> {
    /// Whether the key may be in the set: `false` is certain, `true` is wrong with probability
    /// 2^−w.
    ///
    /// Cache lines: 2 for each eight bits of the fingerprint, mostly only the first 2 for absent
    /// keys, and one of the thresholds; for one key in 20 again in the next layer.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`RibbonFilter::contains`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let words = block::words(self.blocks.as_ref());
        with_popcount(
            #[inline(always)]
            || self.is_in(words, self.probe(digest)),
        )
    }

    /// Queries many keys, as [`RibbonFilter::contains`] does for each, but with their cache lines
    /// fetched together.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut found = Bitmap::new();
        self.contains_batch_into(keys, &mut found);
        found
    }

    /// Like [`RibbonFilter::contains_batch`], but into a reused bitmap.
    pub fn contains_batch_into<K: Key>(&self, keys: &[K], found: &mut Bitmap) {
        for_each_digest_chunk(&self.digest_function, keys, found, |digests, words| {
            self.contains_words(digests, words);
        });
    }

    /// Like [`RibbonFilter::contains_batch`], for keys that are already digests.
    pub fn contains_digests(&self, digests: &[Digest]) -> Bitmap {
        let mut found = Bitmap::new();
        self.contains_digests_into(digests, &mut found);
        found
    }

    /// Like [`RibbonFilter::contains_digests`], but into a reused bitmap.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_words(digests, found.reset(digests.len()));
    }

    /// Sets bit `i` of the zeroed `found` for each digest that may be in the set.
    fn contains_words(&self, digests: &[Digest], found: &mut [u64]) {
        let blocks = self.blocks.as_ref();
        let words = block::words(blocks);
        let cached = fits_cache(blocks.len());
        with_popcount(
            #[inline(always)]
            || {
                if cached {
                    for (found, group) in found.iter_mut().zip(digests.chunks(64)) {
                        for (bit, &digest) in group.iter().enumerate() {
                            *found |= u64::from(self.is_in(words, self.probe(digest))) << bit;
                        }
                    }
                } else {
                    self.answer(words, digests, found);
                }
            },
        );
    }

    /// Group after group, with the next one's cache lines requested while this one is answered.
    #[inline(always)]
    fn answer(&self, words: &[u64], digests: &[Digest], found: &mut [u64]) {
        let request = |group: &[Digest], probes: &mut [Probe; GROUP]| {
            for (&digest, kept) in group.iter().zip(probes) {
                let probe = self.probe(digest);
                let part = &self.parts[probe.part];
                if let Some(first) = part.layers.first() {
                    let lines = first.lines(probe.place, part.bits);
                    for line in lines {
                        prefetch(words, line);
                    }
                }
                *kept = probe;
            }
        };
        let mut probes = [[Probe::default(); GROUP]; 2];
        let mut groups = digests.chunks(GROUP).enumerate().peekable();
        request(groups.peek().map_or(&[], |(_, group)| group), &mut probes[0]);
        while let Some((i, group)) = groups.next() {
            request(groups.peek().map_or(&[], |(_, group)| group), &mut probes[(i + 1) % 2]);
            let mut word = 0;
            for (bit, &probe) in probes[i % 2][..group.len()].iter().enumerate() {
                word |= u64::from(self.is_in(words, probe)) << bit;
            }
            found[i * GROUP / 64] |= word << (i * GROUP % 64);
        }
    }

    #[inline(always)]
    fn probe(&self, digest: Digest) -> Probe {
        let digest = digest.get();
        let part = usize::from(digest >= self.limit);
        let Part { first, layers, .. } = &self.parts[part];
        let place = layers.first().map_or(0, |layer| layer.first_place(digest - first));
        Probe { digest, mixed: mix(digest, 0), place, part }
    }

    #[inline(always)]
    fn is_in(&self, words: &[u64], probe: Probe) -> bool {
        let Part { bits, layers, .. } = &self.parts[probe.part];
        let row = Row::of(probe.mixed);
        let mut place = probe.place;
        for (number, layer) in layers.iter().enumerate() {
            if number > 0 {
                place = layer.place(layer.hash(probe.mixed));
            }
            if !layer.is_bumped(words, place) {
                return layer.agrees(words, place, row, *bits);
            }
        }
        let rest = self.params.rest_at() as usize..self.params.num_words() as usize;
        words[rest].binary_search(&probe.digest).is_ok()
    }
}
