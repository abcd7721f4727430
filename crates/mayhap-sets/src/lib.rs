//! Every kind of filter behind one trait.
//!
//! [`KeySet`] (`key_set.rs`) is what programs know of a set of keys: they query and fill it, and
//! learn from its answers what its kind cannot do (a [`Refusal`] in `error.rs`). `kind/` implements
//! it for mayhap's own kinds and [`load`]s them from files; filters elsewhere, on a server for
//! example, implement it too. `keys.rs` has what they take where they hash keys by themselves.
//! `state.rs` has the numbers of all our kinds, `numbers.rs` those of any system; `room.rs` and
//! `fullness.rs` know when one is full, `layout_name.rs` the names of kinds with their sizes.
//! `exact.rs` holds the keys themselves.
//!
//! # Examples
//!
//! ```
//! use mayhap::{Bitmap, CountingBloomFilter};
//! use mayhap_sets::KeySet;
//!
//! let filter = CountingBloomFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
//! let mut set: Box<dyn KeySet> = Box::new(filter);
//! let digests = [set.digest_function().digest(b"one"), set.digest_function().digest(b"two")];
//! let (mut new, mut found) = (Bitmap::new(), Bitmap::new());
//! set.insert_digests_into(&digests[..1], &mut new)?;
//! set.contains_digests_into(&digests, &mut found)?;
//! assert_eq!(found.iter_ones().collect::<Vec<_>>(), [0]);
//! assert!(set.remove_digests_into(&digests[..1], &mut new), "counting filters can");
//! assert_eq!(set.state().items, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod exact;
mod fullness;
mod key_set;
mod keys;
mod kind;
mod layout_name;
mod numbers;
mod room;
mod state;

pub use error::{Error, Refusal};
pub use exact::ExactSet;
pub use fullness::{Forgotten, MIN_RATE_STEP, RATE_STEPS};
pub use key_set::{Ages, Contents, Detail, KeySet, WholeFile};
pub use keys::{KeyTypes, Keys, NotKeys};
pub use kind::{LoggedFilter, ScalableFile, WindowFile, load, matrix_details, matrix_state};
pub use layout_name::{LayoutName, LayoutNameError};
pub use numbers::{ByFormula, FULL_FILL, Numbers, highest_full_fill, overfilled_by_bits};
pub use room::{Held, Room, estimate_spread, near_full};
pub use state::{State, whole};
