//! Slots of any number of bits, one after the other without a gap.
//!
//! The filter has 64 bits more than the slots, so eight bytes can be loaded wherever one begins: 57
//! bits of the right ones, and a slot has 32 at most.

use super::slots::{Places, long_fingerprint, mix};
use crate::bits::{Block, block};
use crate::simd::prefetch;
use crate::sizing::fuse::{FuseWidth, Segments};

/// The places of slots among the bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed {
    places: Places,
    bits: u64,
    mask: u64,
    wider_mask: u64,
    /// Slots below have one bit more.
    wider_slots: u64,
    /// Keys whose first slot is below have one bit more: all three of their slots have it.
    wider_first: u64,
}

/// The values computed for a key: the bits at which its slots begin, its fingerprint, and which
/// bits of it count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Probe {
    starts: [u64; 3],
    fingerprint: u64,
    mask: u64,
}

impl Packed {
    pub(super) const fn new(width: FuseWidth, segments: Segments) -> Self {
        Self {
            places: Places::new(segments),
            bits: width.bits() as u64,
            mask: (1 << width.bits()) - 1,
            wider_mask: (2 << width.bits()) - 1,
            wider_slots: segments.wider_slots(width),
            wider_first: segments.wider(width) << segments.log2_length,
        }
    }

    #[inline(always)]
    fn start(self, slot: u64) -> u64 {
        slot * self.bits + slot.min(self.wider_slots)
    }

    #[inline(always)]
    pub(super) fn probe(self, digest: u64, seed: u64) -> Probe {
        let hash = mix(digest, seed);
        let slots = self.places.slots(hash);
        let mask = if slots[0] < self.wider_first { self.wider_mask } else { self.mask };
        let starts = slots.map(|slot| self.start(slot));
        Probe { starts, fingerprint: long_fingerprint(hash), mask }
    }

    /// Writes the slots one after the other: the low bits of these values, which begin with those
    /// of the first slot.
    pub(super) fn pack<V: Copy + Into<u64>>(self, values: &[V], blocks: &mut [Block]) {
        let lanes = block::words_mut(blocks);
        let wider = usize::try_from(self.wider_slots).unwrap_or(usize::MAX).min(values.len());
        let (wide, narrow) = values.split_at(wider);
        let (mut at, mut lane, mut filled) = (0, 0u64, 0);
        for (values, bits, mask) in
            [(wide, self.bits + 1, self.wider_mask), (narrow, self.bits, self.mask)]
        {
            for &value in values {
                let value = value.into() & mask;
                lane |= value << filled;
                filled += bits;
                if filled >= 64 {
                    lanes[at] = lane;
                    at += 1;
                    filled -= 64;
                    lane = value >> (bits - filled);
                }
            }
        }
        // There are bits to spare, so there is a lane for the rest.
        lanes[at] = lane;
    }
}

impl Probe {
    #[inline(always)]
    pub(super) fn is_in(self, blocks: &[Block]) -> bool {
        let [a, b, c] = self.starts.map(|start| word(blocks, start));
        (a ^ b ^ c ^ self.fingerprint) & self.mask == 0
    }

    /// Requests the cache lines in which the slots begin.
    #[inline(always)]
    pub(super) fn request(self, blocks: &[Block]) {
        let bytes: &[u8] = bytemuck::cast_slice(blocks);
        self.starts.iter().for_each(|&start| prefetch(bytes, (start / 8) as usize));
    }
}

/// The bits from `start` on: at least 57.
#[inline(always)]
fn word(blocks: &[Block], start: u64) -> u64 {
    if cfg!(target_endian = "big") {
        let lanes = block::words(blocks);
        let (lane, shift) = ((start / 64) as usize, start % 64);
        let next = lanes.get(lane + 1).map_or(0, |next| (next << 1) << (63 - shift));
        return lanes[lane] >> shift | next;
    }
    let bytes: &[u8] = bytemuck::cast_slice(blocks);
    let eight = bytes[(start / 8) as usize..].first_chunk().copied().unwrap_or_default();
    u64::from_le_bytes(eight) >> (start % 8)
}
