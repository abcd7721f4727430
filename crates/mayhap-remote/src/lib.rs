//! Filters on servers as sets of keys.
//!
//! An [`Origin`] (`origin.rs`) is a name on a server. [`open()`] (`open.rs`) finds out what it
//! holds and returns that as a [`ServerSet`] (`server_set.rs`), which is a [`mayhap_sets::KeySet`]
//! with what only servers have: a time to live, and names that can be deleted. `native.rs` is one
//! in mayhap's own layout, `other.rs` one of any other scheme, `scheme.rs` what these differ in;
//! `create.rs` creates them, and `whole.rs` moves them. `wait.rs` waits for calls, `problem.rs`
//! puts errors into words.
//!
//! # Examples
//!
//! ```no_run
//! use mayhap_redis::{Address, Server, ServerOptions};
//! use mayhap_remote::{Known, Origin, open, wait};
//! use mayhap_sets::KeySet;
//!
//! let address = Address::parse("redis://127.0.0.1:6379/0/seen")?;
//! let server = wait(Server::connect(&address, ServerOptions::default()))??;
//! let origin = Origin { server, url: address.to_string(), name: "seen".into() };
//! let (mut seen, _options) = open(&origin, &Known::default())?;
//! let (keys, mut new): ([&[u8]; 1], _) = ([b"https://example.org/"], mayhap::Bitmap::new());
//! seen.insert_keys_into(keys[..].into(), &mut new)?;
//! assert_eq!(new.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod create;
mod native;
mod open;
mod origin;
mod other;
mod problem;
mod scheme;
mod server_set;
mod wait;
mod whole;

pub use create::{Plan, create};
pub use native::NativeSet;
pub use open::{Opened, find_known, magnus_params, of_found, open};
pub use origin::{Known, Origin};
pub use other::OtherSet;
pub use problem::problem;
pub use scheme::Scheme;
pub use server_set::ServerSet;
pub use wait::wait;
pub use whole::{Copied, chunks_of, copy, find_other, send};
