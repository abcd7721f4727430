//! Words of a request as they are shown in an answer.

use std::fmt::Write as _;

/// The most bytes of a word that an answer repeats.
const SHOWN_BYTES: usize = 128;

/// A word for an error text: at most 128 bytes of it, non-printable bytes as `\xNN`.
pub(super) fn shown(word: &[u8]) -> String {
    let mut text = String::new();
    for &byte in word.iter().take(SHOWN_BYTES) {
        match byte {
            b' '..=b'~' => text.push(byte as char),
            // Writing to a string does not fail.
            _ => _ = write!(text, "\\x{byte:02x}"),
        }
    }
    if word.len() > SHOWN_BYTES {
        text.push_str("...");
    }
    text
}

/// A word for a message, in quotes that it cannot close: at most 128 bytes of it.
pub(crate) fn logged(word: &[u8]) -> impl std::fmt::Display + '_ {
    word[..word.len().min(SHOWN_BYTES)].escape_ascii()
}

/// Whether a word equals this one, ignoring case.
pub(super) fn is(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

/// The value of the name among these that the word equals, if any.
pub(super) fn one_of<T: Copy>(word: &[u8], names: &[(&str, T)]) -> Option<T> {
    names.iter().find(|(name, _)| is(word, name)).map(|&(_, value)| value)
}
