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

    /// For a mixed digest.
    #[inline(always)]
    fn probe(self, hash: u64) -> Probe {
        let slots = self.places.slots(hash);
        let mask = if slots[0] < self.wider_first { self.wider_mask } else { self.mask };
        let starts = slots.map(|slot| self.start(slot));
        Probe { starts, fingerprint: long_fingerprint(hash), mask }
    }

    #[inline(always)]
    pub(super) fn probe_digest(self, digest: u64, seed: u64) -> Probe {
        self.probe(mix(digest, seed))
    }

    /// Sets the slot `own`, which is 0, so that the exclusive or of the three slots of the key of
    /// this hash becomes its fingerprint.
    #[inline(always)]
    pub(super) fn set(self, blocks: &mut [Block], hash: u64, own: u64) {
        let probe = self.probe(hash);
        let value = probe.missing(blocks);
        let start = self.start(own);
        if cfg!(target_endian = "big") {
            let lanes: &mut [u64] = bytemuck::cast_slice_mut(blocks);
            let (lane, shift) = ((start / 64) as usize, start % 64);
            lanes[lane] |= value << shift;
            if let Some(next) = lanes.get_mut(lane + 1) {
                *next |= (value >> 1) >> (63 - shift);
            }
            return;
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(blocks);
        if let Some(eight) = bytes[(start / 8) as usize..].first_chunk_mut::<8>() {
            *eight = (u64::from_le_bytes(*eight) | value << (start % 8)).to_le_bytes();
        }
    }
}

impl Probe {
    /// The bits in which the exclusive or of the slots differs from the fingerprint.
    #[inline(always)]
    fn missing(self, blocks: &[Block]) -> u64 {
        let [a, b, c] = self.starts.map(|start| word(blocks, start));
        (a ^ b ^ c ^ self.fingerprint) & self.mask
    }

    #[inline(always)]
    pub(super) fn is_in(self, blocks: &[Block]) -> bool {
        self.missing(blocks) == 0
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
