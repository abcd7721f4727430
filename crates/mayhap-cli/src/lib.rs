//! The command `mayhap`: order-keeping line dedup and set membership in bounded memory.
//!
//! A library too, so that tests and fuzzers reach its parts. Every verb is one file of [`cmd`];
//! what verbs share stands beside it ([`files`] looks at all that a command names before it runs):
//!
//! input bytes → [`input`] (files, pipes, `.gz`, `.zst`) → [`lines`] (batches of lines) → [`keys`]
//! → digests → a filter ([`seen`], [`filter_file`], [`kind`]; keys themselves where it is of another
//! system: [`foreign`]; on a server: [`remote`]; [`asked`] knows all) → [`output`] (lines to stdout) and
//! [`talk`] (to stderr).

pub mod args;
pub mod asked;
pub mod cmd;
pub mod confirm;
pub mod distinct;
pub mod error;
pub mod exact;
pub mod files;
pub mod fill;
pub mod filter_file;
pub mod foreign;
mod fullness;
pub mod input;
pub mod kind;
pub mod layout_name;
pub mod lines;
pub mod loss;
pub mod measure;
pub mod memory;
pub mod output;
pub mod plan;
pub mod plot;
pub mod presence;
pub mod progress;
pub mod remote;
pub mod room;
pub mod seen;
pub mod session;
pub mod sets;
pub mod sieve;
pub mod signals;
pub mod speed;
pub mod talk;
pub mod verdict;

pub use error::Error;
pub use mayhap_keys as keys;
pub use mayhap_units::{number, span};
