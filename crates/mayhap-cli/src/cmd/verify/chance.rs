//! The effect of chance on a filter that holds exactly its keys: the number of keys that its bits
//! may suggest, and the highest rate that it may have.
//!
//! A promised rate is the mean over all filters of n keys. That of one filter is its own: keys that
//! happen to meet in a block raise it, at low rates many times. A verdict has to leave room for
//! that, or it is passed on sound filters.

use super::counts::{Count, DOUBT};
use mayhap::{Estimate, FilterParams, Layout};

/// Standard deviations that a normal number exceeds once in 10^9.
const Z_DOUBT: f64 = 5.998;

/// Blocks of more keys answer "maybe" to every key.
const FULL_BLOCK_ITEMS: f64 = 8192.0;

/// The range of a plain or counting filter with exactly its keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Full {
    params: FilterParams,
    highest_fpp: f64,
}

impl Full {
    /// A filter of these numbers. Takes milliseconds.
    pub(super) fn of(params: &FilterParams) -> Self {
        Self { params: *params, highest_fpp: highest_fpp(params) }
    }

    /// The verdict of a count of false positives on such a filter, given the rate that its bits
    /// predict and the number of keys that they suggest: whether it contradicts the bits, and
    /// whether the rate is above the target. Each is reported for a sound filter less than twice in
    /// 10^9.
    pub(super) fn judge(&self, count: Count, predicted: f64, estimate: &Estimate) -> (bool, bool) {
        let params = &self.params;
        let overfilled = predicted > params.target_fpp()
            && holds_more(estimate, params.num_bits(), params.expected_items());
        let is_above = overfilled || count.is_above(self.highest_fpp);
        (count.contradicts(predicted), is_above)
    }
}

/// Whether the bits of a filter prove more than `items` keys: the bits of a filter with that number
/// do so less than once in 10^9.
fn holds_more(estimate: &Estimate, num_bits: u64, items: u64) -> bool {
    let items = items as f64;
    if estimate.items.is_infinite() {
        // All bits are set, and `low` keys leave one of m clear, in the mean. Then n keys leave
        // m^(1 − n / low), and none with e to the minus that.
        return (num_bits as f64).powf(1.0 - items / estimate.low) > DOUBT.ln();
    }
    // Less than a key is rounding.
    estimate.items > items + 0.5 && estimate.items - items > Z_DOUBT * estimate.deviation()
}

/// The rate that a plain filter of these numbers, or one of counters, has with exactly its
/// `expected_items` less than once in 10^9: at least the promised one.
fn highest_fpp(params: &FilterParams) -> f64 {
    let (layout, num_hashes, items) =
        (params.layout(), params.num_hashes(), params.expected_items());
    let highest = if layout == Layout::Standard {
        highest_of_bits(params.num_bits(), num_hashes, items)
    } else {
        let (block, lane) = (layout.block_bits(), lane_bits(layout, num_hashes));
        let num_blocks = params.num_bits() / block;
        let lanes = Lanes { num_blocks, of_block: block / lane, bits: lane };
        lanes.highest_fpp(num_hashes, items)
    };
    params.target_fpp().max(highest)
}

/// The bits of a lane, as in `crates/mayhap/NATIVE-FORMAT.md`.
fn lane_bits(layout: Layout, num_hashes: u32) -> u64 {
    layout.block_bits() / if num_hashes == 4 { 4 } else { 8 }
}

/// The rate that a filter of k bits anywhere in m has with exactly `items` keys less than once in
/// 10^9: that of the highest share of set bits, which spreads less than with independent bits.
pub(super) fn highest_of_bits(num_bits: u64, num_hashes: u32, items: u64) -> f64 {
    let (m, k) = (num_bits as f64, f64::from(num_hashes));
    let (fill, deviation) = occupied(m, k * items as f64);
    (fill + Z_DOUBT * deviation).min(1.0).powf(k)
}

/// Mean and standard deviation of the share of `cells` that `throws` throws occupy (Johnson & Kotz
/// 1977, *Urn Models*, ch. 3).
fn occupied(cells: f64, throws: f64) -> (f64, f64) {
    let empty = (throws * (-1.0 / cells).ln_1p()).exp();
    let both = if cells > 2.0 { (throws * (-2.0 / cells).ln_1p()).exp() } else { 0.0 };
    let variance = empty / cells + (1.0 - 1.0 / cells) * both - empty * empty;
    (1.0 - empty, variance.max(0.0).sqrt())
}

/// Blocks of lanes; every key sets a bit, or two, in each lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes {
    /// Blocks.
    pub(super) num_blocks: u64,
    /// Lanes of each.
    pub(super) of_block: u64,
    /// Bits of a lane.
    pub(super) bits: u64,
}

impl Lanes {
    /// The rate that blocks with `items` keys exceed less than once in 10^9.
    ///
    /// The rate R is the mean of the rates of B blocks. These are not independent but negatively
    /// associated, as more keys in one are fewer in others, so that Chernoff's bound holds as for
    /// independent ones: P(R ≥ r) ≤ exp(−B (θ r − ln E[e^(θ f)])) for every θ > 0, with f the rate
    /// of one block. So a rate of (ln E[e^(θ f)] + ln(10^9) / B) / θ is reached less than once in
    /// 10^9, and the lowest over θ is taken.
    pub(super) fn highest_fpp(self, num_hashes: u32, items: u64) -> f64 {
        let blocks = self.num_blocks as f64;
        let keys = items as f64 / blocks;
        if keys > FULL_BLOCK_ITEMS {
            return 1.0;
        }
        let answers = self.answers(num_hashes, keys);
        let rate = |log_theta: f64| {
            let theta = log_theta.exp();
            let most = answers.iter().map(|(log, f)| log + theta * f).fold(f64::MIN, f64::max);
            let sum: f64 = answers.iter().map(|(log, f)| (log + theta * f - most).exp()).sum();
            (most + sum.ln() + DOUBT.ln() / blocks) / theta
        };
        // Falls and then rises in θ, from one that is too small to one that is too large.
        let (mut low, mut high) = (0.0f64, 60.0f64);
        for _ in 0..60 {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if rate(left) < rate(right) { high = right } else { low = left }
        }
        rate(low).min(1.0)
    }

    /// The rate of a block with a Poisson number of keys, `keys` on average: the logarithms of
    /// probabilities, and the rates that have them.
    ///
    /// In a block with j keys, the share of set bits of each lane is nearly normal, and so is their
    /// mean; the rate is at most that to the power of the bits of a key.
    fn answers(self, num_hashes: u32, keys: f64) -> Vec<(f64, f64)> {
        let lanes = self.of_block as f64;
        let passes = f64::from(num_hashes / self.of_block as u32).max(1.0);
        let mut answers = Vec::new();
        let (mut j, mut log_factorial) = (0.0f64, 0.0);
        loop {
            let log_weight = j * keys.ln() - keys - log_factorial;
            let (fill, deviation) = occupied(self.bits as f64, passes * j);
            answers.extend((-16..=16).map(|i| {
                let z = f64::from(i) * 0.5;
                // 0.5 / sqrt(2 π): the trapezoid rule over the normal density.
                let log_density = -0.5 * z * z + 0.199_471_140_200_716_35f64.ln();
                let share = (fill + z * deviation / lanes.sqrt()).clamp(0.0, 1.0);
                (log_weight + log_density, share.powf(lanes * passes))
            }));
            // More keys in any block are not once in 10^12.
            if j > keys && log_weight < -28.0 - (self.num_blocks as f64).ln() {
                return answers;
            }
            j += 1.0;
            log_factorial += j.ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::counts::Numbers;
    use super::*;
    use mayhap::{AnyFilter, Digest, sizing};

    /// How many of `samples` absent keys are found at this rate: the normal number nearest to the
    /// binomial one, or the Poisson number where few are.
    fn hits(samples: u64, fpp: f64, numbers: &mut Numbers) -> u64 {
        let mut uniform = || (numbers.next().unwrap() >> 11) as f64 / (1u64 << 53) as f64;
        let mean = samples as f64 * fpp;
        if mean > 30.0 {
            let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * uniform()).cos();
            return (mean + normal * (mean * (1.0 - fpp)).sqrt()).round().max(0.0) as u64;
        }
        let (mut weight, mut count, mut left) = ((-mean).exp(), 0, uniform());
        while left > weight && count < 200 {
            left -= weight;
            count += 1;
            weight *= mean / count as f64;
        }
        count
    }

    /// Neither different from the prediction nor above the target.
    const AS_PREDICTED: (bool, bool) = (false, false);
    /// Only above the target.
    const ABOVE: (bool, bool) = (false, true);

    /// A filter with this number of random keys, and its verdict.
    fn judged(full: &Full, keys: u64, numbers: &mut Numbers) -> (bool, bool) {
        let params = &full.params;
        let builder = AnyFilter::builder().layout(params.layout()).num_bits(params.num_bits());
        let builder = builder.num_hashes(params.num_hashes());
        let mut filter = builder.expected_items(params.expected_items()).build().unwrap();
        for _ in 0..keys {
            filter.insert_digest(Digest::new(numbers.next().unwrap()));
        }
        let predicted = filter.estimated_fpp();
        let samples = 1 << 25;
        let count = Count { samples, hits: hits(samples, predicted, numbers) };
        full.judge(count, predicted, &filter.estimated_items())
    }

    const SIZES: [(Layout, f64); 9] = [
        (Layout::Standard, 0.1),
        (Layout::Standard, 0.01),
        (Layout::Standard, 1e-4),
        (Layout::Blocked, 0.1),
        (Layout::Blocked, 0.01),
        (Layout::Blocked, 1e-3),
        (Layout::Blocked, 1e-5),
        (Layout::Blocked64, 0.01),
        (Layout::Blocked128, 0.01),
    ];

    /// 25,200 filters with exactly their keys. At a level of 1 % or 0.5 % more than a hundred of
    /// them would be called off; at 10^-9 none is.
    #[test]
    fn sound_and_exactly_full_filters_are_never_off() {
        let (mut numbers, mut filters) = (Numbers::new(15), 0);
        for (layout, fpp) in SIZES {
            for (items, count) in [(1, 300), (7, 500), (40, 600), (100, 600), (400, 800)] {
                let full = Full::of(&sizing::for_items(layout, items, fpp).unwrap());
                for i in 0..count {
                    let found = judged(&full, items, &mut numbers);
                    assert_eq!(found, AS_PREDICTED, "{layout} {fpp} n = {items}, filter {i}");
                    filters += 1;
                }
            }
        }
        assert!(filters >= 20_000, "{filters}");
    }

    /// And the test is not void: filters with twice their keys are above it.
    #[test]
    fn overfilled_filters_are_above_the_target() {
        let mut numbers = Numbers::new(16);
        for (layout, fpp) in SIZES {
            for (items, times) in [(100, 3.0), (1_000, 1.5), (20_000, 1.1)] {
                let full = Full::of(&sizing::for_items(layout, items, fpp).unwrap());
                let keys = (items as f64 * times) as u64;
                let found = judged(&full, keys, &mut numbers);
                assert_eq!(found, ABOVE, "{layout} {fpp} {keys} of {items}");
            }
        }
    }

    /// Ten keys in each of some blocks and none in the others suggest few keys, but give far too
    /// many false positives.
    #[test]
    fn keys_that_are_not_random_are_above_the_target() {
        let params = sizing::for_items(Layout::Blocked, 10_000, 0.01).unwrap();
        let mut numbers = Numbers::new(17);
        let builder = AnyFilter::builder().layout(Layout::Blocked).num_bits(params.num_bits());
        let mut filter = builder.expected_items(10_000).build().unwrap();
        for _ in 0..10_000 {
            // All in the first tenth.
            filter.insert_digest(Digest::new(numbers.next().unwrap() / 10));
        }
        let predicted = filter.estimated_fpp();
        let count = Count { samples: 1 << 20, hits: (predicted * f64::from(1 << 20)) as u64 };
        let found = Full::of(&params).judge(count, predicted, &filter.estimated_items());
        assert_eq!(found, ABOVE, "{predicted}");
    }

    /// The highest rates are above the rates of 2,000 filters of 400 keys, and for many keys near
    /// the promised one.
    #[test]
    fn highest_rates_are_above_those_that_come() {
        let mut numbers = Numbers::new(18);
        for (layout, fpp) in SIZES {
            let params = sizing::for_items(layout, 400, fpp).unwrap();
            let mut seen = 0.0f64;
            for _ in 0..2_000 {
                let builder = AnyFilter::builder().layout(layout).num_bits(params.num_bits());
                let builder = builder.num_hashes(params.num_hashes()).expected_items(400);
                let mut filter = builder.build().unwrap();
                for _ in 0..400 {
                    filter.insert_digest(Digest::new(numbers.next().unwrap()));
                }
                seen = seen.max(filter.estimated_fpp());
            }
            let (of_few, of_many) =
                (highest_fpp(&params), sizing::for_items(layout, 10_000_000, fpp).unwrap());
            assert!(seen < of_few, "{layout} {fpp}: {seen} {of_few}");
            let of_many = highest_fpp(&of_many) / fpp;
            assert!(of_many < 1.2, "{layout} {fpp}: {of_many} times");
        }
    }
}
