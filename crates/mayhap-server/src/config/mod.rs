//! What an operator may say: file, environment, flags; users and their rights.

use std::path::PathBuf;

/// What an operator may say.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The data folder; without one nothing is kept.
    pub data: Option<PathBuf>,
    /// The most bytes of all filters together.
    pub max_memory: Option<u64>,
}

/// What a user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights {
    /// Ask filters.
    pub read: bool,
    /// Change them.
    pub write: bool,
    /// Shut down, flush, look at clients and configuration.
    pub admin: bool,
}
