//! The native form of a segment (`crates/mayhap/NATIVE-FORMAT.md`, kind segment).

use super::{Segment, cut};
use crate::bits::{Block, OwnedBlocks};
use crate::native::{Fields, Kind, Native, only_segment};
use crate::{Digest, DigestFunction, Error, FilterParams};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Range, RangeInclusive};

/// The numbers of a segment's header.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentFields {
    /// The parameters of the whole filter.
    pub params: FilterParams,
    /// The pages of the whole filter's body that the segment has.
    pub pages: Range<u64>,
    /// The number of bits that are set.
    pub ones: u64,
}

impl SegmentFields {
    fn to_fields(&self) -> Fields {
        let Self { params, pages, ones } = self;
        let mut fields = Fields::new(params.layout().id(), params, 0);
        fields.extra[..3].copy_from_slice(&[pages.start, pages.end - pages.start, *ones]);
        fields
    }

    /// The digests that belong to the segment.
    pub fn digests(&self) -> RangeInclusive<Digest> {
        cut::digests_of(&self.params, &self.pages)
    }

    /// Reads the fields of a segment's header.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] or a sizing error for values that no segment can have.
    pub fn from_fields(fields: &Fields) -> Result<Self, Error> {
        let [first_page, num_pages, ones, ..] = fields.extra;
        fields.check_extra_is_zero(3)?;
        let params = Fields { extra: [0; 7], ..fields.clone() }.bloom_params()?;
        let Some(end) = first_page.checked_add(num_pages) else {
            return Error::bad_field("num_pages", num_pages);
        };
        let pages = first_page..end;
        cut::check_pages(&params, &pages)?;
        let blocks = cut::blocks_of(&params, &pages);
        let fits = ones <= (blocks.end - blocks.start) * Block::BITS;
        Error::check_field(fits, "ones", ones)?;
        let inserted = fields.inserted_items;
        Error::check_field(inserted == 0, "inserted_items", inserted)?;
        Ok(Self { params, pages, ones })
    }
}

impl Native for Segment {
    const KIND: Kind = Kind::Segment;

    fn digest_function(&self) -> &DigestFunction {
        self.digest_function()
    }

    fn fields(&self) -> Fields {
        let (params, pages, ones) = (*self.params(), self.pages(), self.count_ones());
        SegmentFields { params, pages, ones }.to_fields()
    }

    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        let SegmentFields { params, pages, .. } = SegmentFields::from_fields(fields)?;
        let blocks = cut::blocks_of(&params, &pages);
        Ok(vec![blocks.end - blocks.start])
    }

    fn segments(&self) -> Vec<&[Block]> {
        vec![self.blocks()]
    }

    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error> {
        let (blocks, segment) = (only_segment(segments)?, SegmentFields::from_fields(fields)?);
        let expected: u64 = Self::segment_blocks(fields)?.iter().sum();
        let found = blocks.as_ref().len() as u64;
        Error::check_length("body", expected * 64, found * 64)?;
        let read = Self::of_parts(segment.params, digest_function, segment.pages, blocks);
        Error::check_field(read.count_ones() == segment.ones, "ones", segment.ones)?;
        Ok(read)
    }
}
