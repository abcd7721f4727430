//! `mayhap plot`: the rate models as pictures.

use crate::error::Error;
use crate::io::output::Output;
use crate::outcome::Outcome;
use clap::builder::PossibleValue;
use mayhap_plot::{Plot, page};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mayhap plot fpp -o fpp.svg        # the rate against the number of keys
  mayhap plot bits -o bits.svg      # the cost of each kind of filter
  mayhap plot bits -o bits.html     # the same as a page for a browser
  mayhap plot overfill > over.svg   # the effect of too many keys";

/// Plot the rate models as SVG, or as HTML if the file is named so
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub struct Args {
    /// The plot
    #[arg(value_enum, value_name = "WHAT")]
    what: What,
    /// Write the picture to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    force: bool,
}

/// A picture as it is named on the command line.
#[derive(Debug, Clone, Copy)]
struct What(Plot);

impl clap::ValueEnum for What {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [What; 3] = [What(Plot::ALL[0]), What(Plot::ALL[1]), What(Plot::ALL[2])];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.about()))
    }
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args) -> Result<Outcome, Error> {
    let mut picture = args.what.0.svg()?;
    let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "html");
    if args.output.as_ref().is_some_and(is_page) {
        picture = page(&picture);
    }
    let mut output = match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => Output::create(path, args.force, &[])?,
        None => Output::stdout(&[])?,
    };
    output.write(picture.as_bytes())?;
    output.flush()?;
    Ok(Outcome::Done)
}
