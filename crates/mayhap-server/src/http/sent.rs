//! The items of a request, as they were sent: keys, or digests of keys.

use crate::front::Items;
use crate::resp::WordList;
use mayhap::Digest;

/// The items to add or look up.
#[derive(Debug)]
pub(super) enum Sent {
    Keys(WordList),
    Digests(Vec<Digest>),
}

impl Sent {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Keys(keys) => keys.words().len(),
            Self::Digests(digests) => digests.len(),
        }
    }

    /// The items for a store.
    pub(super) fn items(&self) -> Items<'_> {
        match self {
            Self::Keys(keys) => Items::Keys(keys.words().iter().collect()),
            Self::Digests(digests) => Items::Digests(digests),
        }
    }
}
