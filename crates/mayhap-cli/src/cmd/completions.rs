//! `mayhap completions`: a script by which a shell completes this command.

use crate::error::Error;
use crate::io::messages::{Reporter, print_stdout};
use clap_complete::Shell;

/// Print a shell completion script
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Runs the verb.
///
/// # Errors
///
/// The errors of the write.
pub fn run(args: &Args, _: Reporter) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "mayhap", &mut script);
    print_stdout(&String::from_utf8_lossy(&script))
}
