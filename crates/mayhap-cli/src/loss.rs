//! How many new lines a filter is expected to have taken for repeats while it filled.

/// Sums the rate over the insertions.
///
/// Of the lines with a key never seen before, a share p is lost, p being the rate at that moment.
/// Between insertions `a` and `b` that were answered "new", (b − a) p / (1 − p) are expected to
/// have been lost, with variance (b − a) p / (1 − p)².
#[derive(Debug, Clone, Default)]
pub struct Loss {
    items: u64,
    fpp: f64,
    lines: f64,
    variance: f64,
}

/// Steps at least this long, in keys, if they are also 1 % of what is there.
const MIN_STEP: u64 = 256;

impl Loss {
    /// Starts with a filter that already holds `items` keys and has this rate.
    pub fn starting_at(items: u64, fpp: f64) -> Self {
        Self { items, fpp, ..Self::default() }
    }

    /// Whether the filter has grown enough for the rate to be looked at again: by 1 %.
    #[inline]
    pub fn is_due(&self, items: u64) -> bool {
        items - self.items >= MIN_STEP.max(self.items / 100)
    }

    /// Goes on to `items` keys; `fpp_at` tells the rate with so many.
    ///
    /// A step that is long for the filter is cut up, since the rate is anything but a line then.
    pub fn advance(&mut self, items: u64, fpp_at: impl Fn(u64) -> f64) {
        let pieces =
            if self.is_due(items) && items > self.items + self.items / 50 { 64 } else { 1 };
        let (first, added) = (self.items, items - self.items);
        for piece in 1..=pieces {
            let next = first + (u128::from(added) * piece / pieces) as u64;
            let fpp = fpp_at(next);
            let new = (next - self.items) as f64;
            // The mean of both ends; p below 1, or a full filter would lose infinitely many.
            let mean = f64::midpoint(self.fpp, fpp).min(1.0 - 1e-9);
            self.lines += new * mean / (1.0 - mean);
            self.variance += new * mean / ((1.0 - mean) * (1.0 - mean));
            (self.items, self.fpp) = (next, fpp);
        }
    }

    /// Expected number of lines lost and its standard deviation; never more than were `dropped`.
    pub fn expected(&self, dropped: u64) -> (f64, f64) {
        (self.lines.min(dropped as f64), self.variance.sqrt().min(dropped as f64))
    }

    /// The rate when last looked at.
    pub fn fpp(&self) -> f64 {
        self.fpp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_integral_of_the_rate() {
        // p = (n / 10^6)² · 10^-3 sums to n³ / 3 · 10^-15.
        let fpp = |n: u64| (n as f64 / 1e6).powi(2) * 1e-3;
        for step in [1_000, 7_777, 1_000_000] {
            let mut loss = Loss::default();
            for items in (0..1_000_000).step_by(step).skip(1).chain([1_000_000]) {
                if loss.is_due(items) {
                    loss.advance(items, fpp);
                }
            }
            loss.advance(1_000_000, fpp);
            let (lines, deviation) = loss.expected(u64::MAX);
            assert!((lines - 333.3).abs() < 0.5, "{lines} with steps of {step}");
            assert!((deviation - 333.3f64.sqrt()).abs() < 0.1, "{deviation}");
        }
    }

    #[test]
    fn no_more_can_be_lost_than_was_dropped() {
        let mut loss = Loss::default();
        loss.advance(1_000, |_| 1.0);
        assert_eq!(loss.expected(10), (10.0, 10.0));
    }
}
