//! The measurements of a set, in the terms of its system.

use crate::state::State;
use mayhap::Health;
use mayhap_units::number::{counted, format_bytes, format_fpp as rate};
use serde::Serialize;
use serde_json::Value;

/// Above this share of bits set a filter of the best k holds more keys than it was made for.
pub(crate) const FULL_FILL: f64 = 0.5;

/// The highest share of bits set in a filter of k hash functions with exactly its keys, where k is
/// the best one rounded up: `1 − 2^(−k / (k − 1))`.
pub(crate) fn highest_full_fill(num_hashes: u32) -> f64 {
    match num_hashes {
        0 | 1 => 1.0,
        k => 1.0 - f64::exp2(-f64::from(k) / f64::from(k - 1)),
    }
}

/// The problem, by its bits alone, of a filter of m bits, of this share of them set, and of this
/// rate: beyond chance, it is fuller than `highest`, [`highest_full_fill`] of its k. The one rule
/// for all systems that record neither n nor p.
pub(crate) fn overfilled_by_bits(
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

/// The measurements of a set, as the summaries of several verbs print them.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Measurements {
    /// Of mayhap's own kinds, and of all filters on a server.
    Own(State),
    /// Of a file of another system.
    Foreign(ByFormula),
}

impl Measurements {
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

    /// The share of bits set; NaN if a server does not report it.
    pub fn fill_ratio(&self) -> f64 {
        match self {
            Self::Own(state) => state.fill_ratio,
            Self::Foreign(numbers) => numbers.fill_ratio,
        }
    }

    /// Distinct keys of a filter of mayhap, those that came, as all words of it count them.
    pub fn keys(&self) -> Option<u64> {
        match self {
            Self::Own(state) => Some(state.keys()),
            Self::Foreign(_) => None,
        }
    }

    /// A warning about a filter of this name that holds too many keys.
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
    /// Reasons why the rate is inaccurate, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fpp_caution: Option<&'static str>,
}

impl ByFormula {
    /// The problem, if it holds too many keys: by its own numbers where it has some, else by the
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
                let made_for = counted(made_for, "key");
                over.then(|| format!("its capacity is {made_for}: the rate is {now}{target}"))
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

    /// The highest share of bits set in a filter of its k with exactly its keys; split blocks have
    /// the same k at every rate, up to 10 %.
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
            .map_or("any number of keys".into(), |items| format!("about {}", counted(items, "key")))
    }
}

/// A row of a report on a set.
#[derive(Debug, Clone)]
pub struct Detail {
    /// The name in JSON.
    pub key: &'static str,
    /// The name in text.
    pub label: &'static str,
    /// The value in text.
    pub text: String,
    /// The value in JSON.
    pub value: Value,
}

impl Detail {
    /// A row; one without a label is in JSON alone.
    pub fn new(
        key: &'static str,
        label: &'static str,
        text: String,
        value: impl Into<Value>,
    ) -> Self {
        Self { key, label, text, value: value.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1 − 2^(−2) = 0.75, 1 − 2^(−3/2) = 0.64645, 1 − 2^(−7/6) = 0.55455, and a half for
    /// ever more hash functions.
    #[test]
    fn a_full_filter_of_k_rounded_up_has_so_many_bits_set() {
        for (k, fill) in [(0, 1.0), (1, 1.0), (2, 0.75), (3, 0.646_447), (7, 0.554_551)] {
            assert!((highest_full_fill(k) - fill).abs() < 1e-6, "{k}");
        }
        assert!((highest_full_fill(1 << 20) - 0.5).abs() < 1e-5);
        let parquet = ByFormula { format: "parquet", num_hashes: 8, ..numbers() };
        assert_eq!(parquet.highest_full_fill(), 0.75);
    }

    /// By hand: of 10,000 bits four standard deviations are 4 · 0.5 / 100 = 2 % of them.
    #[test]
    fn what_may_be_chance_is_not_overfilled() {
        let of = |fill, num_bits| overfilled_by_bits(fill, num_bits, 0.75, 0.1);
        assert!(of(0.7699, 10_000).is_none() && of(0.7701, 10_000).is_some());
        assert!(of(0.7519, 1_000_000).is_none() && of(0.7521, 1_000_000).is_some());
        assert!(of(0.7701, 10_000).unwrap().starts_with("77 % of its bits are set"));
        // However few bits there are, if all are set.
        assert!(of(1.0, 1).unwrap().starts_with("all of its bits are set"));
    }

    fn numbers() -> ByFormula {
        ByFormula {
            format: "guava",
            num_bits: 10_000,
            num_hashes: 2,
            num_bytes: 1_250,
            expected_items: None,
            target_fpp: None,
            estimated_items: Some(1_000),
            estimate_spread: 0,
            fill_ratio: 0.5,
            estimated_fpp: 0.01,
            fpp_caution: None,
        }
    }

    #[test]
    fn a_filter_is_held_against_what_its_file_says_or_else_against_its_bits() {
        let over = |numbers: ByFormula| numbers.overfilled();
        // Its capacity counts, whatever the rate; what the estimate may be off counts for it.
        let made_for = |items| ByFormula { expected_items: Some(items), ..numbers() };
        assert!(over(made_for(1_000)).is_none() && over(made_for(999)).is_some());
        assert!(over(ByFormula { estimate_spread: 1, ..made_for(999) }).is_none());
        assert!(over(ByFormula { target_fpp: Some(0.001), ..made_for(1_000) }).is_none());
        let text = over(ByFormula { target_fpp: Some(0.001), ..made_for(999) }).unwrap();
        assert_eq!(text, "its capacity is 999 keys: the rate is 1 %, target 0.1 %");
        assert!(over(ByFormula { estimated_items: None, ..made_for(1_000) }).is_some());
        // Else its rate.
        let of_rate = |fpp| ByFormula { target_fpp: Some(fpp), ..numbers() };
        assert!(over(of_rate(0.01)).is_none() && over(of_rate(0.0099)).is_some());
        // Else its bits: 75 % and 2 %.
        assert!(over(ByFormula { fill_ratio: 0.769, ..numbers() }).is_none());
        assert!(over(ByFormula { fill_ratio: 0.771, ..numbers() }).is_some());
        for full in [numbers(), made_for(u64::MAX), of_rate(1.0)] {
            assert!(over(ByFormula { fill_ratio: 1.0, ..full }).unwrap().starts_with("all of its"));
        }
    }

    #[test]
    fn two_lines_have_the_numbers_and_a_third_one_the_caution() {
        let known = ByFormula { target_fpp: Some(0.02), ..numbers() };
        let text = known.text();
        let (head, rate) = text.split_once('\n').unwrap();
        assert!(head.ends_with(": about 1,000 keys, fill 50.0 %"), "{head}");
        assert_eq!(rate, "rate now 1 %, target 2 %");
        let unknown = ByFormula { estimated_items: None, fpp_caution: Some("x"), ..numbers() };
        let text = unknown.text();
        assert!(text.contains("any number of keys") && text.ends_with("1 %\nwarning: x"), "{text}");
    }
}
