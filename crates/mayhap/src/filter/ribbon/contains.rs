//! Queries of a ribbon filter.

use super::layer::{Layer, Part, Row};
use super::{RibbonFilter, for_each_digest_chunk};
use crate::bits::{Block, block};
use crate::filter::fuse::{mix, unmix};
use crate::simd::{Lines, PLANES, PlaneKernel, PlaneTask, fits_cache, prefetch_far, with_planes};
use crate::{Bitmap, Digest, Key};

/// By how many keys the requests for cache lines are ahead.
const AHEAD: usize = 24;

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
        with_planes(Contains { filter: self, digest })
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

    fn contains_words(&self, digests: &[Digest], found: &mut [u64]) {
        self.answer(digests, found, !fits_cache(self.blocks.as_ref().len()));
    }

    /// Sets bit `i` of the zeroed `found` for each digest that may be in the set; `is_far` says
    /// whether cache lines are requested ahead.
    pub(super) fn answer(&self, digests: &[Digest], found: &mut [u64], is_far: bool) {
        // A part without keys, unless no digest is in it, is one of a small filter.
        let heads = match self.parts.each_ref().map(Head::of) {
            [wide, Some(narrow)] if self.limit == 0 => [wide.unwrap_or(narrow), narrow],
            [Some(wide), Some(narrow)] => [wide, narrow],
            _ => {
                for (i, &digest) in digests.iter().enumerate() {
                    found[i / 64] |= u64::from(self.contains_digest(digest)) << (i % 64);
                }
                return;
            }
        };
        with_planes(ContainsEach { filter: self, heads, is_far, digests, found });
    }

    #[inline(always)]
    fn words(&self) -> &[u64] {
        block::words(self.blocks.as_ref())
    }

    /// The answer of the layers from this one on, for a mixed digest of this part.
    #[inline(always)]
    fn is_in<K: PlaneKernel>(&self, part: &Part, digest: u64, mixed: u64, from: usize) -> bool {
        let words = self.words();
        for (number, layer) in part.layers.iter().enumerate().skip(from) {
            let place = match number {
                0 => layer.first_place(digest - part.first),
                _ => layer.place(layer.hash(mixed)),
            };
            if !layer.is_bumped(words, place) {
                return layer.agrees::<K>(words, place, Row::of(mixed), part.bits as usize);
            }
        }
        let rest = self.params.rest_at() as usize..self.params.num_words() as usize;
        words[rest].binary_search(&digest).is_ok()
    }
}

/// One query.
struct Contains<'a, S> {
    filter: &'a RibbonFilter<S>,
    digest: Digest,
}

impl<S: AsRef<[Block]>> PlaneTask for Contains<'_, S> {
    type Output = bool;

    #[inline(always)]
    fn run<K: PlaneKernel>(self) -> bool {
        let digest = self.digest.get();
        let part = &self.filter.parts[usize::from(digest >= self.filter.limit)];
        self.filter.is_in::<K>(part, digest, mix(digest, 0), 0)
    }
}

/// The first layer of a part, which most keys are in.
#[derive(Clone, Copy)]
struct Head {
    first: u64,
    layer: Layer,
    bits: usize,
}

impl Head {
    fn of(part: &Part) -> Option<Self> {
        let layer = *part.layers.first()?;
        Some(Self { first: part.first, layer, bits: part.bits as usize })
    }
}

/// Queries in the order of their digests, with the cache lines of those to come requested one by
/// one: in groups, the memory would wait while a group is answered.
struct ContainsEach<'a, S> {
    filter: &'a RibbonFilter<S>,
    heads: [Head; 2],
    is_far: bool,
    digests: &'a [Digest],
    found: &'a mut [u64],
}

/// The values computed for a key: its part, its place in the first layer, and its mixed digest.
#[derive(Debug, Clone, Copy, Default)]
struct Probe {
    mixed: u64,
    place: usize,
    part: usize,
}

/// Those of the keys of an answer's word, and of those whose lines are requested.
type Probes = [Probe; 128];

impl<S: AsRef<[Block]>> PlaneTask for ContainsEach<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<K: PlaneKernel>(self) {
        let mut probes: Probes = [Probe::default(); 128];
        // Absent keys need the first group of planes; where members are queried, most need all.
        let mut groups = 1;
        // The keys of the word before that are in a later layer, whose lines are requested.
        let mut waiting = (0, [(0, 0); 64]);
        for number in 0..AHEAD.min(self.digests.len()) {
            self.prepare(number, &mut probes, groups);
        }
        for word in 0..self.digests.len().div_ceil(64) {
            let (mut found, mut later) = (0u64, 0u64);
            for number in word * 64..(word * 64 + 64).min(self.digests.len()) {
                if number + AHEAD < self.digests.len() {
                    self.prepare(number + AHEAD, &mut probes, groups);
                }
                let Probe { mixed, place, part } = probes[number % 128];
                let Head { layer, bits, .. } = &self.heads[part];
                let lines = layer.lines(place, *bits, 0);
                let agrees = Row::of(mixed).agrees::<K>(self.filter.words(), lines, place, 0);
                let is_bumped = layer.is_bumped(self.filter.words(), place);
                found |= u64::from(agrees) << (number % 64);
                later |= u64::from(is_bumped) << (number % 64);
            }
            found &= !later;
            let probes = &probes.as_chunks::<64>().0[word % 2];
            let are_ready = groups > 1;
            groups = if found.count_ones() > 16 { self.groups() } else { 1 };
            for group in 1..self.groups() {
                found = self.keep::<K>(found, probes, group, are_ready);
            }
            self.found[word] = found;
            if word > 0 {
                self.found[word - 1] |= self.look_on::<K>(waiting);
            }
            waiting = (later, self.bumped(later, probes));
        }
        let last = self.look_on::<K>(waiting);
        if let Some(word) = self.found.last_mut() {
            *word |= last;
        }
    }
}

impl<S: AsRef<[Block]>> ContainsEach<'_, S> {
    /// The groups of planes of the longer fingerprints.
    #[inline(always)]
    fn groups(&self) -> usize {
        self.heads[0].bits.max(self.heads[1].bits).div_ceil(PLANES)
    }

    /// The probe of a digest, with the cache lines of so many groups of planes requested.
    #[inline(always)]
    fn prepare(&self, number: usize, probes: &mut Probes, groups: usize) {
        let digest = self.digests[number].get();
        let part = usize::from(digest >= self.filter.limit);
        let Head { first, layer, bits } = &self.heads[part];
        let place = layer.first_place(digest - first);
        if self.is_far {
            for group in 0..groups.min(bits.div_ceil(PLANES)) {
                self.request(layer.lines(place, *bits, group));
            }
        }
        probes[number % 128] = Probe { mixed: mix(digest, 0), place, part };
    }

    #[inline(always)]
    fn request(&self, lines: Lines) {
        prefetch_far(self.filter.words(), lines.low);
        prefetch_far(self.filter.words(), lines.high);
    }

    /// Requests the cache lines in the second layer of the keys of a word that are not in the
    /// first, and returns their mixed digests and parts.
    #[inline(always)]
    fn bumped(&self, later: u64, probes: &[Probe; 64]) -> [(u64, usize); 64] {
        let mut bumped = [(0, 0); 64];
        for i in ones(later) {
            let Probe { mixed, part, .. } = probes[i];
            let Part { bits, layers, .. } = &self.filter.parts[part];
            if let Some(layer) = layers.get(1) {
                let place = layer.place(layer.hash(mixed));
                self.request(layer.lines(place, *bits as usize, 0));
            }
            bumped[i] = (mixed, part);
        }
        bumped
    }

    /// The answers of the layers after the first.
    #[inline(always)]
    fn look_on<K: PlaneKernel>(&self, (later, bumped): (u64, [(u64, usize); 64])) -> u64 {
        ones(later).fold(0, |found, i| {
            let (mixed, part) = bumped[i];
            let part = &self.filter.parts[part];
            found | u64::from(self.filter.is_in::<K>(part, unmix(mixed, 0), mixed, 1)) << i
        })
    }

    /// Those of the found keys that agree in a further group of planes, too.
    #[inline(always)]
    fn keep<K: PlaneKernel>(
        &self,
        mut found: u64,
        probes: &[Probe; 64],
        group: usize,
        are_ready: bool,
    ) -> u64 {
        let lines = |&Probe { place, part, .. }: &Probe| {
            let Head { layer, bits, .. } = &self.heads[part];
            (group * PLANES < *bits).then(|| layer.lines(place, *bits, group))
        };
        if self.is_far && !are_ready {
            for lines in ones(found).filter_map(|i| lines(&probes[i])) {
                self.request(lines);
            }
        }
        for i in ones(found) {
            let Some(lines) = lines(&probes[i]) else { continue };
            let Probe { mixed, place, .. } = probes[i];
            let agrees = Row::of(mixed).agrees::<K>(self.filter.words(), lines, place, group);
            found &= !(u64::from(!agrees) << i);
        }
        found
    }
}

/// The numbers of the bits that are set.
#[inline(always)]
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(
        #[inline(always)]
        move || {
            let bit = word.trailing_zeros() as usize;
            (word != 0).then(|| {
                word &= word - 1;
                bit
            })
        },
    )
}
