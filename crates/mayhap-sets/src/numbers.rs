//! The numbers of a set of any system.

use crate::state::State;
use mayhap::Health;
use mayhap_units::number::{format_bytes, format_fpp as rate, grouped};
use serde::Serialize;

/// Above this share of bits set a filter of the best k holds more keys than it was made for.
pub const FULL_FILL: f64 = 0.5;

/// The highest share of bits set in a filter of k hash functions with exactly its keys, where k is
/// the best one rounded up: `1 − 2^(−k / (k − 1))`.
pub fn highest_full_fill(num_hashes: u32) -> f64 {
    match num_hashes {
        0 | 1 => 1.0,
        k => 1.0 - f64::exp2(-f64::from(k) / f64::from(k - 1)),
    }
}

/// What is wrong, by its bits alone, with a filter of m bits, of this share of them set, and of
/// this rate: beyond chance, it is fuller than `highest`, [`highest_full_fill`] of its k. The one
/// rule for all systems that record neither n nor p.
pub fn overfilled_by_bits(
    fill_ratio: f64,
    num_bits: u64,
    highest: f64,
    fpp: f64,
) -> Option<String> {
    if fill_ratio >= 1.0 {
        return Some("all of its bits are set: it may hold any key".into());
    }
    let chance = 4.0 * (0.25 / num_bits as f64).sqrt();
    (fill_ratio > highest + chance).then(|| {
        let fill = fill_ratio * 100.0;
        format!("{fill:.0} % of its bits are set, the rate is {}: is it too small?", rate(fpp))
    })
}

/// The numbers of a set, as the summaries of several verbs print them.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Numbers {
    /// Of mayhap's own kinds, and of all filters on a server.
    Own(State),
    /// Of a file of another system.
    Foreign(ByFormula),
}

impl Numbers {
    /// In two lines.
    pub fn text(&self) -> String {
        match self {
            Self::Own(state) => state.text(),
            Self::Foreign(numbers) => numbers.text(),
        }
    }

    /// The rate now, by its bits.
    pub fn estimated_fpp(&self) -> f64 {
        match self {
            Self::Own(state) => state.estimated_fpp,
            Self::Foreign(numbers) => numbers.estimated_fpp,
        }
    }

    /// Distinct keys of a filter of mayhap, those that came, as all words of it count them.
    pub fn keys(&self) -> Option<u64> {
        match self {
            Self::Own(state) => Some(state.keys()),
            Self::Foreign(_) => None,
        }
    }

    /// What is wrong with a filter of this name that holds too many keys.
    pub fn warning(&self, name: &str) -> Option<String> {
        match self {
            Self::Own(state) => (state.health == Health::OverCapacity).then(|| {
                format!(
                    "the rate is {}, its target {}: there are more keys, or more at a time, than \
                     its capacity",
                    rate(state.estimated_fpp),
                    rate(state.target_fpp)
                )
            }),
            Self::Foreign(numbers) => {
                numbers.overfilled().map(|problem| format!("{name}: {problem}"))
            }
        }
    }
}

/// The numbers of a filter, by its own system's formulas; `null` where these fail, or the file does
/// not say.
#[derive(Debug, Clone, Serialize)]
pub struct ByFormula {
    /// The name of its format.
    pub format: &'static str,
    /// m.
    pub num_bits: u64,
    /// k.
    pub num_hashes: u32,
    /// Bytes of its bits.
    pub num_bytes: u64,
    /// Keys that it was made for.
    pub expected_items: Option<u64>,
    /// The rate that it was made for.
    pub target_fpp: Option<f64>,
    /// Keys that its bits speak of.
    pub estimated_items: Option<u64>,
    /// How many of these may be chance, where the number that it was made for is exact.
    #[serde(skip)]
    pub estimate_spread: u64,
    /// The share of bits set.
    pub fill_ratio: f64,
    /// The rate, by its bits.
    pub estimated_fpp: f64,
    /// What the rate does not reflect, where that is much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fpp_caution: Option<&'static str>,
}

impl ByFormula {
    /// What is wrong, if it holds too many keys: by its own numbers where it has some, else by the
    /// share of bits set.
    pub fn overfilled(&self) -> Option<String> {
        let now = rate(self.estimated_fpp);
        if self.fill_ratio >= 1.0 {
            return self.overfilled_by_bits();
        }
        match (self.expected_items, self.target_fpp) {
            (Some(made_for), target) => {
                let most = made_for.saturating_add(self.estimate_spread);
                let over = self.estimated_items.is_none_or(|items| items > most);
                let target =
                    target.map_or(String::new(), |target| format!(", target {}", rate(target)));
                let made_for = grouped(made_for);
                over.then(|| format!("its capacity is {made_for} keys: the rate is {now}{target}"))
            }
            (None, Some(target)) => (self.estimated_fpp > target).then(|| {
                format!("the rate is {now}, its target {}: it has too many keys", rate(target))
            }),
            (None, None) => self.overfilled_by_bits(),
        }
    }

    fn overfilled_by_bits(&self) -> Option<String> {
        let highest = self.highest_full_fill();
        overfilled_by_bits(self.fill_ratio, self.num_bits, highest, self.estimated_fpp)
    }

    /// [`highest_full_fill`] of its k; split blocks have the same k at every rate, up to 10 %.
    pub fn highest_full_fill(&self) -> f64 {
        if self.format == "parquet" { 0.75 } else { highest_full_fill(self.num_hashes) }
    }

    /// In two lines, and one for what the rate does not reflect.
    pub fn text(&self) -> String {
        format!(
            "{} filter of {}: {}, fill {:.1} %\nrate now {}{}{}",
            self.format,
            format_bytes(self.num_bytes),
            self.estimated(),
            self.fill_ratio * 100.0,
            rate(self.estimated_fpp),
            self.target_fpp.map_or(String::new(), |target| format!(", target {}", rate(target))),
            self.fpp_caution.map_or(String::new(), |caution| format!("\nwarning: {caution}")),
        )
    }

    /// How many keys its bits speak of, in words.
    pub fn estimated(&self) -> String {
        self.estimated_items
            .map_or("any number of keys".into(), |items| format!("about {} keys", grouped(items)))
    }
}
