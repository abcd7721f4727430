//! Durations, by class of time.

use crate::count::Count;
use std::time::Duration;

/// Classes of time: class `i` ends at `2^i` µs, the last one never.
pub const CLASSES: usize = 26;

/// Durations, by class of time, and their total.
#[derive(Debug, Default)]
pub struct Times {
    classes: [Count; CLASSES],
    nanoseconds: Count,
}

/// The same as plain numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Took {
    /// How often it took a time of each class.
    pub classes: [u64; CLASSES],
    /// All of it together.
    pub nanoseconds: u64,
}

impl Times {
    /// Records a duration.
    pub fn took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let class = (u64::BITS - micros.leading_zeros()) as usize;
        self.classes[class.min(CLASSES - 1)].add(1);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.add(nanos);
    }

    /// Adds its numbers to `sum`.
    pub fn add_to(&self, sum: &mut Took) {
        for (sum, class) in sum.classes.iter_mut().zip(&self.classes) {
            *sum += class.get();
        }
        sum.nanoseconds = sum.nanoseconds.wrapping_add(self.nanoseconds.get());
    }

    /// The numbers.
    pub fn get(&self) -> Took {
        let mut took = Took::default();
        self.add_to(&mut took);
        took
    }
}
