//! The last hour of filters, within a bounded memory: a page that is loaded again draws it.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time from one sample of a filter to the next.
pub const STEP: Duration = Duration::from_secs(60);
/// The number of filters with a history: further ones have none until one of these is gone.
pub const MAX_FILTERS: usize = 20_000;

const STEP_SECONDS: u32 = 60;
const HOUR_SECONDS: u32 = 3_600;
/// The samples of an hour, one at each end, and one for timers that are early.
const MAX_SAMPLES: usize = 62;

/// The query of a history: `?filter=a`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryQuery {
    /// A name in the form used in paths.
    pub filter: String,
}

/// The numbers of a filter at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    /// Seconds since 1970.
    at: u32,
    rate: f32,
    items: f64,
}

impl Sample {
    /// Whether the numbers are the same; unknown ones are.
    fn is_like(&self, other: &Self) -> bool {
        let bits = |sample: &Self| (sample.rate.to_bits(), sample.items.to_bits());
        bits(self) == bits(other)
    }
}

#[derive(Debug)]
struct Line {
    /// Where the numbers changed, oldest first.
    samples: VecDeque<Sample>,
    /// When the newest numbers were seen last.
    seen: u32,
}

impl Line {
    fn put(&mut self, sample: Sample) {
        if let Some(&last) = self.samples.back() {
            // Timers are early by a little.
            if sample.at < self.seen.saturating_add(STEP_SECONDS - 1) {
                return;
            }
            if last.is_like(&sample) {
                self.seen = sample.at;
                return;
            }
            if last.at != self.seen {
                self.samples.push_back(Sample { at: self.seen, ..last });
            }
        }
        self.samples.push_back(sample);
        self.seen = sample.at;
        let since = sample.at.saturating_sub(HOUR_SECONDS);
        let is_old = |line: &Self| line.samples.get(1).is_some_and(|second| second.at <= since);
        while is_old(self) || self.samples.len() > MAX_SAMPLES {
            self.samples.pop_front();
        }
    }
}

/// A time in milliseconds since 1970, the rate, and the number of keys.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Past(pub u64, pub Option<f64>, pub Option<f64>);

/// The last hour of rates and keys, of at most [`MAX_FILTERS`] filters.
///
/// A filter has at most 62 samples of 16 bytes, one a minute and only where its numbers changed:
/// 1 KiB with the room that they grow in, 22 MiB for all filters with short names.
///
/// ```
/// use mayhap_dashboard::history::{History, Past};
///
/// let history = History::default();
/// history.put(b"seen", 1_700_000_000_000, 0.25, 10.0);
/// history.put(b"seen", 1_700_000_060_000, f64::NAN, 20.0);
/// let expected = [
///     Past(1_700_000_000_000, Some(0.25), Some(10.0)),
///     Past(1_700_000_060_000, None, Some(20.0)),
/// ];
/// assert_eq!(history.of(b"seen"), expected);
/// assert_eq!(history.of(b"other"), []);
/// ```
#[derive(Debug, Default)]
pub struct History(Mutex<HashMap<Box<[u8]>, Line>>);

impl History {
    fn lines(&self) -> MutexGuard<'_, HashMap<Box<[u8]>, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the numbers of a filter at a time in milliseconds since 1970, unless its last sample
    /// is younger than a minute. A number that is not known is NaN.
    pub fn put(&self, name: &[u8], at: u64, rate: f64, items: f64) {
        let sample = Sample { at: seconds(at), rate: rate as f32, items };
        let mut lines = self.lines();
        if let Some(line) = lines.get_mut(name) {
            line.put(sample);
            return;
        }
        if lines.len() >= MAX_FILTERS {
            lines.retain(|_, line| line.seen >= sample.at.saturating_sub(HOUR_SECONDS));
        }
        if lines.len() < MAX_FILTERS {
            lines.insert(name.into(), Line { samples: [sample].into(), seen: sample.at });
        }
    }

    /// Forgets filters whose numbers were not seen since this time: they are gone.
    ///
    /// ```
    /// let history = mayhap_dashboard::history::History::default();
    /// history.put(b"gone", 1_000, 0.0, 0.0);
    /// history.put(b"there", 61_000, 0.0, 0.0);
    /// history.keep_since(61_000);
    /// assert_eq!((history.of(b"gone").len(), history.of(b"there").len()), (0, 1));
    /// ```
    pub fn keep_since(&self, at: u64) {
        let since = seconds(at);
        self.lines().retain(|_, line| line.seen >= since);
    }

    /// The samples of a filter, oldest first, none if it has no history: between two of them its
    /// numbers are on a straight line.
    pub fn of(&self, name: &[u8]) -> Vec<Past> {
        let lines = self.lines();
        let Some(line) = lines.get(name) else { return Vec::new() };
        let newest = line.samples.back().filter(|last| last.at != line.seen);
        let newest = newest.map(|&last| Sample { at: line.seen, ..last });
        let known = |number: f64| Some(number).filter(|number| number.is_finite());
        let past = |sample: Sample| {
            Past(u64::from(sample.at) * 1_000, known(sample.rate.into()), known(sample.items))
        };
        line.samples.iter().copied().chain(newest).map(past).collect()
    }
}

fn seconds(millis: u64) -> u32 {
    u32::try_from(millis / 1_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000_000;
    const MINUTE: u64 = 60_000;

    /// The times, in minutes from the start, and the numbers of keys.
    fn items(history: &History, name: &[u8]) -> Vec<(u64, f64)> {
        let all = history.of(name).into_iter();
        all.map(|Past(at, _, items)| ((at - START) / MINUTE, items.unwrap())).collect()
    }

    #[test]
    fn a_filter_has_a_sample_a_minute_of_its_last_hour() {
        let history = History::default();
        for second in 0..=7_200 {
            history.put(b"a", START + 1_000 * second, 0.5, second as f64);
        }
        let samples = items(&history, b"a");
        let step = |pair: &[(u64, f64)]| pair[1].1 - pair[0].1;
        assert!(samples.windows(2).all(|pair| (59.0..=60.0).contains(&step(pair))));
        assert!((60..=MAX_SAMPLES).contains(&samples.len()), "{}", samples.len());
        let (first, last) = (samples[0].1, samples.last().unwrap().1);
        assert!((7_140.0..=7_200.0).contains(&last), "{last}");
        assert!((3_540.0..=3_600.0).contains(&first), "{first}");
    }

    #[test]
    fn numbers_that_stay_take_no_memory_and_end_where_they_change() {
        let history = History::default();
        for minute in 0..100 {
            history.put(b"a", START + MINUTE * minute, f64::NAN, f64::from(minute >= 90));
        }
        let changes = [(0, 0.0), (89, 0.0), (90, 1.0), (99, 1.0)];
        assert_eq!(items(&history, b"a"), changes);
        assert_eq!(history.lines()[&b"a"[..]].samples.len(), 3);
        // A sample older than an hour only begins the line.
        history.put(b"a", START + MINUTE * 149, f64::NAN, 2.0);
        assert_eq!(items(&history, b"a"), [(89, 0.0), (90, 1.0), (99, 1.0), (149, 2.0)]);
    }

    #[test]
    fn memory_is_bounded_and_the_room_of_a_filter_that_is_gone_is_free() {
        let history = History::default();
        let name = |number: usize| number.to_le_bytes();
        for number in 0..=MAX_FILTERS {
            for minute in 0..2 {
                history.put(&name(number), START + MINUTE * minute, 0.0, minute as f64);
            }
        }
        assert_eq!(history.of(&name(MAX_FILTERS)), []);
        assert_eq!(history.of(&name(MAX_FILTERS - 1)).len(), 2);
        for minute in 2..300 {
            history.put(&name(1), START + MINUTE * minute, 0.0, minute as f64);
            // Numbers that change every other minute take two samples each time.
            history.put(&name(2), START + MINUTE * minute, 0.0, (minute / 2) as f64);
        }
        for number in [1, 2] {
            let bytes = history.lines()[&name(number)[..]].samples.capacity() * size_of::<Sample>();
            assert!(bytes <= 1_024, "{bytes} bytes");
        }
        // Filters not seen for an hour make room.
        history.put(&name(MAX_FILTERS), START + MINUTE * 299, 0.0, 0.0);
        assert_eq!(history.of(&name(MAX_FILTERS)).len(), 1);
        assert_eq!(history.lines().len(), 3);
        history.keep_since(START + MINUTE * 300);
        assert_eq!(history.lines().len(), 0);
    }

    /// A clock that was set back ends no line: the next sample comes when it has caught up.
    #[test]
    fn times_only_increase() {
        let history = History::default();
        for minute in [10, 3, 9, 11] {
            history.put(b"a", START + MINUTE * minute, 0.0, minute as f64);
        }
        assert_eq!(items(&history, b"a"), [(10, 10.0), (11, 11.0)]);
        history.put(b"b", u64::MAX, 0.0, 0.0);
        assert_eq!(history.of(b"b").len(), 1);
    }
}
