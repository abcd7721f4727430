//! Insertions into filters that many threads fill at once; `durable/announced.rs` keeps "not new"
//! safe.

use super::Target;
use crate::Turn;
use crate::keyspace::InsertError;
use mayhap::{Bitmap, Digest};

/// A filter that many threads fill at once.
pub(super) trait Unordered {
    fn has(&self, digest: Digest) -> bool;

    /// `true` if it is new.
    fn add(&self, digest: Digest) -> Result<bool, InsertError>;

    /// Those before the place of an error are added.
    fn add_many(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), (usize, InsertError)>;
}

/// Inserts a digest; `true` if it is new.
#[inline]
pub(super) fn insert(
    filter: &impl Unordered,
    digest: Digest,
    target: Target<'_>,
    turn: &mut Turn,
) -> Result<bool, InsertError> {
    let Some(recorder) = &mut turn.recorder else { return filter.add(digest) };
    let has = || filter.has(digest);
    recorder.insert_one(target.tally, target.id, digest, has, || filter.add(digest))
}

/// Inserts [`Turn::digests`].
pub(super) fn insert_many(
    filter: &impl Unordered,
    target: Target<'_>,
    turn: &mut Turn,
) -> Result<(), (usize, InsertError)> {
    let Turn { recorder, digests, answers, .. } = turn;
    let Some(recorder) = recorder else { return filter.add_many(digests, answers) };
    let add = |digests: &[Digest], new: &mut Bitmap| filter.add_many(digests, new);
    recorder.insert_each(target.tally, target.id, digests, answers, add)
}
