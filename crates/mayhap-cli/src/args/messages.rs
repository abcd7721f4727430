//! How much is printed besides data.

use crate::io::messages::Color;

/// Options of every verb.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Messages")]
pub struct MessageArgs {
    /// Print nothing but errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Use colour on stderr
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}
