//! The parts common to Java systems: their arithmetic and their object streams.

pub(crate) mod bitset;
mod decimal;
mod longs;
mod math;
mod stream;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use decimal::{double_to_plain_string, double_to_string};
pub(crate) use longs::read_longs;
pub(crate) use math::{
    approximate_count, expected_fpp, optimal_num_bits, optimal_num_hashes, round_half_up,
};
pub(crate) use stream::{MAGIC, Object, Stream, Value};
pub(crate) use writer::{ClassSpec, LONGS, SERIALIZABLE, Writer};
