//! Filters on servers as sets of keys.
//!
//! A [`ServerUrl`] (`connect.rs`) names a filter and connects to its server; what it connects to is
//! an [`Origin`] (`origin.rs`). [`open()`] (`open.rs`) finds out what is there and returns it as a
//! [`ServerSet`] (`server_set.rs`), which is a [`KeySet`](crate::KeySet) with what only servers
//! have: a time to live, and names that can be deleted. `native.rs` is one in mayhap's own layout,
//! `other.rs` one of any other scheme, `scheme.rs` what these differ in; `create.rs` creates them,
//! and `whole.rs` moves them. `wait.rs` waits for calls, `error.rs` has what can go wrong.
//!
//! # Examples
//!
//! ```
//! use mayhap::set::Repeats;
//! use mayhap_sets::KeySet;
//! use mayhap_sets::server::{Known, Plan, Reach, ServerUrl, create, open};
//! # use test_servers::{BfServer, Dialect};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let redis = BfServer::start(Dialect::RedisBloom)?;
//! # let url = format!("{}/0/seen", redis.url());
//! let url = ServerUrl::of(url.as_ref())?; // such as redis://127.0.0.1:6379/0/seen
//! let (origin, known) = (url.connect(&Reach::default())?, Known::default());
//! let plan = Plan::Bf(mayhap_redis::BfOptions::new(1_000, 0.01));
//! create(&origin, plan, (None, false), &known)?;
//! let (mut seen, _options) = open(&origin, &known)?;
//! let (keys, mut new): ([&[u8]; 1], _) = ([b"https://example.org/"], mayhap::Bitmap::new());
//! seen.insert_into(keys[..].into(), Repeats::Renew, &mut new)?;
//! assert_eq!(new.count_ones(), 1);
//! # Ok(())
//! # }
//! ```

mod connect;
mod create;
mod error;
mod native;
mod open;
mod origin;
mod other;
mod scheme;
mod server_set;
mod wait;
mod whole;

pub use crate::known::Known;
pub use connect::{Reach, ServerUrl};
pub use create::{Plan, create};
pub use error::{Error, Wanted, problem};
pub use native::NativeSet;
pub use open::{Opened, find_known, magnus_params, of_found, open};
pub use origin::Origin;
pub use other::OtherSet;
pub use scheme::Scheme;
pub use server_set::ServerSet;
pub use wait::wait;
pub use whole::{Copied, chunks_of, copy, find_other, send};
