//! Insertions into filters that many threads fill at once; `durable/announced.rs` keeps "not new"
//! safe.

use super::filter::{Filter, Target};
use crate::Work;
use crate::keyspace::InsertError;
use mayhap::{Bitmap, Digest};

/// A filter that many threads fill at once.
pub(super) trait LockFree: Filter {
    /// `true` if it is new.
    fn add(&self, digest: Digest) -> Result<bool, InsertError>;

    /// The digests before the index of an error are added.
    fn add_many(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), (usize, InsertError)>;

    /// After insertions into it, which has this id.
    #[inline]
    fn inserted(&self, _id: u64) {}
}

/// The methods of [`Filter`] that only hand on: queries to the filter of the core in the field
/// `filter`, of what this method returns if one is given, and insertions to [`insert`] and
/// [`insert_many`].
macro_rules! lock_free {
    ($($current:ident)?) => {
        fn digest_function(&self) -> Option<DigestFunction> {
            Some(*self.filter.digest_function())
        }

        fn contains(&self, digest: Digest, _now: u64) -> bool {
            self$(.$current())?.filter.contains_digest(digest)
        }

        fn contains_many(&self, digests: &[Digest], _now: u64, found: &mut Bitmap) {
            self$(.$current())?.filter.contains_digests_into(digests, found);
        }

        fn insert(
            &self,
            digest: Digest,
            target: Target<'_>,
            work: &mut Work,
        ) -> Result<bool, InsertError> {
            lock_free::insert(self, digest, target, work)
        }

        fn insert_many(
            &self,
            target: Target<'_>,
            work: &mut Work,
        ) -> Result<(), (usize, InsertError)> {
            lock_free::insert_many(self, target, work)
        }
    };
}

pub(super) use lock_free;

/// Inserts a digest; `true` if it is new.
#[inline]
pub(super) fn insert(
    filter: &impl LockFree,
    digest: Digest,
    target: Target<'_>,
    work: &mut Work,
) -> Result<bool, InsertError> {
    let has = || filter.contains(digest, 0);
    let add = || filter.add(digest);
    let new = match &mut work.recorder {
        Some(recorder) => recorder.insert_one(target.tally, target.id, digest, has, add),
        None => add(),
    }?;
    if new {
        filter.inserted(target.id);
    }
    Ok(new)
}

/// Inserts [`Work::digests`].
pub(super) fn insert_many(
    filter: &impl LockFree,
    target: Target<'_>,
    work: &mut Work,
) -> Result<(), (usize, InsertError)> {
    let Work { recorder, digests, answers, .. } = work;
    let add = |digests: &[Digest], new: &mut Bitmap| filter.add_many(digests, new);
    let done = match recorder {
        Some(recorder) => recorder.insert_each(target.tally, target.id, digests, answers, add),
        None => add(digests, answers),
    };
    filter.inserted(target.id);
    done
}
