//! How long others that change a file are waited for.

use clap::{Args, ValueEnum};
use mayhap_store::LockKind;
use mayhap_units::span::parse_timeout;
use std::time::Duration;

/// The lock that keeps other commands from changing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LockName {
    /// A lock of the system, which ends with the command however that ends
    System,
    /// A file beside the filter, where the file system has no locks
    Folder,
    /// The system's if there is one, else none: nothing else changes the filter
    None,
}

impl LockName {
    /// The kind of this name.
    pub fn kind(self) -> LockKind {
        match self {
            Self::System => LockKind::System,
            Self::Folder => LockKind::Folder,
            Self::None => LockKind::None,
        }
    }
}

/// How long to wait for other processes that change a file, and what keeps them away.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Other writers")]
pub struct LockArgs {
    /// How long to wait for other commands that change the filter: 10s, 5min; 0 does not wait
    #[arg(long, value_name = "TIME", value_parser = parse_timeout, default_value = "60s")]
    pub lock_timeout: Duration,
    /// What keeps other commands away: system, folder (a file beside the filter), or none
    #[arg(long, value_name = "KIND", default_value = "system")]
    #[arg(hide_possible_values = true)]
    pub lock: LockName,
}
