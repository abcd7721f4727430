//! The layers of a filter, one by one; for `BF.DEBUG`.

use super::Entry;
use super::filter::Filter;
use super::lock::{locked, read};

/// A layer of a filter; of one that does not grow, the filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerInfo {
    /// Bytes of its bits.
    pub bytes: u64,
    /// Its bits.
    pub bits: u64,
    /// Positions of a key; 0 where a file does not say.
    pub hashes: u32,
    /// Keys that it is made for.
    pub capacity: u64,
    /// Keys that were new when they came to it.
    pub items: u64,
    /// Its share of the promised rate: what it has when it is full.
    pub error: f64,
}

impl Entry {
    /// Its layers, oldest first. Reads no bits, but those of another system's file.
    pub fn layers(&self) -> Vec<LayerInfo> {
        let hashes = match &self.filter {
            Filter::Growing(filter) => {
                let layers = filter.layers().map(|(params, items)| LayerInfo {
                    bytes: params.num_bytes(),
                    bits: params.num_bits(),
                    hashes: params.num_parts() * params.part().num_hashes(),
                    capacity: params.expected_items(),
                    items,
                    error: params.expected_fpp(params.expected_items()),
                });
                return layers.collect();
            }
            Filter::RedisBloom(filter, _) => {
                let filter = read(filter);
                let layers = filter.layers().map(|layer| LayerInfo {
                    bytes: layer.num_bytes,
                    bits: layer.num_bits,
                    hashes: layer.num_hashes,
                    capacity: layer.capacity,
                    items: layer.num_items,
                    error: layer.error_rate,
                });
                return layers.collect();
            }
            Filter::Fixed(fixed, _) => fixed.filter().params().num_hashes(),
            Filter::Counting(filter, _) => locked(filter).filter.num_hashes(),
            Filter::Window(filter, _) => locked(filter).filter.num_hashes(),
            Filter::Mapped(mapped) => mapped.filter().params().num_hashes(),
            Filter::Foreign(..) => 0,
        };
        let info = self.info();
        vec![LayerInfo {
            bytes: info.bytes,
            bits: info.bytes.saturating_mul(8),
            hashes,
            capacity: info.capacity,
            items: info.items,
            error: info.error,
        }]
    }
}
