//! Files with filters of other systems.
//!
//! `file.rs` finds out what a file is and opens it, `table.rs` where it is a column of one;
//! `create.rs` creates a new one.
//! `set.rs` makes it a set like any other: `keys.rs` encodes lines as the keys that the system
//! hashes, `filling.rs` knows how full it is. `forms.rs` writes it in another form of its format;
//! `error.rs` has what can go wrong, `describe.rs` what a file may be in words. Everything goes by
//! [`mayhap_formats::Format`], so that a new format needs no change here, unless it has several
//! forms.
//!
//! # Examples
//!
//! ```
//! use mayhap_foreign::{ForeignFile, Known};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("keys.txt");
//! std::fs::write(&path, "one\ntwo\n")?;
//! // A list of keys is no filter of any system.
//! assert!(ForeignFile::open(&path, Known::default(), 1 << 20)?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod create;
mod describe;
mod error;
mod file;
mod filling;
mod forms;
mod keys;
mod set;
mod table;

pub use create::Size;
pub use describe::describe;
pub use error::Error;
pub use file::{ForeignFile, Known, detect_all};
pub use forms::{convert, forms_of, no_form};
pub use keys::{BadKeys, KeyBytes, random_text};
pub use set::ForeignSet;
