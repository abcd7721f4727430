//! The rest of a request that is larger than allowed: it is skipped without being kept, so that the
//! connection, and the requests behind it, continue.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::limits::Limits;
use super::malformed::{Malformed, malformed, not_a_bulk};
use super::number::{Number, number};
use mayhap_engine::Words;

/// The longest word that is skipped, in bytes: the most that Redis accepts by default. A length
/// above it is invalid.
const MAX_WORD_BYTES: i64 = 512 << 20;
/// The most words that are skipped, as in Redis.
const MAX_WORDS: i64 = i32::MAX as i64;

/// The outstanding part of a refused request.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Remaining bytes of the current word.
    bytes: usize,
    /// Whether there is a current word, whose line end is outstanding too.
    in_word: bool,
    /// Words after it.
    words: u32,
}

/// A request that is larger than allowed.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// The outstanding part of it.
    pub(super) rest: Option<Rest>,
    /// Why it was refused.
    pub(super) refusal: Option<String>,
}

impl Skipped {
    pub(super) const fn new() -> Self {
        Self { rest: None, refusal: None }
    }

    /// Skips the rest of an array.
    pub(super) fn pass_by(&mut self, input: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut at = 0_usize;
        while let Some(rest) = &mut self.rest {
            let here = input.get(at..).unwrap_or(&[]);
            if rest.in_word {
                let part = here.len().min(rest.bytes);
                at = at.saturating_add(part);
                rest.bytes = rest.bytes.saturating_sub(part);
                match here.get(part..).and_then(|here| here.get(..2)) {
                    _ if rest.bytes > 0 => break,
                    None => break,
                    Some(b"\r\n") => at = at.saturating_add(2),
                    Some(_) => return malformed("bulk string without CR LF at its end"),
                }
                rest.in_word = false;
            } else if rest.words == 0 {
                self.rest = None;
            } else {
                let found = match here.split_first() {
                    None => break,
                    Some((b'$', line)) => number(line),
                    Some((&byte, _)) => return not_a_bulk(byte),
                };
                match found {
                    Number::Is(length @ 0..=MAX_WORD_BYTES, bytes) => {
                        let words = rest.words.saturating_sub(1);
                        *rest = Rest { bytes: length as usize, in_word: true, words };
                        at = at.saturating_add(bytes).saturating_add(1);
                    }
                    Number::Unfinished => break,
                    _ => return malformed("invalid bulk length"),
                }
            }
        }
        Ok((at > 0).then_some(at))
    }

    /// Refuses an array of too many words. A client that has not logged in is disconnected.
    #[cold]
    pub(super) fn refuse_words(&mut self, count: i64, limits: &Limits) -> Result<(), Malformed> {
        if limits.unauthenticated {
            return malformed("unauthenticated multibulk length");
        }
        if count > MAX_WORDS {
            return malformed("invalid multibulk length");
        }
        let limit = limits.max_words;
        let why = format!("the request has {count} words, above the limit of {limit} (max_words)");
        self.refuse(&why, Rest { words: u32::try_from(count).unwrap_or(0), ..Rest::default() });
        Ok(())
    }

    /// Refuses a request whose next word, of `length` bytes, is too long, or makes it too long;
    /// `left` words follow. Called when it may be; returns whether it was.
    #[cold]
    pub(super) fn refuse_length(
        &mut self,
        length: i64,
        left: u32,
        words: Words<'_>,
        limits: &Limits,
    ) -> Result<bool, Malformed> {
        let (limit, setting) = limits.of_word(words);
        if (0..=i64::from(limit)).contains(&length) {
            return Ok(false);
        }
        if limits.unauthenticated && length >= 0 {
            return malformed("unauthenticated bulk length");
        }
        if !(0..=MAX_WORD_BYTES).contains(&length) {
            return malformed("invalid bulk length");
        }
        let why = format!("a word has {length} bytes, above the limit of {limit} ({setting})");
        self.refuse(&why, Rest { bytes: length as usize, in_word: true, words: left });
        Ok(true)
    }

    /// Refuses a request of too many bytes, whose next word has `length`.
    #[cold]
    pub(super) fn refuse_bytes(
        &mut self,
        length: i64,
        left: u32,
        limits: &Limits,
    ) -> Result<(), Malformed> {
        if limits.unauthenticated || length > MAX_WORD_BYTES {
            return malformed("request too large (max_request_bytes)");
        }
        let limit = limits.max_request_bytes;
        let why = format!("the request has more than {limit} bytes (max_request_bytes)");
        self.refuse(&why, Rest { bytes: length as usize, in_word: true, words: left });
        Ok(())
    }

    /// Refuses a complete line of too many words.
    #[cold]
    pub(super) fn refuse_line(&mut self, count: usize, limits: &Limits) -> Result<(), Malformed> {
        self.refuse_words(i64::try_from(count).unwrap_or(i64::MAX), limits)?;
        self.rest = None;
        Ok(())
    }

    fn refuse(&mut self, why: &str, rest: Rest) {
        self.refusal = Some(format!("ERR {why}; send it in parts"));
        self.rest = Some(rest);
    }
}
