//! One layer of a chain, and the batch of keys that passes from layer to layer.

use crate::bits::{OwnedBlocks, SharedBlocks, ones};
use crate::filter::{Build, DIGESTS_AT_ONCE, Estimate, Filter};
use crate::layout::{Blocked, LayoutKind};
use crate::positions::PROBE_MULTIPLIERS;
use crate::sizing::limits;
use crate::sizing::scalable::LayerParams;
use crate::{Bitmap, BlockedBloomFilter, Digest, DigestFunction, Error, Storage};
use alloc::boxed::Box;

/// The number of keys that pass through the layers together, on the stack.
pub(super) const CHUNK: usize = DIGESTS_AT_ONCE;

/// The answers for a chunk: key `i` is bit `i % 64` of word `i / 64`.
pub(super) type Answers = [u64; CHUNK / 64];

/// A blocked filter that can be queried, owned or shared.
pub(super) trait Part {
    fn contains_one(&self, digest: Digest) -> bool;
    /// Ors into zeroed words.
    fn contains_each(&self, digests: &[Digest], found: &mut [u64]);
}

impl Part for Filter<Blocked, OwnedBlocks> {
    #[inline]
    fn contains_one(&self, digest: Digest) -> bool {
        self.layout.contains(self.blocks.as_ref(), digest)
    }

    fn contains_each(&self, digests: &[Digest], found: &mut [u64]) {
        self.layout.contains_batch(self.blocks.as_ref(), digests, found);
    }
}

impl Part for Filter<Blocked, SharedBlocks> {
    #[inline]
    fn contains_one(&self, digest: Digest) -> bool {
        self.contains_digest(digest)
    }

    fn contains_each(&self, digests: &[Digest], found: &mut [u64]) {
        Filter::contains_each(self, digests, found);
    }
}

/// The digest that part `index` uses: part 0 the digest itself, the others an odd multiple of it.
#[inline(always)]
pub(super) fn part_digest(digest: Digest, index: usize) -> Digest {
    Digest::new(digest.get().wrapping_mul(PROBE_MULTIPLIERS[index]))
}

/// Parts that all hold every key of the layer.
#[derive(Debug)]
pub(super) struct Layer<F> {
    pub(super) params: LayerParams,
    /// The step of this layer in the chain; after a union several layers may have the same.
    pub(super) step: u32,
    /// Exactly as long as it is: most layers of small filters have one.
    pub(super) parts: Box<[F]>,
    /// Keys inserted; a shared layer counts them elsewhere.
    pub(super) inserted_items: u64,
    /// The count at which it is full.
    pub(super) full_at: u64,
}

impl<F> Layer<F> {
    pub(super) fn new(
        params: LayerParams,
        step: u32,
        parts: Box<[F]>,
        inserted_items: u64,
    ) -> Self {
        let full_at = params.inserted_when_full();
        Self { params, step, parts, inserted_items, full_at }
    }

    /// The rate with this many keys counted.
    pub(super) fn expected_fpp_of(&self, inserted_items: u64) -> f64 {
        self.params.expected_fpp(self.params.distinct_items(inserted_items))
    }

    /// The rate when it is full, or with this count if that is higher.
    pub(super) fn promised_fpp_of(&self, inserted_items: u64) -> f64 {
        let distinct = self.params.distinct_items(inserted_items);
        self.params.expected_fpp(distinct.max(self.params.expected_items()))
    }
}

impl<F: Part> Layer<F> {
    #[inline]
    pub(super) fn contains(&self, digest: Digest) -> bool {
        let mut parts = self.parts.iter().enumerate();
        parts.all(|(i, part)| part.contains_one(part_digest(digest, i)))
    }

    /// At most [`CHUNK`] digests. A part is queried only for the digests that all previous parts
    /// hold.
    pub(super) fn contains_batch(&self, digests: &[Digest]) -> Answers {
        let mut found = Answers::default();
        let Some((first, others)) = self.parts.split_first() else { return found };
        first.contains_each(digests, &mut found[..digests.len().div_ceil(64)]);
        for (i, part) in others.iter().enumerate() {
            let (mut places, mut queried) = ([0u16; CHUNK], [Digest::default(); CHUNK]);
            let mut len = 0;
            for place in ones(&found) {
                (places[len], queried[len]) = (place as u16, part_digest(digests[place], i + 1));
                len += 1;
            }
            let mut answers = Answers::default();
            part.contains_each(&queried[..len], &mut answers[..len.div_ceil(64)]);
            for (j, &place) in places[..len].iter().enumerate() {
                let absent = !answers[j / 64] >> (j % 64) & 1;
                found[usize::from(place) / 64] &= !(absent << (place % 64));
            }
        }
        found
    }
}

/// At most [`CHUNK`] digests as used by part `index`.
#[inline(always)]
fn part_digests<'a>(
    digests: &'a [Digest],
    index: usize,
    buffer: &'a mut [Digest; CHUNK],
) -> &'a [Digest] {
    if index == 0 {
        return digests;
    }
    for (to, &from) in buffer.iter_mut().zip(digests) {
        *to = part_digest(from, index);
    }
    &buffer[..digests.len()]
}

impl Layer<Filter<Blocked, SharedBlocks>> {
    /// If several threads insert a key, at least one of them gets the answer "new", since each bit
    /// does.
    #[inline]
    pub(super) fn insert_shared(&self, digest: Digest) -> bool {
        let mut new = false;
        for (i, part) in self.parts.iter().enumerate() {
            new |= part.insert_digest(part_digest(digest, i));
        }
        new
    }

    /// At most [`CHUNK`] digests.
    pub(super) fn insert_batch_shared(&self, digests: &[Digest]) -> Answers {
        let (mut new, mut buffer) = (Answers::default(), [Digest::default(); CHUNK]);
        for (i, part) in self.parts.iter().enumerate() {
            let digests = part_digests(digests, i, &mut buffer);
            part.insert_each(digests, &mut new[..digests.len().div_ceil(64)]);
        }
        new
    }

    /// Writes to each page of its memory, until `go_on` returns `false`.
    pub(super) fn touch(&self, go_on: &dyn Fn() -> bool) {
        self.parts.iter().all(|part| part.blocks.touch(go_on));
    }

    /// A copy, whose count the caller has to set.
    pub(super) fn snapshot(&self) -> Result<Layer<BlockedBloomFilter>, Error> {
        let parts = self.parts.iter().map(Filter::snapshot).collect::<Result<_, _>>()?;
        let &Self { params, step, inserted_items, full_at, .. } = self;
        Ok(Layer { params, step, parts, inserted_items, full_at })
    }

    pub(super) fn into_exclusive(self, inserted_items: u64) -> Layer<BlockedBloomFilter> {
        let Self { params, step, parts, full_at, .. } = self;
        let exclusive = |part| {
            let Filter { layout, blocks, params, digest_function, is_settled, .. } = part;
            let blocks = SharedBlocks::into_owned(blocks);
            Filter { layout, blocks, params, digest_function, inserted_items: 0, is_settled }
        };
        let parts = parts.into_iter().map(exclusive).collect();
        Layer { params, step, parts, inserted_items, full_at }
    }
}

impl<S: Storage> Layer<Filter<Blocked, S>> {
    /// The current rate, from the bits.
    pub(super) fn estimated_fpp(&self) -> f64 {
        let fpp = self.parts.iter().map(Filter::fpp_of_bits).product();
        // All parts confuse equal digests at once.
        limits::with_collisions_of(fpp, || self.estimated_items().rounded())
    }

    /// The number of set bits of all parts.
    pub(super) fn count_ones(&self) -> u64 {
        self.parts.iter().map(|part| part.blocks.count_ones()).sum()
    }

    /// Every part holds the same keys, so one is read.
    pub(super) fn estimated_items(&self) -> Estimate {
        self.parts[0].estimated_items()
    }
}

impl Layer<BlockedBloomFilter> {
    pub(super) fn empty(
        params: LayerParams,
        step: u32,
        function: DigestFunction,
    ) -> Result<Self, Error> {
        let part = |_| BlockedBloomFilter::empty(*params.part(), function);
        let parts = (0..params.num_parts()).map(part).collect::<Result<_, _>>()?;
        Ok(Self::new(params, step, parts, 0))
    }

    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        let parts = self.parts.iter().map(BlockedBloomFilter::try_clone);
        Ok(Self { parts: parts.collect::<Result<_, _>>()?, ..*self })
    }

    #[inline]
    pub(super) fn insert(&mut self, digest: Digest) -> bool {
        let mut new = false;
        for (i, part) in self.parts.iter_mut().enumerate() {
            new |= part.layout.insert(part.blocks.as_mut(), part_digest(digest, i));
        }
        self.inserted_items += u64::from(new);
        new
    }

    /// At most [`CHUNK`] digests.
    pub(super) fn insert_batch(&mut self, digests: &[Digest]) -> Answers {
        let (mut new, mut buffer) = (Answers::default(), [Digest::default(); CHUNK]);
        for (i, part) in self.parts.iter_mut().enumerate() {
            let digests = part_digests(digests, i, &mut buffer);
            let words = &mut new[..digests.len().div_ceil(64)];
            part.layout.insert_batch(part.blocks.as_mut(), digests, words);
        }
        self.inserted_items += count_ones(&new);
        new
    }

    pub(super) fn into_concurrent(self) -> Layer<Filter<Blocked, SharedBlocks>> {
        let Self { params, step, parts, inserted_items, full_at } = self;
        let parts = parts.into_iter().map(Filter::into_concurrent).collect();
        Layer { params, step, parts, inserted_items, full_at }
    }

    /// Keys that it counts until it is full.
    pub(super) const fn room(&self) -> u64 {
        self.full_at.saturating_sub(self.inserted_items)
    }

    /// The current rate, from the number of keys.
    pub(super) fn expected_fpp(&self) -> f64 {
        self.expected_fpp_of(self.inserted_items)
    }

    /// The rate when it is full.
    pub(super) fn promised_fpp(&self) -> f64 {
        self.promised_fpp_of(self.inserted_items)
    }

    pub(super) fn clear(&mut self) {
        self.parts.iter_mut().for_each(Filter::clear);
        self.inserted_items = 0;
    }
}

/// The keys of a chunk that no layer has found yet: their digests and positions in it.
pub(super) struct Pending {
    places: [u16; CHUNK],
    digests: [Digest; CHUNK],
    start: usize,
    end: usize,
}

impl Pending {
    pub(super) const fn new() -> Self {
        Self { places: [0; CHUNK], digests: [Digest::new(0); CHUNK], start: 0, end: 0 }
    }

    /// At most [`CHUNK`] digests.
    pub(super) fn fill(&mut self, digests: &[Digest]) {
        (self.start, self.end) = (0, digests.len());
        self.digests[..digests.len()].copy_from_slice(digests);
        for (i, place) in self.places[..digests.len()].iter_mut().enumerate() {
            *place = i as u16;
        }
    }

    pub(super) fn digests(&self) -> &[Digest] {
        &self.digests[self.start..self.end]
    }

    /// Keeps only the digests that were not found.
    pub(super) fn keep_absent(&mut self, found: &Answers) {
        if found.iter().all(|&word| word == 0) {
            return;
        }
        let mut kept = self.start;
        for i in 0..self.end - self.start {
            self.places[kept] = self.places[self.start + i];
            self.digests[kept] = self.digests[self.start + i];
            kept += usize::from(found[i / 64] >> (i % 64) & 1 == 0);
        }
        self.end = kept;
    }

    /// Sets in `words` the bits of the chunk's keys for which `answers` is "yes".
    pub(super) fn mark(&self, answers: &Answers, words: &mut [u64]) {
        for i in ones(answers) {
            let place = usize::from(self.places[self.start + i]);
            words[place / 64] |= 1 << (place % 64);
        }
    }

    /// The first `count` are done.
    pub(super) fn advance(&mut self, count: usize) {
        self.start += count;
    }
}

pub(super) fn count_ones(answers: &Answers) -> u64 {
    answers.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Queries layers, newest first, for many digests. A key that a layer holds is not looked up again.
pub(super) fn contains_in<'a, F: Part + 'a>(
    newest_first: &(impl Iterator<Item = &'a Layer<F>> + Clone),
    digests: &[Digest],
    found: &mut Bitmap,
) {
    let words = found.reset(digests.len()).chunks_mut(CHUNK / 64);
    let mut pending = Pending::new();
    for (digests, words) in digests.chunks(CHUNK).zip(words) {
        pending.fill(digests);
        for layer in newest_first.clone() {
            let answers = layer.contains_batch(pending.digests());
            pending.mark(&answers, words);
            pending.keep_absent(&answers);
        }
    }
}
