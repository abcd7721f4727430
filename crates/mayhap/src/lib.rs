//! Bloom filters that are fast, keep their promised false-positive rate and prove it.
//!
//! A Bloom filter answers membership queries with "surely not" or "mayhap" in a few bits per key:
//! there are no false negatives, and false positives have a probability that you choose.
//!
//! ```
//! use mayhap::BlockedBloomFilter;
//!
//! let builder = BlockedBloomFilter::builder().expected_items(1_000_000).target_fpp(0.01);
//! let mut seen = builder.build()?;
//! assert!(seen.insert("https://example.org/")); // new
//! assert!(!seen.insert("https://example.org/")); // was present
//! assert!(seen.contains("https://example.org/"));
//! assert!(!seen.contains("https://example.org/other")); // surely not
//! # Ok::<(), mayhap::Error>(())
//! ```
//!
//! # Which type
//!
//! | type | use it for |
//! |---|---|
//! | [`BlockedBloomFilter`] | the default: one cache line per key |
//! | [`BloomFilter`] | the fewest bits, and rates below 2e-5 |
//! | [`ConcurrentBlockedBloomFilter`], [`ConcurrentBloomFilter`] | inserts from many threads |
//! | [`OnceFilter`] | inserts from many threads; one alone learns that a key is new |
//! | [`CompactFilter`] | keys that are removed again, in 9.4 bits a key at 1 % |
//! | `ConcurrentCompactFilter` | the same, by many threads |
//! | [`CountingBloomFilter`] | the same with counters, for keys that come many times |
//! | [`ClearingFilter`] | endless streams: it starts over when it is full |
//! | [`ScalableBloomFilter`], [`ConcurrentScalableBloomFilter`] | an unknown number of keys |
//! | [`WindowBloomFilter`] | forgetting old keys: it holds the last w keys, or the last w seconds |
//! | [`BloomMatrix`] | finding which of many sets (caches, shards, days) may hold a key |
//! | [`Segment`] | one filter that many machines fill, each a part of it |
//! | [`RibbonFilter`] | sets that never change: 1.003 to 1.02 times the fewest bits possible |
//! | [`BinaryFuse`] | sets that never change: 1.13 times the fewest bits, found faster |
//! | [`AnyFilter`] | a layout known only at run time, from a file or a command line |
//!
//! # Data flow
//!
//! bytes → [`Digest`] ([`DigestFunction`]) → positions ([`Layout`]) → bits. A key is hashed once;
//! every filter, batch call and file works on digests.
//!
//! # Features
//!
//! `std` (default): run-time CPU detection and huge pages. Without it the crate is `no_std` with
//! `alloc`.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

// | file | contents |
// |---|---|
// | `bits/` | the storage of the bits |
// | `digest/` | bytes → digest: a key is hashed only once, here |
// | `error.rs` | the errors of this crate |
// | `filter/` | the filters |
// | `layout/` | positions → bits: one file per layout |
// | `native/` | the native format: a filter as bytes |
// | `plan/` | from requirements to a kind of filter and its size |
// | `positions.rs` | digest → positions |
// | `set/` | one face for every kind of filter |
// | `simd/` | kernels |
// | `sizing/` | sizing: bits m, hashes k, rate p and items n, each solved from the others |
// | `sync.rs` | the primitives by which threads share data |

mod bits;
mod digest;
mod error;
mod filter;
mod layout;
pub mod native;
pub mod plan;
mod positions;
pub mod set;
mod simd;
pub mod sizing;
mod sync;

pub use bits::{Bitmap, Block, OwnedBlocks, SharedBlocks, Storage, StorageMut, advise_huge_pages};
pub use digest::{Digest, DigestFunction, Key, SecretKey};
pub use error::Error;
#[cfg(any(feature = "std", loom, shuttle))]
pub use filter::ConcurrentCompactFilter;
pub use filter::{
    Age, AnyFilter, BinaryFuse, BlockedBloomFilter, BloomFilter, BloomMatrix, Budget, Build,
    Builder, Charge, ClearingFilter, ClockJumps, CompactBuilder, CompactFilter,
    ConcurrentBlockedBloomFilter, ConcurrentBloomFilter, ConcurrentScalableBloomFilter,
    CounterBits, CountingBloomFilter, CountingBuilder, Estimate, Filter, FuseParams, Gain, Health,
    MatrixBuilder, OnceFilter, Preset, RibbonFilter, RibbonParams, ScalableBloomFilter, Scratch,
    Segment, SegmentFields, Segments, Sets, SortedDigests, Window, WindowBloomFilter,
    WindowBuilder,
};
pub use layout::{Blocked, Blocked64, Blocked128, Layout, LayoutKind, NarrowBlocked, Standard};
pub use positions::positions;
pub use simd::{InstructionSet, kernel_names, on_this_cpu};
pub use sizing::FilterParams;
pub use sizing::fuse::FuseWidth;

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the page about choosing a filter.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/choosing.md")]
struct Choosing;

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
