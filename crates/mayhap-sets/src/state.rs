//! The numbers of a filter now.

use mayhap::{AnyFilter, Block, Estimate, FilterParams, Health};
use mayhap_store::Assembled;
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
    /// How many keys the bits alone speak of, for kinds with such parameters.
    #[serde(skip)]
    pub estimated_items: Option<(Estimate, FilterParams)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn health_name<S: Serializer>(health: &Health, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(health.name())
}

/// The number of an estimate, if there is one.
pub(crate) fn whole(estimate: Estimate) -> Option<u64> {
    estimate.items.is_finite().then(|| estimate.rounded())
}

impl State {
    /// Reads every block of a filter twice: for its set bits and for its rate.
    pub fn of<S: AsRef<[Block]>>(filter: &AnyFilter<S>) -> Self {
        let (params, items) = (filter.params(), filter.inserted_items());
        let ones = filter.count_ones();
        let fill_ratio = ones as f64 / params.num_bits() as f64;
        let by_bits = (fill_ratio, filter.estimated_fpp(), Estimate::from_ones(params, ones));
        let distinct_items = whole(Estimate::distinct(params, items, ones));
        Self { distinct_items, ..Self::of_bits(params, items, by_bits) }
    }

    /// The state of a plain filter that was just put together from others.
    ///
    /// # Errors
    ///
    /// The errors of [`mayhap::native::Header::params`].
    pub fn of_assembled(new: &Assembled) -> Result<Self, mayhap::Error> {
        let by_bits = (new.fill_ratio, new.estimated_fpp, new.estimated_items);
        Ok(Self::of_bits(&new.header.params()?, new.header.inserted_items(), by_bits))
    }

    /// The state of a plain filter that counted this many items, and of whose bits this is known:
    /// the share that is set, the rate, and how many keys they speak of.
    fn of_bits(
        params: &FilterParams,
        items: u64,
        (fill_ratio, estimated_fpp, estimate): (f64, f64, Estimate),
    ) -> Self {
        Self {
            layout: params.layout().name(),
            num_bytes: params.num_bytes(),
            items,
            distinct_items: whole(estimate),
            expected_items: Some(params.expected_items()),
            target_fpp: params.target_fpp(),
            estimated_fpp,
            fill_ratio,
            health: Health::of_filter(params, items, &estimate),
            estimated_items: Some((estimate, *params)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            layout: "blocked",
            num_bytes: 1 << 20,
            items: 900,
            distinct_items: Some(1_000),
            expected_items: Some(10_000),
            target_fpp: 0.01,
            estimated_fpp: 0.002,
            fill_ratio: 0.123_4,
            health: Health::Ok,
            estimated_items: None,
        }
    }

    #[test]
    fn the_keys_that_came_are_named_and_what_is_not_known_is_not() {
        let text = state().text();
        let expected = "blocked filter of 1.00 MiB: 1,000 of 10.0k keys, fill 12.3 %\n\
                        rate now 0.2 %, target 1 %";
        assert_eq!(text, expected);
        let silent = State {
            distinct_items: None,
            expected_items: None,
            target_fpp: f64::NAN,
            fill_ratio: f64::NAN,
            ..state()
        };
        let expected = "blocked filter of 1.00 MiB: 900 keys\nrate now 0.2 %, target not known";
        assert_eq!(silent.text(), expected);
    }

    #[test]
    fn the_state_of_a_filter_is_that_of_its_bits() {
        let builder = AnyFilter::builder().num_bits(1_024).num_hashes(8).expected_items(10);
        let mut filter = builder.layout(mayhap::Layout::Blocked).build().unwrap();
        for key in 0..10u64 {
            filter.insert(&key);
        }
        let (state, ones) = (State::of(&filter), filter.count_ones());
        assert!((60..=80).contains(&ones), "{ones}");
        assert_eq!((state.fill_ratio, state.num_bytes), (ones as f64 / 1_024.0, 128));
        assert_eq!((state.items, state.expected_items, state.layout), (10, Some(10), "blocked"));
        assert_eq!((state.keys(), state.health), (10, Health::NearCapacity));
        for key in 10..40u64 {
            filter.insert(&key);
        }
        assert_eq!(State::of(&filter).health, Health::OverCapacity);
    }
}
