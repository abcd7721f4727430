//! What Java systems share: their arithmetic.

mod math;

pub(crate) use math::{
    approximate_count, expected_fpp, optimal_num_bits, optimal_num_hashes, round_half_up,
};
