//! What a count of false positives says of a rate.

use super::report::{RateFound, RateVerdict, Row};
use crate::io::messages::{grouped, rate};
#[cfg(feature = "redis")]
use crate::measure::counts::Count;
use crate::set::state::State;
#[cfg(feature = "redis")]
use mayhap::Health;

/// The verdict on a rate.
pub(super) fn verdict_on(is_off: bool, is_above: bool) -> RateVerdict {
    match (is_off, is_above) {
        (true, _) => RateVerdict::Off,
        (false, true) => RateVerdict::AboveTarget,
        (false, false) => RateVerdict::AsPredicted,
    }
}

/// What a count says of the rate of a plain filter with this state.
#[cfg(feature = "redis")]
pub(super) fn verdict_of(count: Count, state: &State, estimate: mayhap::Estimate) -> RateVerdict {
    let items = state.expected_items.unwrap_or(u64::MAX);
    let (predicted, target) = (state.estimated_fpp, state.target_fpp);
    let overfilled = predicted > target && estimate.health(items) == Health::OverCapacity;
    let is_above = overfilled || count.is_above(allowed(target, items));
    verdict_on(count.contradicts(predicted), is_above)
}

/// The target, and what chance may add to it where the keys are few.
///
/// The rate that is promised is that of all filters of n keys; that of one of them has a standard
/// deviation of 1/√n (`standard`) to 7/√n (`blocked`, k = 16) of it, as measured.
pub(super) fn allowed(target: f64, items: u64) -> f64 {
    (target * (1.0 + 20.0 / (items as f64).sqrt())).min(1.0)
}

/// What is said of a rate.
pub(super) fn rate_rows(found: &RateFound, state: &State) -> Vec<Row> {
    let target = rate(state.target_fpp);
    let holds = match state.expected_items {
        Some(items) => format!("{} keys of {}", grouped(state.items), grouped(items)),
        None => format!("{} keys", grouped(state.items)),
    };
    let verdict = match found.rate_verdict {
        RateVerdict::AboveTarget => format!("above the target, {target} (overfilled: {holds})"),
        RateVerdict::Off => {
            "off: not what the bits say (digests, or damage before it was saved)".into()
        }
        verdict => format!("{verdict}, target {target} ({holds})"),
    };
    found.rows("from the bits", "digests", verdict)
}
