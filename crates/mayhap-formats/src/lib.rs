//! Bloom filters that other systems created: opened, queried, extended and written back, bit for
//! bit.
//!
//! A foreign format is a *scheme* (key bytes → positions) and a *codec* (file layout), with one
//! file or folder per system. They share [`Bits`] (the storage), [`Reader`] (untrusted bytes, with
//! every length checked before use), [`Limits`], [`KeyType`] (text → the bytes that the system
//! hashes) and [`ForeignFilter`] (the common operations).
//!
//! A filter of one scheme cannot be converted into one of another: the keys are gone.

#![forbid(unsafe_code)]

mod bits;
mod bits_and_blooms;
mod bloomfileter;
mod create;
mod dcso;
mod detect;
mod error;
mod filter;
mod guava;
mod java;
mod key;
mod key_choice;
mod limits;
mod magnuss;
mod modulo;
mod open;
mod parquet;
mod pybloom_live;
mod pybloomfiltermmap;
mod rbloom;
mod reader;
mod redisbloom;
mod redisson;
mod spark;

pub use bits::Bits;
pub use bits_and_blooms::{BitsAndBloomsFilter, BitsAndBloomsForm, BitsAndBloomsScheme};
pub use bloomfileter::{BloomFileter, BloomFileterOptions, BloomFileterRate, BloomFileterScheme};
pub use create::{NewFilter, create, create_with};
pub use dcso::{DcsoFilter, DcsoScheme};
pub use detect::{Candidate, detect, detect_start};
pub use error::Error;
pub use filter::{Fact, ForeignFilter, Format, Scheme, SchemeFilter};
pub use guava::{
    GuavaFilter, GuavaFunnel, GuavaOptions, GuavaRelease, GuavaScheme, GuavaStrategy,
    SharedGuavaFilter,
};
pub use key::KeyType;
pub use key_choice::KeyChoice;
pub use limits::Limits;
pub use magnuss::{MagnusFilter, MagnusForm, MagnusHash, MagnusScheme, MagnusSizing};
pub use open::{Shape, needs_shape, open, open_with};
pub use parquet::{
    ColumnInfo, ParquetColumn, ParquetFile, SplitBlockFilter, SplitBlockScheme, SplitBlockSize,
    parquet_mr_num_bits, parquet_mr_num_bytes,
};
pub use pybloom_live::{PyBloomLiveFilter, PyBloomLiveRelease, PyBloomLiveScheme};
pub use pybloomfiltermmap::{PyBloomFilterMmap, PyBloomFilterMmapScheme};
pub use rbloom::{RbloomFilter, RbloomScheme};
pub use reader::Reader;
pub use redisbloom::{Chunk, RedisBloomFilter, RedisBloomLayer, RedisBloomOptions};
pub use redisson::{RedissonConfig, RedissonFilter, RedissonScheme, RedissonSpelling};
pub use spark::{SparkFilter, SparkOptions, SparkScheme, SparkVersion};

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
