//! Numbers and measurements of a filter.

use crate::{Estimate, FilterParams, Health, Layout};

/// The numbers of a filter that are known without reading its bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numbers {
    /// The layout of a plain filter; `None` for kinds that have only one.
    pub layout: Option<Layout>,
    /// m.
    pub num_bits: u64,
    /// k, the largest of a chain.
    pub num_hashes: u32,
    /// Bytes of memory.
    pub num_bytes: u64,
    /// n: the distinct keys that it was created for, or starts with.
    pub expected_items: u64,
    /// The distinct keys at which it is full; `None` if it never is.
    pub capacity: Option<u64>,
    /// Insertions that were new; in a window, the keys that it remembers as counted.
    pub inserted_items: u64,
    /// Distinct keys, estimated from that count as if every key had been offered once.
    pub distinct_items: Estimate,
    /// p: the rate that was promised.
    pub target_fpp: f64,
    /// The rate predicted from the count.
    pub expected_fpp: f64,
}

/// The measurements of a filter's bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ByBits {
    /// The share of bits, counters or slots that are in use.
    pub fill_ratio: f64,
    /// The rate now, by the bits as they are.
    pub estimated_fpp: f64,
    /// Distinct keys by the bits alone; `None` for kinds whose bits do not tell.
    pub estimated_items: Option<Estimate>,
    /// Distinct keys, by bits and count.
    pub distinct_items: Estimate,
    /// Whether it keeps its promise.
    pub health: Health,
}

impl Numbers {
    /// The numbers of a filter with these parameters that counted this many insertions.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::AnyFilter;
    /// use mayhap::set::{Numbers, Set};
    ///
    /// let mut filter = AnyFilter::builder().expected_items(1_000).target_fpp(0.01).build()?;
    /// filter.insert("key");
    /// let numbers = Numbers::of_params(filter.params(), 1);
    /// assert_eq!(numbers, filter.numbers());
    /// assert_eq!((numbers.capacity, numbers.inserted_items), (Some(1_000), 1));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn of_params(params: &FilterParams, inserted_items: u64) -> Self {
        Self {
            layout: Some(params.layout()),
            num_bits: params.num_bits(),
            num_hashes: params.num_hashes(),
            num_bytes: params.num_bytes(),
            expected_items: params.expected_items(),
            capacity: Some(params.expected_items()),
            inserted_items,
            distinct_items: Estimate::from_inserted(params, inserted_items),
            target_fpp: params.target_fpp(),
            expected_fpp: params.expected_fpp(params.distinct_items(inserted_items)),
        }
    }
}

/// An estimate that is certain.
pub(super) const fn exactly(items: u64) -> Estimate {
    let items = items as f64;
    Estimate { items, low: items, high: items }
}
