//! Detection of formats.

use crate::{Format, bits_and_blooms, parquet, pybloomfiltermmap, redisbloom};
use flate2::read::GzDecoder;
use std::io::Read;

/// A format that bytes may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The format.
    pub format: Format,
    /// Its form.
    pub form: &'static str,
    /// The information that the bytes lack and the caller must supply.
    pub missing: &'static str,
}

/// The formats that bytes may have, judging by their first bytes and exact length; the most likely
/// first. Only a few bytes are read, so the rest may still be wrong.
///
/// Bare bitmaps (`MagnusS`, Redis, Redisson) have no mark and are never among them; nor are files
/// of `rbloom`, where only a small number at the beginning could be tested, and files of older
/// releases that look like files of newer ones.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{Format, detect};
///
/// let bytes = [1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 32];
/// assert_eq!(detect(&bytes)[0].format, Format::Guava);
/// assert!(detect(b"something else").is_empty());
/// ```
pub fn detect(bytes: &[u8]) -> Vec<Candidate> {
    detect_start(bytes, Some(bytes.len() as u64))
}

/// Like [`detect()`], for a file whose beginning and total length alone are available; without its
/// length only formats with a mark are found. A few KiB are enough.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{Format, detect_start};
///
/// // Guava's header declares 1,000 longs.
/// let start = [1, 5, 0, 0, 3, 232, 0, 0];
/// assert_eq!(detect_start(&start, Some(6 + 8000))[0].format, Format::Guava);
/// assert!(detect_start(&start, Some(6 + 8001)).is_empty());
/// assert!(detect_start(&start, None).is_empty());
/// ```
pub fn detect_start(start: &[u8], file_bytes: Option<u64>) -> Vec<Candidate> {
    const JAVA: &str = "Java serialization";
    const WRITE_TO: &str = "writeTo stream";
    const LONGS_OR_TEXT: &str = "whether longs or text are in it";
    const TESTS: &[(Test, Format, &str, &str)] = &[
        (is_bloomfileter, Format::BloomFileter, JAVA, "nothing"),
        (is_serialized_guava, Format::Guava, JAVA, "nothing"),
        (is_serialized_spark, Format::Spark, JAVA, LONGS_OR_TEXT),
        (is_serialized_magnuss, Format::MagnusS, JAVA, "nothing"),
        (is_parquet_file, Format::Parquet, "Parquet file", "the column"),
        (is_redisbloom, Format::RedisBloom, "chunks of BF.SCANDUMP", "nothing"),
        (is_pybloomfiltermmap, Format::PyBloomFilterMmap, "mapped file", "nothing"),
        (|it| bits_and_blooms::is_json(it.bytes), Format::BitsAndBlooms, "JSON", "nothing"),
        (|it| bits_and_blooms::is_gob(it.bytes), Format::BitsAndBlooms, "gob", "nothing"),
        (is_split_block, Format::Parquet, "header and bit set", "the type of the column"),
        (is_guava, Format::Guava, WRITE_TO, "the funnel"),
        (is_spark, Format::Spark, WRITE_TO, LONGS_OR_TEXT),
        (is_bits_and_blooms, Format::BitsAndBlooms, "binary", "nothing"),
        (is_dcso, Format::Dcso, "plain", "nothing"),
        (is_gzip_of_dcso, Format::Dcso, "gzip", "nothing"),
        (is_pybloom_live, Format::PyBloomLive4, "tofile", "the release"),
        (is_pybloom_live, Format::PyBloomLive3, "tofile", "the release"),
    ];
    let start = &Start { bytes: start, file_bytes };
    let found = TESTS.iter().filter(|(test, ..)| test(start));
    found.map(|&(_, format, form, missing)| Candidate { format, form, missing }).collect()
}

/// The name of a recognised kind of file from which no filter is read; `None` for anything else.
///
/// # Examples
///
/// ```
/// // A filter of poppy without keys: version 2, a capacity of 100, 1 %.
/// let mut bytes = [2, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0].to_vec();
/// bytes.extend(0.01f64.to_le_bytes());
/// bytes.extend(7u64.to_le_bytes());
/// bytes.resize(4_152, 0);
/// assert_eq!(mayhap_formats::unread(&bytes), Some("poppy 2"));
/// assert_eq!(mayhap_formats::unread(&[2, 0, 0, 0, 0, 0, 0, 0, 9]), None);
/// ```
pub fn unread(bytes: &[u8]) -> Option<&'static str> {
    if is_scalable_pybloom(bytes) {
        return Some("a ScalableBloomFilter of pybloom_live");
    }
    is_poppy2(bytes).then_some("poppy 2")
}

/// Flags with version 2, n, p and k, and buckets of 4 KiB after 56 bytes.
fn is_poppy2(bytes: &[u8]) -> bool {
    let number = |i: usize| u64_le(bytes, i * 8);
    let (Some(flags), Some(n), Some(fpp)) = (number(0), number(1), number(2)) else { return false };
    let is_k = number(3).is_some_and(|k| (1..=64).contains(&k));
    flags & 0xFF == 2 && flags < 1 << 16 && n > 0 && is_fpp(fpp) && is_k && bytes.len() > 56
}

/// The scale (i32), ratio (f64), n (u64) and p (f64), the number of filters (i32), their lengths
/// (u64), and the filters.
fn is_scalable_pybloom(bytes: &[u8]) -> bool {
    let number = |at: usize| u64_le(bytes, at);
    let (Some(ratio), Some(fpp), Some(count)) = (number(4), number(20), bytes.get(28..32)) else {
        return false;
    };
    let count = count.first_chunk().map_or(0, |&count| u32::from_le_bytes(count)) as usize;
    if !matches!(bytes, [1..=64, 0, 0, 0, ..]) || !is_fpp(ratio) || !is_fpp(fpp) || count > 64 {
        return false;
    }
    let lengths = (0..count).map(|i| number(32 + 8 * i));
    let all = lengths.sum::<Option<u64>>().and_then(|all| all.checked_add(32 + 8 * count as u64));
    all == Some(bytes.len() as u64)
}

/// The beginning of a file.
struct Start<'a> {
    bytes: &'a [u8],
    /// The length of the whole, if it is known.
    file_bytes: Option<u64>,
}

/// Whether this is the beginning of such a file.
type Test = fn(&Start<'_>) -> bool;

impl Start<'_> {
    /// Whether the big-endian i32 at `offset` is the number of longs that make up the rest.
    fn longs_follow(&self, offset: usize) -> bool {
        let longs = self.bytes.get(offset..).and_then(|rest| rest.first_chunk());
        let longs = longs.map_or(0, |&longs| i32::from_be_bytes(longs));
        longs > 0 && self.file_bytes == Some(offset as u64 + 4 + longs as u64 * 8)
    }
}

/// The end is checked if it is available.
fn is_parquet_file(start: &Start<'_>) -> bool {
    let is_whole = start.file_bytes == Some(start.bytes.len() as u64);
    start.bytes.starts_with(b"PAR1") && (!is_whole || start.bytes.ends_with(b"PAR1"))
}

/// The name of the class of the first object in a Java stream.
fn java_class(bytes: &[u8]) -> &str {
    let name = bytes.strip_prefix(&[0xAC, 0xED, 0, 5, 0x73, 0x72]);
    let name = name.and_then(|rest| rest.split_first_chunk::<2>());
    name.and_then(|(&len, rest)| rest.get(..usize::from(u16::from_be_bytes(len))))
        .and_then(|name| std::str::from_utf8(name).ok())
        .unwrap_or_default()
}

fn is_bloomfileter(start: &Start<'_>) -> bool {
    let name = java_class(start.bytes);
    let uid = start.bytes.get(8 + name.len()..16 + name.len());
    uid == Some(&(-5_221_305_273_707_291_280i64).to_be_bytes())
}

fn is_serialized_guava(start: &Start<'_>) -> bool {
    java_class(start.bytes).ends_with("hash.BloomFilter$SerialForm")
}

fn is_serialized_magnuss(start: &Start<'_>) -> bool {
    java_class(start.bytes) == "com.skjegstad.utils.BloomFilter"
}

fn is_serialized_spark(start: &Start<'_>) -> bool {
    let class = java_class(start.bytes);
    class.ends_with(".BloomFilterImpl") || class.ends_with(".BloomFilterImplV2")
}

fn is_split_block(start: &Start<'_>) -> bool {
    let len = parquet::header_and_bits(start.bytes);
    len.is_some() && len == start.file_bytes
}

fn is_redisbloom(start: &Start<'_>) -> bool {
    start.bytes.starts_with(redisbloom::MAGIC)
}

fn is_pybloomfiltermmap(start: &Start<'_>) -> bool {
    start.bytes.starts_with(pybloomfiltermmap::MAGIC)
}

fn is_guava(start: &Start<'_>) -> bool {
    matches!(start.bytes, [0 | 1, 1..=255, ..]) && start.longs_follow(2)
}

fn is_spark(start: &Start<'_>) -> bool {
    match start.bytes {
        [0, 0, 0, 1, ..] => start.longs_follow(8),
        // The other numbers may all belong to bits-and-blooms, with a flipped bit in m.
        [0, 0, 0, 2, ..] => {
            let m = start.bytes.get(4..8).and_then(|m| m.first_chunk());
            let m = m.map_or(0, |&m| u64::from(u32::from_be_bytes(m)));
            let again = u64_le(start.bytes, 16).map(u64::swap_bytes);
            start.longs_follow(12) && again != Some(m)
        }
        _ => false,
    }
}

/// A little-endian u64 at an offset.
fn u64_le(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().map(|&number| u64::from_le_bytes(number))
}

fn is_fpp(bits: u64) -> bool {
    let fpp = f64::from_bits(bits);
    fpp > 0.0 && fpp < 1.0
}

fn is_bits_and_blooms(start: &Start<'_>) -> bool {
    let number = |i: usize| u64_le(start.bytes, i * 8).map(u64::swap_bytes);
    let (Some(m), Some(k), Some(len)) = (number(0), number(1), number(2)) else { return false };
    let bits = start.file_bytes.and_then(|len| len.checked_sub(24));
    m > 0 && k > 0 && m == len && bits.is_some() && bits == m.div_ceil(64).checked_mul(8)
}

/// Also for a truncated file or one of another version; a k that is no number of hash functions is
/// of a damaged one if the rest has the length of m bits.
fn is_dcso(start: &Start<'_>) -> bool {
    let number = |i: usize| u64_le(start.bytes, i * 8);
    let (Some(flags), Some(fpp)) = (number(0), number(2)) else { return false };
    let (Some(k), Some(m)) = (number(3), number(4)) else { return false };
    let exact = m.div_ceil(64).checked_mul(8).and_then(|bits| bits.checked_add(48));
    let is_version = flags & 0xFF == 1 || flags <= 64;
    let fits = (1..=0xFFFF).contains(&k) || exact.is_some() && exact == start.file_bytes;
    is_version && is_fpp(fpp) && m > 0 && fits
}

fn is_gzip_of_dcso(start: &Start<'_>) -> bool {
    let mut header = [0; 48];
    start.bytes.starts_with(&[0x1F, 0x8B])
        && GzDecoder::new(start.bytes).read_exact(&mut header).is_ok()
        && is_dcso(&Start { bytes: &header, file_bytes: None })
}

fn is_pybloom_live(start: &Start<'_>) -> bool {
    let number = |i: usize| u64_le(start.bytes, i * 8);
    let (Some(fpp), Some(k), Some(b)) = (number(0), number(1), number(2)) else { return false };
    let num_bits = k.checked_mul(b).filter(|&bits| bits > 0);
    let len = start.file_bytes.and_then(|len| len.checked_sub(40));
    is_fpp(fpp) && num_bits.is_some() && num_bits.map(|bits| bits.div_ceil(8)) == len
}
