//! The input of verbs that read keys.

use crate::args::MessageArgs;
use crate::error::Error;
use crate::io::messages;
use clap::{Args, Command};
use mayhap_lists::Source;
use std::io::IsTerminal;
use std::path::PathBuf;

/// The input of a verb with these arguments, and its bytes if all of it are regular files.
///
/// # Errors
///
/// [`Error::Usage`] if stdin is a terminal; those of [`Source::total_size`].
pub(super) fn input<A: Args>(
    verb: &str,
    paths: &[PathBuf],
) -> Result<(Vec<Source>, Option<u64>), Error> {
    let sources = Source::from_paths(paths);
    refuse_terminal::<A>(verb, &sources)?;
    let total_bytes = Source::total_size(&sources)?;
    Ok((sources, total_bytes))
}

/// Refuses to wait for someone to type keys: prints the verb's help instead, for people.
fn refuse_terminal<A: Args>(verb: &str, sources: &[Source]) -> Result<(), Error> {
    let waits = sources.contains(&Source::Stdin) && std::io::stdin().is_terminal();
    if !waits {
        return Ok(());
    }
    if !messages::wants_json() {
        print_help::<A>(verb);
    }
    Err(Error::usage(
        "standard input is a terminal",
        format!("name a file, or pipe lines in: some-command | mayhap {verb}"),
    ))
}

fn print_help<A: Args>(verb: &str) {
    let command = Command::new("mayhap").bin_name(format!("mayhap {verb}")).max_term_width(100);
    let mut command = MessageArgs::augment_args(A::augment_args(command));
    messages::print(&format!("{}\n", command.render_help()));
}
