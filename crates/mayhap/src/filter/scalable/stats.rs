//! The statistics of a chain.

use super::concurrent::SharedLayer;
use super::{ConcurrentScalableBloomFilter, Layer, OwnedLayer, ScalableBloomFilter};
use crate::bits::Storage;
use crate::filter::{Estimate, Filter, Health};
use crate::layout::Blocked;
use crate::sizing::distinct::Z_99;
use crate::sizing::scalable::{LayerParams, left_fpp};
use alloc::vec::Vec;

impl ScalableBloomFilter {
    /// The rate that holds overall.
    pub const fn target_fpp(&self) -> f64 {
        self.target_fpp
    }

    /// The number of keys that the first layer was sized for.
    pub const fn first_items(&self) -> u64 {
        self.first_items
    }

    /// The limit of [`ScalableBloomFilter::set_max_bytes`].
    pub const fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// The number of layers, hardly more than one cache line each per query for an absent key.
    pub const fn num_layers(&self) -> usize {
        self.layers.len()
    }

    /// The parameters of each layer and the number of its keys, oldest first.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = (LayerParams, u64)> + '_ {
        self.layers.iter().map(|layer| (layer.params, layer.inserted_items))
    }

    /// Bytes of memory of all layers.
    pub fn num_bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.params.num_bytes()).sum()
    }

    /// m, the bits of all layers.
    pub fn num_bits(&self) -> u64 {
        self.layers.iter().map(|layer| layer.params.num_bits()).sum()
    }

    /// The insertions answered "new" so far; after a union, keys that were in both filters count
    /// twice if their layers could not be ored.
    pub fn inserted_items(&self) -> u64 {
        self.layers.iter().map(|layer| layer.inserted_items).sum()
    }

    /// The number of distinct keys inserted, with a 99 % interval: the keys that the layers
    /// counted, the keys that they swallowed, and the keys that older layers mistook for their own.
    /// Reads no block.
    ///
    /// A layer that T keys reached, past older ones with the rates pᵢ, was the newest for T / Π (1
    /// − pᵢ) keys. (Layers are treated as independent. Keys of an older one are not in a newer one,
    /// so that a few more are swallowed: a negligible number up to a target of 0.1, one in two
    /// hundred of the swallowed keys at 0.3.)
    ///
    /// After a union, from the bits, so that every block is read. Keys that several chains had may
    /// be in as many layers, and their number is unknown: `items` counts them in each, and the
    /// interval goes down to the number of keys if all chains had the same ones. A file does not
    /// record a union; it shows in the layers, if one was adopted.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, ScalableBloomFilter};
    /// let mut filter = ScalableBloomFilter::new(1_000, 0.1, DigestFunction::default())?;
    /// filter.insert_batch(&(0..50_000u64).collect::<Vec<_>>())?;
    /// let distinct = filter.distinct_items();
    /// assert!(filter.inserted_items() < 48_500); // one in thirty was taken for a repeat
    /// assert!(distinct.low < 50_000.0 && 50_000.0 < distinct.high);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn distinct_items(&self) -> Estimate {
        distinct_of_union(self.layers.iter(), self.num_united)
            .unwrap_or_else(|| distinct_items(self.layers()))
    }

    /// The predicted current rate: 1 − Π (1 − pᵢ) over the layers at their current fill.
    pub fn expected_fpp(&self) -> f64 {
        any_of(self.layers.iter().map(OwnedLayer::expected_fpp))
    }

    /// The upper bound of the rate at every size from now on: [`ScalableBloomFilter::target_fpp`],
    /// or more after a union that used up the share of later layers.
    ///
    /// It is the sum of the layers' rates when full and of the share of further layers.
    pub fn promised_fpp(&self) -> f64 {
        let promised: f64 = self.layers.iter().map(OwnedLayer::promised_fpp).sum();
        let step = self.limits().step_after(self.newest().step);
        let left = left_fpp(self.target_fpp, step, promised);
        // The sum of both is the target except for rounding, unless the floor applies.
        if promised + left <= self.target_fpp * (1.0 + 1e-12) {
            self.target_fpp
        } else {
            (promised + left).min(1.0)
        }
    }

    /// The *current* false-positive probability, from the bits themselves. Reads every block.
    ///
    /// Exact for these contents: 1 − Π (1 − pᵢ), with a layer's pᵢ the product of its parts' (see
    /// [`crate::Filter::estimated_fpp`]).
    pub fn estimated_fpp(&self) -> f64 {
        any_of(self.layers.iter().map(Layer::estimated_fpp))
    }

    /// The share of bits that are set in all layers. Reads every block.
    pub fn fill_ratio(&self) -> f64 {
        fill_of(self.layers.iter())
    }

    /// The number of distinct keys estimated from the set bits, with a 99 % interval: the sum of
    /// the layers' estimates, with independent deviations. Keys that an older layer mistook for its
    /// own are in no layer and not counted, a share of up to p
    /// ([`ScalableBloomFilter::distinct_items`] counts them too). Reads every layer.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, ScalableBloomFilter};
    /// let mut filter = ScalableBloomFilter::new(100, 1e-6, DigestFunction::default())?;
    /// filter.insert_batch(&(0..10_000u64).collect::<Vec<_>>())?;
    /// let estimate = filter.estimated_items();
    /// assert!(estimate.low < 10_000.0 && 10_000.0 < estimate.high);
    /// assert!(estimate.high - estimate.low < 500.0);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn estimated_items(&self) -> Estimate {
        sum_of(self.layers.iter().map(Layer::estimated_items))
    }

    /// Whether the filter keeps its promise. Reads no block.
    ///
    /// A chain that was never united is [`Health::Ok`] until it can no longer grow.
    /// [`Health::NearCapacity`]: the newest layer is 80 % full and the next one would be refused,
    /// or a union has used up the rate, which will rise above the target as layers fill
    /// ([`ScalableBloomFilter::promised_fpp`]). [`Health::OverCapacity`]: the rate is above the
    /// target.
    pub fn health(&self) -> Health {
        // The sum of the shares is the target except for rounding.
        let bound = self.target_fpp * (1.0 + 1e-9);
        if self.expected_fpp() > bound {
            return Health::OverCapacity;
        }
        let newest = self.newest();
        let items = newest.params.distinct_items(newest.inserted_items) as f64;
        let nearly_full = Health::of(items, newest.params.expected_items()) != Health::Ok;
        let last = || {
            let promised = self.layers.iter().map(OwnedLayer::promised_fpp).sum();
            let (count, bytes) = (self.layers.len(), self.num_bytes());
            self.limits().next_layer(Some(newest.step), promised, count, bytes).is_err()
        };
        if self.promised_fpp() > bound || nearly_full && last() {
            return Health::NearCapacity;
        }
        Health::Ok
    }
}

impl ConcurrentScalableBloomFilter {
    /// The rate that holds overall.
    pub const fn target_fpp(&self) -> f64 {
        self.limits().target_fpp
    }

    /// The number of keys that the first layer was sized for.
    pub const fn first_items(&self) -> u64 {
        self.limits().first_items
    }

    /// Same as [`ScalableBloomFilter::layers`], approximately now.
    pub fn layers(&self) -> impl Iterator<Item = (LayerParams, u64)> + '_ {
        self.published().map(|shared| (shared.layer.params, shared.inserted_items()))
    }

    /// The number of keys that all layers together were sized for.
    pub fn capacity(&self) -> u64 {
        self.published().map(|shared| shared.layer.params.expected_items()).sum()
    }

    /// Bytes of memory of all layers, including one created ahead.
    pub fn num_bytes(&self) -> u64 {
        let count = self.num_layers();
        let ahead = self.newest(count).ahead.get().map(|ahead| &**ahead);
        let layers = self.slice(0, count).chain(ahead);
        layers.map(|shared| shared.layer.params.num_bytes()).sum()
    }

    /// The insertions answered "new" so far, plus up to 512 for each thread that is inserting right
    /// now.
    pub fn inserted_items(&self) -> u64 {
        self.published().map(SharedLayer::inserted_items).sum()
    }

    /// The value of [`ConcurrentScalableBloomFilter::inserted_items`] at which all layers are full:
    /// lower than the number of keys that they were sized for, since some are taken for repeats.
    pub fn inserted_when_full(&self) -> u64 {
        self.published().map(|shared| shared.layer.full_at).sum()
    }

    /// Same as [`ScalableBloomFilter::distinct_items`], approximately now.
    pub fn distinct_items(&self) -> Estimate {
        distinct_of_union(self.published().map(|shared| &shared.layer), self.num_united)
            .unwrap_or_else(|| distinct_items(self.layers()))
    }

    /// Same as [`ScalableBloomFilter::expected_fpp`]. Reads no block.
    pub fn expected_fpp(&self) -> f64 {
        let fpp = |shared: &SharedLayer| shared.layer.expected_fpp_of(shared.inserted_items());
        any_of(self.published().map(fpp))
    }

    /// Same as [`ScalableBloomFilter::estimated_fpp`], approximately now. Reads every block.
    pub fn estimated_fpp(&self) -> f64 {
        any_of(self.published().map(|shared| shared.layer.estimated_fpp()))
    }

    /// Same as [`ScalableBloomFilter::fill_ratio`], approximately now. Reads every block.
    pub fn fill_ratio(&self) -> f64 {
        fill_of(self.published().map(|shared| &shared.layer))
    }

    /// Same as [`ScalableBloomFilter::estimated_items`], approximately now. Reads every layer.
    pub fn estimated_items(&self) -> Estimate {
        sum_of(self.published().map(|shared| shared.layer.estimated_items()))
    }
}

/// The number of distinct keys of several chains, by the bits of their layers, oldest first; `None`
/// if all are of one chain.
fn distinct_of_union<'a, S: Storage + 'a>(
    layers: impl Iterator<Item = &'a Layer<Filter<Blocked, S>>> + Clone,
    num_united: u32,
) -> Option<Estimate> {
    // A chain has one layer of each step.
    let (mut alike, mut most_alike, mut last) = (0u32, 1, None);
    for layer in layers.clone() {
        alike = if last.replace(layer.step) == Some(layer.step) { alike + 1 } else { 1 };
        most_alike = most_alike.max(alike);
    }
    let chains = most_alike.max(num_united.saturating_add(1));
    if chains == 1 {
        return None;
    }
    let estimates: Vec<_> = layers.map(|layer| (layer.params, layer.estimated_items())).collect();
    let come = distinct_of(estimates.iter().copied());
    // A key is in at most one layer of each chain.
    let there = sum_of(estimates.iter().map(|(_, estimate)| *estimate)).low / f64::from(chains);
    let low = estimates.iter().map(|(_, estimate)| estimate.low).fold(there, f64::max);
    Some(Estimate { items: come.items, low, high: come.high })
}

/// The number of distinct keys inserted into layers with these counts, oldest first.
fn distinct_items(layers: impl Iterator<Item = (LayerParams, u64)>) -> Estimate {
    let mut inserted = 0;
    let estimate = distinct_of(layers.map(|(params, counted)| {
        inserted += counted;
        (params, Estimate::of_intake(&params.intake(), counted))
    }));
    Estimate { low: estimate.low.max(inserted as f64), ..estimate }
}

/// The number of distinct keys offered to layers with these estimates, oldest first.
fn distinct_of(layers: impl Iterator<Item = (LayerParams, Estimate)>) -> Estimate {
    let (mut items, mut variance, mut absent) = (0.0, 0.0, 1.0);
    let mut rates = Vec::new();
    for (params, estimate) in layers {
        let intake = params.intake();
        let (come, deviation) = (estimate.items / absent, estimate.deviation() / absent);
        // Which of the keys are swallowed is random too.
        variance += deviation * deviation + come * (1.0 - absent) / absent;
        items += come;
        let fpp = params.expected_fpp(estimate.rounded());
        rates.push((items, fpp * intake.fpp_deviation(estimate.items)));
        absent *= 1.0 - fpp;
    }
    // A layer's own rate differs a little from the mean of such layers, and so does the share that
    // it swallows of all keys that arrive after it was full.
    for (until, deviation) in rates {
        let off = (items - until) * deviation;
        variance += off * off;
    }
    let width = Z_99 * libm::sqrt(variance);
    let low = items - width;
    // Infinity minus infinity is not a number.
    Estimate { items, low: if low.is_nan() { 0.0 } else { low }, high: items + width }
}

fn fill_of<'a, S: Storage + 'a>(
    layers: impl Iterator<Item = &'a Layer<Filter<Blocked, S>>>,
) -> f64 {
    let (ones, bits) = layers.fold((0, 0), |(ones, bits), layer| {
        (ones + layer.count_ones(), bits + layer.params.num_bits())
    });
    ones as f64 / bits as f64
}

/// The estimate for all layers, which hold different keys.
fn sum_of(estimates: impl Iterator<Item = Estimate>) -> Estimate {
    let (mut items, mut below, mut above) = (0.0, 0.0, 0.0);
    let (mut low, mut full) = (0.0, false);
    for estimate in estimates {
        if estimate.items.is_infinite() {
            (low, full) = (low + estimate.low, true);
            continue;
        }
        items += estimate.items;
        below += (estimate.items - estimate.low) * (estimate.items - estimate.low);
        above += (estimate.high - estimate.items) * (estimate.high - estimate.items);
    }
    low += items - libm::sqrt(below);
    if full {
        return Estimate { items: f64::INFINITY, low, high: f64::INFINITY };
    }
    Estimate { items, low, high: items + libm::sqrt(above) }
}

/// The probability that at least one of independent events happens.
fn any_of(probabilities: impl Iterator<Item = f64>) -> f64 {
    // As logarithms: 1 − Π (1 − p) loses the digits of rates near 1e-16.
    -libm::expm1(probabilities.map(|p| libm::log1p(-p)).sum())
}
