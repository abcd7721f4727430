//! Insertion with one winner: of all callers with equal keys, only one gets the answer "new".

use super::Filter;
use crate::bits::SharedBlocks;
use crate::layout::LayoutKind;
use crate::sync::Lock;
use crate::{Digest, Key};
use alloc::boxed::Box;

/// The number of locks; each digest maps to one. Two keys with the same lock wait for each other,
/// nothing worse.
const LOCKS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 1024 };

/// A shared filter whose answer "new" goes to one caller alone: add-if-absent as one atomic step.
///
/// Of callers that insert equal keys at once, a [`Filter`] answers "new" to at least one, and
/// sometimes to two, each of which was the first to set some of its bits. Here exactly one gets
/// that answer (none if the key is a false positive), so that caller may send the mail, charge the
/// card or fetch the page. An insertion of a key that seems to be absent takes one of 1,024 locks,
/// chosen by the digest; keys that are present take none, and neither do queries. Made with
/// [`Filter::insert_once`].
///
/// Memory: 8 KiB in addition to the filter (with `std`'s locks). Cache lines: one more than the
/// filter's, for the lock.
///
/// # Examples
///
/// ```
/// use mayhap::ConcurrentBlockedBloomFilter;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let builder = ConcurrentBlockedBloomFilter::builder().expected_items(1000).target_fpp(1e-9);
/// let sent = builder.build()?.insert_once();
/// let mails = AtomicU64::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             for user in 0..1000u64 {
///                 if sent.insert(&user) {
///                     mails.fetch_add(1, Ordering::Relaxed);
///                 }
///             }
///         });
///     }
/// });
/// assert_eq!(mails.into_inner(), 1000);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct OnceFilter<L> {
    filter: Filter<L, SharedBlocks>,
    locks: Box<[Lock]>,
}

impl<L: LayoutKind> OnceFilter<L> {
    pub(super) fn new(filter: Filter<L, SharedBlocks>) -> Self {
        Self { filter, locks: (0..LOCKS).map(|_| Lock::new()).collect() }
    }

    /// Inserts a key; `true` if it is new: surely not in the filter before, and no other caller
    /// gets that answer.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_digest(self.filter.digest_function().digest(key))
    }

    /// Like [`OnceFilter::insert`], for a key that is already a digest.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        if self.filter.contains_digest(digest) {
            return false;
        }
        // Equal digests have the same lock, and a later holder sees the bits set by earlier ones.
        let lock = &self.locks[digest.get() as usize % LOCKS];
        lock.with(|| self.filter.insert_digest(digest))
    }

    /// Whether the key may have been inserted: `false` is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// Like [`OnceFilter::contains`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.filter.contains_digest(digest)
    }

    /// The filter itself, for queries and statistics. Keys inserted into it directly may be
    /// answered "new" twice.
    pub const fn as_filter(&self) -> &Filter<L, SharedBlocks> {
        &self.filter
    }

    /// The filter without the locks.
    pub fn into_filter(self) -> Filter<L, SharedBlocks> {
        self.filter
    }
}
