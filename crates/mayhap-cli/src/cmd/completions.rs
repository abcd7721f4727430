//! `mayhap completions`: what a shell needs to complete this command.

use crate::error::Error;
use crate::io::messages::print_stdout;
use crate::outcome::Outcome;
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  mayhap completions bash > ~/.local/share/bash-completion/completions/mayhap
  mayhap completions zsh > ~/.zfunc/_mayhap        # with fpath+=~/.zfunc before compinit
  mayhap completions fish > ~/.config/fish/completions/mayhap.fish
  mayhap completions elvish >> ~/.config/elvish/rc.elv
  mayhap completions powershell >> mayhap.ps1      # and . ./mayhap.ps1 in $PROFILE
  eval \"$(mayhap completions bash)\"                # for this shell alone";

const NOTES: &str = "\
The folders must exist (mkdir -p). Start a new shell afterwards, and repeat this after an update \
of mayhap.";

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Runs the verb.
///
/// # Errors
///
/// Those of the write.
pub fn run(args: &Args) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "mayhap", &mut script);
    print_stdout(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
