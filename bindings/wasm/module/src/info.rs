//! What a filter reports of itself.

use wasm_bindgen::prelude::wasm_bindgen;

/// What a filter is and how full it is. Counts are doubles; NaN is "not known".
#[wasm_bindgen(getter_with_clone)]
#[derive(Debug, Clone)]
pub struct Info {
    /// The system that the file is of: `mayhap`, `guava`, …
    pub format: String,
    /// Which kind, and of plain filters which layout: `blocked`, `standard`, `counting`, …
    pub kind: String,
    /// What hashes the key: `xxh3`, `sip13`; empty for other systems.
    pub digest: String,
    /// The seed, or the id of the secret key, in 16 hexadecimal digits.
    pub seed: String,
    /// How keys are cut out of lines, as the file records it.
    pub key_options: String,
    /// The library's name of the health; empty where no number of keys was promised.
    pub health: String,
    /// Bytes of memory.
    pub num_bytes: f64,
    /// m.
    pub num_bits: f64,
    /// k.
    pub num_hashes: f64,
    /// n, what the filter was created for.
    pub expected_items: f64,
    /// p, as promised.
    pub target_fpp: f64,
    /// Insertions that were new.
    pub inserted_items: f64,
    /// Distinct keys, estimated from the bits.
    pub estimated_items: f64,
    /// The rate now, from the bits.
    pub estimated_fpp: f64,
    /// The share of the bits that are set.
    pub fill_ratio: f64,
    /// Layers of a growing filter, sets of a matrix; else 1.
    pub num_parts: f64,
}

impl Info {
    /// Nothing known yet.
    pub(crate) const fn unknown() -> Self {
        Self {
            format: String::new(),
            kind: String::new(),
            digest: String::new(),
            seed: String::new(),
            key_options: String::new(),
            health: String::new(),
            num_bytes: f64::NAN,
            num_bits: f64::NAN,
            num_hashes: f64::NAN,
            expected_items: f64::NAN,
            target_fpp: f64::NAN,
            inserted_items: f64::NAN,
            estimated_items: f64::NAN,
            estimated_fpp: f64::NAN,
            fill_ratio: f64::NAN,
            num_parts: 1.0,
        }
    }
}
