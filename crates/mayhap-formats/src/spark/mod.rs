//! `org.apache.spark.util.sketch.BloomFilter` of Spark, as created by `df.stat.bloomFilter`.
//!
//! The stream of `writeTo`, all numbers big-endian:
//!
//! | offset V1 | V2 | bytes | type | field | allowed |
//! |---|---|---|---|---|---|
//! | 0 | 0 | 4 | i32 | version | 1, 2 |
//! | 4 | 4 | 4 | i32 | k | 1 and more |
//! | – | 8 | 4 | i32 | seed | any |
//! | 8 | 12 | 4 | i32 | L, the number of longs | 1 to 2^31 − 1 |
//! | 12 | 16 | 8 L | L × i64 | bit p is bit `p % 64` of long `p / 64` | any |
//!
//! Spark up to 4.0 writes and reads V1; V2 is the default from 4.1 (SPARK-47547), which reads both.
//! m is 64 L. n, p and the type of the column are not recorded.
//!
//! Read from and checked against Spark 3.5.6, 4.0.1, 4.1.4 and 4.3.0.
//!
//! | file | contents |
//! |---|---|
//! | `codec.rs` | the file |
//! | `filter.rs` | the filter |
//! | `hash.rs` | Spark's own 32-bit Murmur3 |
//! | `lanes.rs` | one key, and many keys at once |
//! | `scheme.rs` | hashes → positions |
//! | `sizing.rs` | the size of a new filter: `BloomFilter.create` |

mod codec;
mod filter;
mod hash;
mod lanes;
mod scheme;
mod sizing;

pub use filter::SparkFilter;
pub use scheme::{SparkScheme, SparkVersion};
pub use sizing::SparkOptions;
