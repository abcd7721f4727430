//! The native form: the header has the numbers of the front buckets, the body all buckets and the
//! attic.

use super::CompactFilter;
use crate::bits::{Block, OwnedBlocks};
use crate::native::{Fields, Kind, Native, only_segment};
use crate::sizing::compact::CompactParams;
use crate::{DigestFunction, Error};
use alloc::vec;
use alloc::vec::Vec;

/// The place of F, the number of front buckets, in [`Fields::extra`].
const NUM_FRONTS: usize = 0;
/// The place of B, the runs of a front bucket.
const RUNS: usize = 1;
/// The place of r, the bits of a remainder there.
const REMAINDER_BITS: usize = 2;
/// The place of 1 for a filter that grows, else 0.
const GROWS: usize = 3;

fn params(fields: &Fields) -> Result<CompactParams, Error> {
    let field = |index: usize, name| match u32::try_from(fields.extra[index]) {
        Ok(value) => Ok(value),
        Err(_) => Error::bad_field(name, fields.extra[index]),
    };
    Error::check_field(fields.layout == 0, "layout", fields.layout.into())?;
    Error::check_field(fields.num_hashes == 0, "num_hashes", fields.num_hashes.into())?;
    Error::check_field(fields.extra[GROWS] <= 1, "grows", fields.extra[GROWS])?;
    fields.check_extra_is_zero(4)?;
    fields.check_no_layers()?;
    let (runs, bits) = (field(RUNS, "runs")?, field(REMAINDER_BITS, "remainder_bits")?);
    let (items, fpp) = (fields.expected_items, fields.target_fpp);
    let params = CompactParams::new(fields.extra[NUM_FRONTS], runs, bits, items, fpp)?;
    let num_bits = params.num_bytes().saturating_mul(8);
    Error::check_field(fields.num_bits == num_bits, "num_bits", fields.num_bits)?;
    Ok(params)
}

impl Native for CompactFilter {
    const KIND: Kind = Kind::Compact;

    fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    fn fields(&self) -> Fields {
        let params = &self.params;
        let mut extra = [0; 7];
        extra[NUM_FRONTS] = params.num_fronts();
        extra[RUNS] = params.runs().into();
        extra[REMAINDER_BITS] = params.remainder_bits().into();
        extra[GROWS] = self.grows().into();
        Fields {
            layout: 0,
            num_bits: params.num_bytes() * 8,
            num_hashes: 0,
            expected_items: params.expected_items(),
            target_fpp: params.target_fpp(),
            inserted_items: self.inserted_items,
            extra,
            layers: Vec::new(),
        }
    }

    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        Ok(vec![params(fields)?.num_bytes() / 64])
    }

    fn segments(&self) -> Vec<&[Block]> {
        vec![self.blocks.as_ref()]
    }

    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error> {
        let params = params(fields)?;
        let (stored, most) = (fields.inserted_items, params.expected_items());
        Error::check_field(stored <= most, "inserted_items", stored)?;
        let blocks = only_segment(segments)?;
        Error::check_length("body", params.num_bytes(), blocks.as_ref().len() as u64 * 64)?;
        let mut filter = Self::of_parts(params, digest_function, blocks, fields.inserted_items);
        filter.set_grows(fields.extra[GROWS] == 1);
        // Forged buckets would make removal and growth go astray; answers alone would not.
        Error::check_field(filter.is_sound(), "body", 0)?;
        Ok(filter)
    }
}
