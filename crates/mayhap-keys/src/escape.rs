//! Bytes as text on one line: `\t`, `\0`, `\x1F`.

use super::error::ValueError;
use std::fmt::Write;

/// Writes text on one line, without control sequences for a terminal: a backslash as `\\`, control
/// characters as `\n`, `\r`, `\t`, `\0` or `\xHH` for each of their bytes, and so bytes that are no
/// UTF-8.
///
/// ```
/// use mayhap_keys::escape;
/// assert_eq!(escape("/a\nb\\é".as_bytes()), r"/a\nb\\é");
/// assert_eq!(escape(b"\0\xFF"), r"\0\xFF");
/// ```
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => text.push_str(r"\\"),
                '\n' => text.push_str(r"\n"),
                '\r' => text.push_str(r"\r"),
                '\t' => text.push_str(r"\t"),
                '\0' => text.push_str(r"\0"),
                char if char.is_control() => {
                    push_hex_escapes(&mut text, char.encode_utf8(&mut [0; 4]).as_bytes());
                }
                char => text.push(char),
            }
        }
        push_hex_escapes(&mut text, chunk.invalid());
    }
    text
}

fn push_hex_escapes(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "\\x{byte:02X}");
    }
}

/// Reads the output of [`escape`]; `None` for other escapes.
pub(super) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'\\' => b'\\',
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'0' => 0,
            b'x' => 16 * hex_digit(rest.next()?)? + hex_digit(rest.next()?)?,
            _ => return None,
        });
    }
    Some(bytes)
}

/// The value of a hex digit, upper or lower case.
pub(super) fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Reads a delimiter in its typed form: one byte, or an escape of one.
///
/// # Errors
///
/// [`ValueError::LongDelimiter`], [`ValueError::Delimiter`].
///
/// ```
/// use mayhap_keys::parse_delim;
/// assert_eq!(parse_delim(":"), Ok(b':'));
/// assert_eq!(parse_delim(r"\t"), Ok(b'\t'));
/// assert_eq!(parse_delim(r"\x1f"), Ok(0x1F));
/// assert!(parse_delim("::").is_err());
/// ```
pub fn parse_delim(text: &str) -> Result<u8, ValueError> {
    if let [byte] = text.as_bytes() {
        return Ok(*byte);
    }
    match unescape(text).as_deref() {
        Some([byte]) => Ok(*byte),
        Some(bytes) if !text.contains('\\') => Err(ValueError::LongDelimiter(bytes.len())),
        _ => Err(ValueError::Delimiter),
    }
}
