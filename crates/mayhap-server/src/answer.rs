//! How large an answer may be, which is looked at before it is built.

use crate::Shared;
use std::fmt;

/// The largest answer, and all answers of a transaction.
const MAX_BYTES: u64 = 64 << 20;

/// Why an answer is not built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// No answer may have so many bytes.
    TooLarge {
        /// Those of the answer.
        bytes: u64,
    },
    /// The buffers of all clients have not so much left.
    Buffers {
        /// Those of the answer.
        bytes: u64,
        /// Those that are in use.
        taken: u64,
        /// The setting `max_buffer_bytes`.
        most: u64,
    },
}

/// That an answer of so many bytes may be built now.
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

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(
                f,
                "the answer would have {bytes} bytes, above the limit of {MAX_BYTES}; request \
                 less at a time"
            ),
            Self::Buffers { bytes, taken, most } => write!(
                f,
                "the answer would have {bytes} bytes and {taken} of {most} for buffers are in use \
                 (max_buffer_bytes); read your answers, or try again later"
            ),
        }
    }
}
