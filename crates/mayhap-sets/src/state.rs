//! The numbers of a filter now.

use mayhap::{AnyFilter, Block, Estimate, Health};
use mayhap_units::number::{format_bytes, format_count, format_fpp as rate, noun};
use serde::{Serialize, Serializer};

/// The state of a filter, as the summaries of several verbs print it.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// Layout or kind.
    pub layout: &'static str,
    /// Bytes of memory.
    pub num_bytes: u64,
    /// Insertions that were new; on a server, where they are not counted, distinct keys.
    pub items: u64,
    /// Distinct keys that came, those that were taken for repeats too; `null` where that is
    /// unknown.
    pub distinct_items: Option<u64>,
    /// Distinct keys that it was made for; a growing one has no such number.
    pub expected_items: Option<u64>,
    /// The rate that was promised; NaN (`null`) if a server does not report it.
    pub target_fpp: f64,
    /// The rate now, from the bits; NaN likewise.
    pub estimated_fpp: f64,
    /// The share of bits set; NaN likewise.
    pub fill_ratio: f64,
    /// Whether it keeps its promise.
    #[serde(serialize_with = "health_name")]
    pub health: Health,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn health_name<S: Serializer>(health: &Health, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(health.name())
}

/// The number of an estimate, if there is one.
pub fn whole(estimate: Estimate) -> Option<u64> {
    estimate.items.is_finite().then(|| estimate.rounded())
}

impl State {
    /// Reads every block of a filter twice: for its set bits and for its rate.
    pub fn of<S: AsRef<[Block]>>(filter: &AnyFilter<S>) -> Self {
        let (params, items) = (filter.params(), filter.inserted_items());
        let ones = filter.count_ones();
        Self {
            layout: params.layout().name(),
            num_bytes: params.num_bytes(),
            items,
            distinct_items: whole(Estimate::distinct(params, items, ones)),
            expected_items: Some(params.expected_items()),
            target_fpp: params.target_fpp(),
            estimated_fpp: filter.estimated_fpp(),
            fill_ratio: ones as f64 / params.num_bits() as f64,
            health: Health::of_filter(params, items, &Estimate::from_ones(params, ones)),
        }
    }

    /// Distinct keys as far as is known: those that were counted at least.
    pub fn keys(&self) -> u64 {
        self.distinct_items.unwrap_or(self.items)
    }

    /// In two lines.
    pub fn text(&self) -> String {
        let of = self.expected_items.map(|items| format!(" of {}", format_count(items)));
        let fill = match self.fill_ratio {
            fill if fill.is_nan() => String::new(),
            fill => format!(", fill {:.1} %", fill * 100.0),
        };
        let keys = noun(self.expected_items.unwrap_or(self.keys()), "key");
        let known = |fpp: f64| if fpp.is_nan() { "not known".into() } else { rate(fpp) };
        format!(
            "{} filter of {}: {}{} {keys}{fill}\nrate now {}, target {}",
            self.layout,
            format_bytes(self.num_bytes),
            format_count(self.keys()),
            of.unwrap_or_default(),
            known(self.estimated_fpp),
            known(self.target_fpp),
        )
    }
}
