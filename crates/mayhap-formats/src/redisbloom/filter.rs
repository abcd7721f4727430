//! The chain of layers.

use super::hash::Hashes;
use super::layer::{FORCE_64, Layer, LayerHeader, NO_ROUNDING, NO_SCALING};
use crate::{Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits};
use mayhap::Bitmap;

/// Each layer has this share of the error rate of the previous one.
const TIGHTENING: f64 = 0.5;
/// The server (from 8.0) treats a higher rate as this one.
const MAX_ERROR_RATE: f64 = 0.25;
/// Layers are added up to this number here; the server has no limit.
const MAX_LAYERS: usize = 4_096;

/// The arguments of `BF.RESERVE`.
///
/// # Examples
///
/// ```
/// use mayhap_formats::RedisBloomOptions;
///
/// // BF.RESERVE key 0.001 5000 NONSCALING
/// let options = RedisBloomOptions { growth: None, ..RedisBloomOptions::new(0.001, 5_000) };
/// assert_eq!((options.error_rate, options.capacity, options.growth), (0.001, 5_000, None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedisBloomOptions {
    /// Error rate.
    pub error_rate: f64,
    /// Capacity: items of the first layer, or of all.
    pub capacity: u64,
    /// `EXPANSION`: the factor from a layer to the next; none for `NONSCALING`, as is 0.
    pub growth: Option<u32>,
}

impl RedisBloomOptions {
    /// `BF.RESERVE key error_rate capacity`, which grows by a factor of 2.
    pub fn new(error_rate: f64, capacity: u64) -> Self {
        Self { error_rate, capacity, growth: Some(2) }
    }
}

/// A layer of a [`RedisBloomFilter`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedisBloomLayer {
    /// Bytes of its bits.
    pub num_bytes: u64,
    /// m, its bits that are used.
    pub num_bits: u64,
    /// k, the positions of a key.
    pub num_hashes: u32,
    /// The number of items that it is sized for.
    pub capacity: u64,
    /// Items that were new when they were added to it.
    pub num_items: u64,
    /// Its share of the error rate.
    pub target_fpp: f64,
}

/// A filter of `RedisBloom`: one layer, or more when it has grown.
///
/// A query hashes the key once and looks into the layers from the newest on, up to k cache lines
/// each. The promised rate is kept only by large filters: positions are `a + i b` modulo a multiple
/// of 64, and a layer of a hundred bits has few different sets of them.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};
///
/// let options = RedisBloomOptions::new(0.01, 100);
/// let mut filter = RedisBloomFilter::create(&options, &Limits::default())?;
/// for i in 0..1_000 {
///     filter.insert(format!("user:{i}").as_bytes())?;
/// }
/// assert!(filter.contains(b"user:0") && filter.contains(b"user:999"));
/// assert_eq!(filter.num_layers(), 4);
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RedisBloomFilter {
    pub(super) layers: Vec<Layer>,
    pub(super) options: u32,
    pub(super) growth: u32,
    limits: Limits,
}

impl RedisBloomFilter {
    /// `BF.RESERVE` of `RedisBloom` 8: an empty filter. It grows within the limits.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with the server's message; [`Error::TooLarge`] by the limits,
    /// [`Error::OutOfMemory`].
    pub fn create(options: &RedisBloomOptions, limits: &Limits) -> Result<Self, Error> {
        let RedisBloomOptions { error_rate, capacity, growth } = *options;
        let is_rate = error_rate > 0.0 && error_rate < 1.0;
        Error::require(is_rate, "ERR error rate must be in the range (0.000000, 1.000000)")?;
        let is_capacity = (1..=1 << 30).contains(&capacity);
        Error::require(is_capacity, "ERR capacity must be in the range [1, 1073741824]")?;
        let is_growth = growth.is_none_or(|growth| growth <= 32_768);
        Error::require(is_growth, "ERR expansion must be in the range [0, 32768]")?;
        let growth = growth.filter(|&growth| growth > 0);
        let (scaling, tightening) = match growth {
            Some(_) => (0, TIGHTENING),
            None => (NO_SCALING, 1.0),
        };
        let options = FORCE_64 | NO_ROUNDING | scaling;
        let growth = growth.unwrap_or(0);
        let mut filter = Self::of(Vec::new(), options, growth, limits);
        filter.add_layer(capacity, error_rate.min(MAX_ERROR_RATE) * tightening)?;
        Ok(filter)
    }

    pub(super) fn of(layers: Vec<Layer>, options: u32, growth: u32, limits: &Limits) -> Self {
        Self { layers, options, growth, limits: *limits }
    }

    fn add_layer(&mut self, capacity: u64, error_rate: f64) -> Result<(), Error> {
        let used = self.num_bits() / 8;
        let max_bytes = self.limits.max_bytes.saturating_sub(used);
        let limits = Limits { max_bytes, ..self.limits };
        let header = LayerHeader::new(capacity, error_rate, self.options, &limits)?;
        let bits = Bits::new(header.num_bytes * 8, &limits)?;
        self.layers.push(Layer::new(header, bits));
        Ok(())
    }

    /// The rate given to `BF.RESERVE`: that of the first layer, doubled if layers share it.
    pub fn target_fpp(&self) -> f64 {
        let first = self.layers.first().map_or(0.0, |layer| layer.header.fpp);
        if self.growth().is_some() { first / TIGHTENING } else { first }
    }

    /// Sets a limit on the total bytes of bits, beyond which the filter does not grow.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.limits.max_bytes = max_bytes;
    }

    /// The parameters of each layer and the number of its items, oldest first.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = RedisBloomLayer> + '_ {
        self.layers.iter().map(|Layer { header, bits, .. }| RedisBloomLayer {
            num_bytes: header.num_bytes,
            num_bits: if header.n2 == 0 { bits.num_bits() } else { 1 << header.n2 },
            num_hashes: header.num_hashes,
            capacity: header.capacity,
            num_items: header.num_items,
            target_fpp: header.fpp,
        })
    }

    /// The number of layers.
    pub fn num_layers(&self) -> usize {
        self.layers.len()
    }

    /// The number of positions that a query for an absent key reads in all layers if none of them
    /// is clear early: the worst-case cost.
    pub fn hashes_per_key(&self) -> u64 {
        self.layers.iter().map(|layer| u64::from(layer.header.num_hashes)).sum()
    }

    /// Items that were new when they were added.
    pub fn num_items(&self) -> u64 {
        self.layers.iter().map(|layer| layer.header.num_items).sum()
    }

    /// The number of items that all layers are sized for.
    pub fn capacity(&self) -> u64 {
        self.layers.iter().fold(0, |sum: u64, layer| sum.saturating_add(layer.header.capacity))
    }

    /// The factor from a layer's capacity to the next; none if it does not grow.
    pub fn growth(&self) -> Option<u32> {
        (self.options & NO_SCALING == 0).then_some(self.growth)
    }

    fn hashes(&self, key: &[u8]) -> Hashes {
        Hashes::of(key, self.options & FORCE_64 != 0)
    }

    fn contains_hashes(&self, hashes: Hashes) -> bool {
        self.layers.iter().rev().any(|layer| layer.contains(hashes))
    }

    /// Inserts a key that was inserted before, into a filter that may have taken others first: a
    /// newest layer that is full, and may not be followed by another, takes it beyond its capacity.
    /// `true` if it is new.
    ///
    /// A server that answers "present" for a key, and records it all the same, needs this to read
    /// its own records.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] and [`Error::OutOfMemory`] for a further layer.
    pub fn insert_again(&mut self, key: &[u8]) -> Result<bool, Error> {
        let hashes = self.hashes(key);
        if self.contains_hashes(hashes) {
            return Ok(false);
        }
        let is_last = self.options & NO_SCALING != 0 || self.layers.len() >= MAX_LAYERS;
        match self.make_room() {
            Err(Error::Refused { .. }) => {}
            Err(_) if is_last => {}
            done => done?,
        }
        Ok(self.layers.last_mut().is_some_and(|layer| layer.insert(hashes)))
    }

    /// Adds a layer if the newest one is full.
    fn make_room(&mut self) -> Result<(), Error> {
        let Some(newest) = self.layers.last() else { return Ok(()) };
        let LayerHeader { num_items, capacity, fpp, .. } = newest.header;
        if num_items < capacity {
            return Ok(());
        }
        Error::require(self.options & NO_SCALING == 0, "ERR non scaling filter is full")?;
        let found = self.layers.len().min(MAX_LAYERS) as u64 + 1;
        Error::check_limit("number of layers", MAX_LAYERS as u64, found)?;
        let capacity = capacity.checked_mul(u64::from(self.growth)).filter(|&next| next > 0);
        let capacity =
            capacity.ok_or_else(|| Error::refused("ERR problem inserting into filter"))?;
        self.add_layer(capacity, fpp * TIGHTENING)
    }
}

impl ForeignFilter for RedisBloomFilter {
    fn format(&self) -> Format {
        Format::RedisBloom
    }

    /// The bits of all layers.
    fn num_bits(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bits.num_bits()).sum()
    }

    /// The number of the newest layer, which has the most.
    fn num_hashes(&self) -> u32 {
        self.layers.last().map_or(0, |layer| layer.header.num_hashes)
    }

    fn key_types(&self) -> &'static [KeyType] {
        &[KeyType::Bytes, KeyType::Hex]
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.contains_hashes(self.hashes(key))
    }

    /// `BF.ADD`: grows if the newest layer is full; returns the server's errors if it cannot.
    fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        let hashes = self.hashes(key);
        if self.contains_hashes(hashes) {
            return Ok(false);
        }
        self.make_room()?;
        Ok(self.layers.last_mut().is_some_and(|layer| layer.insert(hashes)))
    }

    fn contains_batch(&self, keys: &[&[u8]], found: &mut Bitmap) {
        found.clear_to(keys.len());
        for (i, key) in keys.iter().enumerate() {
            if self.contains(key) {
                found.set(i);
            }
        }
    }

    fn union_with(&mut self, _other: &dyn ForeignFilter) -> Result<(), Error> {
        Err(Error::Unsupported {
            format: Format::RedisBloom.name(),
            operation: "a union",
            reason: "its layers count their items; query both filters instead",
        })
    }

    fn count_ones(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bits.count_ones()).sum()
    }

    /// The probability that any of the layers answers "maybe".
    fn estimated_fpp(&self) -> f64 {
        1.0 - self.layers.iter().map(|layer| 1.0 - layer.fill_fpp()).product::<f64>()
    }

    fn estimated_items(&self) -> Option<u64> {
        Some(self.num_items())
    }

    fn facts(&self) -> Vec<Fact> {
        let growth = self.growth().map_or("none".to_owned(), |growth| growth.to_string());
        vec![
            Fact::new("num_layers", self.num_layers()),
            Fact::new("capacity", self.capacity()),
            Fact::new("growth", growth),
        ]
    }

    fn encode(&self) -> Vec<u8> {
        self.to_container()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
