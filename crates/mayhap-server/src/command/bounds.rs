//! The cost of a request, known before it is executed: nanoseconds of work, bytes of answer.
//!
//! Every row of the table states both, and `execute.rs` enforces them: a request that takes longer
//! than a connection's share of a turn leaves the loop, and an answer that is too large is refused
//! before it is built.

use super::call::{Call, Fault};
use crate::answer::check_room;

/// Work that one connection may bring into one turn, and one request into a loop: a millisecond.
pub(crate) const SHARE_NS: u64 = 1_000_000;
/// Looking up a name, and similar small work, for each word of a request.
pub(super) const WORD_NS: u64 = 64;
/// Visiting a filter in a pass over all of them.
pub(super) const FILTER_NS: u64 = 200;
/// Freeing a small filter.
pub(super) const END_NS: u64 = 1_000;
/// A new filter. One of a new size takes half a millisecond, which the clock counts.
pub(super) const CREATE_NS: u64 = 10_000;
/// Bytes per nanosecond that a pass over a filter reads, from pages that are not in a cache.
const READ_BYTES_PER_NS: u64 = 2;
/// Bytes per nanosecond whose pages are returned to the system.
const FREED_BYTES_PER_NS: u64 = 16;
/// Bytes per nanosecond that are copied, including the page faults of the copy.
const COPIED_BYTES_PER_NS: u64 = 1;
/// Smaller answers are not counted against the buffers of all clients.
pub(super) const MODEST_BYTES: u64 = 64 << 10;
/// An error, a number, a line: including the words that an error repeats.
const SMALL_BYTES: u64 = 4 << 10;

/// The most bytes of the answers to a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// A number, a line, a description of one thing: 4 KiB.
    Small,
    /// This number of bytes for each word of the request, and 4 KiB.
    Words(u64),
    /// One or more words of the request, and 4 KiB.
    Echo,
    /// This number of bytes.
    Bytes(u64),
    /// Counted by the handler: it calls [`Call::room_for`] before it writes more than 4 KiB.
    Counted,
}

impl Answer {
    /// The most bytes of the answer to this request; for a counted one, its initial allowance.
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

/// A bulk string or array has its length, its kind and two line ends in addition to its bytes.
pub(super) const ELEMENT_BYTES: usize = 16;

/// Work of reading all bits of `bytes` bytes.
pub(super) const fn reading(bytes: u64) -> u64 {
    bytes / READ_BYTES_PER_NS
}

/// Work of copying `bytes` bytes into new memory.
pub(super) const fn copying(bytes: u64) -> u64 {
    bytes / COPIED_BYTES_PER_NS
}

/// Work of returning `bytes` bytes to the system.
pub(super) const fn freeing(bytes: u64) -> u64 {
    bytes / FREED_BYTES_PER_NS
}

/// Work of matching `names` names with a pattern.
pub(super) fn matching(names: usize, pattern: &[u8]) -> u64 {
    // A star that is not the last byte may be tried again at every byte of a name.
    let stars = pattern.iter().rev().skip(1).filter(|&&byte| byte == b'*').count();
    let each = if stars == 0 { pattern.len() } else { pattern.len().saturating_mul(32) };
    (names as u64).saturating_mul(FILTER_NS + each as u64)
}

impl Call<'_, '_> {
    /// Checks that an answer of `bytes` bytes may be built.
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

    /// Checks that a list of these words may be built, as one array.
    pub(super) fn room_for_list<'n>(
        &mut self,
        words: impl Iterator<Item = &'n [u8]>,
    ) -> Result<(), Fault> {
        let bytes = words.map(|word| (word.len() + ELEMENT_BYTES) as u64).sum::<u64>();
        self.room_for(bytes + SMALL_BYTES)
    }
}
