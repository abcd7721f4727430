//! The rest of a request that is larger than allowed: it passes by without being kept, so that the
//! connection, and the requests behind it, go on.

use super::{Limits, Malformed, Number, Parser, Words, malformed, not_a_bulk, number};

/// The longest word that passes by, in bytes: the most that Redis takes by default.
/// A length above it is taken for nonsense.
const MAX_WORD_BYTES: i64 = 512 << 20;
/// The most words that pass by, as with Redis.
const MAX_WORDS: i64 = i32::MAX as i64;

/// What is still to pass by.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Bytes of the word at hand.
    bytes: usize,
    /// Whether there is one, whose line end is to come too.
    in_word: bool,
    /// Words after it.
    words: u32,
}

impl Parser {
    /// Whether the rest of a request that was refused is still to come. What is parsed meanwhile
    /// has no words and no answer.
    #[inline]
    pub const fn is_skipping(&self) -> bool {
        self.rest.is_some()
    }

    /// Why the request was refused that had no words, if it was: an answer to it, after which the
    /// connection goes on.
    pub fn take_refusal(&mut self) -> Option<String> {
        self.refusal.take()
    }

    /// Lets the rest of an array pass by.
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

    /// Refuses an array of too many words. A stranger has to go.
    #[cold]
    pub(super) fn refuse_words(&mut self, count: i64, limits: &Limits) -> Result<(), Malformed> {
        if limits.stranger {
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

    /// Refuses a request whose next word, of `length` bytes, is too long for it, or it for its
    /// limit; `left` words follow. Called when it may be; whether it was.
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
        if limits.stranger && length >= 0 {
            return malformed("unauthenticated bulk length");
        }
        if !(0..=MAX_WORD_BYTES).contains(&length) {
            return malformed("invalid bulk length");
        }
        let why = format!("a word has {length} bytes, above the limit of {limit} ({setting})");
        self.refuse(&why, Rest { bytes: length as usize, in_word: true, words: left });
        Ok(true)
    }

    /// Refuses a request of too many bytes, the next word of which has `length`.
    #[cold]
    pub(super) fn refuse_bytes(
        &mut self,
        length: i64,
        left: u32,
        limits: &Limits,
    ) -> Result<(), Malformed> {
        if limits.stranger || length > MAX_WORD_BYTES {
            return malformed("request too large (max_request_bytes)");
        }
        let limit = limits.max_request_bytes;
        let why = format!("the request has more than {limit} bytes (max_request_bytes)");
        self.refuse(&why, Rest { bytes: length as usize, in_word: true, words: left });
        Ok(())
    }

    /// Refuses a line of too many words, which is there as a whole.
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
