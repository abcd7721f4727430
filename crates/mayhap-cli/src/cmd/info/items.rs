//! How many keys a filter was created for, has and has room for, as `info` prints it.

use crate::io::messages::{counted, grouped, rate};
use mayhap_sets::State;
use mayhap_units::number::noun;
use serde::Serialize;

/// The number of keys estimated from the bits; `null` where nothing bounds it.
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
    pub(super) fn of(state: &State) -> Self {
        let Some((estimate, _)) = &state.estimated_items else { return Self::default() };
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

/// The design of a filter in words: its keys, rate and bits per key.
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

/// The room for further keys, in words, which follows the health.
pub(super) fn room(items: Option<u64>) -> String {
    match items {
        None => String::new(),
        Some(0) => ": full, more keys raise the rate".into(),
        Some(items) => format!(": room for {} more {}", grouped(items), noun(items, "key")),
    }
}
