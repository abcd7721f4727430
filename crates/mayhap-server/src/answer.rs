//! The size limits of answers, checked before an answer is built.

use crate::Shared;

/// The limit of one answer, and of all answers of a transaction together.
const MAX_BYTES: u64 = 64 << 20;

/// Why an answer cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoRoom {
    /// Larger than any answer may be.
    #[error(
        "the answer would have {bytes} bytes, above the limit of {MAX_BYTES}; request less at a \
         time"
    )]
    TooLarge {
        /// Size of the answer.
        bytes: u64,
    },
    /// The buffers of all clients have too little room left.
    #[error(
        "the answer would have {bytes} bytes and {taken} of {most} for buffers are in use \
         (max_buffer_bytes); read your answers, or try again later"
    )]
    Buffers {
        /// Size of the answer.
        bytes: u64,
        /// Bytes in use.
        taken: u64,
        /// The setting `max_buffer_bytes`.
        most: u64,
    },
}

/// Checks that an answer of this size may be built now.
pub(crate) fn check_room(shared: &Shared, bytes: u64) -> Result<(), NoRoom> {
    if bytes > MAX_BYTES {
        return Err(NoRoom::TooLarge { bytes });
    }
    let most = shared.config().buffer_bytes();
    let taken = shared.clients.buffered_bytes() as u64;
    if taken.saturating_add(bytes) > most {
        return Err(NoRoom::Buffers { bytes, taken, most });
    }
    Ok(())
}
