//! The numbers of a filter of another system.

use crate::file::ForeignFile;
use mayhap_units::number::{format_bytes, format_fpp as rate, grouped};
use serde::Serialize;

/// Above this share of bits set a filter of the best k holds more keys than it was made for.
pub const FULL_FILL: f64 = 0.5;

/// The numbers of a filter, by its own system's formulas; `null` where these fail, or the file does
/// not say.
#[derive(Debug, Serialize)]
pub struct Numbers {
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
    /// The share of bits set.
    pub fill_ratio: f64,
    /// The rate, by its bits.
    pub estimated_fpp: f64,
}

impl Numbers {
    /// Looks at all bits.
    pub fn of(file: &ForeignFile) -> Self {
        let filter = file.filter();
        Self {
            format: filter.format().name(),
            num_bits: filter.num_bits(),
            num_hashes: filter.num_hashes(),
            num_bytes: filter.num_bits().div_ceil(8),
            expected_items: file.expected_items(),
            target_fpp: file.target_fpp(),
            estimated_items: filter.estimated_items(),
            fill_ratio: file.fill_ratio(),
            estimated_fpp: filter.estimated_fpp(),
        }
    }

    /// What is wrong, if it holds too many keys: by its own numbers where it has some, else by the
    /// share of bits set.
    pub fn overfilled(&self) -> Option<String> {
        let now = rate(self.estimated_fpp);
        match (self.expected_items, self.target_fpp) {
            (Some(made_for), target) => {
                let over = self.estimated_items.is_none_or(|items| items > made_for);
                let target =
                    target.map_or(String::new(), |target| format!(", target {}", rate(target)));
                let made_for = grouped(made_for);
                over.then(|| format!("its capacity is {made_for} keys: the rate is {now}{target}"))
            }
            (None, Some(target)) => (self.estimated_fpp > target).then(|| {
                format!("the rate is {now}, its target {}: it has too many keys", rate(target))
            }),
            (None, None) => (self.fill_ratio > FULL_FILL).then(|| {
                let fill = self.fill_ratio * 100.0;
                format!("{fill:.0} % of its bits are set, the rate is {now}: is it too small?")
            }),
        }
    }

    /// In two lines.
    pub fn text(&self) -> String {
        format!(
            "{} filter of {}: {}, fill {:.1} %\nrate now {}{}",
            self.format,
            format_bytes(self.num_bytes),
            self.estimated(),
            self.fill_ratio * 100.0,
            rate(self.estimated_fpp),
            self.target_fpp.map_or(String::new(), |target| format!(", target {}", rate(target))),
        )
    }

    /// How many keys its bits speak of, in words.
    pub fn estimated(&self) -> String {
        self.estimated_items
            .map_or("any number of keys".into(), |items| format!("about {} keys", grouped(items)))
    }
}
