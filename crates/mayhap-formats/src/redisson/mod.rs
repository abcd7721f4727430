//! `RBloomFilter` of Redisson: a bitmap in a Redis string and its parameters in a separate hash.
//!
//! The string: bit p is bit `p % 8` from the most significant of byte `p / 8`; it ends at the
//! highest byte ever written. The hash, all decimal text:
//!
//! | field | type | allowed |
//! |---|---|---|
//! | `size` | i64 | not 0, at most 4294967294; negative for a negative n |
//! | `hashIterations` | i32 | 1 and more |
//! | `expectedInsertions` | i64 | any |
//! | `falseProbability` | f64 | 0 to 1; `1.0E-4` since 3.30.0, `0.00010` before |
//!
//! Elements are hashed as encoded by a codec ([`crate::KeyType`] has the usual ones).
//!
//! Read from and checked against the hash classes of Redisson 4.7, Kryo 5.6.2, `JBoss` Marshalling
//! 2.0.14, Jackson 2.15 and Redis 7.0.15. Filters of Redisson before 3.6.0 use a different hash and
//! cannot be distinguished from newer ones by their bytes.
//!
//! | file | contents |
//! |---|---|
//! | `codec.rs` | the encodings of strings and numbers by Redisson's codecs |
//! | `config.rs` | the hash beside the bits |
//! | `filter.rs` | the filter |
//! | `rate.rs` | the rate at which absent keys are found |
//! | `scheme.rs` | key bytes → positions |

pub(crate) mod codec;
mod config;
mod filter;
mod rate;
mod scheme;

pub use config::{RedissonConfig, RedissonSpelling};
pub use filter::RedissonFilter;
pub use scheme::RedissonScheme;
