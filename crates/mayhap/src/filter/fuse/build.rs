//! Finds slot values such that the three slots of every key give its fingerprint.
//!
//! Graf & Lemire 2022, *Binary Fuse Filters: Fast and Smaller Than Xor Filters*: keys are edges of
//! three slots each; a slot with only one key left can be set last for that key, so the key is
//! removed, and so on until none is left (which a random seed nearly always allows with 1.125 slots
//! per key); then the slots are set in reverse order.

use super::slots::{Places, fingerprint, mix, unmix};
use crate::Error;
use alloc::vec::Vec;

/// The number of seeds tried before [`Error::NoSeedFound`].
pub(super) const MAX_SEEDS: u32 = 64;

/// The number of a key or a slot: below 2^32 slots 32 bits suffice and halve the memory.
pub(super) trait Number: Copy + Default {
    fn new(number: usize) -> Self;
    fn get(self) -> usize;
    fn xor(self, other: Self) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            #[inline(always)]
            fn new(number: usize) -> Self {
                number as Self
            }
            #[inline(always)]
            fn get(self) -> usize {
                self as usize
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    };
}
number!(u32);
number!(u64);

/// An order in which the slots can be set.
pub(super) struct Order<N> {
    /// For each slot in `slots`, the key that it is set for.
    keys: Vec<N>,
    /// The last one is set first.
    slots: Vec<N>,
}

/// An empty vector with room for `len` values, or an error where `Vec` would abort.
pub(super) fn try_with_room<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut vec = Vec::new();
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    vec.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(vec)
}

fn try_filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>, Error> {
    let mut vec = try_with_room(len)?;
    vec.resize(len, value);
    Ok(vec)
}

/// The seed of attempt `attempt`: `splitmix64(attempt)`.
pub(super) const fn seed(attempt: u32) -> u64 {
    crate::positions::splitmix64(attempt as u64)
}

/// Mixes digests in place, sorts them so that their slots are visited in order, and removes
/// duplicates.
pub(super) fn mix_all(digests: &mut Vec<u64>, seed: u64) {
    for digest in digests.iter_mut() {
        *digest = mix(*digest, seed);
    }
    digests.sort_unstable();
    digests.dedup();
}

/// [`mix_all`] for the next seed, applied to its result for the last one.
pub(super) fn remix_all(hashes: &mut [u64], last_seed: u64, seed: u64) {
    for hash in hashes.iter_mut() {
        *hash = mix(unmix(*hash, last_seed), seed);
    }
    hashes.sort_unstable();
}

/// The order in which the slots can be set, if there is one for these hashes.
pub(super) fn peel<N: Number>(
    hashes: &[u64],
    places: Places,
    num_slots: usize,
) -> Result<Option<Order<N>>, Error> {
    // For each slot: the number of keys that have it, and the exclusive or of their numbers.
    let mut counts = try_filled(0u8, num_slots)?;
    let mut keys = try_filled(N::default(), num_slots)?;
    for (key, &hash) in hashes.iter().enumerate() {
        for slot in places.slots(hash) {
            let slot = slot as usize;
            let Some(count) = counts[slot].checked_add(1) else { return Ok(None) };
            counts[slot] = count;
            keys[slot] = keys[slot].xor(N::new(key));
        }
    }
    let mut slots: Vec<N> = try_with_room(hashes.len())?;
    let mut single: Vec<N> = Vec::new();
    for start in 0..num_slots {
        // Depth first from here: memory accesses stay local, and the stack short.
        if counts[start] == 1 {
            push(&mut single, N::new(start))?;
        }
        while let Some(slot) = single.pop() {
            if counts[slot.get()] != 1 {
                continue; // its last key was taken away through another slot
            }
            let key = keys[slot.get()];
            slots.push(slot);
            for other in places.slots(hashes[key.get()]) {
                let other = other as usize;
                counts[other] -= 1;
                if other != slot.get() {
                    keys[other] = keys[other].xor(key);
                    if counts[other] == 1 {
                        push(&mut single, N::new(other))?;
                    }
                }
            }
        }
    }
    Ok((slots.len() == hashes.len()).then_some(Order { keys, slots }))
}

fn push<N>(stack: &mut Vec<N>, value: N) -> Result<(), Error> {
    let bytes = (stack.len() as u64 + 1) * size_of::<N>() as u64;
    stack.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes })?;
    stack.push(value);
    Ok(())
}

/// Sets the slots: `set(slots, own, fingerprint)` must change only the slot `own`, so that the
/// exclusive or of the three slots becomes the fingerprint.
pub(super) fn assign<N: Number>(
    hashes: &[u64],
    places: Places,
    order: &Order<N>,
    mut set: impl FnMut([usize; 3], usize, u16),
) {
    for &slot in order.slots.iter().rev() {
        let hash = hashes[order.keys[slot.get()].get()];
        set(places.slots(hash).map(|slot| slot as usize), slot.get(), fingerprint(hash));
    }
}
