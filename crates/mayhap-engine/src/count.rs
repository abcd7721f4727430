//! Counters shared by threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that many threads change and any thread may read.
///
/// ORDERING: Relaxed everywhere. The number stands for itself and publishes nothing: a reader may
/// see it a moment late, and a read-modify-write always sees the last value, so nothing is counted
/// twice or lost.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// It begins with this number.
    pub const fn new(number: u64) -> Self {
        Self(AtomicU64::new(number))
    }

    /// The number now.
    #[inline]
    pub fn get(&self) -> u64 {
        // ORDERING: Relaxed, as stated at the type.
        self.0.load(Ordering::Relaxed)
    }

    /// Stores another number; returns the previous one.
    pub fn replace(&self, number: u64) -> u64 {
        // ORDERING: Relaxed, as stated at the type.
        self.0.swap(number, Ordering::Relaxed)
    }

    /// Adds; returns the sum.
    #[inline]
    pub fn add(&self, more: u64) -> u64 {
        // ORDERING: Relaxed, as stated at the type.
        self.0.fetch_add(more, Ordering::Relaxed).wrapping_add(more)
    }

    /// Raises it to at least this number.
    pub fn raise(&self, number: u64) {
        // ORDERING: Relaxed, as stated at the type.
        self.0.fetch_max(number, Ordering::Relaxed);
    }

    /// Subtracts.
    pub fn sub(&self, less: u64) {
        // ORDERING: Relaxed, as stated at the type.
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    /// Adds 1 if the number is below `limit`; returns whether it was.
    pub fn add_below(&self, limit: u64) -> bool {
        let more = |number: u64| (number < limit).then(|| number + 1);
        // ORDERING: Relaxed, as stated at the type.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_every_one_and_never_beyond_a_limit() {
        let (all, limited) = (Count::default(), Count::new(0));
        let granted = Count::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        all.add(2);
                        granted.add(limited.add_below(1500).into());
                    }
                });
            }
        });
        assert_eq!((all.get(), limited.get(), granted.get()), (8000, 1500, 1500));
        all.sub(1);
        assert_eq!((all.replace(5), all.get()), (7999, 5));
        all.raise(3);
        all.raise(7);
        assert_eq!(all.get(), 7);
    }
}
