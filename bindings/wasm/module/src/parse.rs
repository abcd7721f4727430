//! Numbers as people type them: the grammar of the command line. NaN for what is no such number.

use mayhap_units::number;
use wasm_bindgen::prelude::wasm_bindgen;

/// A count: `10M`, `1.5G`, `1e6`.
#[wasm_bindgen]
pub fn parse_count(text: &str) -> f64 {
    number::parse_count(text).map_or(f64::NAN, |count| count as f64)
}

/// A size in bytes: `64KiB`, `512M`.
#[wasm_bindgen]
pub fn parse_bytes(text: &str) -> f64 {
    number::parse_bytes(text).map_or(f64::NAN, |bytes| bytes as f64)
}

/// A rate: `1e-6`, `0.1%`, `1 in 1M`.
#[wasm_bindgen]
pub fn parse_fpp(text: &str) -> f64 {
    number::parse_fpp(text).unwrap_or(f64::NAN)
}
