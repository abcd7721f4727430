//! The limits of a request.

use mayhap_engine::Words;

/// The limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a word.
    pub max_word_bytes: u32,
    /// Bytes of a word of `BF.LOADCHUNK`, which carries up to 16 MiB of a filter.
    pub max_chunk_bytes: u32,
    /// Words of a request.
    pub max_words: u32,
    /// Bytes of a request, including everything between its words.
    pub max_request_bytes: u32,
    /// Whether they are for a client that has not logged in: errors then mention a login.
    pub unauthenticated: bool,
}

impl Limits {
    /// For clients that have not logged in where a password is required: room for
    /// `HELLO 3 AUTH …`.
    ///
    /// The limits of Redis: 10 words of 16 KiB.
    pub const UNAUTHENTICATED: Self = Self {
        max_word_bytes: 16 << 10,
        max_chunk_bytes: 16 << 10,
        max_words: 10,
        max_request_bytes: 192 << 10,
        unauthenticated: true,
    };

    /// The limit of the word after these, and its setting.
    pub(super) fn of_word(&self, words: Words<'_>) -> (u32, &'static str) {
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
    /// 1,048,576 words of 1 MiB (16 MiB and 64 KiB in `BF.LOADCHUNK`), 64 MiB in total.
    fn default() -> Self {
        Self {
            max_word_bytes: 1 << 20,
            max_chunk_bytes: (16 << 20) + (64 << 10),
            max_words: 1 << 20,
            max_request_bytes: 64 << 20,
            unauthenticated: false,
        }
    }
}
