//! The number of distinct keys of an input, in bounded memory.

use mayhap::Digest;

/// The number of digests kept: up to this number of keys, the count is exact.
const KEPT: usize = 1 << 17;

/// Counts distinct digests: exactly while there are few, from the smallest of them after that.
///
/// Digests are evenly spread, so if the K-th smallest of n distinct ones is at the share t of all
/// numbers, n is (K − 1) / t with a standard error of 1 / √(K − 2), which is 0.28 % here
/// (Bar-Yossef et al. 2002, "Counting distinct elements in a data stream"). Takes 3 MiB.
#[derive(Debug, Clone)]
pub(super) struct Distinct {
    /// The smallest distinct digests so far, in order.
    smallest: Vec<u64>,
    /// Digests up to `limit` since these were found, in any order.
    fresh: Vec<u64>,
    /// For the smallest of both.
    merged: Vec<u64>,
    /// Larger digests are not kept.
    limit: u64,
}

impl Distinct {
    /// Nothing counted.
    pub(super) fn new() -> Self {
        let [smallest, fresh, merged] = [(); 3].map(|()| Vec::with_capacity(KEPT));
        Self { smallest, fresh, merged, limit: u64::MAX }
    }

    /// Counts these too.
    pub(super) fn insert(&mut self, digests: &[Digest]) {
        for digest in digests {
            if digest.get() <= self.limit {
                self.fresh.push(digest.get());
                if self.fresh.len() == KEPT {
                    self.merge();
                }
            }
        }
    }

    /// Finds the smallest of all so far.
    fn merge(&mut self) {
        self.fresh.sort_unstable();
        self.fresh.dedup();
        let (smallest, fresh) = (&self.smallest[..], &self.fresh[..]);
        let (mut i, mut j) = (0, 0);
        self.merged.clear();
        while i < smallest.len() && j < fresh.len() && self.merged.len() < KEPT {
            let (one, other) = (smallest[i], fresh[j]);
            self.merged.push(one.min(other));
            // Without branches, which no processor could predict.
            i += usize::from(one <= other);
            j += usize::from(other <= one);
        }
        let left = KEPT - self.merged.len();
        let rest = if i < smallest.len() { &smallest[i..] } else { &fresh[j..] };
        self.merged.extend_from_slice(&rest[..rest.len().min(left)]);
        std::mem::swap(&mut self.smallest, &mut self.merged);
        self.fresh.clear();
        if let (KEPT, Some(&largest)) = (self.smallest.len(), self.smallest.last()) {
            self.limit = largest;
        }
    }

    /// How many there are, and room for how many is enough: the count itself where it is exact,
    /// else five standard errors more.
    pub(super) fn count(&mut self) -> (u64, u64) {
        self.merge();
        if self.smallest.len() < KEPT {
            let count = self.smallest.len() as u64;
            return (count, count);
        }
        let share = self.limit as f64 / u64::MAX as f64;
        let count = (KEPT - 1) as f64 / share;
        let error = 1.0 / ((KEPT - 2) as f64).sqrt();
        (count.round() as u64, (count * (1.0 + 5.0 * error)).ceil() as u64)
    }
}

impl Default for Distinct {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::DigestFunction;

    fn counted(items: u64, times: usize) -> (u64, u64) {
        let function = DigestFunction::default();
        let digests: Vec<Digest> = (0..items).map(|i| function.digest(&i.to_le_bytes())).collect();
        let mut distinct = Distinct::new();
        for _ in 0..times {
            distinct.insert(&digests);
        }
        distinct.count()
    }

    #[test]
    fn few_keys_are_counted_exactly_however_often_they_come() {
        for items in [0, 1, 2, 1000, KEPT as u64 - 1] {
            assert_eq!(counted(items, 1), (items, items));
            assert_eq!(counted(items, 7), (items, items));
        }
    }

    #[test]
    fn many_keys_are_counted_within_four_standard_errors_and_all_have_room() {
        for items in [KEPT as u64, 300_000, 1_000_000, 5_000_000] {
            let (count, room) = counted(items, 2);
            let error = (count as f64 / items as f64 - 1.0).abs();
            assert!(error < 4.0 * 0.002_77, "{count} counted of {items}");
            assert!(room >= items && (room as f64) < items as f64 * 1.03, "{room} for {items}");
        }
    }

    /// By hand: 2^17 digests are kept, so that a standard error is 1 / √(2^17 − 2) = 1 / 362.036,
    /// and five of them are 1.38108 % of the count.
    #[test]
    fn there_is_room_for_five_standard_errors_more() {
        for items in [KEPT as u64, 200_000, 1_000_000] {
            let (count, room) = counted(items, 1);
            let more = room as f64 / count as f64 - 1.0;
            assert!((0.013_800..0.013_820).contains(&more), "{more} for {count}");
        }
    }
}
