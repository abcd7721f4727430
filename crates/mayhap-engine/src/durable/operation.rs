//! Changes to a filter other than insertions.

/// A change to a filter other than an insertion. It is in the log before it is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A new filter, replacing any other of that name: with the contents that were written for its
    /// id, or empty.
    Create {
        /// An id that no filter had before: [`Report::next_id`](super::Report) or higher.
        id: u64,
        /// Its name.
        name: &'a [u8],
        /// Its specification, in the keyspace's own encoding.
        spec: &'a [u8],
        /// Milliseconds since 1970; 0 for never.
        expires_at: u64,
    },
    /// A part of the contents of a filter that is created after it, in the keyspace's own encoding,
    /// written by [`Log::begin_contents`](super::Log::begin_contents).
    Load {
        /// The filter.
        id: u64,
        /// The index of the part: 0, 1, 2, …
        part: u64,
        /// At most 64 MiB.
        bytes: &'a [u8],
    },
    /// The filter is gone.
    Remove {
        /// The filter.
        id: u64,
    },
    /// The filter has another name, and any other filter of that name is gone.
    Rename {
        /// The filter.
        id: u64,
        /// Its name from now on.
        name: &'a [u8],
    },
    /// The filter expires at this time.
    Expire {
        /// The filter.
        id: u64,
        /// Milliseconds since 1970; 0 for never.
        expires_at: u64,
    },
    /// The filter has another size, and promises what it can there.
    Fold {
        /// The filter.
        id: u64,
        /// The size and the promise, in the keyspace's own encoding.
        to: &'a [u8],
    },
    /// A piece of the bits of a filter like it is in it.
    Unite {
        /// The filter.
        id: u64,
        /// The number of its bits.
        num_bits: u64,
        /// Where the piece begins, in bytes.
        offset: u64,
        /// By how many keys its count grows, for which the log has to be given its counts too
        /// ([`Log::now_counting`](super::Log::now_counting)).
        items: u64,
        /// At most 64 MiB.
        bits: &'a [u8],
    },
    /// All filters are gone.
    Clear,
}

impl Operation<'_> {
    /// Whether it removes filters.
    pub(super) const fn frees(&self) -> bool {
        matches!(self, Self::Remove { .. } | Self::Clear)
    }

    /// The filter whose name or expiry it sets.
    pub(super) const fn listed(&self) -> Option<u64> {
        match *self {
            Self::Create { id, .. } | Self::Rename { id, .. } | Self::Expire { id, .. } => Some(id),
            Self::Load { .. }
            | Self::Remove { .. }
            | Self::Fold { .. }
            | Self::Unite { .. }
            | Self::Clear => None,
        }
    }

    /// The filter whose contents it changes, or will be.
    pub(super) const fn filled(&self) -> Option<u64> {
        match *self {
            Self::Load { id, .. } | Self::Fold { id, .. } | Self::Unite { id, .. } => Some(id),
            _ => None,
        }
    }

    /// One more than the id of the filter that it creates, or writes contents for: such an id must
    /// never be given to another filter.
    pub(super) const fn next_id(&self) -> u64 {
        match self {
            Self::Create { id, .. } | Self::Load { id, .. } => id.saturating_add(1),
            _ => 0,
        }
    }
}
