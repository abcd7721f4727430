//! What a request may cost, known before it is carried out: nanoseconds of work, bytes of answer.
//!
//! Every row of the table says both. `execute.rs` holds them: what takes longer than a
//! connection's share of a turn leaves the loop, and an answer that is too large is refused before
//! it is built.

use super::call::{Call, Fault};
use crate::answer::check_room;

/// Work that one connection may bring into one turn, and one request into a loop: a millisecond.
pub(crate) const SHARE_NS: u64 = 1_000_000;
/// Looking a name up, and other small things, for each word of a request.
pub(super) const WORD_NS: u64 = 64;
/// Looking at a filter while going over all of them.
pub(super) const FILTER_NS: u64 = 200;
/// Giving a small filter back.
pub(super) const END_NS: u64 = 1_000;
/// A new filter. One of a size that no other has takes half a millisecond, which the clock says.
pub(super) const CREATE_NS: u64 = 10_000;
/// Bytes that are read in a nanosecond by a pass over a filter, from pages that are not in a cache.
const READ_BYTES_PER_NS: u64 = 2;
/// Bytes whose pages go back to the system in a nanosecond.
const FREED_BYTES_PER_NS: u64 = 16;
/// Bytes that are copied in a nanosecond, with the pages that the copy needs.
const COPIED_BYTES_PER_NS: u64 = 1;
/// Answers below this are not held against the buffers of all clients.
const MODEST_BYTES: u64 = 64 << 10;
/// An error, a number, a line: with the words that an error repeats.
const SMALL_BYTES: u64 = 4 << 10;

/// The most bytes of the answers to a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// A number, a line, a description of one thing: 4 KiB.
    Small,
    /// So many for each word of the request, beside 4 KiB.
    Words(u64),
    /// A word or several of the request, beside 4 KiB.
    Echo,
    /// So many.
    Bytes(u64),
    /// What the handler counts: it calls [`Call::room_for`] before it writes more than 4 KiB.
    Counted,
}

impl Answer {
    /// The most bytes of the answer to this request; of one that is counted, what it has at once.
    #[inline]
    pub(super) fn bytes(self, call: &Call<'_, '_>) -> u64 {
        match self {
            Self::Small | Self::Counted => SMALL_BYTES,
            Self::Words(each) => SMALL_BYTES + each * call.words.len() as u64,
            Self::Echo => {
                let bytes: usize = call.words.iter().map(|word| word.len() + ELEMENT_BYTES).sum();
                SMALL_BYTES + bytes as u64
            }
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// A bulk string or array has its length, its kind and two line ends beside its bytes.
pub(super) const ELEMENT_BYTES: usize = 16;

/// Work of reading all bits of so many bytes.
pub(super) const fn reading(bytes: u64) -> u64 {
    bytes / READ_BYTES_PER_NS
}

/// Work of copying so many bytes into new memory.
pub(super) const fn copying(bytes: u64) -> u64 {
    bytes / COPIED_BYTES_PER_NS
}

/// Work of giving so many bytes back to the system.
pub(super) const fn freeing(bytes: u64) -> u64 {
    bytes / FREED_BYTES_PER_NS
}

/// Work of matching so many names with a pattern.
pub(super) fn matching(names: usize, pattern: &[u8]) -> u64 {
    // A star that is not the last byte may be tried again at every byte of a name.
    let stars = pattern.iter().rev().skip(1).filter(|&&byte| byte == b'*').count();
    let each = if stars == 0 { pattern.len() } else { pattern.len().saturating_mul(32) };
    (names as u64).saturating_mul(FILTER_NS + each as u64)
}

impl Call<'_, '_> {
    /// That an answer of so many bytes may be built.
    #[inline]
    pub(super) fn room_for(&mut self, bytes: u64) -> Result<(), Fault> {
        self.granted = self.granted.max(bytes);
        let bytes = bytes.saturating_add(self.turn.answered);
        if bytes <= MODEST_BYTES { Ok(()) } else { self.large_answer(bytes) }
    }

    #[cold]
    fn large_answer(&self, bytes: u64) -> Result<(), Fault> {
        check_room(self.shared, bytes).map_err(|why| format!("ERR {why}").into())
    }

    /// That a list of these words may be built, as one array.
    pub(super) fn room_for_list<'n>(
        &mut self,
        words: impl Iterator<Item = &'n [u8]>,
    ) -> Result<(), Fault> {
        let bytes = words.map(|word| (word.len() + ELEMENT_BYTES) as u64).sum::<u64>();
        self.room_for(bytes + SMALL_BYTES)
    }
}
