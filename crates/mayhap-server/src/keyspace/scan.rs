//! Going over all names, a part at a time.

use super::lock::read;
use super::names::Named;
use super::{ChangeError, Keyspace, matches};
use std::sync::Arc;

/// The longest pattern: a matcher may take as many steps as pattern times name have bytes.
pub const MAX_PATTERN_BYTES: usize = 1_024;
/// The most filters that one call looks at.
const MAX_COUNT: usize = 10_000;
/// Bytes of names after which it ends: a page is never too large to be answered.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// A part of all names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where to go on; 0 at the end.
    pub cursor: u64,
    /// Those that were looked at and fit the pattern.
    pub names: Vec<Arc<[u8]>>,
}

impl Keyspace {
    /// The names of the next filters from `cursor` on, which is 0 at first: of up to `count`
    /// filters (at least 1, at most 10,000, and fewer where their names have 1 MiB) those that fit
    /// `pattern`.
    ///
    /// Filters stand in the order of their creation, those that were renamed behind them: a name
    /// that is there during the whole scan is listed, and once if nobody renames its filter
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`ChangeError::LongPattern`] for a pattern of more than [`MAX_PATTERN_BYTES`].
    pub fn scan(
        &self,
        cursor: u64,
        count: usize,
        pattern: Option<&[u8]>,
        now: u64,
    ) -> Result<Page, ChangeError> {
        if let Some(found) = pattern.map(<[u8]>::len).filter(|&found| found > MAX_PATTERN_BYTES) {
            return Err(ChangeError::LongPattern { found, limit: MAX_PATTERN_BYTES });
        }
        let (part, cursor) = self.part(cursor, count);
        let fits = |named: &Named| {
            !named.entry.is_expired(now)
                && pattern.is_none_or(|pattern| matches(pattern, &named.name))
        };
        let names = part.into_iter().filter(fits).map(|named| named.name).collect();
        Ok(Page { cursor, names })
    }

    /// The next filters from a place on: at least 1 and at most [`MAX_COUNT`]; and where to go on.
    pub(super) fn part(&self, cursor: u64, count: usize) -> (Vec<Named>, u64) {
        let count = count.clamp(1, MAX_COUNT);
        let by_id = read(&self.by_id);
        let (mut part, mut bytes, mut next) = (Vec::new(), 0, 0);
        self.moved.walk(&by_id, cursor, |place, named| {
            if part.len() == count || bytes >= MAX_PAGE_BYTES {
                next = place;
                return None;
            }
            bytes += named.name.len();
            part.push(named.clone());
            Some(())
        });
        (part, next)
    }

    /// How many filters have names that `fits` takes, and how many of them have a time at which
    /// they end; those that expired count until they are swept.
    pub fn count(&self, fits: impl Fn(&[u8]) -> bool) -> (u64, u64) {
        let (mut all, mut expiring, mut cursor) = (0, 0, 0);
        loop {
            let (part, next) = self.part(cursor, MAX_COUNT);
            for named in part.iter().filter(|named| fits(&named.name)) {
                all += 1;
                expiring += u64::from(named.entry.expires_at() != 0);
            }
            cursor = next;
            if cursor == 0 {
                return (all, expiring);
            }
        }
    }
}
