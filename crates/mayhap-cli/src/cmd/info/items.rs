//! How many keys a filter was created for, has and has room for, as `info` prints it.

use crate::io::messages::{counted, grouped, rate};
use mayhap::Estimate;
use mayhap_units::number::noun;
use serde::Serialize;

/// The keys that the bits speak of; `null` where nothing bounds them.
#[derive(Debug, Default, Serialize)]
pub(super) struct Estimated {
    #[serde(rename = "estimated_items")]
    items: Option<f64>,
    #[serde(rename = "estimated_items_low")]
    low: Option<f64>,
    #[serde(rename = "estimated_items_high")]
    high: Option<f64>,
}

impl Estimated {
    pub(super) fn of(estimate: &Estimate) -> Self {
        let finite = |number: f64| number.is_finite().then_some(number);
        Self {
            items: finite(estimate.items),
            low: finite(estimate.low),
            high: finite(estimate.high),
        }
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        let whole = |items: f64| grouped(items.round() as u64);
        match (self.items, self.low) {
            (Some(items), low) => {
                let high = self.high.map_or("any".into(), whole);
                format!("{} (99 %: {} to {high})", whole(items), whole(low.unwrap_or(0.0)))
            }
            (None, Some(low)) => format!("at least {}: every bit is set", whole(low)),
            (None, None) => "any number: every bit is set".into(),
        }
    }
}

/// What a filter was created for, in words.
pub(super) fn made_for(items: Option<u64>, bits_per_item: Option<f64>, target_fpp: f64) -> String {
    let target = rate(target_fpp);
    match (items, bits_per_item) {
        (Some(items), Some(bits)) => {
            let items = counted(items, "key");
            format!("{items} at a rate of {target} ({bits:.2} bits a key)")
        }
        _ => format!("any number of keys at a rate of {target}"),
    }
}

/// What follows the health: room for further keys, in words.
pub(super) fn room(items: Option<u64>) -> String {
    match items {
        None => String::new(),
        Some(0) => ": full, more keys raise the rate".into(),
        Some(items) => format!(": room for {} more {}", grouped(items), noun(items, "key")),
    }
}
