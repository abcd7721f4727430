//! The rate models and the cost model of the library.

use crate::Fault;
use mayhap::plan::{Costs, memory};
use mayhap::{Layout, sizing};
use wasm_bindgen::prelude::wasm_bindgen;

fn layout(name: &str) -> Result<Layout, Fault> {
    let all = [Layout::Standard, Layout::Blocked, Layout::Blocked128, Layout::Blocked64];
    let found = all.into_iter().find(|layout| layout.name() == name);
    found.ok_or(Fault::new("WrongKind", ""))
}

/// The rate that the library predicts for a layout of m bits and k hashes with n keys.
///
/// # Errors
///
/// A [`Fault`] for numbers that no filter of the layout has.
#[wasm_bindgen]
pub fn expected_fpp(
    layout_name: &str,
    num_bits: f64,
    num_hashes: u32,
    items: f64,
) -> Result<f64, Fault> {
    let layout = layout(layout_name)?;
    let params = mayhap::FilterParams::new(layout, num_bits as u64, num_hashes, 1, 0.5)?;
    Ok(params.expected_fpp(items as u64))
}

/// The textbook's rate, `(1 − (1 − 1/m)^(kn))^k`.
#[wasm_bindgen]
pub fn textbook_fpp(num_bits: f64, num_hashes: u32, items: f64) -> f64 {
    sizing::textbook_fpp(num_bits as u64, num_hashes, items as u64)
}

/// The k of the lowest rate for n keys in m bits of `standard`.
#[wasm_bindgen]
pub fn num_hashes_for(num_bits: f64, items: f64) -> u32 {
    let params = sizing::for_bits(Layout::Standard, num_bits as u64, items as u64);
    params.map_or(0, |params| params.num_hashes())
}

/// Bytes of a hash set of the keys.
#[wasm_bindgen]
pub fn hash_set_bytes(items: f64, key_bytes: f64) -> f64 {
    memory::hash_set_bytes(items as u64, key_bytes)
}

/// The cost of a query at a rate: with a filter, with all keys in memory, with neither, and the
/// cost of false positives.
#[wasm_bindgen]
pub fn cost_of(fpp: f64, without_disk: f64, with_disk: f64, absent_share: f64) -> Vec<f64> {
    let cost = Costs { without_disk, with_disk, absent_share }.of(fpp);
    vec![cost.with_filter, cost.with_hash_map, cost.without_filter, cost.of_false_positives]
}
