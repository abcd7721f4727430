//! The settings of an operator: file, environment, flags; users and their rights.
//!
//! `settings.rs` declares each setting once, and nothing else knows their names: [`Config`], file,
//! environment, flags, help and `CONFIG GET` are made from it; `form.rs` reads and writes their
//! values, and `derived.rs` has the defaults that depend on others. `file.rs` reads TOML, `load.rs`
//! puts the sources together and refuses unsafe ones, `injected.rs` recognizes the variables of
//! Kubernetes, `users.rs` has the users and how passwords are hashed, `rights.rs` their rights,
//! `password_source.rs` reads passwords from files and the environment, `addresses.rs` has the
//! addresses to listen on, `key_file.rs` reads a secret key, `current.rs` changes settings while a
//! server runs. `error.rs` has the error of a setting and its place, `problem.rs` the mistakes,
//! `value_error.rs` those of a value or a user.

mod addresses;
mod current;
mod derived;
mod error;
mod file;
mod form;
mod injected;
mod key_file;
mod load;
mod password_source;
mod problem;
mod rights;
mod settings;
mod users;
mod value_error;

pub use addresses::Addresses;
pub(crate) use current::Current;
pub use current::Reloaded;
pub use error::{ConfigError, Origin};
pub use form::LogFormat;
pub(crate) use key_file::check_data_key;
pub use key_file::{KeyFileError, read_key_file_of};
pub use load::{Loaded, Sources};
pub(crate) use load::{apply, is_loopback};
pub use problem::Problem;
pub use rights::Rights;
pub(crate) use settings::find;
pub use settings::{Config, FORMER_NAMES, SETTINGS, Setting};
pub use users::{DEFAULT_USER, Users, hash_password};
pub use value_error::{DraftError, PasswordError, UserError, ValueError};
