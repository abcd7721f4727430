//! The public API as its users see it: one binary, one module per promise.
#![cfg(not(loom))]

mod borders;
mod builder;
mod cache_router;
mod clearing;
mod concurrent;
mod counting;
mod counting_cap;
mod counting_saved;
mod estimate;
mod examples;
mod fold;
mod fuse;
mod fuse_widths;
mod golden;
mod huge;
mod kernels;
mod keys;
mod matrix;
mod matrix_names;
mod model;
mod piece;
mod positions;
mod presets;
mod ribbon;
mod ribbon_external;
mod scalable;
mod scalable_cost;
mod scalable_counts;
mod scalable_growth;
mod scalable_rates;
mod segment;
mod union;
mod window;
mod window_absent;
mod window_cost;
mod window_kinds;
mod window_rates;
mod window_spans;

use mayhap::{Block, Build, Digest, DigestFunction, Filter, FilterParams, Layout, OwnedBlocks};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same cases every time; few under Miri, which is a thousand times slower.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 2 } else { cases },
        rng_seed: RngSeed::Fixed(2),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Numbers of a filter for 100 items at 1 %: the tests are about its shape.
fn shape(layout: Layout, num_bits: u64, num_hashes: u32) -> FilterParams {
    FilterParams::new(layout, num_bits, num_hashes, 100, 0.01).unwrap()
}

/// Small filters of every shape: one block and several, m in the middle of a word, every k.
fn shapes() -> impl Strategy<Value = FilterParams> {
    prop_oneof![
        (64u64..5000, 1u32..=32).prop_map(|(m, k)| shape(Layout::Standard, m, k)),
        (1u64..12, 2u32..=4).prop_map(|(b, k)| shape(Layout::Blocked, b * 512, 1 << k)),
        (1u64..30).prop_map(|b| shape(Layout::Blocked128, b * 128, 8)),
        (1u64..40).prop_map(|b| shape(Layout::Blocked64, b * 64, 8)),
    ]
}

/// Any digests, the extreme ones often, and duplicates likely.
fn digests(max: usize) -> impl Strategy<Value = Vec<Digest>> {
    let digest = prop_oneof![
        4 => any::<u64>(),
        1 => prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(1 << 63)],
        // Products of these spread, so each is one of 40 "keys".
        2 => (1..=40u64).prop_map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
    ];
    vec(digest.prop_map(Digest::new), 0..max)
}

fn empty<L>(params: FilterParams) -> Filter<L, OwnedBlocks>
where
    Filter<L, OwnedBlocks>: Build,
{
    Build::empty(params, DigestFunction::xxh3(7)).unwrap()
}

fn ones(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| u64::from(block.count_ones())).sum()
}

/// Calls a function that is generic over the layout type with the type that `params` name.
macro_rules! with_layout {
    ($function:ident($params:expr $(, $argument:expr)*)) => {
        match $params.layout() {
            mayhap::Layout::Standard => $function::<mayhap::Standard>($params $(, $argument)*),
            mayhap::Layout::Blocked => $function::<mayhap::Blocked>($params $(, $argument)*),
            mayhap::Layout::Blocked128 => $function::<mayhap::Blocked128>($params $(, $argument)*),
            mayhap::Layout::Blocked64 => $function::<mayhap::Blocked64>($params $(, $argument)*),
            _ => unreachable!("a layout that this test does not know"),
        }
    };
}
use with_layout;
