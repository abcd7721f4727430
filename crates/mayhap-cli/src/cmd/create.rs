//! `mayhap create`: an empty filter file.

use super::Outcome;
use crate::args::{DigestArgs, LineArgs, SizeArgs};
use crate::error::Error;
use crate::fill::{Counts, State, Summary};
use crate::kind;
use crate::signals::Stop;
use crate::talk::Talk;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mayhap create seen.mayhap -n 100M -p 0.1%
  mayhap create seen.mayhap --mem 1GiB -p 1e-4
  mayhap create day.mayhap --layout window:24h -n 5M      forgets what is older
  mayhap create last.mayhap --layout window:1M            the last million keys
  mayhap create all.mayhap --layout scalable              grows with its keys
  mayhap create on.mayhap --layout counting -n 1M         keys can be removed
  mayhap create users.mayhap -n 1M --new-key-file users.key   keys from strangers";

/// Make an empty filter file
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub struct Args {
    /// The filter file to make
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    digest: DigestArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let name = args.file.display().to_string();
    let options = args.lines.key_options();
    // Once it is being written it is written whole: no half of it is left beside its name.
    let _stop = Stop::on_signals()?;
    if let Some(make) = kind::Make::of(&args.size, args.size.items)? {
        super::refuse_existing(&args.file, args.force)?;
        let mut filter = make.build(&args.size, &args.digest)?;
        filter.save(&args.file, &options, args.force)?;
        let summary = Summary::new(name, Counts::default(), Duration::ZERO, true, filter.state());
        summary.print(talk, args.json)?;
        return Ok(Outcome::Done);
    }
    if !args.size.is_fixed() {
        return Err(Error::usage(
            "how many keys is the filter for? Neither -n nor --mem is given",
            format!("for example: mayhap create {name} -n 10M -p 0.1%"),
        ));
    }
    super::refuse_existing(&args.file, args.force)?;
    let filter = args.size.build(args.size.items, &args.digest)?;
    super::save(&args.file, &filter, &options, args.force)?;
    let state = State::of(&filter);
    Summary::new(name, Counts::default(), Duration::ZERO, true, state).print(talk, args.json)?;
    Ok(Outcome::Done)
}
