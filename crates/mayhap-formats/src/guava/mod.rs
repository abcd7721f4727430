//! `com.google.common.hash.BloomFilter` of Guava.
//!
//! The stream of `writeTo`, all numbers big-endian:
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 1 | i8 | strategy: 0 `MURMUR128_MITZ_32`, 1 `MURMUR128_MITZ_64` | 0, 1 |
//! | 1 | 1 | u8 | k | 1 to 255 |
//! | 2 | 4 | i32 | L, the number of longs | 1 to 2^31 − 1 |
//! | 6 | 8 L | L × i64 | bit p is bit `p % 64` of long `p / 64` | any |
//!
//! The file has no magic, checksum, funnel, n or p. m is 64 L in every formula.
//!
//! Read from and checked against Guava 14.0.1, 31.1, 33.4.0 and 33.6.0.
//!
//! | file | contents |
//! |---|---|
//! | `codec.rs` | the file: the stream of `writeTo`, or a Java object stream |
//! | `filter.rs` | the filter |
//! | `scheme.rs` | key bytes → positions |
//! | `serialized.rs` | the filter through `ObjectOutputStream`: the only form that Guava 14 had |
//! | `shared.rs` | the filter for many threads |
//! | `sizing.rs` | the size of a new filter: `BloomFilter.create` |

mod codec;
mod filter;
mod scheme;
mod serialized;
mod shared;
mod sizing;

pub use filter::GuavaFilter;
pub use scheme::{GuavaScheme, GuavaStrategy};
pub use serialized::GuavaFunnel;
pub use shared::SharedGuavaFilter;
pub use sizing::{GuavaOptions, GuavaRelease};
