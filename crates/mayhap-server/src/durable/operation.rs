//! What happens to a filter other than insertions.

use super::item;

/// What happens to a filter other than insertions. It is in the log before it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A new filter, in place of the one that may have had the name: with the contents that were
    /// written for its id, or empty.
    Create {
        /// A number that no filter had before: [`Report::next_id`](super::Report) and those after.
        id: u64,
        /// What users call it.
        name: &'a [u8],
        /// What it was created to be, in the keyspace's own bytes.
        spec: &'a [u8],
        /// Milliseconds since 1970; 0 for never.
        expires_at: u64,
    },
    /// A part of the contents of a filter that is created after it, in the keyspace's own bytes:
    /// what [`Log::begin_contents`](super::Log::begin_contents) writes.
    Load {
        /// The filter.
        id: u64,
        /// Which part: 0, 1, 2, …
        part: u64,
        /// At most 64 MiB.
        bytes: &'a [u8],
    },
    /// The filter is gone.
    Remove {
        /// The filter.
        id: u64,
    },
    /// The filter has another name, and the filter that may have had that is gone.
    Rename {
        /// The filter.
        id: u64,
        /// Its name from now on.
        name: &'a [u8],
    },
    /// The filter ends at a time.
    Expire {
        /// The filter.
        id: u64,
        /// Milliseconds since 1970; 0 for never.
        expires_at: u64,
    },
    /// All filters are gone.
    Clear,
}

impl Operation<'_> {
    /// Bytes of its item, or more.
    pub(super) fn bytes(&self) -> usize {
        let parts = match self {
            Self::Create { name, spec, .. } => name.len() + spec.len(),
            Self::Load { bytes, .. } => bytes.len(),
            Self::Rename { name, .. } => name.len(),
            Self::Remove { .. } | Self::Expire { .. } | Self::Clear => 0,
        };
        parts + item::HEAD_BYTES + 16
    }

    /// Whether it takes filters away.
    pub(super) const fn frees(&self) -> bool {
        matches!(self, Self::Remove { .. } | Self::Clear)
    }

    /// The filter whose name or time it sets.
    pub(super) const fn listed(&self) -> Option<u64> {
        match *self {
            Self::Create { id, .. } | Self::Rename { id, .. } | Self::Expire { id, .. } => Some(id),
            Self::Load { .. } | Self::Remove { .. } | Self::Clear => None,
        }
    }

    /// One more than the id of a filter that it creates, or writes contents for: these must never
    /// become those of another one.
    pub(super) const fn next_id(&self) -> u64 {
        match self {
            Self::Create { id, .. } | Self::Load { id, .. } => id.saturating_add(1),
            _ => 0,
        }
    }
}
