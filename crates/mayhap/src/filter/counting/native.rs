//! The native form: the header has the numbers of the plain filter, the body the counters.

use super::{CountingBloomFilter, check_layout, num_blocks};
use crate::bits::{Block, OwnedBlocks};
use crate::native::{Fields, Kind, Native, only_segment};
use crate::{DigestFunction, Error};
use alloc::vec;
use alloc::vec::Vec;

impl Native for CountingBloomFilter {
    const KIND: Kind = Kind::Counting;

    fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    fn fields(&self) -> Fields {
        Fields::new(self.params.layout().id(), &self.params, self.inserted_items)
    }

    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        let params = fields.bloom_params()?;
        Error::check_field(check_layout(&params).is_ok(), "layout", fields.layout.into())?;
        Ok(vec![num_blocks(&params)])
    }

    fn segments(&self) -> Vec<&[Block]> {
        vec![self.blocks()]
    }

    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error> {
        let params = fields.bloom_params()?;
        Self::from_parts(params, digest_function, only_segment(segments)?, fields.inserted_items)
    }
}
