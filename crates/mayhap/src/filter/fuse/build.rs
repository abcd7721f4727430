//! Finds slot values such that the three slots of every key give its fingerprint.
//!
//! Graf & Lemire 2022, *Binary Fuse Filters: Fast and Smaller Than Xor Filters*: keys are edges of
//! three slots each; a slot with only one key left can be set last for that key, so the key is
//! removed, and so on until none is left (which a random seed nearly always allows with 1.125 slots
//! per key); then the slots are set in reverse order.

use super::slots::Places;
use crate::Error;
use crate::bits::advise_huge_pages;
use alloc::vec::Vec;

/// The number of seeds tried before [`Error::NoSeedFound`].
pub(super) const MAX_SEEDS: u32 = 64;

/// The number of a slot: below 2^32 slots 32 bits suffice and halve the memory.
pub(super) trait Number: Copy + Default {
    fn new(number: usize) -> Self;
    fn get(self) -> usize;
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
        }
    };
}
number!(u32);
number!(u64);

/// An order in which the slots can be set.
pub(super) struct Order<N> {
    /// For each slot in `slots`, the hash of the key that it is set for.
    hashes: Vec<u64>,
    /// The last one is set first.
    slots: Vec<N>,
}

/// An empty vector with room for `len` values, or an error where `Vec` would abort.
pub(super) fn try_with_room<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut vec = Vec::new();
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    vec.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    advise_huge_pages(vec.spare_capacity_mut());
    Ok(vec)
}

pub(in crate::filter) fn try_filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>, Error> {
    let mut vec = try_with_room(len)?;
    vec.resize(len, value);
    Ok(vec)
}

/// The seed of attempt `attempt`: `splitmix64(attempt)`.
pub(super) const fn seed(attempt: u32) -> u64 {
    crate::positions::splitmix64(attempt as u64)
}

/// The order in which the slots can be set, if there is one for these hashes.
pub(super) fn peel<N: Number>(
    hashes: &[u64],
    places: Places,
    num_slots: usize,
) -> Result<Option<Order<N>>, Error> {
    // For each slot: the number of keys that have it, and the exclusive or of their hashes.
    let mut counts = try_filled(0u8, num_slots)?;
    let mut xors = try_filled(0u64, num_slots)?;
    for &hash in hashes {
        for slot in places.slots(hash) {
            let slot = slot as usize;
            let Some(count) = counts[slot].checked_add(1) else { return Ok(None) };
            counts[slot] = count;
            xors[slot] ^= hash;
        }
    }
    let mut slots: Vec<N> = try_with_room(hashes.len())?;
    let mut single: Vec<N> = Vec::new();
    for start in 0..num_slots {
        if counts[start] != 1 {
            continue;
        }
        // Depth first from here: memory accesses stay local, and the stack short.
        let mut len = 1;
        room_for_two(&mut single, 0)?;
        single[0] = N::new(start);
        while len > 0 {
            len -= 1;
            let slot = single[len];
            let own = slot.get();
            if counts[own] != 1 {
                continue; // its last key was taken away through another slot
            }
            counts[own] = 0;
            slots.push(slot);
            room_for_two(&mut single, len)?;
            let hash = xors[own];
            for other in places.others(hash, own as u64) {
                let other = other as usize;
                counts[other] -= 1;
                xors[other] ^= hash;
                // Written always, and kept only then: which it is cannot be predicted.
                single[len] = N::new(other);
                len += usize::from(counts[other] == 1);
            }
        }
    }
    Ok((slots.len() == hashes.len()).then_some(Order { hashes: xors, slots }))
}

/// Makes room for two values after the first `len`.
#[inline(always)]
fn room_for_two<N: Number>(stack: &mut Vec<N>, len: usize) -> Result<(), Error> {
    if stack.len() < len + 2 {
        let more = len.max(64);
        let bytes = (len as u64 + more as u64) * size_of::<N>() as u64;
        stack.try_reserve(more).map_err(|_| Error::OutOfMemory { bytes })?;
        stack.resize(len + more, N::default());
    }
    Ok(())
}

/// Sets the slots: `set(hash, own)` must change only the slot `own`, so that the exclusive or of
/// the three slots of this hash becomes its fingerprint.
pub(super) fn assign<N: Number>(order: &Order<N>, mut set: impl FnMut(u64, usize)) {
    for &slot in order.slots.iter().rev() {
        set(order.hashes[slot.get()], slot.get());
    }
}
