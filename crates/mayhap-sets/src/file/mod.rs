//! Files with filters of other systems.
//!
//! `foreign_file.rs` finds out what a file is and opens it, `table.rs` where it is a column of one;
//! `create.rs` creates a new one. `set.rs` makes it a set like any other: `keys.rs` encodes lines
//! as the keys that the system hashes, `filling.rs` knows how full it is. `forms.rs` writes it in
//! another form of its format; `error.rs` has what can go wrong, `describe.rs` what a file may be
//! in words. Everything goes by [`mayhap_formats::Format`], so that a new format needs no change
//! here, unless it has several forms.
//!
//! # Examples
//!
//! ```
//! use mayhap_formats::{Format, GuavaFilter, GuavaOptions, Limits};
//! use mayhap_sets::file::{ForeignFile, Known};
//!
//! let folder = tempfile::tempdir()?;
//! let (ids, list) = (folder.path().join("ids.guava"), folder.path().join("ids.txt"));
//! let filter = GuavaFilter::create(&GuavaOptions::new(100), &Limits::default())?;
//! std::fs::write(&ids, filter.to_stream())?;
//! let file = ForeignFile::open(&ids, Known::default(), 1 << 20)?.expect("a filter");
//! assert_eq!(file.filter().format(), Format::Guava);
//! // A list of keys is no filter of any system.
//! std::fs::write(&list, "one\ntwo\n")?;
//! assert!(ForeignFile::open(&list, Known::default(), 1 << 20)?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod create;
mod describe;
mod error;
mod filling;
mod foreign_file;
mod forms;
mod keys;
mod set;
mod table;

pub use crate::known::Known;
pub use create::Size;
pub use describe::describe;
pub use error::Error;
pub use foreign_file::{ForeignFile, detect_all};
pub use forms::{convert, forms_of, no_form};
pub use keys::{KeyBytes, random_text};
pub use set::ForeignSet;
