//! Queries of a static filter.

use super::packed;
use super::slots::{fingerprint, mix};
use super::{BinaryFuse, for_each_digest_chunk};
use crate::bits::Block;
use crate::simd::{fits_cache, prefetch};
use crate::sizing::fuse::FuseWidth;
use crate::{Bitmap, Digest, Key};

/// The number of keys whose three cache lines each are requested together.
const GROUP: usize = 32;

/// The place of 8-bit slot `slot` among the bytes of the lanes, whose lowest byte is the first.
#[inline(always)]
pub(super) const fn byte_index(slot: usize) -> usize {
    if cfg!(target_endian = "big") { slot ^ 7 } else { slot }
}

/// The place of 16-bit slot `slot` among the 16-bit parts of the lanes.
#[inline(always)]
pub(super) const fn half_index(slot: usize) -> usize {
    if cfg!(target_endian = "big") { slot ^ 3 } else { slot }
}

/// The values computed for a key: the places of its slots, and its fingerprint.
type Probe<F> = ([usize; 3], F);

impl<S: AsRef<[Block]>> BinaryFuse<S> {
    /// Whether the key may be in the set: `false` is certain, `true` is wrong with probability
    /// 2^−w.
    ///
    /// Cache lines: 3; one more for a slot of neither 8 nor 16 bits that continues in the next one.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`BinaryFuse::contains`], for a key that is already a digest.
    #[inline(always)]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        if self.is_empty() {
            return false;
        }
        let blocks = self.blocks.as_ref();
        match self.width() {
            FuseWidth::BITS_8 => is_in(bytemuck::cast_slice(blocks), self.probe8(digest)),
            FuseWidth::BITS_16 => is_in(bytemuck::cast_slice(blocks), self.probe16(digest)),
            _ => self.probe_packed(digest).is_in(blocks),
        }
    }

    /// Queries many keys, as [`BinaryFuse::contains`] does for each, but with their cache lines
    /// fetched together.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut found = Bitmap::new();
        self.contains_batch_into(keys, &mut found);
        found
    }

    /// Like [`BinaryFuse::contains_batch`], but into a reused bitmap.
    pub fn contains_batch_into<K: Key>(&self, keys: &[K], found: &mut Bitmap) {
        for_each_digest_chunk(&self.digest_function, keys, found, |digests, words| {
            self.contains_words(digests, words);
        });
    }

    /// Like [`BinaryFuse::contains_batch`], for keys that are already digests.
    pub fn contains_digests(&self, digests: &[Digest]) -> Bitmap {
        let mut found = Bitmap::new();
        self.contains_digests_into(digests, &mut found);
        found
    }

    /// Like [`BinaryFuse::contains_digests`], but into a reused bitmap.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_words(digests, found.reset(digests.len()));
    }

    /// Sets bit `i` of the zeroed `words` for each digest that may be in the set.
    fn contains_words(&self, digests: &[Digest], words: &mut [u64]) {
        if self.is_empty() {
            return;
        }
        let blocks = self.blocks.as_ref();
        let cached = fits_cache(blocks.len());
        match self.width() {
            FuseWidth::BITS_8 => {
                let slots: &[u8] = bytemuck::cast_slice(blocks);
                answer_slots(slots, cached, digests, words, |digest| self.probe8(digest));
            }
            FuseWidth::BITS_16 => {
                let slots: &[u16] = bytemuck::cast_slice(blocks);
                answer_slots(slots, cached, digests, words, |digest| self.probe16(digest));
            }
            _ => {
                let probe = |digest| self.probe_packed(digest);
                let request = |probe: &packed::Probe| probe.request(blocks);
                answer(cached, digests, words, probe, request, |probe| probe.is_in(blocks));
            }
        }
    }

    #[inline(always)]
    fn probe_packed(&self, digest: Digest) -> packed::Probe {
        self.packed.probe(digest.get(), self.params.seed())
    }

    #[inline(always)]
    fn probe8(&self, digest: Digest) -> Probe<u8> {
        let hash = mix(digest.get(), self.params.seed());
        (self.places.slots(hash).map(|slot| byte_index(slot as usize)), fingerprint(hash) as u8)
    }

    #[inline(always)]
    fn probe16(&self, digest: Digest) -> Probe<u16> {
        let hash = mix(digest.get(), self.params.seed());
        (self.places.slots(hash).map(|slot| half_index(slot as usize)), fingerprint(hash))
    }
}

#[inline(always)]
fn is_in<F>(slots: &[F], (places, fingerprint): Probe<F>) -> bool
where
    F: Copy + PartialEq + core::ops::BitXor<Output = F>,
{
    slots[places[0]] ^ slots[places[1]] ^ slots[places[2]] == fingerprint
}

#[inline(always)]
fn answer_slots<F>(
    slots: &[F],
    cached: bool,
    digests: &[Digest],
    words: &mut [u64],
    probe: impl Fn(Digest) -> Probe<F>,
) where
    F: Copy + Default + PartialEq + core::ops::BitXor<Output = F>,
{
    let request = |probe: &Probe<F>| probe.0.iter().for_each(|&place| prefetch(slots, place));
    answer(cached, digests, words, probe, request, |probe| is_in(slots, probe));
}

/// Group after group, with the next one's cache lines requested while this one is answered.
#[inline(always)]
fn answer<P: Copy + Default>(
    cached: bool,
    digests: &[Digest],
    words: &mut [u64],
    probe: impl Fn(Digest) -> P,
    request: impl Fn(&P),
    is_in: impl Fn(P) -> bool,
) {
    if cached {
        for (word, group) in words.iter_mut().zip(digests.chunks(64)) {
            for (bit, &digest) in group.iter().enumerate() {
                *word |= u64::from(is_in(probe(digest))) << bit;
            }
        }
        return;
    }
    let request = |group: &[Digest], probes: &mut [P; GROUP]| {
        for (&digest, kept) in group.iter().zip(probes) {
            *kept = probe(digest);
            request(kept);
        }
    };
    let mut probes = [[P::default(); GROUP]; 2];
    let mut groups = digests.chunks(GROUP).enumerate().peekable();
    request(groups.peek().map_or(&[], |(_, group)| group), &mut probes[0]);
    while let Some((i, group)) = groups.next() {
        request(groups.peek().map_or(&[], |(_, group)| group), &mut probes[(i + 1) % 2]);
        let mut found = 0;
        for (bit, &kept) in probes[i % 2][..group.len()].iter().enumerate() {
            found |= u64::from(is_in(kept)) << bit;
        }
        words[i * GROUP / 64] |= found << (i * GROUP % 64);
    }
}
