//! What a count of false positives says of a rate.

use super::report::{RateFound, RateVerdict, Row};
use crate::io::messages::{grouped, rate};
use mayhap_sets::State;

/// The verdict on a rate.
pub(super) fn verdict_on((is_off, is_above): (bool, bool)) -> RateVerdict {
    match (is_off, is_above) {
        (true, _) => RateVerdict::Off,
        (false, true) => RateVerdict::AboveTarget,
        (false, false) => RateVerdict::AsPredicted,
    }
}

/// The target of a filter of several parts, and what chance may add to it where the keys are few:
/// several standard deviations of 1.7/√n of it for each part.
pub(super) fn allowed(target: f64, items: u64) -> f64 {
    (target * (1.0 + 20.0 / (items as f64).sqrt())).min(1.0)
}

/// What is said of a rate.
pub(super) fn rate_rows(found: &RateFound, state: &State) -> Vec<Row> {
    let target = match state.target_fpp {
        target if target.is_nan() => "not known".to_owned(),
        target => rate(target),
    };
    let holds = match state.expected_items {
        Some(items) => format!("{} keys of {}", grouped(state.items), grouped(items)),
        None => format!("{} keys", grouped(state.items)),
    };
    let verdict = match found.rate_verdict {
        RateVerdict::AboveTarget => format!("above the target, {target} (overfilled: {holds})"),
        RateVerdict::Off => {
            "off: differs from the bits (chosen digests, or damage before it was saved)".into()
        }
        verdict => format!("{verdict}, target {target} ({holds})"),
    };
    found.rows("from the bits", "digests", verdict)
}
