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

/// Steps at least this long, in keys, if they are also 10 % of what is there.
const MIN_STEP: u64 = 256;

/// Lines whose loss in one step is too little to be looked at closely.
const NEGLIGIBLE: f64 = 1e-4;

impl Loss {
    /// Starts with a filter that already holds `items` keys and has this rate.
    pub fn starting_at(items: u64, fpp: f64) -> Self {
        Self { items, fpp, ..Self::default() }
    }

    /// Goes on with a filter into which others have inserted: `items` keys and this rate.
    pub fn go_on_at(&mut self, items: u64, fpp: f64) {
        (self.items, self.fpp) = (items, fpp);
    }

    /// Whether the filter has grown enough for the rate to be looked at again: by 10 %.
    #[inline]
    pub fn is_due(&self, items: u64) -> bool {
        items - self.items >= MIN_STEP.max(self.items / 10)
    }

    /// Goes on to `items` keys; `fpp_at` tells the rate with so many, which is the work here.
    ///
    /// A step that is long for the filter is cut up.
    pub fn advance(&mut self, items: u64, fpp_at: impl Fn(u64) -> f64) {
        let last = fpp_at(items);
        let (first, added) = (self.items, items - self.items);
        let is_long = added > first / 5 && added as f64 * last > NEGLIGIBLE;
        let pieces = if is_long { 64 } else { 1 };
        for piece in 1..=pieces {
            let next = first + (u128::from(added) * piece / pieces) as u64;
            self.step(next, if piece == pieces { last } else { fpp_at(next) });
        }
    }

    fn step(&mut self, items: u64, fpp: f64) {
        // Below 1, or a full filter would lose infinitely many.
        let odds = |fpp: f64| fpp.min(1.0 - 1e-9) / (1.0 - fpp.min(1.0 - 1e-9));
        let (from, to) = ((self.items, odds(self.fpp)), (items, odds(fpp)));
        self.lines += area(from, to);
        let spread = |(items, odds): (u64, f64)| (items, odds * (1.0 + odds));
        self.variance += area(spread(from), spread(to));
        (self.items, self.fpp) = (items, fpp);
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
    fn real_rates_are_summed_to_three_thousandths_also_past_the_capacity() {
        let params = mayhap::sizing::for_items(mayhap::Layout::Blocked, 100_000, 1e-3).unwrap();
        let fpp = |items| params.expected_fpp(items);
        for end in [20_000, 100_000, 1_000_000] {
            let exact: f64 = (0..1000)
                .map(|i| fpp(end * (2 * i + 1) / 2000))
                .map(|fpp| end as f64 / 1000.0 * fpp / (1.0 - fpp))
                .sum();
            let mut loss = Loss::default();
            for items in (0..end).step_by(500) {
                if loss.is_due(items) {
                    loss.advance(items, fpp);
                }
            }
            loss.advance(end, fpp);
            let (lines, _) = loss.expected(u64::MAX);
            assert!((lines / exact - 1.0).abs() < 3e-3, "{lines} of {exact} up to {end}");
        }
    }

    #[test]
    fn no_more_can_be_lost_than_was_dropped() {
        let mut loss = Loss::default();
        loss.advance(1_000, |_| 1.0);
        assert_eq!(loss.expected(10), (10.0, 10.0));
    }
}
