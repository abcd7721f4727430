//! The digests in memory that are not yet in the log.

use crate::Operation;
use mayhap::Digest;
use std::ops::RangeInclusive;

/// Bounds of [`max_len`]: 2 to 8 MiB of digests.
const MAX_LEN: RangeInclusive<usize> = 1 << 18..=1 << 20;
/// A log longer than this part of its filter costs more than saving the filter: its digests wait in
/// memory, are written, and read again by the next process.
const PART_OF_FILTER: u64 = 64;

/// The number of digests worth a log, for a filter of this size. Beyond that, the whole filter is
/// saved before the lock is released.
pub(super) fn max_len(filter_bytes: u64) -> usize {
    let digests = filter_bytes / (PART_OF_FILTER * size_of::<Digest>() as u64);
    usize::try_from(digests).unwrap_or(usize::MAX).clamp(*MAX_LEN.start(), *MAX_LEN.end())
}

/// Digests applied in memory since the last record, with time and operation.
#[derive(Debug, Default)]
pub(super) struct Pending {
    digests: Vec<Digest>,
    /// The operation on the digests from there on.
    runs: Vec<Run>,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    start: usize,
    operation: Operation,
    time: u64,
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.digests.len()
    }

    /// Adds digests that are applied after all others.
    pub(super) fn push(
        &mut self,
        operation: Operation,
        time: u64,
        digests: impl IntoIterator<Item = Digest>,
    ) {
        let mut digests = digests.into_iter().peekable();
        if digests.peek().is_some() {
            // The later time suffices.
            let passes = |run: &mut Run| run.operation == Operation::Pass;
            self.runs.pop_if(passes).inspect(|run| self.digests.truncate(run.start));
        }
        let start = self.digests.len();
        self.digests.extend(digests);
        let is_same = |run: &Run| (run.operation, run.time) == (operation, time);
        if self.digests.len() > start && !self.runs.last().is_some_and(is_same) {
            self.runs.push(Run { start, operation, time });
        }
    }

    pub(super) fn clear(&mut self) {
        self.digests.clear();
        self.runs.clear();
    }

    /// The runs of digests with the same operation and time, in order.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Operation, u64, &[Digest])> {
        let ends = self.runs.iter().skip(1).map(|run| run.start).chain([self.digests.len()]);
        let run = |(run, end): (&Run, usize)| (run.operation, run.time, run.start..end);
        self.runs
            .iter()
            .zip(ends)
            .map(run)
            .map(|(operation, time, range)| (operation, time, &self.digests[range]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_at_most_a_part_of_its_filter() {
        let mib = 1 << 20;
        assert_eq!(max_len(64), 1 << 18);
        assert_eq!(max_len(128 * mib), 1 << 18);
        assert_eq!(max_len(256 * mib), 1 << 19);
        assert_eq!(max_len(u64::MAX), 1 << 20);
    }

    #[test]
    fn runs_end_where_the_operation_or_the_time_changes() {
        let mut pending = Pending::default();
        let digests = |numbers: &[u64]| numbers.iter().map(|&n| Digest::new(n)).collect::<Vec<_>>();
        for (operation, time, numbers) in [
            (Operation::Insert, 1, &[1, 2][..]),
            (Operation::Remove, 1, &[]),
            (Operation::Insert, 1, &[3]),
            (Operation::Remove, 1, &[1]),
            (Operation::Pass, 2, &[0]),
            (Operation::Pass, 3, &[0]),
            (Operation::Remove, 2, &[2]),
        ] {
            pending.push(operation, time, digests(numbers));
        }
        let expected = [
            (Operation::Insert, 1, digests(&[1, 2, 3])),
            (Operation::Remove, 1, digests(&[1])),
            (Operation::Remove, 2, digests(&[2])),
        ];
        let found: Vec<_> = pending.runs().map(|(o, t, run)| (o, t, run.to_vec())).collect();
        assert_eq!(found, expected);
        assert_eq!(pending.len(), 5);
        pending.clear();
        assert_eq!((pending.runs().count(), pending.len()), (0, 0));
    }
}
