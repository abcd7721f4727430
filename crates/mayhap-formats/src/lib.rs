//! Bloom filters that other systems created: opened, queried, extended and written back, bit for
//! bit.
//!
//! A foreign format is a *scheme* (key bytes → positions) and a *codec* (file layout), with one
//! file or folder per system. They share [`Bits`] (the storage), [`Reader`] (untrusted bytes, with
//! every length checked before use), [`Limits`], [`KeyType`] (text → the bytes that the system
//! hashes) and [`ForeignFilter`] (the common operations).
//!
//! A filter of one scheme cannot be converted into another: it no longer has the keys.

#![forbid(unsafe_code)]

// | file | contents |
// |---|---|
// | `bits.rs` | the bits of a foreign filter: bit `i` is bit `i % 64` of word `i / 64` |
// | `bits_and_blooms/` | `github.com/bits-and-blooms/bloom` for Go |
// | `bloomfileter/` | a class that was copied into many crawlers |
// | `create.rs` | creates an empty filter of a given format |
// | `dcso.rs` | DCSO's `bloom` |
// | `detect.rs` | detection of formats |
// | `error.rs` | the errors of this crate |
// | `filter.rs` | the operations common to all foreign filters |
// | `format.rs` | the systems, by name, and facts about their filters |
// | `guava/` | `com.google.common.hash.BloomFilter` of Guava |
// | `java/` | the parts common to Java systems: their arithmetic and their object streams |
// | `key.rs` | encoding the text of a key as the bytes that a system hashes |
// | `key_choice.rs` | how the keys of a filter become bytes |
// | `key_type.rs` | how the keys of a system become bytes, by name |
// | `limits.rs` | the largest size of an untrusted filter |
// | `magnuss/` | Java-BloomFilter by `MagnusS` |
// | `modulo.rs` | remainders by a constant divisor |
// | `names.rs` | enums whose values have names |
// | `open.rs` | opens a filter of a given format from its bytes |
// | `parquet/` | split-block filters of Apache Parquet ("SBBF") |
// | `pybloom_live.rs` | `pybloom_live` for Python |
// | `pybloomfiltermmap.rs` | `pybloomfiltermmap3` for Python |
// | `rbloom.rs` | `rbloom` for Python |
// | `reader.rs` | untrusted bytes, read one field at a time |
// | `redisbloom/` | `RedisBloom`'s dumps |
// | `redisson/` | `RBloomFilter` of Redisson |
// | `scheme.rs` | a scheme, key bytes → positions, and the bits to which they belong |
// | `spark/` | `org.apache.spark.util.sketch.BloomFilter` of Spark |

mod bits;
mod bits_and_blooms;
mod bloomfileter;
mod create;
mod dcso;
mod detect;
mod error;
mod filter;
mod format;
mod guava;
mod java;
mod key;
mod key_choice;
mod key_type;
mod limits;
mod magnuss;
mod modulo;
mod names;
mod open;
mod parquet;
mod pybloom_live;
mod pybloomfiltermmap;
mod rbloom;
mod reader;
mod redisbloom;
mod redisson;
mod scheme;
mod spark;

pub use bits::Bits;
pub use bits_and_blooms::{BitsAndBloomsFilter, BitsAndBloomsForm, BitsAndBloomsScheme};
pub use bloomfileter::{BloomFileter, BloomFileterOptions, BloomFileterRate, BloomFileterScheme};
pub use create::{NewFilter, create, create_with};
pub use dcso::{DcsoFilter, DcsoScheme};
pub use detect::{Candidate, detect, detect_start, unread};
pub use error::Error;
pub use filter::ForeignFilter;
pub use format::{Fact, Format};
pub use guava::{
    GuavaFilter, GuavaFunnel, GuavaOptions, GuavaRelease, GuavaScheme, GuavaStrategy,
    SharedGuavaFilter,
};
pub use key_choice::KeyChoice;
pub use key_type::KeyType;
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
pub use scheme::{Scheme, SchemeFilter};
pub use spark::{SparkFilter, SparkOptions, SparkScheme, SparkVersion};

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
