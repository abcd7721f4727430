//! Segments: consecutive pages of a filter, each filled by itself and put together in a file.
//!
//! `cut.rs` determines the pages and digests of a segment, `native.rs` is its file.

mod cut;
mod native;

pub use cut::Segments;
pub use native::SegmentFields;

use crate::bits::{Block, OwnedBlocks, Storage};
use crate::layout::{Blocked, LayoutKind};
use crate::{Bitmap, Digest, DigestFunction, Error, FilterParams, positions, simd};
use core::ops::{Range, RangeInclusive};

/// The number of keys whose cache lines are requested together: one word of answers.
const GROUP: usize = 64;

/// Consecutive pages of the body of a `blocked` Bloom filter, in the memory of these alone.
///
/// Machines that each fill one segment build one filter together, whose file is the segments' pages
/// in order: [`Segments`] assigns digests to segments, and `mayhap_store::assemble` puts the files
/// together. The bits are the same as in the whole filter: block floor(d · B / 2^64) of B, less the
/// blocks before the segment (`crates/mayhap/NATIVE-FORMAT.md`, "Kind: segment").
///
/// An insertion or query touches one cache line.
///
/// # Examples
///
/// ```
/// use mayhap::{BlockedBloomFilter, Digest, DigestFunction, Segment, Segments};
/// let mut whole =
///     BlockedBloomFilter::builder().expected_items(10_000).target_fpp(0.01).build()?;
/// let (params, function) = (*whole.params(), DigestFunction::default());
/// let cut = Segments::new(&params, 2)?;
/// let half = |index| Segment::new(params, function, cut.pages(index)?);
/// let mut halves = [half(0)?, half(1)?];
/// for key in 0..10_000u64 {
///     let digest = function.digest(&key);
///     whole.insert_digest(digest);
///     halves[cut.index_of(digest) as usize].insert_digest(digest)?;
/// }
/// let together = [halves[0].blocks(), halves[1].blocks()].concat();
/// assert_eq!(together, whole.storage().as_ref());
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct Segment {
    layout: Blocked,
    params: FilterParams,
    digest_function: DigestFunction,
    pages: Range<u64>,
    place: Place,
    first_digest: Digest,
    last_digest: Digest,
    blocks: OwnedBlocks,
}

impl Segment {
    /// An empty segment with these pages of a filter with these parameters.
    ///
    /// # Errors
    ///
    /// [`Error::NoSegments`] for layouts other than `blocked`; [`Error::OutOfRange`] if there are
    /// no pages or not all of them are in the filter; [`Error::OutOfMemory`].
    pub fn new(
        params: FilterParams,
        digest_function: DigestFunction,
        pages: Range<u64>,
    ) -> Result<Self, Error> {
        cut::check_pages(&params, &pages)?;
        let blocks = cut::blocks_of(&params, &pages);
        let blocks = OwnedBlocks::zeroed(blocks.end - blocks.start)?;
        Ok(Self::of_parts(params, digest_function, pages, blocks))
    }

    /// Builds a segment from checked parts.
    fn of_parts(
        params: FilterParams,
        digest_function: DigestFunction,
        pages: Range<u64>,
        blocks: OwnedBlocks,
    ) -> Self {
        let (first_digest, last_digest) = cut::digests_of(&params, &pages).into_inner();
        let first_block = cut::blocks_of(&params, &pages).start;
        let place = Place { num_blocks: params.num_blocks(), first_block };
        let layout = Blocked::new(&params);
        Self { layout, params, digest_function, pages, place, first_digest, last_digest, blocks }
    }

    /// The parameters of the whole filter.
    pub const fn params(&self) -> &FilterParams {
        &self.params
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The pages of the whole filter's body that the segment has.
    pub fn pages(&self) -> Range<u64> {
        self.pages.clone()
    }

    /// The digests that belong to the segment.
    pub const fn digests(&self) -> RangeInclusive<Digest> {
        self.first_digest..=self.last_digest
    }

    /// The bytes of memory that the segment's bits take.
    pub fn num_bytes(&self) -> u64 {
        self.blocks.as_ref().len() as u64 * Block::BYTES as u64
    }

    /// The number of bits that are set. Reads every block.
    pub fn count_ones(&self) -> u64 {
        self.blocks.count_ones()
    }

    /// The bits.
    pub fn blocks(&self) -> &[Block] {
        self.blocks.as_ref()
    }

    /// Same as [`crate::Filter::insert_digest`].
    ///
    /// # Errors
    ///
    /// [`Error::OutsideSegment`] for a digest of another segment.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, Error> {
        self.check(digest)?;
        let index = self.place.index(digest);
        // Treat this block as a filter of its own, in which every digest maps to it.
        Ok(self.layout.insert(&mut self.blocks.as_mut()[index..=index], digest))
    }

    /// Same as [`crate::Filter::contains_digest`].
    ///
    /// # Errors
    ///
    /// Same as [`Segment::insert_digest`].
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> Result<bool, Error> {
        self.check(digest)?;
        let index = self.place.index(digest);
        Ok(self.layout.contains(&self.blocks.as_ref()[index..=index], digest))
    }

    /// Same as [`crate::Filter::insert_digests`].
    ///
    /// # Errors
    ///
    /// [`Error::OutsideSegment`] with the first digest of another segment; nothing is inserted
    /// then.
    pub fn insert_digests(&mut self, digests: &[Digest]) -> Result<Bitmap, Error> {
        let mut new = Bitmap::new();
        self.insert_digests_into(digests, &mut new)?;
        Ok(new)
    }

    /// Like [`Segment::insert_digests`], but into a reused bitmap.
    ///
    /// # Errors
    ///
    /// Same as [`Segment::insert_digests`].
    pub fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        self.check_all(digests)?;
        let (layout, place) = (self.layout, self.place);
        let (blocks, words) = (self.blocks.as_mut(), new.reset(digests.len()));
        place.for_each_group(
            &mut { blocks },
            |blocks| blocks,
            digests,
            words,
            |blocks, i, digest| layout.insert(&mut blocks[i..=i], digest),
        );
        Ok(())
    }

    /// Same as [`crate::Filter::contains_digests`].
    ///
    /// # Errors
    ///
    /// [`Error::OutsideSegment`] with the first digest of another segment.
    pub fn contains_digests(&self, digests: &[Digest]) -> Result<Bitmap, Error> {
        let mut found = Bitmap::new();
        self.contains_digests_into(digests, &mut found)?;
        Ok(found)
    }

    /// Like [`Segment::contains_digests`], but into a reused bitmap.
    ///
    /// # Errors
    ///
    /// Same as [`Segment::contains_digests`].
    pub fn contains_digests_into(
        &self,
        digests: &[Digest],
        found: &mut Bitmap,
    ) -> Result<(), Error> {
        self.check_all(digests)?;
        let words = found.reset(digests.len());
        self.place.for_each_group(
            &mut self.blocks.as_ref(),
            |blocks| blocks,
            digests,
            words,
            |blocks, i, digest| self.layout.contains(&blocks[i..=i], digest),
        );
        Ok(())
    }

    fn check(&self, digest: Digest) -> Result<(), Error> {
        if (self.first_digest..=self.last_digest).contains(&digest) {
            return Ok(());
        }
        let (first, last) = (self.first_digest.get(), self.last_digest.get());
        Err(Error::OutsideSegment { digest: digest.get(), first, last })
    }

    fn check_all(&self, digests: &[Digest]) -> Result<(), Error> {
        digests.iter().try_for_each(|&digest| self.check(digest))
    }
}

/// The place of a segment's blocks within the whole filter.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The number of blocks of the whole filter.
    num_blocks: u64,
    first_block: u64,
}

impl Place {
    /// The index of the block of a digest of the segment.
    #[inline(always)]
    const fn index(self, digest: Digest) -> usize {
        (positions::block(digest, self.num_blocks) - self.first_block) as usize
    }

    /// Sets bit `i` of `words` to `answer(blocks, index of the block, digests[i])`, with each
    /// group's cache lines requested one group earlier.
    #[inline(always)]
    fn for_each_group<B>(
        self,
        blocks: &mut B,
        view: impl Fn(&B) -> &[Block],
        digests: &[Digest],
        words: &mut [u64],
        answer: impl Fn(&mut B, usize, Digest) -> bool,
    ) {
        let fits_cache = simd::fits_cache(view(blocks).len());
        let prefetch = |blocks: &B, group: Option<&[Digest]>| {
            for &digest in group.filter(|_| !fits_cache).unwrap_or_default() {
                simd::prefetch(view(blocks), self.index(digest));
            }
        };
        let mut groups = digests.chunks(GROUP).peekable();
        prefetch(blocks, groups.peek().copied());
        for word in words {
            let group = groups.next().unwrap_or_default();
            prefetch(blocks, groups.peek().copied());
            for (bit, &digest) in group.iter().enumerate() {
                let found = answer(blocks, self.index(digest), digest);
                *word |= u64::from(found) << bit;
            }
        }
    }
}
