//! Texts of requests in answers: a part of them.

use std::borrow::Cow;

/// Bytes of the text of an error, whatever it repeats.
pub const MAX_PROBLEM_BYTES: usize = 1024;

/// A text of at most `most` bytes and a few: the middle is left out, since the end of an error
/// gives the next step.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_both_ends_and_no_more_than_was_allowed() {
        for most in [0, 1, 2, 7, 8, 9, 100] {
            for text in ["a".repeat(most), "a".repeat(most + 1), "é€😀".repeat(40)] {
                let short = shorten(&text, most);
                if text.len() <= most {
                    assert_eq!(short, text, "{most}");
                    continue;
                }
                let (begin, rest) = short.split_once("… (").unwrap();
                let (left_out, end) = rest.split_once(" bytes left out) …").unwrap();
                assert!(begin.len() + end.len() <= most, "{most}: {short}");
                assert!(text.starts_with(begin) && text.ends_with(end), "{most}: {short}");
                // A character has at most 4 bytes, so that at most 3 are lost at each end.
                assert!(begin.len() + 3 >= most / 2 && end.len() + 3 >= most / 2, "{short}");
                let left_out: usize = left_out.parse().unwrap();
                assert_eq!(left_out, text.len() - begin.len() - end.len());
            }
        }
    }
}
