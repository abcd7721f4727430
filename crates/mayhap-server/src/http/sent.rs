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

    /// The keys, none if they are digests.
    pub(super) fn keys(&self) -> Vec<&[u8]> {
        match self {
            Self::Keys(keys) => keys.words().iter().collect(),
            Self::Digests(_) => Vec::new(),
        }
    }

    /// The items for a store, with the keys of [`Sent::keys`].
    pub(super) fn items<'a>(&'a self, keys: &'a [&'a [u8]]) -> Items<'a> {
        match self {
            Self::Keys(_) => Items::Keys(keys),
            Self::Digests(digests) => Items::Digests(digests),
        }
    }
}
