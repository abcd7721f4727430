//! The log's counts of the keys of one filter: keys that a crash would lose, and keys that count.

use crate::sync::{AtomicU64, Mutex, Ordering};
use std::sync::PoisonError;

/// The log's counts of the keys of one filter; shared by the filter and by records of it that are
/// not safe yet.
///
/// * **At risk**: insertions whose bits are set, or about to be, and that a crash would lose. They
///   are announced *before* a bit is set (`announced.rs`); the log subtracts them once their record
///   is as safe as the policy promises. While there are any, a key that is present may be one that
///   a crash would lose: a caller that answers "not new" has to record it too
///   ([`Recorder::insert_one`]).
/// * **Counted**: keys that were answered "new" and whose record the log has, or was refused. An
///   image is copied while insertions continue, so neither its bits nor the filter's own count show
///   how many of the keys in it came before the log that follows it; [`Tally::before`] does.
///
/// [`Recorder::insert_one`]: super::Recorder::insert_one
#[derive(Debug, Default)]
pub struct Tally {
    pub(super) at_risk: AtomicU64,
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    /// All keys so far.
    items: u64,
    /// The segment in which the last of them are recorded.
    segment: u64,
    /// The keys before that segment.
    before: u64,
}

impl Tally {
    /// For a filter with `items` keys, all of them safe.
    pub fn new(items: u64) -> Self {
        let counted = Counted { items, segment: 0, before: items };
        Self { at_risk: AtomicU64::new(0), counted: Mutex::new(counted) }
    }

    /// Insertions that a crash would lose.
    pub fn at_risk(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `settle`: insertions not at risk are in the log.
        self.at_risk.load(Ordering::Acquire)
    }

    /// Keys that were counted before this segment of the log began; `segment` is the one that the
    /// log writes now, or a checkpoint that is being made would have switched to another.
    pub fn before(&self, segment: u64) -> u64 {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.segment == segment { counted.before } else { counted.items }
    }

    /// Counts keys whose record is in this segment, or was refused while it was written. Called
    /// with the log locked, so that no checkpoint switches to another segment meanwhile.
    pub(super) fn count(&self, items: u64, segment: u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.segment != segment {
            (counted.segment, counted.before) = (segment, counted.items);
        }
        counted.items += items;
    }

    /// `insertions` of them are safe.
    pub(super) fn settle(&self, insertions: u64) {
        // ORDERING: Release. A thread that reads a lower number, with Acquire, has to find the
        // subtracted insertions in the log.
        self.at_risk.fetch_sub(insertions, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_before_a_segment_are_the_ones_counted_in_earlier_segments() {
        let tally = Tally::new(7);
        assert_eq!([tally.before(1), tally.before(2)], [7, 7]);
        tally.count(3, 1);
        assert_eq!([tally.before(1), tally.before(2)], [7, 10]);
        tally.count(4, 1);
        tally.count(5, 2);
        assert_eq!([tally.before(2), tally.before(3)], [14, 19]);
    }
}
