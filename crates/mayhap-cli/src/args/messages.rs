//! How much is printed besides data.

use crate::io::messages::Color;

/// Options of every verb.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct MessageArgs {
    /// Print nothing but errors
    #[arg(short, long, global = true, help_heading = "Messages")]
    pub quiet: bool,
    /// Use colour on stderr
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Messages"
    )]
    pub color: Color,
}
