//! The native form of a static filter (`crates/mayhap/NATIVE-FORMAT.md`, kind fuse).

use super::{BinaryFuse, FuseParams};
use crate::bits::{Block, OwnedBlocks};
use crate::native::{Fields, Kind, Native, only_segment};
use crate::sizing::fuse::FuseWidth;
use crate::{DigestFunction, Error};
use alloc::vec;
use alloc::vec::Vec;

/// The slots of a key.
const NUM_SLOTS: u32 = 3;

impl FuseParams {
    fn to_fields(self) -> Fields {
        let extra = [
            self.width().bits().into(),
            self.log2_segment_length().into(),
            self.segment_count(),
            self.seed(),
            self.width().wider().into(),
            0,
            0,
        ];
        Fields {
            layout: 0,
            num_bits: self.num_bits(),
            num_hashes: NUM_SLOTS,
            expected_items: self.items(),
            target_fpp: self.width().fpp(),
            inserted_items: self.items(),
            extra,
            layers: Vec::new(),
        }
    }

    fn from_fields(fields: &Fields) -> Result<Self, Error> {
        let [bits, log2_segment_length, segment_count, seed, wider, ..] = fields.extra;
        let Ok(wider) = u32::try_from(wider) else {
            return Error::bad_field("wider share", wider);
        };
        let width = u32::try_from(bits).ok().and_then(|bits| FuseWidth::mixed(bits, wider));
        let Some(width) = width else {
            return Error::bad_field("width", bits);
        };
        let Ok(log2_segment_length) = u32::try_from(log2_segment_length) else {
            return Error::bad_field("log2_segment_length", log2_segment_length);
        };
        let items = fields.inserted_items;
        let params = Self::new(width, items, seed, log2_segment_length, segment_count)?;
        fields.check_derived(&params.to_fields())?;
        fields.check_extra_is_zero(5)?;
        Ok(params)
    }
}

impl Native for BinaryFuse {
    const KIND: Kind = Kind::Fuse;

    fn digest_function(&self) -> &DigestFunction {
        self.digest_function()
    }

    fn fields(&self) -> Fields {
        self.params.to_fields()
    }

    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        Ok(vec![FuseParams::from_fields(fields)?.num_blocks()])
    }

    fn segments(&self) -> Vec<&[Block]> {
        vec![self.blocks.as_ref()]
    }

    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error> {
        Self::from_parts(FuseParams::from_fields(fields)?, digest_function, only_segment(segments)?)
    }
}
