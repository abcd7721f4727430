//! The parts common to Java systems: their arithmetic and their object streams.
//!
//! | file | contents |
//! |---|---|
//! | `bitset.rs` | `java.util.BitSet` in object streams |
//! | `decimal.rs` | `Double.toString` and `BigDecimal.toPlainString` |
//! | `longs.rs` | bits as an array of longs |
//! | `math.rs` | sizing formulas in the operation order of the originals |
//! | `stream.rs` | a bounded reader of Java object streams |
//! | `writer.rs` | a writer of Java object streams, byte for byte as a JVM writes them |

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
pub(crate) use writer::{ClassSpec, LONGS, Writer};
