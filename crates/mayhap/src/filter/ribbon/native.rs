//! The native form of a ribbon filter (`crates/mayhap/NATIVE-FORMAT.md`, kind ribbon).

use super::{RibbonFilter, RibbonParams};
use crate::bits::{Block, OwnedBlocks};
use crate::native::{Fields, Kind, Native, only_segment};
use crate::{DigestFunction, Error, FuseWidth};
use alloc::vec;
use alloc::vec::Vec;

impl RibbonParams {
    fn to_fields(&self) -> Fields {
        let [wide, narrow] = self.segments();
        let (bits, wider) = (self.width().bits().into(), self.width().wider().into());
        Fields {
            layout: 0,
            num_bits: self.num_bits(),
            num_hashes: 1,
            expected_items: self.items(),
            target_fpp: self.width().fpp(),
            inserted_items: self.items(),
            extra: [bits, wider, wide.len() as u64, self.rest(), 0, 0, 0],
            layers: wide.iter().chain(narrow).map(|&segments| [segments, 0, 0, 0]).collect(),
        }
    }

    fn from_fields(fields: &Fields) -> Result<Self, Error> {
        let [bits, wider, wide_layers, rest, ..] = fields.extra;
        let Ok(wider) = u32::try_from(wider) else {
            return Error::bad_field("wider share", wider);
        };
        let width = u32::try_from(bits).ok().and_then(|bits| FuseWidth::mixed(bits, wider));
        let Some(width) = width else {
            return Error::bad_field("width", bits);
        };
        let all: Vec<u64> = fields.layers.iter().map(|layer| layer[0]).collect();
        let split = usize::try_from(wide_layers).ok().and_then(|at| all.split_at_checked(at));
        let Some((wide, narrow)) = split else {
            return Error::bad_field("wide layers", wide_layers);
        };
        let segments = [wide.to_vec(), narrow.to_vec()];
        let params = Self::new(width, fields.inserted_items, segments, rest)?;
        fields.check_derived(&params.to_fields())?;
        fields.check_extra_is_zero(4)?;
        Ok(params)
    }
}

impl Native for RibbonFilter {
    const KIND: Kind = Kind::Ribbon;

    fn digest_function(&self) -> &DigestFunction {
        self.digest_function()
    }

    fn fields(&self) -> Fields {
        self.params.to_fields()
    }

    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        Ok(vec![RibbonParams::from_fields(fields)?.num_blocks()])
    }

    fn segments(&self) -> Vec<&[Block]> {
        vec![self.blocks.as_ref()]
    }

    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error> {
        Self::from_parts(
            RibbonParams::from_fields(fields)?,
            digest_function,
            only_segment(segments)?,
        )
    }
}
