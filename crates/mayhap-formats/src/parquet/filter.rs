//! One filter: a header and a bit set, or the bit set alone.

use super::sizing::{BLOCK_BYTES, MAX_BYTES, SplitBlockSize};
use crate::filter::{answered_by, typed};
use crate::{
    Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, Reader, Scheme, SchemeFilter,
};
use std::convert::identity;
use xxhash_rust::xxh64::xxh64;

/// The bytes before and after the varint of a header: the latter are algorithm, hash and
/// compression, each a union whose first branch is an empty structure.
const HEADER_START: u8 = 0x15;
const HEADER_END: &[u8] = b"\x1C\x1C\0\0\x1C\x1C\0\0\x1C\x1C\0\0\0";
/// The largest size of a header.
pub(super) const MAX_HEADER_BYTES: usize = 1 + 5 + HEADER_END.len();

const SALTS: [u32; 8] = [
    0x47B6_137B,
    0x4497_4D91,
    0x8824_AD5B,
    0xA2B7_289D,
    0x7054_95C7,
    0x2DF1_424B,
    0x9EFC_4947,
    0x5C6B_FB31,
];

/// Key bytes → one bit in each of the eight words of one block: x = XXH64(key), block
/// `(x / 2^32) z / 2^32`, bit `(x · salt mod 2^32) / 2^27`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitBlockScheme {
    num_blocks: u64,
}

impl Scheme for SplitBlockScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        8
    }

    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        let hash = xxh64(key, 0);
        let mut word = (((hash >> 32) * self.num_blocks) >> 32) * 256;
        for salt in SALTS {
            if !each(word + u64::from((hash as u32).wrapping_mul(salt) >> 27)) {
                return;
            }
            word += 32;
        }
    }
}

/// A split-block filter of Parquet.
///
/// A query touches one block of 32 bytes, which is in one cache line if the bits are aligned. Keys
/// are the plain encoding of the column's type, without the length of a byte array: see [`KeyType`]
/// for numbers as text.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, Limits, SplitBlockFilter, SplitBlockSize};
///
/// let size = SplitBlockSize::PowerOfTwo;
/// let mut filter = SplitBlockFilter::create(1_000, 0.01, size, &Limits::default())?;
/// assert!(filter.insert_i64(42));
/// assert!(filter.contains_i64(42) && !filter.contains_i64(43) && !filter.contains_str("42"));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SplitBlockFilter {
    inner: SchemeFilter<SplitBlockScheme>,
    has_header: bool,
}

impl SplitBlockFilter {
    /// An empty filter with a rate of at most `target_fpp` once it has `items` distinct keys.
    ///
    /// # Errors
    ///
    /// The errors of [`SplitBlockSize::num_bytes`] and [`SplitBlockFilter::with_num_bytes`].
    pub fn create(
        items: u64,
        target_fpp: f64,
        size: SplitBlockSize,
        limits: &Limits,
    ) -> Result<Self, Error> {
        Self::with_num_bytes(size.num_bytes(items, target_fpp)?, limits)
    }

    /// An empty filter of this size; it is written with a header.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] unless a multiple of 32 from 32 to 128 MiB; [`Error::TooLarge`] by the
    /// limits, [`Error::OutOfMemory`].
    pub fn with_num_bytes(num_bytes: u64, limits: &Limits) -> Result<Self, Error> {
        check_num_bytes(num_bytes, num_bytes)?;
        Ok(Self::of(Bits::new(num_bytes * 8, limits)?, true))
    }

    fn of(bits: Bits, has_header: bool) -> Self {
        let scheme = SplitBlockScheme { num_blocks: bits.num_bits() / (BLOCK_BYTES * 8) };
        Self { inner: SchemeFilter { scheme, bits }, has_header }
    }

    /// Reads a header and its bit set, or a bare bit set if there is no header; it is written back
    /// in the same way. A bare bit set that begins like a header, or with `PAR1`, is rejected.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for a size that is not a multiple of 32 from 32 to 128 MiB, or for
    /// another algorithm, hash or compression; [`Error::Unsupported`] for a Parquet file, which
    /// [`crate::ParquetFile`] reads; [`Error::TooLarge`], [`Error::Truncated`] before anything is
    /// allocated; [`Error::TrailingBytes`], [`Error::OutOfMemory`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        // Even without its end: otherwise only the length of a bit set distinguishes them.
        if bytes.starts_with(b"PAR1") {
            return Err(Error::Unsupported {
                format: Format::Parquet.name(),
                operation: "querying the whole file",
                reason: "each column has filters of its own; name the column",
            });
        }
        let mut reader = Reader::new(bytes);
        let has_header = bytes.first() == Some(&HEADER_START) && !is_bare(bytes);
        let num_bytes = if has_header { read_header(&mut reader)? } else { bytes.len() as u64 };
        check_num_bytes(num_bytes, num_bytes)?;
        let bits = Bits::read_le_words(&mut reader, num_bytes * 8, limits)?;
        reader.finish()?;
        Ok(Self::of(bits, has_header))
    }

    /// The bits, without a header.
    pub fn to_bit_set(&self) -> Vec<u8> {
        self.inner.bits.to_lsb_bytes()
    }

    /// Bytes of the bits.
    pub(super) fn num_bytes(&self) -> u64 {
        self.inner.bits.num_bits() / 8
    }

    /// Whether any bit is set.
    pub(super) fn has_bits(&self) -> bool {
        self.inner.bits.words().iter().any(|&word| word != 0)
    }

    /// Whether it is written with a header.
    pub fn has_header(&self) -> bool {
        self.has_header
    }

    /// Turns the header on or off for writing.
    pub fn set_header(&mut self, has_header: bool) {
        self.has_header = has_header;
    }

    /// The number of blocks, z.
    pub fn num_blocks(&self) -> u64 {
        self.inner.scheme.num_blocks
    }

    typed! {
        contains_bytes, insert_bytes: &[u8], identity,
            "a value of BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY";
        contains_str, insert_str: &str, str::as_bytes, "a value of BYTE_ARRAY that holds text";
        contains_i32, insert_i32: i32, i32::to_le_bytes, "a value of INT32";
        contains_i64, insert_i64: i64, i64::to_le_bytes, "a value of INT64";
        contains_f32, insert_f32: f32, f32::to_le_bytes, "a value of FLOAT, where −0 is not 0";
        contains_f64, insert_f64: f64, f64::to_le_bytes, "a value of DOUBLE, where −0 is not 0";
    }

    /// Folds the filter to 1/`factor` of its size: to the one into which the same keys are inserted
    /// at that size.
    ///
    /// Block i becomes the OR of the blocks i · `factor` to (i + 1) · `factor` − 1, since the block
    /// of a key is a share of their number ([`mayhap::sizing::fold`] has the proof; of a hash, 32
    /// bits take part).
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] unless `factor` divides the number of blocks; nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{Limits, SplitBlockFilter};
    /// let mut filter = SplitBlockFilter::with_num_bytes(6 * 32, &Limits::default())?;
    /// filter.insert_i64(42);
    /// filter.fold(3)?;
    /// assert!(filter.num_blocks() == 2 && filter.contains_i64(42));
    /// assert!(filter.fold(5).is_err());
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn fold(&mut self, factor: u64) -> Result<(), Error> {
        let blocks = self.num_blocks();
        let divides = factor != 0 && blocks.is_multiple_of(factor);
        Error::check(divides, "factor", "a divisor of the number of blocks", factor)?;
        self.fold_by(factor);
        Ok(())
    }

    fn fold_by(&mut self, factor: u64) {
        self.inner.bits.fold_groups::<{ BLOCK_BYTES as usize / 8 }>(factor);
        self.inner.scheme.num_blocks /= factor;
    }

    /// Halves the number of blocks as long as the rate stays within `target_fpp`, as
    /// `fold_to_target_fpp` of the crate `parquet` (60.1) does, byte for byte; returns the factor.
    ///
    /// From the share f of set bits in all blocks the rate after k halvings is estimated as
    /// (1 − (1 − f)^(2^k))^8. An empty filter becomes as small as halving makes it.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{Limits, SplitBlockFilter};
    /// let mut filter = SplitBlockFilter::with_num_bytes(1 << 15, &Limits::default())?;
    /// (0..1_000).for_each(|key| { filter.insert_i64(key); });
    /// assert_eq!(filter.fold_to_target_fpp(0.01), 16);
    /// assert!(filter.num_blocks() == 64 && (0..1_000).all(|key| filter.contains_i64(key)));
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn fold_to_target_fpp(&mut self, target_fpp: f64) -> u64 {
        let fill = self.inner.bits.count_ones() as f64 / (self.num_blocks() as f64 * 256.0);
        let mut clear = 1.0 - fill;
        let mut factor = 1;
        while self.num_blocks().is_multiple_of(factor * 2) {
            clear *= clear;
            if (1.0 - clear).powi(8) > target_fpp {
                break;
            }
            factor *= 2;
        }
        self.fold_by(factor);
        factor
    }

    /// Adds the bits of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] for another size; nothing is changed then.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        self.inner.bits.union_with(&other.inner.bits)
    }
}

/// Whether bytes that begin like a header are still a bare bit set.
fn is_bare(bytes: &[u8]) -> bool {
    (bytes.len() as u64).is_multiple_of(BLOCK_BYTES)
        && read_header(&mut Reader::new(bytes)).is_err()
}

/// The number of bytes of the header at the start of these bytes and of its bit set; `None` if they
/// do not begin with a header.
pub(crate) fn header_and_bits(bytes: &[u8]) -> Option<u64> {
    let mut reader = Reader::new(bytes);
    let bits = read_header(&mut reader).ok()?;
    Some((bytes.len() - reader.left().len()) as u64 + bits)
}

/// Reads a header; returns the number of bytes in the bit set.
pub(super) fn read_header(reader: &mut Reader<'_>) -> Result<u64, Error> {
    let start = reader.u8("header")?;
    let found = format_args!("{start:#x}");
    Error::check(start == HEADER_START, "first byte of the header", "0x15", found)?;
    let (mut zigzag, mut shift) = (0u64, 0);
    loop {
        let byte = reader.u8("number of bytes")?;
        zigzag |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            // No writer pads the number, and it must be written back as it was read.
            if byte == 0 && shift > 7 || zigzag > u64::from(u32::MAX) {
                return Err(Error::bad("number of bytes", "a number of 32 bits", zigzag));
            }
            break;
        }
        if shift > 28 {
            return Err(Error::bad("number of bytes", "a number of 32 bits", zigzag));
        }
    }
    let num_bytes = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
    let num_bytes = check_num_bytes(u64::try_from(num_bytes).unwrap_or(0), num_bytes)?;
    let end = reader.take("header", HEADER_END.len() as u64)?;
    let allowed = "split block, XXH64 and no compression";
    Error::check(end == HEADER_END, "algorithm, hash or compression", allowed, "another one")?;
    Ok(num_bytes)
}

fn check_num_bytes(num_bytes: u64, found: impl std::fmt::Display) -> Result<u64, Error> {
    let fits = num_bytes.is_multiple_of(BLOCK_BYTES);
    let fits = fits && (BLOCK_BYTES..=MAX_BYTES).contains(&num_bytes);
    Error::check(fits, "number of bytes", "a multiple of 32 from 32 to 134217728", found)?;
    Ok(num_bytes)
}

fn header(num_bytes: u64) -> Vec<u8> {
    let mut out = vec![HEADER_START];
    let mut zigzag = num_bytes * 2;
    while zigzag >= 0x80 {
        out.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    out.push(zigzag as u8);
    out.extend(HEADER_END);
    out
}

impl ForeignFilter for SplitBlockFilter {
    answered_by!(inner: insert, union_with, estimated_items);

    fn format(&self) -> Format {
        Format::Parquet
    }

    fn key_types(&self) -> &'static [KeyType] {
        use KeyType::{Bytes, Double, Float, Hex, Int, Long};
        &[Bytes, Int, Long, Float, Double, Hex]
    }

    /// The mean over the blocks of the product of the shares of set bits in their words.
    fn estimated_fpp(&self) -> f64 {
        let lane = |half: u32| f64::from(half.count_ones()) / 32.0;
        let pair = |word: &u64| lane(*word as u32) * lane((word >> 32) as u32);
        let blocks = self.inner.bits.words().chunks_exact(4);
        blocks.map(|block| block.iter().map(pair).product::<f64>()).sum::<f64>()
            / self.num_blocks() as f64
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::new("num_blocks", self.num_blocks())]
    }

    fn encode(&self) -> Vec<u8> {
        let bit_set = self.to_bit_set();
        let mut out = if self.has_header { header(bit_set.len() as u64) } else { Vec::new() };
        out.extend(bit_set);
        out
    }
}
