//! DCSO's `bloom`: the Go library and command line, and the Python library `flor`.
//!
//! All numbers little-endian; the whole file may be compressed with gzip:
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 8 | u64 | flags: the version in the low byte, the rest ignored | low byte 1 |
//! | 8 | 8 | u64 | n, the number of keys it was sized for | any |
//! | 16 | 8 | f64 | target p | above 0 and below 1 |
//! | 24 | 8 | u64 | k | `ceil(m ln 2 / n)` |
//! | 32 | 8 | u64 | m | `ceil(n ln p / (ln 2)^2)` without its sign |
//! | 40 | 8 | u64 | N, additions that changed a bit; a union adds both counts | any |
//! | 48 | 8 ceil(m / 64) | u64 words | bit i is bit `i % 64` of word `i / 64` | zeros from m on |
//! | then | rest | bytes | data attached by the user | any |
//!
//! Read from and checked against `bloom` 0.2.4 and `flor` 1.1.3. Files of 0.1.0 (2017) have
//! different fields and are rejected, as by 0.2. k = 0, which answers yes to every query, is
//! rejected.

use crate::error::same;
use crate::filter::answered_by;
use crate::limits::{check_fpp, not_zero, try_room};
use crate::modulo::Modulo;
use crate::scheme::items_by_bits;
use crate::{Bits, Error, Fact, ForeignFilter, Format, Limits, Reader, Scheme, SchemeFilter};
use flate2::Compression;
use flate2::read::{GzEncoder, MultiGzDecoder};
use std::io::Read;

/// The prime modulus of hashes, 2^64 − 59.
const PRIME: u64 = 18_446_744_073_709_551_557;
/// The multiplier from one position to the next.
const GENERATOR: u64 = 18_446_744_073_709_550_147;

/// Key bytes → positions: `h = FNV-1(key) mod P`; k times `h = (h g mod 2^64) mod P`, `h mod m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DcsoScheme {
    num_hashes: u32,
    num_bits: Modulo,
}

impl Scheme for DcsoScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.num_hashes
    }

    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        // FNV-1, which multiplies first; not FNV-1a.
        let hash = key.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, &byte| {
            hash.wrapping_mul(0x0000_0100_0000_01B3) ^ u64::from(byte)
        });
        let reduced = |hash: u64| if hash >= PRIME { hash - PRIME } else { hash };
        let mut hash = reduced(hash);
        for _ in 0..self.num_hashes {
            hash = reduced(hash.wrapping_mul(GENERATOR));
            if !each(self.num_bits.of(hash)) {
                return;
            }
        }
    }
}

/// A Bloom filter of DCSO's `bloom`.
///
/// A query touches up to k cache lines.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{DcsoFilter, ForeignFilter, Limits};
///
/// let mut filter = DcsoFilter::create(1_000, 0.01, &Limits::default())?;
/// assert!(filter.insert(b"hello")?);
/// assert!(filter.contains(b"hello") && !filter.contains(b"bye"));
/// assert_eq!((filter.num_bits(), filter.num_hashes(), filter.num_items()), (9_585, 7, 1));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DcsoFilter {
    inner: SchemeFilter<DcsoScheme>,
    flags: u64,
    capacity: u64,
    target_fpp: f64,
    num_items: u64,
    data: Vec<u8>,
    compressed: bool,
    as_read: AsRead,
}

const HEADER_BYTES: u64 = 48;
/// Attached data larger than this is read only from uncompressed files.
const MAX_COMPRESSED_DATA: u64 = 64 << 20;

/// A compressed file as it was read: gzip has many encodings, and an unchanged filter is written
/// back in its own. Not part of the filter's value.
#[derive(Debug, Clone, Default)]
struct AsRead(Vec<u8>);

impl PartialEq for AsRead {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl DcsoFilter {
    /// An empty filter of the size chosen by `bloom create -n capacity -p target_fpp`: `m = |ceil(n
    /// ln p / (ln 2)^2)|`, `k = ceil(m ln 2 / n)`.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] for a capacity of 0, or of 1 with a p so high that m is 0,
    /// [`Error::BadField`] for a p outside (0, 1), [`Error::TooLarge`] by the limits,
    /// [`Error::OutOfMemory`].
    pub fn create(capacity: u64, target_fpp: f64, limits: &Limits) -> Result<Self, Error> {
        not_zero("capacity", capacity)?;
        check_fpp("p", target_fpp)?;
        let (num_bits, num_hashes) = sizes(capacity, target_fpp);
        let bits = Bits::new(num_bits, limits)?;
        let num_hashes = limits.check_hashes("number of hash functions", num_hashes)?;
        Ok(Self::of(1, (capacity, target_fpp, 0), num_hashes, bits))
    }

    fn of(flags: u64, numbers: (u64, f64, u64), num_hashes: u32, bits: Bits) -> Self {
        let (capacity, target_fpp, num_items) = numbers;
        let scheme = DcsoScheme { num_hashes, num_bits: Modulo::new(bits.num_bits()) };
        let inner = SchemeFilter { scheme, bits };
        let (data, as_read) = (Vec::new(), AsRead::default());
        Self { inner, flags, capacity, target_fpp, num_items, data, compressed: false, as_read }
    }

    /// Reads a file, compressed or not; it is written back in the same way.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for another version or a p that is not a probability; [`Error::Zero`],
    /// [`Error::TooLarge`], [`Error::Truncated`] before anything is allocated; [`Error::Io`] for
    /// damaged gzip; [`Error::OutOfMemory`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        if !bytes.starts_with(&[0x1F, 0x8B]) {
            return Self::decode_plain(bytes, limits);
        }
        let filter = Self::decode_plain(&gunzip(bytes, limits)?, limits)?;
        Ok(Self { compressed: true, as_read: AsRead(bytes.to_vec()), ..filter })
    }

    /// Reads an uncompressed file, without a gzip decoder: for callers that have unpacked it.
    ///
    /// # Errors
    ///
    /// The errors of [`DcsoFilter::decode`], except for damaged gzip.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{DcsoFilter, ForeignFilter, Limits};
    ///
    /// let mut filter = DcsoFilter::create(1_000, 0.01, &Limits::default())?;
    /// filter.insert(b"hello")?;
    /// let copy = DcsoFilter::decode_plain(&filter.encode(), &Limits::default())?;
    /// assert!(copy.contains(b"hello") && !copy.contains(b"bye"));
    /// assert!(DcsoFilter::decode_plain(&[0x1F, 0x8B, 8], &Limits::default()).is_err());
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn decode_plain(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let head = Head::read(&mut reader, limits)?;
        let bits = Bits::read_le_words(&mut reader, head.num_bits, limits)?;
        let numbers = (head.capacity, head.target_fpp, head.num_items);
        let mut filter = Self::of(head.flags, numbers, head.num_hashes, bits);
        filter.set_data(reader.left())?;
        Ok(filter)
    }

    /// The number of keys that it was sized for, n.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The rate that it was sized for, p.
    pub fn target_fpp(&self) -> f64 {
        self.target_fpp
    }

    /// N: additions that changed a bit. A union adds both counts, even for common keys.
    pub fn num_items(&self) -> u64 {
        self.num_items
    }

    /// The data attached by the user: `bloom get-data`.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Attaches data: `bloom set-data`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn set_data(&mut self, data: &[u8]) -> Result<(), Error> {
        let mut copy = try_room(data.len() as u64)?;
        copy.extend_from_slice(data);
        self.data = copy;
        Ok(())
    }

    /// Whether the file is compressed with gzip.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// Turns gzip on or off for writing. As long as the filter is unchanged, the compressed bytes
    /// are the ones that were read; after that they differ from Go's, but their contents do not.
    pub fn set_compressed(&mut self, compressed: bool) {
        self.compressed = compressed;
    }

    /// `bloom join`: adds the bits of `other` and its N. The attached data stays.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless n, p, k and m are equal; nothing is changed then.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("capacity", &self.capacity, &other.capacity)?;
        same("p", &self.target_fpp, &other.target_fpp)?;
        same("number of hash functions", &self.num_hashes(), &other.num_hashes())?;
        self.inner.bits.union_with(&other.inner.bits)?;
        self.num_items = self.num_items.wrapping_add(other.num_items);
        Ok(())
    }

    /// N, unless the bits contradict it: a union adds both counts, even for common keys.
    fn items_by_bits(&self) -> u64 {
        items_by_bits(self.num_items, self.inner.fill_items())
    }

    fn encode_plain(&self) -> Vec<u8> {
        let bits = &self.inner.bits;
        let mut out = Vec::with_capacity(48 + bits.words().len() * 8 + self.data.len());
        out.extend(self.flags.to_le_bytes());
        out.extend(self.capacity.to_le_bytes());
        out.extend(self.target_fpp.to_le_bytes());
        out.extend(u64::from(self.num_hashes()).to_le_bytes());
        out.extend(bits.num_bits().to_le_bytes());
        out.extend(self.num_items.to_le_bytes());
        bits.write_le_words(&mut out);
        out.extend(&self.data);
        out
    }
}

/// m and k from n and p.
fn sizes(capacity: u64, target_fpp: f64) -> (u64, u64) {
    let n = capacity as f64;
    let ln_2 = std::f64::consts::LN_2;
    let m = (n * libm::log(target_fpp) / (ln_2 * ln_2)).ceil().abs();
    (m as u64, (ln_2 * m / n).ceil() as u64)
}

/// The six numbers before the bits.
struct Head {
    flags: u64,
    capacity: u64,
    target_fpp: f64,
    num_hashes: u32,
    num_bits: u64,
    num_items: u64,
}

impl Head {
    fn read(reader: &mut Reader<'_>, limits: &Limits) -> Result<Self, Error> {
        let flags = reader.u64_le("flags")?;
        Error::check(flags & 0xFF == 1, "version", "1", flags & 0xFF)?;
        let capacity = reader.u64_le("capacity")?;
        let target_fpp = check_fpp("p", reader.f64_le("p")?)?;
        let num_hashes = reader.u64_le("number of hash functions")?;
        let num_hashes = limits.check_hashes("number of hash functions", num_hashes)?;
        let num_bits = reader.u64_le("number of bits")?;
        limits.check_bits("number of bits", num_bits)?;
        let (bits, hashes) = sizes(capacity, target_fpp);
        // The original leaves the other bits of the flags 0; a writer that sets them may round
        // differently.
        let rounded = if flags == 1 { bits } else { bits.saturating_add(1) };
        Error::check_twice("number of bits", num_bits, [bits, rounded])?;
        Error::check_twice("number of hash functions", u64::from(num_hashes), [hashes])?;
        let num_items = reader.u64_le("number of elements")?;
        Ok(Self { flags, capacity, target_fpp, num_hashes, num_bits, num_items })
    }
}

/// Decompresses the header, then at most the bits that it declares, which are within the limits,
/// and as much data as is allowed.
fn gunzip(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut reader = MultiGzDecoder::new(bytes);
    let mut out = Vec::new();
    reader.by_ref().take(HEADER_BYTES).read_to_end(&mut out)?;
    let num_bits = Head::read(&mut Reader::new(&out), limits)?.num_bits;
    let data = limits.max_bytes.min(MAX_COMPRESSED_DATA);
    let limit = HEADER_BYTES + num_bits.div_ceil(64) * 8 + data + 1;
    reader.take(limit - HEADER_BYTES).read_to_end(&mut out)?;
    Error::check_limit("decompressed size", limit - 1, out.len() as u64)?;
    Ok(out)
}

impl ForeignFilter for DcsoFilter {
    answered_by!(inner: key_types, union_with, estimated_fpp);

    fn format(&self) -> Format {
        Format::Dcso
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        let new = self.inner.insert(key);
        self.num_items = self.num_items.wrapping_add(u64::from(new));
        Ok(new)
    }

    fn estimated_items(&self) -> Option<u64> {
        Some(self.items_by_bits())
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact::new("capacity", self.capacity),
            Fact::new("target_fpp", self.target_fpp),
            Fact::new("data_bytes", self.data.len()),
            Fact::new("compressed", self.compressed),
        ]
    }

    fn encode(&self) -> Vec<u8> {
        let plain = self.encode_plain();
        if !self.compressed {
            return plain;
        }
        let AsRead(read) = &self.as_read;
        let most = plain.len() as u64 + 1;
        let mut before = Vec::new();
        let unpacked = MultiGzDecoder::new(read.as_slice()).take(most).read_to_end(&mut before);
        if !read.is_empty() && unpacked.is_ok() && before == plain {
            return read.clone();
        }
        let mut out = Vec::new();
        let mut encoder = GzEncoder::new(plain.as_slice(), Compression::default());
        match encoder.read_to_end(&mut out) {
            Ok(_) => out,
            // Reading from memory does not fail.
            Err(_) => plain,
        }
    }
}
