//! A filter for a set that never changes: fewer bits than any Bloom filter of its rate.
//!
//! `slots.rs` computes the slots and fingerprint of a digest, `hashes.rs` keeps the keys while
//! `build.rs` finds the slot values, `contains.rs` queries, `params.rs` has the parameters,
//! `native.rs` is the file. Slots of 8 and 16 bits are bytes and 16-bit numbers, as in the files of
//! all releases; `packed.rs` has those of any other width.
//!
//! This is an implementation of our own because `xorf` (0.12) has the construction but not the
//! rest: its sizes have 32 bits, duplicates panic in debug builds, failed allocations abort, and
//! fingerprints are in a slice of their own, while we save and map cache-line aligned blocks.

mod build;
mod contains;
mod hashes;
mod native;
mod packed;
mod params;
mod slots;
#[cfg(test)]
mod tests;

pub(super) use build::try_filled;
pub use params::FuseParams;
pub(super) use slots::{mix, unmix};

use super::for_each_digest_chunk;
use crate::bits::{Block, OwnedBlocks};
use crate::sizing::fuse::{FuseWidth, Segments, num_bits};
use crate::{Digest, DigestFunction, Error, Key};
use alloc::vec::Vec;
use hashes::Hashes;
use packed::Packed;
use slots::{Places, fingerprint, long_fingerprint};

/// A static filter: built once from all keys, immutable from then on.
///
/// There is no `insert`: if the set changes, rebuild the filter. A key's fingerprint of w bits is
/// the exclusive or of three slots, so the answer for an absent key is "maybe" with p = 2^−w
/// exactly, whatever the filter holds (Graf & Lemire 2022, *Binary Fuse Filters: Fast and Smaller
/// Than Xor Filters*). Where a share of the keys has one bit more, p is any rate from 1/16 down to
/// 2^−32: see [`FuseWidth`].
///
/// Memory: 1.11 to 1.13 · w bits per key from a million keys on: 9.0 at 1/256, 11.1 at 0.1 %, where
/// [`crate::BlockedBloomFilter`] needs 12.2 and 15.7. A query reads three slots, each in one cache
/// line; one that is not of 8 or 16 bits continues in the next line with a probability of w / 512.
/// Building takes 22 bytes per key and the filter, 2.3 more (from 16 bits on 4.5) for widths other
/// than 8 and 16, 5 more for 2^32 slots or more; only the fingerprints remain. Keys that are given
/// twice take up to twice the time. Any number of threads may query.
///
/// # Examples
///
/// ```
/// use mayhap::{BinaryFuse, DigestFunction, FuseWidth};
///
/// let weak = ["123456", "password", "qwerty", "123456"]; // a key twice is no harm
/// let filter = BinaryFuse::from_keys(FuseWidth::BITS_16, DigestFunction::default(), weak)?;
/// assert_eq!(filter.len(), 3);
/// assert!(filter.contains("qwerty") && !filter.contains("correct horse"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct BinaryFuse<S = OwnedBlocks> {
    params: FuseParams,
    places: Places,
    packed: Packed,
    blocks: S,
    digest_function: DigestFunction,
}

impl BinaryFuse {
    /// Builds the filter of these digests, which must be computed by `digest_function`; duplicates
    /// count once, in any order.
    ///
    /// The same set gives the same filter, bit for bit. 64 seeds are tried; each of them works for
    /// at least five sets in six, and for most sizes nearly always.
    ///
    /// # Errors
    ///
    /// [`Error::NoSeedFound`] if none of the 64 seeds works, which happens only for digests chosen
    /// to cause it; [`Error::OutOfMemory`]; [`Error::TooLarge`] above
    /// [`crate::sizing::MAX_NUM_BITS`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{BinaryFuse, DigestFunction, FuseWidth};
    ///
    /// let function = DigestFunction::default();
    /// let digests = (0..1_000_000u64).map(|id| function.digest(&id));
    /// let filter = BinaryFuse::build(FuseWidth::BITS_8, function, digests)?;
    /// assert!((0..1_000_000u64).all(|id| filter.contains(&id)));
    /// let maybe = (1_000_000..2_000_000u64).filter(|id| filter.contains(id)).count();
    /// assert!((3_700..4_110).contains(&maybe)); // 1 in 256
    /// assert!(filter.num_bytes() * 8 <= 9_100_000); // 9.1 bits per key
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn build(
        width: FuseWidth,
        digest_function: DigestFunction,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<Self, Error> {
        Self::build_with(|_| Ok(width), digest_function, digests)
    }

    /// Like [`BinaryFuse::build`], with the narrowest width that keeps `target_fpp` for the number
    /// of distinct digests ([`FuseWidth::for_target`]).
    ///
    /// # Errors
    ///
    /// Same as [`BinaryFuse::build`]; [`Error::FppOutOfRange`], and [`Error::FppUnreachable`] below
    /// 2^−32 plus digest collisions.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{BinaryFuse, DigestFunction};
    ///
    /// let function = DigestFunction::default();
    /// let digests = (0..1_000_000u64).map(|id| function.digest(&id));
    /// let filter = BinaryFuse::build_for_target(0.001, function, digests)?;
    /// assert!((0..1_000_000u64).all(|id| filter.contains(&id)));
    /// let maybe = (1_000_000..2_000_000u64).filter(|id| filter.contains(id)).count();
    /// assert!((905..1_095).contains(&maybe)); // 1 in 1000
    /// assert!(filter.num_bytes() * 8 <= 11_300_000); // 11.3 bits per key; 10.0 are the least
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn build_for_target(
        target_fpp: f64,
        digest_function: DigestFunction,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<Self, Error> {
        let width_for = |items| FuseWidth::check_target(items, target_fpp);
        width_for(0)?;
        Self::build_with(width_for, digest_function, digests)
    }

    /// With the width for a number of distinct digests.
    fn build_with(
        width_for: impl Fn(u64) -> Result<FuseWidth, Error>,
        digest_function: DigestFunction,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<Self, Error> {
        let mut hashes = Hashes::new(collect(digests.into_iter().map(Digest::get))?)?;
        while hashes.seeds_tried() < build::MAX_SEEDS {
            let items = hashes.all().len() as u64;
            let width = width_for(items)?;
            num_bits(width, items)?;
            let Segments { log2_length, count } = Segments::of(width, items);
            let params = FuseParams::new(width, items, hashes.seed(), log2_length, count)?;
            // Numbers of slots: 32 bits if they suffice.
            let blocks = if u32::try_from(params.segments().num_slots()).is_ok() {
                try_seed::<u32>(hashes.all(), &params)?
            } else {
                try_seed::<u64>(hashes.all(), &params)?
            };
            if let Some(blocks) = blocks {
                return Ok(Self::assembled(params, digest_function, blocks));
            }
            hashes.next()?;
        }
        Err(Error::NoSeedFound { seeds_tried: build::MAX_SEEDS })
    }

    /// Like [`BinaryFuse::build`], but from keys.
    ///
    /// # Errors
    ///
    /// Same as [`BinaryFuse::build`].
    pub fn from_keys<K: Key>(
        width: FuseWidth,
        digest_function: DigestFunction,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, Error> {
        let digests = keys.into_iter().map(|key| digest_function.digest(&key));
        Self::build(width, digest_function, digests)
    }

    /// A copy of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { blocks: OwnedBlocks::copy_of(self.blocks.as_ref())?, ..*self })
    }
}

/// Collects an iterator, without allocating twice the memory if its length is known.
pub(super) fn collect(items: impl Iterator<Item = u64>) -> Result<Vec<u64>, Error> {
    let mut all = build::try_with_room(items.size_hint().0)?;
    for item in items {
        if all.len() == all.capacity() {
            let bytes = (all.len() as u64 + 1) * 8;
            all.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes })?;
        }
        all.push(item);
    }
    Ok(all)
}

/// The fingerprints under this seed, if it has any.
fn try_seed<N: build::Number>(
    hashes: &[u64],
    params: &FuseParams,
) -> Result<Option<OwnedBlocks>, Error> {
    let places = Places::new(params.segments());
    let num_slots = params.segments().num_slots();
    let bytes = num_slots.saturating_mul(size_of::<N>() as u64);
    let num_slots = usize::try_from(num_slots).map_err(|_| Error::OutOfMemory { bytes })?;
    let Some(order) = build::peel::<N>(hashes, places, num_slots)? else { return Ok(None) };
    let mut blocks = OwnedBlocks::zeroed(params.num_blocks())?;
    let slots_of = |hash| places.slots(hash).map(|slot| slot as usize);
    match params.width() {
        FuseWidth::BITS_8 => {
            let slots: &mut [u8] = bytemuck::cast_slice_mut(blocks.as_mut());
            build::assign(&order, |hash, own| {
                let [a, b, c] = slots_of(hash).map(contains::byte_index);
                slots[contains::byte_index(own)] =
                    fingerprint(hash) as u8 ^ slots[a] ^ slots[b] ^ slots[c];
            });
        }
        FuseWidth::BITS_16 => {
            let slots: &mut [u16] = bytemuck::cast_slice_mut(blocks.as_mut());
            build::assign(&order, |hash, own| {
                let [a, b, c] = slots_of(hash).map(contains::half_index);
                slots[contains::half_index(own)] =
                    fingerprint(hash) ^ slots[a] ^ slots[b] ^ slots[c];
            });
        }
        width => {
            let packed = Packed::new(width, params.segments());
            // The low bits of values with more are the same, so no key needs a mask.
            if width.bits() < 16 {
                let mut slots = build::try_filled(0u16, num_slots)?;
                build::assign(&order, |hash, own| {
                    let [a, b, c] = slots_of(hash);
                    slots[own] = long_fingerprint(hash) as u16 ^ slots[a] ^ slots[b] ^ slots[c];
                });
                packed.pack(&slots, blocks.as_mut());
            } else {
                let mut slots = build::try_filled(0u32, num_slots)?;
                build::assign(&order, |hash, own| {
                    let [a, b, c] = slots_of(hash);
                    slots[own] = long_fingerprint(hash) as u32 ^ slots[a] ^ slots[b] ^ slots[c];
                });
                packed.pack(&slots, blocks.as_mut());
            }
        }
    }
    Ok(Some(blocks))
}

impl<S: AsRef<[Block]>> BinaryFuse<S> {
    /// Assembles a filter from its parts, as read or mapped from a file.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] unless there are exactly `params.num_blocks()` blocks;
    /// [`Error::BadField`] if a bit past the last slot is set, or any bit of a filter without keys.
    pub fn from_parts(
        params: FuseParams,
        digest_function: DigestFunction,
        blocks: S,
    ) -> Result<Self, Error> {
        let lanes = crate::bits::block::words(blocks.as_ref());
        Error::check_length("body", params.num_bytes(), lanes.len() as u64 * 8)?;
        let used_bits = if params.items() == 0 { 0 } else { params.slot_bits() };
        let past_end = |lane: usize| match used_bits.saturating_sub(lane as u64 * 64) {
            bits @ 0..64 => lanes[lane] >> bits,
            _ => 0,
        };
        let found: u32 =
            ((used_bits / 64) as usize..lanes.len()).map(|lane| past_end(lane).count_ones()).sum();
        Error::check_field(found == 0, "bits past the last slot", found.into())?;
        Ok(Self::assembled(params, digest_function, blocks))
    }

    const fn assembled(params: FuseParams, digest_function: DigestFunction, blocks: S) -> Self {
        let places = Places::new(params.segments());
        let packed = Packed::new(params.width(), params.segments());
        Self { params, places, packed, blocks, digest_function }
    }

    /// The parameters of the filter: width, keys, seed, segments.
    pub const fn params(&self) -> &FuseParams {
        &self.params
    }

    /// The fingerprints: slot `i` of width w is bits `i · w` to `(i + 1) · w − 1`; if the first x
    /// slots have one bit more, slot `i` begins min(i, x) bits later.
    pub const fn storage(&self) -> &S {
        &self.blocks
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The digest of a key, for querying several filters with the same digest function at the cost
    /// of one hash.
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.digest_function.digest(key)
    }

    /// The number of distinct digests that the filter was built from.
    pub const fn len(&self) -> u64 {
        self.params.items()
    }

    /// Whether it was built from no keys: then every answer is "surely not".
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The width of the fingerprints.
    pub const fn width(&self) -> FuseWidth {
        self.params.width()
    }

    /// The bits of all slots, and 64 more if they are not whole bytes; at most
    /// [`crate::sizing::MAX_NUM_BITS`].
    pub const fn num_bits(&self) -> u64 {
        self.params.num_bits()
    }

    /// Bytes of memory that the fingerprints take.
    pub const fn num_bytes(&self) -> u64 {
        self.params.num_bytes()
    }

    /// The false-positive probability, which never changes, or 0 for an empty filter:
    /// [`crate::sizing::fuse::expected_fpp`].
    pub fn expected_fpp(&self) -> f64 {
        self.params.expected_fpp()
    }
}
