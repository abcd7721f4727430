//! Options for filters on servers.

use crate::span::parse_millis;
use clap::Args;
use std::num::NonZeroU32;
use std::time::Duration;

/// How a server is spoken to.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerArgs {
    /// Give up when a server of redis:// gives no answer for so long: 500ms, 10s, 2min
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub timeout: Duration,
}

/// What a write on a server has to have reached.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Servers")]
pub struct ReplicaArgs {
    /// On a server: go on when so many replicas have what was written
    #[arg(long, value_name = "COUNT")]
    pub wait_replicas: Option<NonZeroU32>,
}

/// Reads a time, for clap.
///
/// # Errors
///
/// What is wrong, and an example.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    match parse_millis(text) {
        Some(0) => Err("nothing can be done in no time".into()),
        Some(millis) => Ok(Duration::from_millis(millis)),
        None => Err("it is no time; for example 90s or 7d (w, d, h, min, s, ms)".into()),
    }
}
