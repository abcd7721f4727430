//! `RedisBloom`: filters of `BF.RESERVE` and `BF.ADD`, as dumped by `BF.SCANDUMP`.
//!
//! The header (the reply to iterator 0; its cursor is 1), all numbers little-endian:
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 8 | u64 | items | the sum over the layers |
//! | 8 | 4 | u32 | L, number of layers | at least 1 |
//! | 12 | 4 | u32 | options: 1 no rounding, 2 capacity is log2 of the bits, 4 64-bit hash, 8 no growth | 0 to 15 |
//! | 16 | 4 | u32 | growth: the factor from a layer's capacity to the next | any |
//! | 20 | 53 L | | layers, oldest first | |
//!
//! A layer:
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 8 | u64 | bytes of bits | 1 to the limit, together |
//! | 8 | 8 | u64 | bits | 8 × bytes |
//! | 16 | 8 | u64 | items | any |
//! | 24 | 8 | f64 | p | above 0 and below 1 |
//! | 32 | 8 | f64 | bits for an item | `\|ln p\| / (ln 2)^2` |
//! | 40 | 4 | u32 | k | `ceil(ln 2 · bits for an item)`, 1 to the limit |
//! | 44 | 8 | u64 | capacity | any |
//! | 52 | 1 | u8 | log2 of m, or 0: m is the number of bits | up to 63, `2^n2` at most the bits |
//!
//! The bits follow in chunks of at most 16 MiB, layer by layer, none across two layers; bit i is
//! bit `i % 8` from the least significant of byte `i / 8`. The cursor of a chunk is 1 + the bytes
//! of bits up to its end.
//!
//! `RedisBloom` has no file format; that of this crate is the 16 bytes `RedisBloom dump` and a line
//! feed, followed, for each reply of `BF.SCANDUMP` up to the empty one, by its cursor as i64, the
//! number of its bytes as u64, both little-endian, and its bytes.
//!
//! Read from the sources of `RedisBloom` 2.2 to 8.8; checked against its chain of filters compiled
//! from them. Headers with a configured hash seed (in development in 2026) have a different length
//! and are rejected.
//!
//! | file | contents |
//! |---|---|
//! | `codec.rs` | the chunks of `BF.SCANDUMP`, and a file of them |
//! | `filter.rs` | the chain of layers |
//! | `hash.rs` | the two hashes: MurmurHash2 with 64 and with 32 bits |
//! | `layer.rs` | one filter of the chain |

mod codec;
mod filter;
mod hash;
mod layer;

pub use codec::Chunk;
pub(crate) use codec::MAGIC;
pub use filter::{RedisBloomFilter, RedisBloomLayer, RedisBloomOptions};
