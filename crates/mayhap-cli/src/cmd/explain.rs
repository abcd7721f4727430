//! `mayhap explain`: the bits that keys set, and why a query answers as it does.

use crate::error::Error;
use crate::explorer;
use crate::io::messages::{Reporter, print_findings, print_stdout};
use crate::io::terminal;
use mayhap::{DigestFunction, Layout};
use mayhap_plan::explain::{ExplainError, Explanation, Subject};
use mayhap_sets::LayoutName;
use mayhap_units::number::{parse_count, parse_whole};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Draw the bits that keys set, and why a query answers as it does
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Keys to insert, in this order; NAME=0,5,7 gives the positions
    #[arg(value_name = "KEY", required_unless_present = "web")]
    keys: Vec<OsString>,
    /// Look this key up afterwards; may be repeated
    #[arg(long = "query", value_name = "KEY")]
    queries: Vec<OsString>,
    /// The bits of the array: 20, 1M
    #[arg(short = 'm', long, value_name = "COUNT", value_parser = parse_count,
          required_unless_present = "web")]
    bits: Option<u64>,
    /// The bits that a key sets: 1 to 32, or with blocks 4, 8 or 16
    #[arg(short = 'k', long, value_name = "COUNT", value_parser = parse_whole::<u32>)]
    hashes: Option<u32>,
    /// standard (bits anywhere) or blocked (in one block of 512) [default: standard]
    #[arg(long, value_name = "LAYOUT", value_parser = LayoutName::parse)]
    layout: Option<LayoutName>,
    /// Seed of the digest xxh3
    #[arg(long, value_name = "NUMBER", value_parser = parse_whole::<u64>)]
    #[arg(default_value = "0", hide_default_value = true)]
    seed: u64,
    /// Take NAME=0,5,7 as a key like any other
    #[arg(long)]
    literal: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Print the address of the explorer page, and open it from a terminal of a desktop
    #[arg(long, conflicts_with_all = ["keys", "queries", "bits", "hashes", "layout", "seed",
                                      "literal", "json"])]
    web: bool,
}

/// Runs the verb.
///
/// # Errors
///
/// [`Error::Usage`], the errors of writing the page and to stdout.
pub fn run(args: &Args, _: Reporter) -> Result<(), Error> {
    if args.web {
        let address = explorer::address()?;
        print_stdout(&format!("{address}\n"))?;
        explorer::show(&address);
        return Ok(());
    }
    let subjects = |arguments: &[OsString]| -> Result<Vec<Subject>, Error> {
        arguments.iter().map(|argument| args.subject(argument)).collect()
    };
    let (keys, queries) = (subjects(&args.keys)?, subjects(&args.queries)?);
    let given = keys.iter().chain(&queries).find_map(Subject::num_given);
    let Some(num_hashes) = args.hashes.or(given.and_then(|count| count.try_into().ok())) else {
        return Err(Error::usage(
            "how many bits does a key set? -k is not given",
            "for example: mayhap explain -m 20 -k 3 A B --query C",
        ));
    };
    let function = DigestFunction::xxh3(args.seed);
    let array = Explanation::new(args.layout()?, args.bits.unwrap_or(0), num_hashes, function);
    let mut array = array.map_err(|error| refused(&error))?;
    for key in &keys {
        array.insert(key).map_err(|error| refused(&error))?;
    }
    for query in &queries {
        array.query(query).map_err(|error| refused(&error))?;
    }
    print_findings(args.json, &array, |array| array.text_in(terminal::columns()))
}

impl Args {
    fn subject(&self, argument: &OsStr) -> Result<Subject, Error> {
        if self.literal {
            return Ok(Subject::key(argument.as_bytes()));
        }
        Subject::parse(argument.as_bytes()).map_err(|error| refused(&error))
    }

    fn layout(&self) -> Result<Layout, Error> {
        let name = self.layout.unwrap_or(LayoutName::Standard);
        name.layout().ok_or_else(|| {
            Error::usage(
                format!("--layout {} has no array of plain bits to draw", name.name()),
                "there are standard and blocked",
            )
        })
    }
}

/// A refused drawing is an error of the command line.
fn refused(error: &ExplainError) -> Error {
    let hint = match error {
        ExplainError::Shape(source) => {
            let hint = "for example: mayhap explain -m 20 -k 3 A B --query C";
            return Error::Number { doing: "explain", source: source.clone(), hint };
        }
        ExplainError::PastTheEnd { .. } => "bits are counted from 0: give more of them with -m",
        ExplainError::NotK { .. } => "give every key k positions; --literal takes it as a key",
        _ => "write NAME=0,5,7; --literal takes it as a key like any other",
    };
    Error::usage(format!("cannot explain: {error}"), hint)
}
