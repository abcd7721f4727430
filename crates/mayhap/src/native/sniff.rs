//! The kind of a file that is not one of our filters: a guess from its first bytes.

/// First bytes and the kind of file that they indicate.
const MAGICS: &[(&[u8], &str)] = &[
    (b"\x1F\x8B", "gzip data"),
    (b"\x28\xB5\x2F\xFD", "zstd data"),
    (b"\xFD7zXZ\0", "xz data"),
    (b"BZh", "bzip2 data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"ORC", "an ORC file"),
    (b"\xAC\xED\x00\x05", "a Java object stream"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"REDIS0", "a Redis snapshot (RDB)"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7FELF", "a program"),
    (b"\x89PNG\r\n\x1A\n", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
    (b"%PDF-", "a PDF document"),
    (b"\x89mhplog\n", "the log of a mayhap filter (the filter has the same name without .log)"),
    (b"\x89mayhap\r", "a mayhap filter whose line ends a text-mode copy changed"),
    (b"\xC2\x89mayhap", "a mayhap filter that was converted to UTF-8 as if it were text"),
    (b"\xEF\xBF\xBDmayhap", "a mayhap filter that was converted to UTF-8 as if it were text"),
];

/// A name for the kind of file that starts with `start` and is not one of our filters, if it is
/// known: a guess from a few bytes, for messages.
///
/// # Examples
///
/// ```
/// assert_eq!(mayhap::native::looks_like(b"PK\x03\x04..."), Some("a zip archive"));
/// assert_eq!(mayhap::native::looks_like(b"one\ntwo\n"), Some("text"));
/// assert_eq!(mayhap::native::looks_like(b"\x00\x01\x02"), None);
/// ```
pub fn looks_like(start: &[u8]) -> Option<&'static str> {
    if start.is_empty() {
        return Some("an empty file");
    }
    if let Some((_, name)) = MAGICS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(name);
    }
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    let start = &start[..start.len().min(512)];
    start.iter().all(is_text).then_some("text")
}
