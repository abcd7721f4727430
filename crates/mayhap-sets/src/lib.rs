//! Every kind of filter behind one trait.
//!
//! [`open()`] (`open.rs`) finds out what a path or URL stands for (`url.rs` which of the two it is)
//! and opens it as a [`KeySet`] (`key_set.rs`), by what is [`Known`] of it (`known.rs`) and with a
//! [`Note`] (`note.rs`) for its user. Programs query and fill it, and know before a call what its
//! kind cannot do (`capabilities.rs`, with a [`Refusal`] of `error.rs`). `own_set.rs`
//! implements it for mayhap's own kinds in memory, which `own/` reads from files, `file/` for files
//! of other systems, and `server/` for filters on servers, with the feature `redis`. `keys.rs` has
//! the keys that sets take. `numbers.rs` has the numbers that need no bits; `measurements.rs` has
//! the measurements of any system, `state.rs` those of our kinds. `room.rs` and `fullness.rs` know
//! when one is full, `loss.rs` how many new keys it took for repeats, `layout_name.rs` the names of
//! kinds with their sizes. `exact.rs` holds the keys themselves.
//!
//! # Examples
//!
//! ```
//! use mayhap::set::Repeats;
//! use mayhap::{Bitmap, CountingBloomFilter};
//! use mayhap_sets::{KeySet, OwnSet};
//!
//! let filter = CountingBloomFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
//! let mut set: Box<dyn KeySet> = Box::new(OwnSet::from(filter));
//! let texts: [&[u8]; 2] = [b"one", b"two"];
//! let (mut new, mut found) = (Bitmap::new(), Bitmap::new());
//! set.insert_into(texts[..1].into(), Repeats::Renew, &mut new)?;
//! set.contains_into(texts[..].into(), &mut found)?;
//! assert_eq!(found.iter_ones().collect::<Vec<_>>(), [0]);
//! assert!(set.capabilities().removes, "counting filters can");
//! set.remove_into(texts[..1].into(), &mut new)?;
//! assert_eq!(set.items(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod capabilities;
mod error;
mod exact;
pub mod file;
mod fullness;
mod key_set;
mod keys;
mod known;
mod layout_name;
mod loss;
mod measurements;
mod note;
mod numbers;
mod open;
mod own;
mod own_set;
mod room;
#[cfg(feature = "redis")]
pub mod server;
mod state;
mod url;

pub use capabilities::Capabilities;
pub use error::{Error, Refusal};
pub use exact::ExactSet;
pub use fullness::{Forgotten, RATE_STEPS};
pub use key_set::{Contents, KeySet, Remote, WholeFile};
pub use keys::{KeyTypes, Keys, NotKeys, TakesTexts, Texts};
pub use known::Known;
pub use layout_name::{LayoutName, LayoutNameError};
pub use loss::{Lost, RateSum};
pub use measurements::{ByFormula, Detail, Measurements};
pub use note::Note;
pub use numbers::Numbers;
pub use open::{How, Located, MaxBytes, Opened, locate, open};
pub use own::{MappedSet, ReadFile, load, matrix_details, matrix_state, open_snapshot};
pub use own_set::OwnSet;
pub use room::{Held, Room};
pub use state::State;
pub use url::{is_of_engine, is_url, redacted, shown};

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
