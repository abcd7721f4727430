//! The native form: the header's numbers are those of the plain filter, the body is the counters.

use super::{CountingBloomFilter, check_layout, num_blocks};
use crate::bits::{Block, OwnedBlocks};
use crate::native::kind::only_segment;
use crate::native::{Fields, Kind, Native};
use crate::{DigestFunction, Error, Layout};
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
        if !matches!(params.layout(), Layout::Blocked128 | Layout::Blocked64) {
            return Err(Error::BadField { field: "layout", found: fields.layout.into() });
        }
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
        check_layout(&params)?;
        let blocks = only_segment(segments)?;
        Self::from_parts(params, digest_function, blocks, fields.inserted_items)
    }
}
