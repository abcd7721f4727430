//! A filter with the layers and the parameters of valkey-bloom, and hashes of our own.

use super::reservation::Reservation;
use mayhap::BloomFilter;

/// The rate of a layer is this fraction of that of the one before it.
pub(super) const TIGHTENING: f64 = 0.5;
/// The most memory of one filter: `bf.bloom-memory-usage-limit`.
const MAX_BYTES: f64 = (128 << 20) as f64;
const TOO_LARGE: &str = "ERR operation exceeds bloom object memory limit";

/// The filter.
#[derive(Debug)]
pub(super) struct ValkeyFilter {
    pub(super) error_rate: f64,
    pub(super) expansion: Option<u32>,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    bits: BloomFilter,
    capacity: u64,
    items: u64,
}

impl ValkeyFilter {
    pub(super) fn reserve(reservation: &Reservation) -> Result<Self, String> {
        let Reservation { error_rate, capacity, expansion } = *reservation;
        let mut filter = Self { error_rate, expansion, layers: Vec::new() };
        filter.grow(capacity)?;
        Ok(filter)
    }

    /// Layer i of capacity c eⁱ has the rate p tⁱ.
    fn grow(&mut self, capacity: u64) -> Result<(), String> {
        let layer = i32::try_from(self.layers.len()).unwrap_or(i32::MAX);
        let target_fpp = self.error_rate * TIGHTENING.powi(layer);
        let ln2 = std::f64::consts::LN_2;
        let bytes = -(capacity as f64) * target_fpp.ln() / (8.0 * ln2 * ln2);
        if self.num_bytes() as f64 + bytes.ceil() > MAX_BYTES {
            return Err(TOO_LARGE.into());
        }
        let builder = BloomFilter::builder().expected_items(capacity).target_fpp(target_fpp);
        let bits = builder.build().map_err(|_| "ERR false positive degrades to 0 on scale out")?;
        self.layers.push(Layer { bits, capacity, items: 0 });
        Ok(())
    }

    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.layers.iter().any(|layer| layer.bits.contains(key))
    }

    /// Inserts a key; returns whether it was new.
    pub(super) fn insert(&mut self, key: &[u8]) -> Result<bool, String> {
        if self.contains(key) {
            return Ok(false);
        }
        if let Some(full) = self.layers.last().filter(|last| last.items >= last.capacity) {
            let times = self.expansion.ok_or("ERR non scaling filter is full")?;
            self.grow(full.capacity.saturating_mul(times.into()))?;
        }
        if let Some(last) = self.layers.last_mut() {
            last.items += 1;
            last.bits.insert(key);
        }
        Ok(true)
    }

    pub(super) fn num_layers(&self) -> usize {
        self.layers.len()
    }

    pub(super) fn num_items(&self) -> u64 {
        self.layers.iter().map(|layer| layer.items).sum()
    }

    pub(super) fn capacity(&self) -> u64 {
        self.layers.iter().map(|layer| layer.capacity).sum()
    }

    pub(super) fn num_bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bits.params().num_bits() / 8).sum()
    }
}
