//! The command `mayhap`: order-keeping line dedup and set membership in bounded memory.
//!
//! A library too, so that tests and fuzzers reach its parts. Every verb is one file or folder of
//! [`cmd`]; what verbs share stands in rooms beside it, none of which knows of a verb:
//!
//! [`args`] what is typed, [`files`] (which looks at all that a command names before it runs) →
//! [`mayhap_lists`] lists to lines, keys and digests → a [`set`] of them → [`io`] lines to stdout,
//! messages to stderr. [`speed`] is the time that a filter takes; [`error`] is all
//! that can go wrong.

pub mod args;
pub mod cmd;
pub mod error;
pub mod files;
pub mod io;
pub mod memory;
pub mod outcome;
pub mod random;
pub mod set;
pub mod speed;

pub use error::Error;
