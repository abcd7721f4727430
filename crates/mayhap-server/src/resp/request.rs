//! Requests: from bytes that arrive to words.
//!
//! ```text
//! *3␍␊ $9␍␊ BF.EXISTS ␍␊ $4␍␊ seen ␍␊ $3␍␊ key ␍␊      an array of bulk strings
//! BF.EXISTS seen "a key"␍␊                           a line, for people with telnet
//! ```
//!
//! Source: the Redis serialization protocol, as Redis 7 takes it. Two things are stricter: a number
//! ends with CR LF and so does a bulk string, so that bytes that are out of step are noticed at
//! once; and a number that can be none is refused at its first wrong byte.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod skip;

use super::inline;

/// The words of one request: places in the bytes that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    bytes: &'a [u8],
    places: &'a [(u32, u32)],
}

impl<'a> Words<'a> {
    /// Words at these places, each `(start, end)`, in these bytes.
    ///
    /// A place that is not inside the bytes is an empty word.
    pub const fn new(bytes: &'a [u8], places: &'a [(u32, u32)]) -> Self {
        Self { bytes, places }
    }

    /// How many; the command's name counts.
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The word at this place.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let &(start, end) = self.places.get(index)?;
        self.bytes.get(start as usize..end as usize)
    }

    /// The words from this place on.
    #[must_use]
    pub fn from(&self, first: usize) -> Self {
        Self { bytes: self.bytes, places: self.places.get(first..).unwrap_or(&[]) }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let bytes = self.bytes;
        let places = self.places.iter();
        places.map(move |&(start, end)| bytes.get(start as usize..end as usize).unwrap_or(&[]))
    }
}

/// The largest that a request may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a word.
    pub max_word_bytes: u32,
    /// Bytes of a word of `BF.LOADCHUNK`, which carries up to 16 MiB of a filter.
    pub max_chunk_bytes: u32,
    /// Words of a request.
    pub max_words: u32,
    /// Bytes of a request, with all that stands between its words.
    pub max_request_bytes: u32,
    /// Whether they are those of a stranger: an error then says that logging in would help.
    pub stranger: bool,
}

impl Limits {
    /// For those who have not logged in where a password is required: room for `HELLO 3 AUTH …`.
    ///
    /// The limits of Redis: 10 words of 16 KiB.
    pub const STRANGER: Self = Self {
        max_word_bytes: 16 << 10,
        max_chunk_bytes: 16 << 10,
        max_words: 10,
        max_request_bytes: 192 << 10,
        stranger: true,
    };

    /// The limit of the word after these, and the setting that says so.
    fn of_word(&self, words: Words<'_>) -> (u32, &'static str) {
        // Called only when a word is larger than others may be.
        let carries = words.get(0).is_some_and(|name| {
            name.eq_ignore_ascii_case(b"BF.LOADCHUNK") || name.eq_ignore_ascii_case(b"BF.LOAD")
        });
        if carries && self.max_chunk_bytes > self.max_word_bytes {
            (self.max_chunk_bytes, "max_chunk_bytes")
        } else {
            (self.max_word_bytes, "max_word_bytes")
        }
    }
}

impl Default for Limits {
    /// 1,048,576 words of 1 MiB (16 MiB and 64 KiB in `BF.LOADCHUNK`), 64 MiB in all.
    fn default() -> Self {
        Self {
            max_word_bytes: 1 << 20,
            max_chunk_bytes: (16 << 20) + (64 << 10),
            max_words: 1 << 20,
            max_request_bytes: 64 << 20,
            stranger: false,
        }
    }
}

/// Why bytes are no request; the connection is closed after that answer.
///
/// Empty for a browser that was tricked into speaking to this port: it gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub String);

#[cold]
pub(super) fn malformed<T>(what: &str) -> Result<T, Malformed> {
    Err(Malformed(format!("ERR Protocol error: {what}")))
}

/// Finds requests in bytes that arrive in pieces of any size.
///
/// A word is not looked at, whatever its length; a line that has not ended is looked at once; of a
/// request that has not ended, no more than the 22 bytes before the word at hand are read again.
#[derive(Debug, Default)]
pub struct Parser {
    /// Bytes of the request at hand that are done with.
    at: usize,
    /// Words of it that are still to come; 0 before its first line was read.
    left: u32,
    /// The words of a line with quotes, which do not stand in the input as they are meant.
    pub(super) unquoted: Vec<u8>,
    /// What is to come of a request that was refused.
    rest: Option<skip::Rest>,
    /// Why it was.
    refusal: Option<String>,
}

impl Parser {
    /// A parser at the start of a request.
    pub const fn new() -> Self {
        Self { at: 0, left: 0, unquoted: Vec::new(), rest: None, refusal: None }
    }

    /// Looks for one whole request at the start of `input`: the bytes that it takes, or `None` if
    /// some are still to come. Then the same input is given again, with more at its end.
    ///
    /// Its words are at `places`, to be looked at by [`Parser::words`]; there are none in an empty
    /// line, which has no answer. `places` is for the parser alone between two calls.
    ///
    /// There are none either in a request that is larger than `limits`: it is refused once, by
    /// [`Parser::take_refusal`], and the rest of it is taken piece by piece as it comes, without
    /// being kept.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the bytes are no request, or one larger than the limits of a stranger.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_server::resp::{Limits, Parser};
    ///
    /// let (mut parser, mut places) = (Parser::new(), Vec::new());
    /// let limits = Limits::default();
    /// assert_eq!(parser.parse(b"*1\r\n$4\r\nPI", &mut places, &limits), Ok(None));
    /// let input = b"*1\r\n$4\r\nPING\r\n*1\r\n";
    /// assert_eq!(parser.parse(input, &mut places, &limits), Ok(Some(14)));
    /// assert_eq!(parser.words(input, &places).get(0), Some(&b"PING"[..]));
    /// ```
    #[inline]
    pub fn parse(
        &mut self,
        input: &[u8],
        places: &mut Vec<(u32, u32)>,
        limits: &Limits,
    ) -> Result<Option<usize>, Malformed> {
        if !self.unquoted.is_empty() {
            self.unquoted = Vec::new();
        }
        if self.rest.is_some() {
            places.clear();
            return self.pass_by(input);
        }
        let result = self.advance(input, places, limits);
        if !matches!(result, Ok(None)) {
            (self.at, self.left) = (0, 0);
        }
        result
    }

    /// The words that the last whole request has.
    #[inline]
    pub fn words<'a>(&'a self, input: &'a [u8], places: &'a [(u32, u32)]) -> Words<'a> {
        let bytes = if self.unquoted.is_empty() { input } else { &self.unquoted };
        Words::new(bytes, places)
    }

    #[inline]
    fn advance(
        &mut self,
        input: &[u8],
        places: &mut Vec<(u32, u32)>,
        limits: &Limits,
    ) -> Result<Option<usize>, Malformed> {
        if self.left == 0 {
            places.clear();
            match input.split_first() {
                None => return Ok(None),
                Some((b'*', line)) => match number(line) {
                    Number::Is(count, bytes) => {
                        self.at = bytes.saturating_add(1);
                        if count > i64::from(limits.max_words) {
                            self.refuse_words(count, limits)?;
                            return Ok(Some(self.at));
                        }
                        // Redis ignores an array of no words, or of fewer.
                        self.left = u32::try_from(count).unwrap_or(0);
                        if self.left == 0 {
                            return Ok(Some(self.at));
                        }
                    }
                    Number::Unfinished => return Ok(None),
                    Number::None => return malformed("invalid multibulk length"),
                },
                Some(_) => {
                    let found = inline::parse(input, self.at, places, &mut self.unquoted)?;
                    self.at = input.len();
                    if places.len() > limits.max_words as usize {
                        self.refuse_line(places.len(), limits)?;
                        places.clear();
                    }
                    return Ok(found);
                }
            }
        }
        self.bulks(input, places, limits)
    }

    /// The rest of an array, from where it was left.
    #[inline]
    fn bulks(
        &mut self,
        input: &[u8],
        places: &mut Vec<(u32, u32)>,
        limits: &Limits,
    ) -> Result<Option<usize>, Malformed> {
        let (mut at, mut left) = (self.at, self.left);
        while left > 0 {
            let rest = input.get(at..).unwrap_or(&[]);
            let found = match rest.split_first() {
                None => break,
                Some((b'$', line)) => number(line),
                Some((&byte, _)) => return not_a_bulk(byte),
            };
            let (length, line_bytes) = match found {
                Number::Is(length, bytes) => (length, bytes),
                Number::Unfinished => break,
                Number::None => return malformed("invalid bulk length"),
            };
            let start = at.saturating_add(line_bytes).saturating_add(1);
            let after = left.saturating_sub(1);
            if length < 0 || length > i64::from(limits.max_word_bytes) {
                let before = Words::new(input, places);
                if self.refuse_length(length, after, before, limits)? {
                    places.clear();
                    return Ok(Some(start));
                }
            }
            let end = start.saturating_add(length as usize);
            let next = end.saturating_add(2);
            if next > limits.max_request_bytes as usize {
                self.refuse_bytes(length, after, limits)?;
                places.clear();
                return Ok(Some(start));
            }
            match input.get(end..next) {
                None => break,
                Some(b"\r\n") => places.push((start as u32, end as u32)),
                Some(_) => return malformed("bulk string without CR LF at its end"),
            }
            (at, left) = (next, after);
        }
        (self.at, self.left) = (at, left);
        Ok((left == 0).then_some(at))
    }
}

#[cold]
fn not_a_bulk<T>(byte: u8) -> Result<T, Malformed> {
    malformed(&format!("expected '$', got '{}'", byte.escape_ascii()))
}

/// What stands at the front of a line.
enum Number {
    /// A number, and the bytes up to the next line.
    Is(i64, usize),
    /// It may become one.
    Unfinished,
    /// It can become none.
    None,
}

/// Reads a decimal number that CR LF ends: no sign but `-`, no zero in front, at most 20 digits.
#[inline(always)]
fn number(line: &[u8]) -> Number {
    // Most numbers have one digit or two.
    match line {
        [one @ b'0'..=b'9', b'\r', b'\n', ..] => Number::Is(i64::from(one & 15), 3),
        [ten @ b'1'..=b'9', one @ b'0'..=b'9', b'\r', b'\n', ..] => {
            let value = i64::from(ten & 15).wrapping_mul(10).wrapping_add(i64::from(one & 15));
            Number::Is(value, 4)
        }
        _ => any_number(line),
    }
}

#[inline(never)]
fn any_number(line: &[u8]) -> Number {
    let (negative, digits) = match line.split_first() {
        None => return Number::Unfinished,
        Some((b'-', rest)) => (true, rest),
        Some(_) => (false, line),
    };
    let mut value = 0_i64;
    for (place, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            let next = value.checked_mul(10).and_then(|tens| tens.checked_add(i64::from(digit)));
            // No zero in front of other digits, and no `-0`.
            let zero_first = value == 0 && (place > 0 || (negative && digit == 0));
            match next {
                Some(next) if !zero_first => value = next,
                _ => return Number::None,
            }
        } else if byte == b'\r' && place > 0 {
            let value = if negative { value.saturating_neg() } else { value };
            let bytes = place.saturating_add(usize::from(negative)).saturating_add(2);
            return match digits.get(place.saturating_add(1)) {
                Some(b'\n') => Number::Is(value, bytes),
                Some(_) => Number::None,
                None => Number::Unfinished,
            };
        } else {
            return Number::None;
        }
    }
    Number::Unfinished
}

#[cfg(test)]
mod tests;
