//! The parameters of a static filter, checked once.

use crate::sizing::MAX_NUM_BITS;
use crate::sizing::fuse::{FuseWidth, MAX_LOG2_SEGMENT, SPARE_BITS, Segments};
use crate::{Block, Error};

/// The parameters of a [`crate::BinaryFuse`] apart from its fingerprints: width, number of keys,
/// seed, segments.
///
/// Always consistent: it is only created by building a filter and by [`FuseParams::new`], which
/// rejects values that no filter can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuseParams {
    width: FuseWidth,
    items: u64,
    seed: u64,
    segments: Segments,
}

impl FuseParams {
    /// Checks the values and stores them unchanged.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] unless `log2_segment_length` is at most 18, `segment_count` is at
    /// least 1 and there are as many slots as items; [`Error::TooLarge`] above [`MAX_NUM_BITS`].
    pub fn new(
        width: FuseWidth,
        items: u64,
        seed: u64,
        log2_segment_length: u32,
        segment_count: u64,
    ) -> Result<Self, Error> {
        let max_log2 = MAX_LOG2_SEGMENT.into();
        Error::check_range("log2_segment_length", 0..=max_log2, log2_segment_length.into())?;
        let segments = Segments { log2_length: log2_segment_length, count: segment_count };
        let widest = width.bits() + u32::from(width.wider() > 0);
        let max_slots = (MAX_NUM_BITS - SPARE_BITS) / u64::from(widest);
        let max_count = (max_slots >> log2_segment_length) - 2;
        Error::check_range("segment_count", 1..=max_count, segment_count)?;
        Error::check_range("items", 0..=segments.num_slots(), items)?;
        Ok(Self { width, items, seed, segments })
    }

    /// The width of the fingerprints.
    pub const fn width(&self) -> FuseWidth {
        self.width
    }

    /// The bits of a fingerprint on average over the keys.
    pub fn mean_bits(&self) -> f64 {
        let wider = self.segments.wider(self.width) as f64 / self.segments.count as f64;
        f64::from(self.width.bits()) + wider
    }

    /// The number of distinct keys.
    pub const fn items(&self) -> u64 {
        self.items
    }

    /// The seed under which the fingerprints were found.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The length of a segment in slots, as a power of two.
    pub const fn log2_segment_length(&self) -> u32 {
        self.segments.log2_length
    }

    /// The number of segments less two.
    pub const fn segment_count(&self) -> u64 {
        self.segments.count
    }

    /// The number of slots: (c + 2) · 2^s.
    pub const fn num_slots(&self) -> u64 {
        self.segments.num_slots()
    }

    /// The bits of all slots, and 64 more if they are not whole bytes.
    pub const fn num_bits(&self) -> u64 {
        self.segments.num_bits(self.width)
    }

    /// The slots in memory and in files, in 64-byte blocks.
    pub const fn num_blocks(&self) -> u64 {
        self.num_bits().div_ceil(Block::BITS)
    }

    /// Bytes of memory: 64 · `num_blocks`.
    pub const fn num_bytes(&self) -> u64 {
        self.num_blocks() * 64
    }

    /// The false-positive probability: [`crate::sizing::fuse::expected_fpp`].
    pub fn expected_fpp(&self) -> f64 {
        self.segments.expected_fpp(self.width, self.items)
    }

    /// The bits of all slots.
    pub(super) const fn slot_bits(&self) -> u64 {
        self.segments.slot_bits(self.width)
    }

    pub(super) const fn segments(&self) -> Segments {
        self.segments
    }
}
