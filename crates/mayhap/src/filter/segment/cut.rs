//! How a filter is cut into segments, and which digests belong to each.

use crate::bits::Block;
use crate::native::PAGE_BYTES;
use crate::{Digest, Error, FilterParams, Layout, positions};
use core::ops::{Range, RangeInclusive};

/// Blocks in a page of a file.
pub(super) const PAGE_BLOCKS: u64 = (PAGE_BYTES / Block::BYTES) as u64;

/// A filter cut evenly into segments: which pages and which digests belong to each.
///
/// Segment i of N has the pages from floor(i · P / N) to floor((i + 1) · P / N), of P pages of 4096
/// bytes. Since the block of a digest d in B blocks is floor(d · B / 2^64), the order of digests is
/// the order of blocks, and a segment has the digests of one range.
///
/// # Examples
///
/// ```
/// use mayhap::{Layout, Segments, sizing};
/// let params = sizing::for_items(Layout::Blocked, 1_000_000, 0.01)?;
/// let segments = Segments::new(&params, 4)?;
/// assert_eq!(segments.pages(1)?, 77..154);
/// let digests = segments.digests(1)?;
/// assert_eq!((segments.index_of(*digests.start()), segments.index_of(*digests.end())), (1, 1));
/// assert_eq!(segments.digests(2)?.start().get(), digests.end().get() + 1);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segments {
    params: FilterParams,
    count: u64,
}

impl Segments {
    /// A filter with these parameters, cut into `count` segments.
    ///
    /// # Errors
    ///
    /// [`Error::NoSegments`] for layouts other than `blocked`; [`Error::OutOfRange`] unless `count`
    /// is from 1 to the number of pages.
    pub fn new(params: &FilterParams, count: u64) -> Result<Self, Error> {
        Error::check_range("number of segments", 1..=num_pages(params)?, count)?;
        Ok(Self { params: *params, count })
    }

    /// The number of segments.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The pages of the segment with this index, counted from 0.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] unless `index` is below [`Segments::count`].
    pub fn pages(&self, index: u64) -> Result<Range<u64>, Error> {
        Error::check_range("segment", 0..=self.count - 1, index)?;
        Ok(self.first_page(index)..self.first_page(index + 1))
    }

    /// The digests of the segment with this index.
    ///
    /// # Errors
    ///
    /// Same as [`Segments::pages`].
    pub fn digests(&self, index: u64) -> Result<RangeInclusive<Digest>, Error> {
        Ok(digests_of(&self.params, &self.pages(index)?))
    }

    /// The index of the segment that has this digest.
    pub fn index_of(&self, digest: Digest) -> u64 {
        let page = positions::block(digest, self.params.num_blocks()) / PAGE_BLOCKS;
        // The first segment whose last page is this one or a later one: ceil((page + 1) · N / P) −
        // 1.
        let (count, pages) = (u128::from(self.count), u128::from(self.num_pages()));
        ((u128::from(page + 1) * count).div_ceil(pages) - 1) as u64
    }

    fn first_page(&self, index: u64) -> u64 {
        let pages = u128::from(self.num_pages());
        (u128::from(index) * pages / u128::from(self.count)) as u64
    }

    const fn num_pages(&self) -> u64 {
        self.params.num_blocks().div_ceil(PAGE_BLOCKS)
    }
}

/// The pages of a whole filter, if it can be cut.
pub(super) fn num_pages(params: &FilterParams) -> Result<u64, Error> {
    match params.layout() {
        Layout::Blocked => Ok(params.num_blocks().div_ceil(PAGE_BLOCKS)),
        layout => Err(Error::NoSegments { layout: layout.name() }),
    }
}

/// Checks that there are pages, and that all of them are in the filter.
pub(super) fn check_pages(params: &FilterParams, pages: &Range<u64>) -> Result<(), Error> {
    let last = num_pages(params)? - 1;
    Error::check_range("first page", 0..=last, pages.start)?;
    Error::check_range("last page", pages.start..=last, pages.end.saturating_sub(1))
}

/// The blocks of these pages; the last page may have fewer than 64.
pub(super) fn blocks_of(params: &FilterParams, pages: &Range<u64>) -> Range<u64> {
    pages.start * PAGE_BLOCKS..(pages.end * PAGE_BLOCKS).min(params.num_blocks())
}

/// The digests whose blocks are in these pages, of which there is at least one.
pub(super) fn digests_of(params: &FilterParams, pages: &Range<u64>) -> RangeInclusive<Digest> {
    let blocks = blocks_of(params, pages);
    // The smallest d with floor(d · B / 2^64) = block: ceil(block · 2^64 / B).
    let first = |block: u64| (u128::from(block) << 64).div_ceil(params.num_blocks().into());
    Digest::new(first(blocks.start) as u64)..=Digest::new((first(blocks.end) - 1) as u64)
}
