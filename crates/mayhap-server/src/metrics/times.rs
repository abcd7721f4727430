//! How long things took, by class of time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Classes of time: class `i` ends at `2^i` µs, the last one never.
pub(super) const CLASSES: usize = 26;

/// How long things took, by class of time, and all of them together.
#[derive(Debug, Default)]
pub struct Times {
    classes: [AtomicU64; CLASSES],
    nanoseconds: AtomicU64,
}

/// The same as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Took {
    pub(super) classes: [u64; CLASSES],
    pub(super) nanoseconds: u64,
}

// ORDERING: Relaxed everywhere. A number stands for itself; readers may see one a moment late.
impl Times {
    /// One more that took so long.
    pub fn took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let class = (u64::BITS - micros.leading_zeros()) as usize;
        self.classes[class.min(CLASSES - 1)].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The numbers, with those of others.
    pub(super) fn add_to(&self, sum: &mut Took) {
        for (sum, class) in sum.classes.iter_mut().zip(&self.classes) {
            *sum += class.load(Ordering::Relaxed);
        }
        sum.nanoseconds = sum.nanoseconds.wrapping_add(self.nanoseconds.load(Ordering::Relaxed));
    }

    /// The numbers.
    pub fn get(&self) -> Took {
        let mut took = Took::default();
        self.add_to(&mut took);
        took
    }
}
