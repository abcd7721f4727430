//! Texts of requests in answers: a part of them.

use std::borrow::Cow;

/// Bytes of the text of an error, whatever it repeats.
pub const MAX_PROBLEM_BYTES: usize = 1024;

/// A text of at most so many bytes, and a few: what is left out is in the middle, as an error says
/// at its end what to do.
///
/// ```
/// use mayhap_dashboard::text::shorten;
///
/// assert_eq!(shorten("short", 8), "short");
/// assert_eq!(shorten("éééééééééé", 8), "éé… (12 bytes left out) …éé");
/// ```
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let is_between = |at: &usize| text.is_char_boundary(*at);
    let begin = (0..=most / 2).rev().find(is_between).unwrap_or(0);
    let end = (text.len() - most / 2..text.len()).find(is_between).unwrap_or(text.len());
    let left_out = end - begin;
    Cow::Owned(format!("{}… ({left_out} bytes left out) …{}", &text[..begin], &text[end..]))
}
