//! Requests as a line: words between spaces, quotes as in a shell.
//!
//! `"a\x41\n"` has escapes, `'a\n'` none but `\'`; a quote that ends is followed by a space or the
//! end of the line. Source: `sdssplitargs` of Redis 7.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::malformed::{Malformed, malformed};

/// The most bytes of a line, without its end.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Finds a line at the start of `input`, of which `seen` bytes are known to have no line end.
///
/// Its words are places in `unquoted` if that is not empty afterwards, else in `input`.
#[cold]
pub(super) fn parse(
    input: &[u8],
    seen: usize,
    places: &mut Vec<(u32, u32)>,
    unquoted: &mut Vec<u8>,
) -> Result<Option<usize>, Malformed> {
    let most = MAX_LINE_BYTES.saturating_add(1);
    let part = input.get(..most).unwrap_or(input);
    let Some(found) = memchr::memchr(b'\n', part.get(seen..).unwrap_or(&[])) else {
        return if part.len() < most { Ok(None) } else { malformed("too big inline request") };
    };
    let end = seen.saturating_add(found);
    let line = part.get(..end).unwrap_or(&[]);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if memchr::memchr2(b'"', b'\'', line).is_none() {
        plain(line, places);
    } else if unquote(line, places, unquoted).is_none() {
        return malformed("unbalanced quotes in request");
    }
    let first = places.first().and_then(|&(start, end)| line.get(start as usize..end as usize));
    // A web page can send an HTTP request to any port, with commands in its body.
    if first.is_some_and(|word| {
        word.eq_ignore_ascii_case(b"POST") || word.eq_ignore_ascii_case(b"Host:")
    }) {
        return Err(Malformed(String::new()));
    }
    Ok(Some(end.saturating_add(1)))
}

/// A line without quotes: its words are parts of it.
fn plain(line: &[u8], places: &mut Vec<(u32, u32)>) {
    let mut start = None;
    for (at, &byte) in line.iter().enumerate() {
        match (is_space(byte), start) {
            (true, Some(from)) => {
                places.push((from, at as u32));
                start = None;
            }
            (false, None) => start = Some(at as u32),
            _ => {}
        }
    }
    places.extend(start.map(|from| (from, line.len() as u32)));
}

/// A line with quotes: its words are written unquoted. `None` if a quote is not closed.
fn unquote(line: &[u8], places: &mut Vec<(u32, u32)>, out: &mut Vec<u8>) -> Option<()> {
    let mut rest = line;
    loop {
        while let Some((&byte, after)) = rest.split_first()
            && is_space(byte)
        {
            rest = after;
        }
        if rest.is_empty() {
            return Some(());
        }
        let start = out.len() as u32;
        rest = word(rest, out)?;
        places.push((start, out.len() as u32));
    }
}

/// Writes one word unquoted; returns the rest of the line.
fn word<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'"' => double_quoted(after, out)?,
            b'\'' => single_quoted(after, out)?,
            _ if is_space(byte) => return Some(rest),
            _ => {
                out.push(byte);
                after
            }
        };
    }
    Some(rest)
}

fn double_quoted<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = match (byte, after) {
            (b'"', _) => return ended(after),
            (b'\\', [b'x', high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                out.push(hex(*high).wrapping_shl(4) | hex(*low));
                after
            }
            (b'\\', [escaped, after @ ..]) => {
                out.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                after
            }
            _ => {
                out.push(byte);
                after
            }
        };
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = match (byte, after) {
            (b'\'', _) => return ended(after),
            (b'\\', [b'\'', after @ ..]) => {
                out.push(b'\'');
                after
            }
            _ => {
                out.push(byte);
                after
            }
        };
    }
}

/// A quote ends with its word.
fn ended(rest: &[u8]) -> Option<&[u8]> {
    match rest.first() {
        Some(&byte) if !is_space(byte) => None,
        _ => Some(rest),
    }
}

const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit.wrapping_sub(b'0'),
        // In their lower half letters are 9 less than their value.
        _ => (digit & 15).wrapping_add(9),
    }
}

/// White space in C.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 11 | 12)
}
