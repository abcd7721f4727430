//! How many new lines a filter is expected to have taken for repeats.

use mayhap::Estimate;
use std::ops::AddAssign;

/// A number of lines with its standard deviation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Lost {
    /// In the mean.
    pub lines: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Lost {
    /// The keys that were offered to a filter and not counted between two moments: for each, the
    /// number offered until then, and the number counted.
    pub fn between(first: (Estimate, u64), last: (Estimate, u64)) -> Self {
        let uncounted = |(came, counted): (Estimate, u64)| came.items - counted as f64;
        let deviation = |(came, _): (Estimate, u64)| came.deviation();
        // The uncertainty at the first moment is part of both estimates, and no part of the
        // difference.
        let variance = deviation(last).powi(2) - deviation(first).powi(2);
        let lines = uncounted(last) - uncounted(first);
        Self { lines: not_negative(lines), deviation: variance.abs().sqrt() }
    }

    /// The remainder without a part of it.
    #[must_use]
    pub fn without(self, part: Self) -> Self {
        let variance = self.deviation.powi(2) - part.deviation.powi(2);
        let lines = not_negative(self.lines - part.lines);
        Self { lines, deviation: not_negative(variance).sqrt() }
    }

    /// Never more than were `dropped`.
    #[must_use]
    pub fn of_dropped(self, dropped: u64) -> Self {
        let dropped = dropped as f64;
        // Where nothing is known it may be any of them.
        let known = |number: f64| if number.is_nan() { dropped } else { number.min(dropped) };
        Self { lines: known(self.lines), deviation: known(self.deviation) }
    }
}

/// At least 0, and still no number where that is not known.
fn not_negative(number: f64) -> f64 {
    if number < 0.0 { 0.0 } else { number }
}

impl AddAssign for Lost {
    fn add_assign(&mut self, more: Self) {
        let variance = self.deviation.powi(2) + more.deviation.powi(2);
        *self = Self { lines: self.lines + more.lines, deviation: variance.sqrt() };
    }
}

/// Sums the rate over the insertions: for filters that forget, or that others fill too, so that
/// their count does not give the number of keys offered.
///
/// A share p of the lines with a new key is lost, p being the rate at that moment. Between
/// insertions `a` and `b` that were answered "new", (b − a) p / (1 − p) are expected to have been
/// lost, with variance (b − a) p / (1 − p)².
#[derive(Debug, Clone, Default)]
pub struct RateSum {
    items: u64,
    fpp: f64,
    lines: f64,
    variance: f64,
}

impl RateSum {
    /// Starts with a filter that already holds `items` keys and has this rate.
    pub fn starting_at(items: u64, fpp: f64) -> Self {
        Self { items, fpp, ..Self::default() }
    }

    /// Continues with a filter into which others have inserted: `items` keys and this rate.
    pub fn go_on_at(&mut self, items: u64, fpp: f64) {
        (self.items, self.fpp) = (items, fpp);
    }

    /// The keys at the last step.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Advances to `items` keys, after which the rate is `fpp`; in between it is modelled as a
    /// power of them, so steps have to be short where it is not.
    pub fn advance(&mut self, items: u64, fpp: f64) {
        // Below 1, or a full filter would lose infinitely many.
        let odds = |fpp: f64| fpp.min(1.0 - 1e-9) / (1.0 - fpp.min(1.0 - 1e-9));
        let (from, to) = ((self.items, odds(self.fpp)), (items, odds(fpp)));
        self.lines += area(from, to);
        let spread = |(items, odds): (u64, f64)| (items, odds * (1.0 + odds));
        self.variance += area(spread(from), spread(to));
        (self.items, self.fpp) = (items, fpp);
    }

    /// The number of keys that may still be counted until they and the lost ones, beyond chance (99
    /// %), add up to `expected`.
    pub fn left(&self, counted: u64, expected: u64) -> u64 {
        let least = (self.lines - 2.58 * self.variance.sqrt()).max(0.0);
        expected.saturating_sub(counted.saturating_add(least as u64))
    }

    /// The keys lost so far.
    pub fn lost(&self) -> Lost {
        Lost { lines: self.lines, deviation: self.variance.sqrt() }
    }

    /// The rate at the last update.
    pub fn fpp(&self) -> f64 {
        self.fpp
    }
}

/// The area under the power law through two points, which a rate is close to (n^k at first); under
/// a line where there is none.
fn area((n0, y0): (u64, f64), (n1, y1): (u64, f64)) -> f64 {
    let (from, to) = (n0 as f64, n1 as f64);
    let exponent = (y1 / y0).ln() / (to / from).ln();
    if exponent.is_finite() && exponent > -0.5 {
        (to * y1 - from * y0) / (exponent + 1.0)
    } else {
        (to - from) * f64::midpoint(y0, y1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::{Layout, sizing};

    #[test]
    fn the_sum_is_the_integral_of_the_rate() {
        // p = (n / 10^6)² · 10^-3 sums to n³ / 3 · 10^-15.
        let fpp = |n: u64| (n as f64 / 1e6).powi(2) * 1e-3;
        for step in [1_000, 7_777, 50_000] {
            let mut sum = RateSum::default();
            for items in (0..1_000_000).step_by(step).skip(1).chain([1_000_000]) {
                sum.advance(items, fpp(items));
            }
            let Lost { lines, deviation } = sum.lost();
            assert!((lines - 333.3).abs() < 0.5, "{lines} with steps of {step}");
            assert!((deviation - 333.3f64.sqrt()).abs() < 0.1, "{deviation}");
        }
    }

    /// Both estimates of the lost keys agree, also past the capacity.
    #[test]
    fn rates_at_the_keys_that_came_sum_to_those_that_were_not_counted() {
        let params = sizing::for_items(Layout::Blocked, 100_000, 0.1).unwrap();
        for end in [20_000, 100_000, 200_000] {
            let mut sum = RateSum::default();
            for items in (0..=end).step_by(500) {
                sum.advance(items, params.expected_fpp(params.distinct_items(items)));
            }
            let last = (Estimate::from_inserted(&params, end), end);
            let first = (Estimate::from_inserted(&params, 0), 0);
            let (summed, difference) = (sum.lost(), Lost::between(first, last));
            let off = summed.lines / difference.lines - 1.0;
            assert!(off.abs() < 3e-3, "{summed:?} {difference:?} up to {end}");
            // The sum assumes independence, which does not hold: a lost key sets no bits.
            assert!((0.8..1.3).contains(&(summed.deviation / difference.deviation)), "{end}");
        }
    }

    /// By hand: the uncertainty at first is no part of the difference, so variances are subtracted,
    /// 25 − 9; the variances of two parts add up, 9 + 16.
    #[test]
    fn deviations_are_those_of_differences_and_sums() {
        let came = |items: f64, deviation: f64| {
            let width = 2.575_829_303_548_901 * deviation;
            Estimate { items, low: items - width, high: items + width }
        };
        let close = |lost: Lost, lines: f64, deviation: f64| {
            assert!((lost.lines - lines).abs() < 1e-9, "{lost:?}");
            assert!((lost.deviation - deviation).abs() < 1e-9, "{lost:?}");
        };
        let lost = Lost::between((came(1_000.0, 3.0), 990), (came(2_000.0, 5.0), 1_950));
        close(lost, 40.0, 4.0);
        let all = Lost { lines: 40.0, deviation: 5.0 };
        close(all.without(Lost { lines: 10.0, deviation: 3.0 }), 30.0, 4.0);
        let mut sum = Lost { lines: 3.0, deviation: 3.0 };
        sum += Lost { lines: 4.0, deviation: 4.0 };
        close(sum, 7.0, 5.0);
    }

    #[test]
    fn what_was_lost_beyond_chance_takes_room() {
        let mut sum = RateSum::starting_at(0, 0.0);
        assert_eq!((sum.left(900, 1_000), sum.left(1_001, 1_000)), (100, 0));
        sum.go_on_at(0, 0.5);
        sum.advance(900, 0.5);
        // The number counted, less 2.58 deviations of 42.4.
        assert_eq!((sum.left(900, 2_000), sum.left(900, 1_500)), (310, 0));
    }

    #[test]
    fn no_more_can_be_lost_than_was_dropped() {
        let mut sum = RateSum::default();
        sum.advance(1_000, 1.0);
        assert_eq!(sum.lost().of_dropped(10), Lost { lines: 10.0, deviation: 10.0 });
        let full = Estimate { items: f64::INFINITY, low: 5.0, high: f64::INFINITY };
        let lost = Lost::between((full, 5), (full, 5)).of_dropped(10);
        assert_eq!(lost, Lost { lines: 10.0, deviation: 10.0 });
    }
}
