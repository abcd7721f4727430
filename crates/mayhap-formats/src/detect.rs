//! Which format bytes may be of.

use crate::Format;

/// A format that bytes may be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The format.
    pub format: Format,
    /// Which of its forms.
    pub form: &'static str,
    /// What the bytes do not say, and the caller has to.
    pub missing: &'static str,
}

/// The formats that bytes may be of, by what they begin with and their exact length; the likeliest
/// first. Reads a few bytes, so the rest may still be wrong.
///
/// Bare bitmaps (`MagnusS`, Redis, Redisson) have no mark and are never among them.
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
    type Test = fn(&[u8]) -> bool;
    const TESTS: &[(Test, Candidate)] = &[
        (is_bloomfileter, candidate(Format::BloomFileter, "Java serialization", "nothing")),
        (is_serialized_guava, candidate(Format::Guava, "Java serialization", "nothing")),
        (
            is_serialized_spark,
            candidate(Format::Spark, "Java serialization", "whether longs or text are in it"),
        ),
        (is_serialized_magnuss, candidate(Format::MagnusS, "Java serialization", "nothing")),
        (is_guava, candidate(Format::Guava, "writeTo stream", "the funnel")),
        (is_spark, candidate(Format::Spark, "writeTo stream", "whether longs or text are in it")),
    ];
    TESTS.iter().filter(|(test, _)| test(bytes)).map(|&(_, candidate)| candidate).collect()
}

const fn candidate(format: Format, form: &'static str, missing: &'static str) -> Candidate {
    Candidate { format, form, missing }
}

/// Whether the big-endian i32 at `offset` is the number of longs that make up the rest.
fn longs_follow(bytes: &[u8], offset: usize) -> bool {
    let longs = bytes.get(offset..).and_then(|rest| rest.split_first_chunk::<4>());
    longs.is_some_and(|(&longs, rest)| {
        let longs = i32::from_be_bytes(longs);
        longs > 0 && rest.len() as u64 == longs as u64 * 8
    })
}

/// The name of the class of the first object in a Java stream.
fn java_class(bytes: &[u8]) -> &str {
    let name = bytes.strip_prefix(&[0xAC, 0xED, 0, 5, 0x73, 0x72]);
    let name = name.and_then(|rest| rest.split_first_chunk::<2>());
    name.and_then(|(&len, rest)| rest.get(..usize::from(u16::from_be_bytes(len))))
        .and_then(|name| std::str::from_utf8(name).ok())
        .unwrap_or_default()
}

fn is_bloomfileter(bytes: &[u8]) -> bool {
    let name = java_class(bytes);
    let uid = bytes.get(8 + name.len()..16 + name.len());
    uid == Some(&(-5_221_305_273_707_291_280i64).to_be_bytes())
}

fn is_serialized_guava(bytes: &[u8]) -> bool {
    java_class(bytes).ends_with("hash.BloomFilter$SerialForm")
}

fn is_serialized_magnuss(bytes: &[u8]) -> bool {
    java_class(bytes) == "com.skjegstad.utils.BloomFilter"
}

fn is_serialized_spark(bytes: &[u8]) -> bool {
    let class = java_class(bytes);
    class.ends_with(".BloomFilterImpl") || class.ends_with(".BloomFilterImplV2")
}

fn is_guava(bytes: &[u8]) -> bool {
    matches!(bytes, [0 | 1, 1..=255, ..]) && longs_follow(bytes, 2)
}

fn is_spark(bytes: &[u8]) -> bool {
    match bytes {
        [0, 0, 0, 1, ..] => longs_follow(bytes, 8),
        [0, 0, 0, 2, ..] => longs_follow(bytes, 12),
        _ => false,
    }
}
