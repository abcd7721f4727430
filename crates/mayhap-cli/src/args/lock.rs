//! How long others that change a file are waited for.

use clap::Args;
use mayhap_units::span::parse_timeout;
use std::time::Duration;

/// How long to wait for other processes that change a file.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Other writers")]
pub struct LockArgs {
    /// How long to wait for other commands that change the filter: 10s, 5min; 0 does not wait
    #[arg(long, value_name = "TIME", value_parser = parse_timeout, default_value = "60s")]
    pub lock_timeout: Duration,
}
