//! Requests: from received bytes to words.
//!
//! ```text
//! *3␍␊ $9␍␊ BF.EXISTS ␍␊ $4␍␊ seen ␍␊ $3␍␊ key ␍␊      an array of bulk strings
//! BF.EXISTS seen "a key"␍␊                           a line, for people with telnet
//! ```
//!
//! Source: the Redis serialization protocol, as accepted by Redis 7. Two things are stricter: a
//! number ends with CR LF and so does a bulk string, so that a loss of synchronization is detected
//! at once; and an invalid number is refused at its first wrong byte.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::limits::Limits;
use super::malformed::{Malformed, malformed, not_a_bulk};
use super::number::{Number, number};
use super::{inline, skip::Skipped};
use mayhap_engine::Words;

/// Finds requests in bytes that arrive in pieces of any size.
///
/// A word is skipped without reading it, whatever its length; an unfinished line is scanned once;
/// of an unfinished request, no more than the 22 bytes before the current word are read again.
#[derive(Debug, Default)]
pub struct Parser {
    /// Bytes of the current request that are processed.
    at: usize,
    /// Remaining words of it; 0 before its first line was read.
    left: u32,
    /// The unquoted words of a line, which differ from the input.
    unquoted: Vec<u8>,
    /// A request that is refused, and skipped.
    skipped: Skipped,
}

impl Parser {
    /// A parser at the start of a request.
    pub const fn new() -> Self {
        Self { at: 0, left: 0, unquoted: Vec::new(), skipped: Skipped::new() }
    }

    /// Finds one complete request at the start of `input`: returns its length in bytes, or `None`
    /// if it is not complete. Then the same input has to be given again, with more at its end.
    ///
    /// Its words are at `places`, to be read with [`Parser::words`]; there are none in an empty
    /// line, which has no answer. `places` is for the parser alone between two calls.
    ///
    /// There are none either in a request that is larger than `limits`: it is refused once, by
    /// [`Parser::take_refusal`], and the rest of it is skipped piece by piece as it arrives,
    /// without being kept.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the bytes are not a request, or exceed the limits before a login.
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
        if self.skipped.rest.is_some() {
            places.clear();
            return self.skipped.pass_by(input);
        }
        let result = self.advance(input, places, limits);
        if !matches!(result, Ok(None)) {
            (self.at, self.left) = (0, 0);
        }
        result
    }

    /// Whether the rest of a refused request is outstanding. Bytes parsed meanwhile have no words
    /// and no answer.
    #[inline]
    pub const fn is_skipping(&self) -> bool {
        self.skipped.rest.is_some()
    }

    /// Why a request without words was refused, if it was: the answer to it, after which the
    /// connection continues.
    pub const fn take_refusal(&mut self) -> Option<String> {
        self.skipped.refusal.take()
    }

    /// The words of the last complete request.
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
                            self.skipped.refuse_words(count, limits)?;
                            return Ok(Some(self.at));
                        }
                        // Redis ignores an array of no words, or of a negative number.
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
                        self.skipped.refuse_line(places.len(), limits)?;
                        places.clear();
                    }
                    return Ok(found);
                }
            }
        }
        self.bulks(input, places, limits)
    }

    /// The rest of an array, from where it stopped.
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
                if self.skipped.refuse_length(length, after, before, limits)? {
                    places.clear();
                    return Ok(Some(start));
                }
            }
            let end = start.saturating_add(length as usize);
            let next = end.saturating_add(2);
            if next > limits.max_request_bytes as usize {
                self.skipped.refuse_bytes(length, after, limits)?;
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

#[cfg(test)]
mod tests;
