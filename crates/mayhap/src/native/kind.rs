//! How every kind of filter is represented in a file and restored from one.

use crate::bits::{Block, OwnedBlocks};
use crate::{DigestFunction, Error, FilterParams};
use alloc::vec::Vec;

/// Bytes of a page of the body.
pub const PAGE_BYTES: usize = 4096;

/// The kinds of filters that files hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// [`crate::BloomFilter`], [`crate::BlockedBloomFilter`] or [`crate::AnyFilter`].
    Bloom = 1,
    /// [`crate::CountingBloomFilter`].
    Counting = 2,
    /// [`crate::ScalableBloomFilter`].
    Scalable = 3,
    /// [`crate::WindowBloomFilter`].
    Window = 4,
    /// [`crate::BloomMatrix`].
    Matrix = 5,
    /// [`crate::BinaryFuse`].
    Fuse = 6,
    /// [`crate::Segment`] of a Bloom filter.
    Segment = 7,
    /// [`crate::CompactFilter`].
    Compact = 8,
    /// [`crate::RibbonFilter`].
    Ribbon = 9,
}

impl Kind {
    /// The stable id that file headers carry.
    pub const fn id(self) -> u16 {
        self as u16
    }

    /// The kind with this id.
    pub const fn from_id(id: u16) -> Option<Self> {
        match id {
            1 => Some(Self::Bloom),
            2 => Some(Self::Counting),
            3 => Some(Self::Scalable),
            4 => Some(Self::Window),
            5 => Some(Self::Matrix),
            6 => Some(Self::Fuse),
            7 => Some(Self::Segment),
            8 => Some(Self::Compact),
            9 => Some(Self::Ribbon),
            _ => None,
        }
    }

    /// The stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
            Self::Counting => "counting",
            Self::Scalable => "scalable",
            Self::Window => "window",
            Self::Matrix => "matrix",
            Self::Fuse => "fuse",
            Self::Segment => "segment",
            Self::Compact => "compact",
            Self::Ribbon => "ribbon",
        }
    }
}

/// The largest number of entries in [`Fields::layers`]. With 59 there is no room for an identity,
/// and the file has version 2.
pub const MAX_LAYERS: usize = 59;

/// The fields of a header apart from version, digest, key options and checksums.
///
/// `crates/mayhap/NATIVE-FORMAT.md` defines their meaning for each kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Fields {
    /// The id of the [`crate::Layout`], 0 for kinds that have only one.
    pub layout: u16,
    /// m.
    pub num_bits: u64,
    /// k.
    pub num_hashes: u32,
    /// n.
    pub expected_items: u64,
    /// p.
    pub target_fpp: f64,
    /// Insertions that were new.
    pub inserted_items: u64,
    /// The kind's own numbers, 0 where unused.
    pub extra: [u64; 7],
    /// Four numbers for each layer of a chain or a ribbon filter, at most [`MAX_LAYERS`] layers.
    pub layers: Vec<[u64; 4]>,
}

impl Fields {
    /// The fields common to all kinds, with empty `extra` and `layers`.
    pub fn new(layout: u16, params: &FilterParams, inserted_items: u64) -> Self {
        Self {
            layout,
            num_bits: params.num_bits(),
            num_hashes: params.num_hashes(),
            expected_items: params.expected_items(),
            target_fpp: params.target_fpp(),
            inserted_items,
            extra: [0; 7],
            layers: Vec::new(),
        }
    }

    /// The fields as parameters of a plain Bloom filter.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for an unknown layout, or for `extra` numbers or layers, which a plain
    /// filter does not have; the errors of [`FilterParams::new`].
    pub fn bloom_params(&self) -> Result<FilterParams, Error> {
        let Some(layout) = crate::Layout::from_id(self.layout) else {
            return Error::bad_field("layout", self.layout.into());
        };
        self.check_extra_is_zero(0)?;
        self.check_no_layers()?;
        let (m, k, n) = (self.num_bits, self.num_hashes, self.expected_items);
        FilterParams::new(layout, m, k, n, self.target_fpp)
    }

    /// Checks that `extra` is 0 from `first` on.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`].
    pub fn check_extra_is_zero(&self, first: usize) -> Result<(), Error> {
        match self.extra[first..].iter().find(|&&number| number != 0) {
            None => Ok(()),
            Some(&found) => Error::bad_field("reserved", found),
        }
    }

    /// Checks that these are the numbers that follow from the parameters read from them.
    pub(crate) fn check_derived(&self, expected: &Self) -> Result<(), Error> {
        for (field, found, expected) in [
            ("layout", self.layout.into(), expected.layout.into()),
            ("num_bits", self.num_bits, expected.num_bits),
            ("num_hashes", self.num_hashes.into(), expected.num_hashes.into()),
            ("expected_items", self.expected_items, expected.expected_items),
            ("target_fpp", self.target_fpp.to_bits(), expected.target_fpp.to_bits()),
            ("layers", u64::from(self.layers != expected.layers), 0),
        ] {
            Error::check_field(found == expected, field, found)?;
        }
        Ok(())
    }

    pub(crate) fn check_no_layers(&self) -> Result<(), Error> {
        Error::check_field(self.layers.is_empty(), "layers", self.layers.len() as u64)
    }
}

/// A kind of filter that has a native form: a header and a body of one or more segments of blocks,
/// each padded with zeros to whole pages.
pub trait Native: Sized {
    /// The kind.
    const KIND: Kind;

    /// How keys become digests.
    fn digest_function(&self) -> &DigestFunction;

    /// The fields of the header.
    fn fields(&self) -> Fields;

    /// Checks every field and returns the number of blocks of each segment of the body.
    ///
    /// Never allocates a size that a forged header could choose.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] or a sizing error for values that no filter of this kind can have.
    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error>;

    /// The body, with the lengths of [`Native::segment_blocks`].
    fn segments(&self) -> Vec<&[Block]>;

    /// The filter with these fields and this body: it behaves like the one that was saved.
    ///
    /// # Errors
    ///
    /// Same as [`Native::segment_blocks`], and for contents that no filter of this kind can have.
    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error>;
}

/// The only segment of a kind whose body has one.
///
/// # Errors
///
/// [`Error::WrongLength`] if their number is not one.
pub(crate) fn only_segment(mut segments: Vec<OwnedBlocks>) -> Result<OwnedBlocks, Error> {
    let found = segments.len() as u64;
    match (segments.pop(), found) {
        (Some(segment), 1) => Ok(segment),
        _ => Err(Error::WrongLength { field: "segments", expected: 1, found }),
    }
}

/// The pages of a segment of `num_blocks` blocks; `None` if no file could have that many.
pub(super) fn segment_pages(num_blocks: u64) -> Option<u64> {
    num_blocks.checked_mul(Block::BYTES as u64).map(|bytes| bytes.div_ceil(PAGE_BYTES as u64))
}
