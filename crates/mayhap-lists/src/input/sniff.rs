//! Judging the beginning of an input: whether it is a list of lines, and how these end.

use super::{Compression, NotAList};
use mayhap::native::{HEADER_BYTES, Header, MAGIC, looks_like};
#[cfg(feature = "files")]
use mayhap_formats::{BitsAndBloomsFilter, Format, Limits};

/// The number of bytes that are examined.
pub const SAMPLE_BYTES: usize = 64 << 10;

/// The UTF-8 encoding of U+FEFF.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The same in UTF-16, where nothing follows.
const WIDE_BOMS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

/// The beginning of some input, after decompression.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// Its bytes, at most [`SAMPLE_BYTES`] of them.
    pub bytes: &'a [u8],
    /// Whether they are the whole input.
    pub is_whole: bool,
    /// The number of bytes in all, where it is known.
    pub total_bytes: Option<u64>,
    /// The byte that ends a line.
    pub separator: u8,
}

/// Archives, and compressions that are not read here: the offset of their magic, and the magic.
const ARCHIVES: &[(usize, &[u8], &str, &str)] = &[
    (0, b"PK\x03\x04", "a zip archive", "unzip -p"),
    (0, b"PK\x05\x06", "an empty zip archive", "unzip -p"),
    (0, b"7z\xBC\xAF\x27\x1C", "a 7z archive", "7z e -so"),
    (0, b"Rar!\x1A\x07", "a RAR archive", "unrar p -inul"),
    (0, b"LZIP\x01", "lzip data", "lzip -dc"),
    (0, b"\x1F\x9D", "compress data", "zcat"),
    (257, b"ustar", "a tar archive", "tar -xOf"),
];

/// Judges the beginning of an input; returns the number of bytes of its byte-order mark, which are
/// no part of the first key.
///
/// Lines of text are recognised as such, whatever their first word: an archive, a filter and the
/// like have control characters among their first bytes. UTF-16 is known by its byte-order mark, or
/// by every other byte being NUL, unless NUL ends lines; its mark alone is an empty list.
///
/// # Errors
///
/// [`NotAList`].
///
/// # Examples
///
/// ```
/// use mayhap_lists::{Sample, sniff};
///
/// let look = |bytes| {
///     sniff(&Sample { bytes, is_whole: true, total_bytes: None, separator: b'\n' })
/// };
/// assert_eq!(look(b"one\ntwo\n").unwrap(), 0);
/// assert_eq!(look(b"\xEF\xBB\xBFone\n").unwrap(), 3);
/// assert_eq!(look(b"PK\x03\x04\0\0").unwrap_err().to_string(), "a zip archive");
/// ```
pub fn sniff(sample: &Sample<'_>) -> Result<usize, NotAList> {
    if let Some(encoding) = wide_encoding(sample) {
        return Err(NotAList::Text { encoding });
    }
    if sample.is_text() {
        #[cfg(feature = "files")]
        if is_json_filter(sample) {
            return Err(NotAList::Filter { system: "bits-and-blooms", keys: None });
        }
        return Ok(sample.mark_bytes());
    }
    other_data(sample).map_or_else(|| Ok(sample.mark_bytes()), Err)
}

/// Whether the first line of some input, though it is text, may begin data of a known kind.
#[cfg(feature = "files")]
pub(super) fn may_begin_data(line: &[u8], separator: u8) -> bool {
    let sample = Sample { bytes: line, is_whole: false, total_bytes: None, separator };
    // A filter as JSON is text to its end.
    let json = NotAList::Filter { system: Format::BitsAndBlooms.name(), keys: None };
    other_data(&sample).is_some_and(|what| what != json)
}

/// The kind of bytes that are no text, if it is known.
fn other_data(sample: &Sample<'_>) -> Option<NotAList> {
    let bytes = sample.bytes;
    if bytes.starts_with(&MAGIC) {
        // A short file is decoded as a whole.
        let header = bytes.get(..HEADER_BYTES).or(sample.is_whole.then_some(bytes));
        let header = header.and_then(|header| Header::decode(header).ok());
        let keys = header.map(|header| header.inserted_items());
        return Some(NotAList::Filter { system: "mayhap", keys });
    }
    for &(at, magic, what, program) in ARCHIVES {
        if bytes.get(at..).is_some_and(|rest| rest.starts_with(magic)) {
            return Some(NotAList::Archive { what, program });
        }
    }
    if let Some(compression) = Compression::of(bytes) {
        // Inside another one.
        let what = match compression {
            Compression::Gzip => "gzip data, compressed twice",
            Compression::Zstd => "zstd data, compressed twice",
            Compression::Bzip2 => "bzip2 data, compressed twice",
            Compression::Xz => "xz data, compressed twice",
            Compression::Lz4 => "lz4 data, compressed twice",
        };
        return Some(NotAList::Data { what });
    }
    #[cfg(feature = "files")]
    let total_bytes = sample.total_bytes.or(sample.is_whole.then_some(sample.bytes.len() as u64));
    #[cfg(feature = "files")]
    if let Some(found) = mayhap_formats::detect_start(bytes, total_bytes).first() {
        return Some(NotAList::Filter { system: found.format.name(), keys: None });
    }
    // Compressed data is recognised here by shorter prefixes than above.
    let what = looks_like(bytes)?;
    let is_known = what != "text" && what != "an empty file" && !what.ends_with(" data");
    is_known.then_some(NotAList::Data { what })
}

impl Sample<'_> {
    /// Whether it has no control characters except those common in text.
    fn is_text(&self) -> bool {
        let is_text = |byte: &u8| match byte {
            // Backspace to carriage return, and the escape of colours.
            0x08..=0x0D | 0x1B | 0x20..=0x7E | 0x80.. => true,
            &byte => byte == self.separator,
        };
        self.bytes.iter().all(is_text)
    }

    fn mark_bytes(&self) -> usize {
        if self.is_whole && WIDE_BOMS.contains(&self.bytes) {
            return self.bytes.len();
        }
        if self.bytes.starts_with(BOM) { BOM.len() } else { 0 }
    }
}

/// The encoding of text whose characters are not bytes: by its mark, or by its NULs.
fn wide_encoding(sample: &Sample<'_>) -> Option<&'static str> {
    let bytes = sample.bytes;
    // UTF-32 before UTF-16, whose mark it begins with.
    if bytes.starts_with(b"\xFF\xFE\0\0") || bytes.starts_with(b"\0\0\xFE\xFF") {
        return Some("UTF-32");
    }
    let is_even = !sample.is_whole || bytes.len().is_multiple_of(2);
    if !is_even {
        return None;
    }
    let mark = bytes.split_first_chunk().filter(|(_, text)| !text.is_empty());
    match mark {
        Some(([0xFF, 0xFE], text)) if has_wide_lines(text, [b'\n', 0]) => return Some("UTF-16"),
        Some(([0xFE, 0xFF], text)) if has_wide_lines(text, [0, b'\n']) => return Some("UTF-16"),
        _ => {}
    }
    // NULs that end lines are no half of a character.
    let pairs = bytes.chunks_exact(2);
    if sample.separator == 0 || pairs.len() < 4 {
        return None;
    }
    let (all, mut first, mut second) = (pairs.len(), 0, 0);
    for pair in pairs {
        first += usize::from(pair[0] == 0);
        second += usize::from(pair[1] == 0);
    }
    // Nine of ten characters are below U+0100, and hardly one is a multiple of it.
    match (first * 10 >= all * 9, second * 10 >= all * 9) {
        (false, true) if first * 50 <= all => Some("UTF-16LE"),
        (true, false) if second * 50 <= all => Some("UTF-16BE"),
        _ => None,
    }
}

/// Whether its line feeds, if any, are UTF-16: a list of bytes may begin like a mark.
fn has_wide_lines(text: &[u8], line_feed: [u8; 2]) -> bool {
    memchr::memchr(b'\n', text).is_none() || text.chunks_exact(2).any(|pair| pair == line_feed)
}

/// Whether it is a filter written as JSON, which is one line from beginning to end.
#[cfg(feature = "files")]
fn is_json_filter(sample: &Sample<'_>) -> bool {
    let bytes = sample.bytes;
    let found = mayhap_formats::detect_start(bytes, None);
    if found.first().is_none_or(|found| found.format != Format::BitsAndBlooms) {
        return false;
    }
    if sample.is_whole {
        return BitsAndBloomsFilter::decode(bytes, &Limits::default()).is_ok();
    }
    memchr::memchr(b'\n', bytes).is_none()
}

#[cfg(test)]
mod tests;
