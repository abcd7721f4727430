//! Whether a filter is as good as it says: statistics on counts, bits and keys. No I/O.
//!
//! `counts.rs` counts false positives among absent digests and says what a count means;
//! `chance.rs` how far a sound filter may be from its mean; `distinct.rs` counts the distinct keys
//! of a stream; `loss.rs` estimates the new keys that were taken for repeats.
//!
//! # Examples
//!
//! ```
//! use mayhap_measure::Count;
//!
//! // 7 standard deviations above 1 %: not by chance. 6 may be.
//! assert!(Count { samples: 1_000_000, hits: 10_700 }.contradicts(0.01));
//! assert!(!Count { samples: 1_000_000, hits: 10_590 }.contradicts(0.01));
//! ```

#![forbid(unsafe_code)]

mod chance;
mod counts;
mod distinct;
mod loss;

pub use chance::{Full, Lanes, highest_of_bits};
pub use counts::{Count, DOUBT, Numbers, sample, samples_for};
pub use distinct::Distinct;
pub use loss::{Lost, RateSum};
