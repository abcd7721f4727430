//! Verdicts on a rate from a count of false positives.

use super::chance::highest_of_bits;
use super::counts::Count;
use super::report::{RateFound, RateVerdict, Row};
use crate::io::messages::{counted, grouped, rate};
use mayhap::Health;
use mayhap_sets::{ByFormula, Measurements, State};

/// A formula counts as right if it is this close: some are sampled, and all are rounded.
const TOLERANCE: f64 = 0.05;

/// The verdict on a rate.
pub(super) fn verdict_on((is_off, is_above): (bool, bool)) -> RateVerdict {
    match (is_off, is_above) {
        (true, _) => RateVerdict::Off,
        (false, true) => RateVerdict::AboveTarget,
        (false, false) => RateVerdict::AsPredicted,
    }
}

/// The target of a filter of several parts, plus an allowance for chance where the keys are few:
/// several standard deviations of 1.7/√n of it for each part.
pub(super) fn allowed(target: f64, items: u64) -> f64 {
    (target * (1.0 + 20.0 / (items as f64).sqrt())).min(1.0)
}

/// The highest rate of a sound filter of another system, if it has a target: with the effects of
/// chance, and of the system's integer k, for exactly its keys.
fn highest(numbers: &ByFormula) -> Option<f64> {
    let of_bits = |items| highest_of_bits(numbers.num_bits, numbers.num_hashes, items);
    numbers.target_fpp.map(|target| numbers.expected_items.map_or(target, of_bits).max(target))
}

/// The highest rate of a sound filter that records no target: that of its k with as many keys as
/// any n that gives this k.
fn highest_of_k(numbers: &ByFormula) -> f64 {
    numbers.highest_full_fill().powf(f64::from(numbers.num_hashes))
}

/// The verdict of a count on a filter whose system has at most a formula.
pub(super) fn verdict_by_formula(count: Count, numbers: &Measurements) -> RateVerdict {
    match numbers {
        Measurements::Own(state) => {
            let target = Some(state.target_fpp).filter(|target| !target.is_nan());
            if target.is_none() && state.health == Health::OverCapacity {
                return RateVerdict::Overfull;
            }
            verdict_of(count, state.estimated_fpp, target)
        }
        Measurements::Foreign(numbers) => {
            let highest = highest(numbers);
            let is_over = highest.is_none()
                && (numbers.overfilled().is_some()
                    || numbers.fpp_caution.is_none() && count.is_above(highest_of_k(numbers)));
            match verdict_of(count, numbers.estimated_fpp, highest) {
                _ if is_over => RateVerdict::Overfull,
                verdict => verdict,
            }
        }
    }
}

/// The verdict of a count on a rate: whether it is above the target, if that is known, and whether
/// it agrees with the formula, if there is one.
fn verdict_of(count: Count, predicted: f64, target: Option<f64>) -> RateVerdict {
    let above = count.is_above(predicted * (1.0 + TOLERANCE));
    match target {
        Some(target) if count.is_above(target) => RateVerdict::AboveTarget,
        _ if predicted.is_nan() => RateVerdict::NotPredicted,
        Some(_) if above => RateVerdict::AboveFormulaWithinTarget,
        None if above => RateVerdict::AboveFormula,
        _ if count.is_below(predicted / (1.0 + TOLERANCE)) => RateVerdict::BelowFormula,
        _ => RateVerdict::AsPredicted,
    }
}

/// The rows about a rate, for a filter whose keys are of this type.
pub(super) fn rate_rows(
    found: &RateFound,
    numbers: &Measurements,
    key_type: Option<&str>,
) -> Vec<Row> {
    match numbers {
        Measurements::Own(state) => rows_from_bits(found, state),
        Measurements::Foreign(numbers) => {
            let target = numbers.target_fpp.map(|target| format!(", target {}", rate(target)));
            let verdict = <&str>::from(found.rate_verdict);
            let verdict = format!("{verdict}{}", target.unwrap_or_default());
            let queried = format!("keys ({})", key_type.unwrap_or_default());
            let mut rows = found.rows("by its formula", &queried, verdict);
            rows.extend(numbers.overfilled().map(|problem| ("warning", problem)));
            rows.extend(numbers.fpp_caution.map(|caution| ("warning", caution.to_owned())));
            rows
        }
    }
}

fn rows_from_bits(found: &RateFound, state: &State) -> Vec<Row> {
    let target = match state.target_fpp {
        target if target.is_nan() => "not known".to_owned(),
        target => rate(target),
    };
    let holds = match state.expected_items {
        Some(items) => format!("{} of {}", counted(state.keys(), "key"), grouped(items)),
        None => counted(state.keys(), "key"),
    };
    let verdict = match found.rate_verdict {
        RateVerdict::AboveTarget => format!("above the target, {target} (overfilled: {holds})"),
        RateVerdict::Off => {
            "off: differs from the bits (chosen digests, or damage before it was saved)".into()
        }
        verdict => format!("{}, target {target} ({holds})", <&str>::from(verdict)),
    };
    found.rows("from the bits", "digests", verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most samples of a filter of another system.
    const MAX_SAMPLES: u64 = 1 << 22;

    #[test]
    fn a_rate_that_is_too_high_is_never_good() {
        let count = |hits| Count { samples: 1 << 20, hits };
        let (low, same, high) = (count(5_000), count(10_486), count(20_000));
        let of = |count, target| verdict_of(count, 0.01, target);
        assert_eq!(
            [of(low, None), of(same, None)],
            [RateVerdict::BelowFormula, RateVerdict::AsPredicted]
        );
        assert_eq!(
            [of(high, None), of(high, Some(0.01))],
            [RateVerdict::AboveFormula, RateVerdict::AboveTarget]
        );
        // Above its own formula, but not above its target.
        let within = of(high, Some(0.02));
        assert_eq!(within, RateVerdict::AboveFormulaWithinTarget);
        assert_eq!(of(same, Some(0.001)), RateVerdict::AboveTarget);
        // A formula that is 4 % too low is right.
        assert_eq!(of(count(10_900), None), RateVerdict::AsPredicted);
    }

    /// Exactly full filters of k bits anywhere in m, as most systems have them, sized by the
    /// textbook formula and with the whole k nearest to the best: none of 20,000 is judged above.
    #[test]
    fn sound_and_exactly_full_filters_are_never_above() {
        use super::super::counts::Numbers;
        let (mut numbers, mut filters) = (Numbers::new(15), 0);
        for (items, target) in [(50u64, 0.1), (200, 0.01), (200, 1e-3), (100, 0.4)] {
            let bits = (-(items as f64) * f64::ln(target) / std::f64::consts::LN_2.powi(2)) as u64;
            let num_hashes = (-f64::log2(target)).round().max(1.0) as u32;
            let highest = target.max(highest_of_bits(bits, num_hashes, items));
            let mut set = vec![false; bits as usize];
            for _ in 0..5_000 {
                set.fill(false);
                for _ in 0..items * u64::from(num_hashes) {
                    set[(numbers.next().unwrap() % bits) as usize] = true;
                }
                let ones = set.iter().filter(|&&set| set).count() as f64;
                let rate = (ones / bits as f64).powf(f64::from(num_hashes));
                // The expected number: chance in the count is tested with `Count`.
                let hits = (rate * MAX_SAMPLES as f64) as u64;
                let count = Count { samples: MAX_SAMPLES, hits };
                let found = verdict_of(count, rate, Some(highest));
                assert_eq!(
                    found,
                    RateVerdict::AsPredicted,
                    "{items} at {target}: {rate} of {highest}"
                );
                filters += 1;
            }
        }
        assert_eq!(filters, 20_000);
    }
}
