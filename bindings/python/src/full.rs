//! Whether a filter has room for more keys.

use crate::error::Error;
use mayhap::native::Kind;
use mayhap::set::{Repeats, Set};
use mayhap::{Bitmap, Digest};

/// The most insertions with which the promise of a filter holds; `u64::MAX` if there is no such
/// number.
pub(crate) fn limit_of(set: &dyn Set) -> u64 {
    let can = set.capabilities();
    if !can.inserts || can.grows || can.forgets {
        return u64::MAX;
    }
    let numbers = set.numbers();
    // A filter that counts every insertion counts false positives, too.
    let limit = if can.removes { numbers.capacity } else { set.inserted_when_full() };
    limit.unwrap_or(u64::MAX)
}

/// Refuses keys if more of them would be new than there is room for.
///
/// # Errors
///
/// [`Error::Full`]; the errors of a copy.
pub(crate) fn check_room(set: &dyn Set, limit: u64, digests: &[Digest]) -> Result<(), Error> {
    let room = limit.saturating_sub(set.inserted_items());
    if digests.len() as u64 <= room {
        return Ok(());
    }
    // Where repeats take room too, only trying shows how many do.
    let is_hard = set.kind() == Kind::Compact;
    let is_absent = |digest: &&Digest| !set.contains_digest(**digest, set.now());
    let mut absent: Vec<_> = digests.iter().filter(is_absent).map(|digest| digest.get()).collect();
    absent.sort_unstable();
    absent.dedup();
    if !is_hard && absent.len() as u64 <= room {
        return Ok(());
    }
    // A few of them may be false positives of the others, and not count: only trying shows it.
    let mut tried = set.copy()?;
    tried.insert_into(digests, Repeats::Renew, &mut Bitmap::new())?;
    check_not_over(&*tried, limit)
}

/// Refuses a filter to which more keys were added than the promise holds for.
///
/// # Errors
///
/// [`Error::Full`].
pub(crate) fn check_not_over(set: &dyn Set, limit: u64) -> Result<(), Error> {
    if set.inserted_items() > limit {
        return Err(Error::Full { expected_items: set.fields().expected_items });
    }
    Ok(())
}
