//! `mayhap convert`: a filter of another system in another of its forms.

use crate::args::{ForeignArgs, LockArgs};
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::Talk;
use crate::memory;
use crate::outcome::Outcome;
use crate::set::session::Waiting;
use mayhap_foreign::{self as foreign, ForeignFile};
use mayhap_units::number::{format_bytes, parse_bytes};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap convert ids.guava --key-type long --to guava-java -o ids.ser
  mayhap convert ids.guava.ser --to guava -o ids2.guava    # of an ObjectOutputStream";

const NOTES: &str = "\
The forms, which --to takes, are:
  bits-and-blooms, bits-and-blooms-json, bits-and-blooms-gob    what Go writes
  dcso, dcso-gzip   plain, or compressed
  guava             stream of BloomFilter.writeTo
  guava-java        Java serialization; --key-type names the funnel, hex the one of byte arrays
  magnuss           BitSet.toByteArray(), from a Redis value or from the object
  magnuss-redis     value of the Redis key, from a BitSet or from the object
  spark             stream of BloomFilter.writeTo, from an object stream

The bits stay as they are, so conversion is possible only between forms of one scheme. A filter \
of one system cannot be converted to another system or to mayhap, because its keys are unknown. \
Build a new one from the keys, or keep using this one: check, add, merge and verify accept it as \
it is.";

/// Convert a filter of another system between that system's forms
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The form to write
    #[arg(long, value_name = "FORM")]
    to: String,
    /// The file to write
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Refuse larger filters [default: the memory of the machine or container]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_memory: Option<u64>,
    #[command(flatten)]
    foreign: ForeignArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    refuse_existing(&args.output, args.force)?;
    let (known, max_bytes) = (args.foreign.known(), memory::limit(args.max_memory));
    let Some(file) = ForeignFile::open(&args.file, known, max_bytes)? else {
        mayhap_store::read_header(&args.file)?;
        return Err(foreign::no_form(&args.file.display().to_string(), None, &args.to).into());
    };
    let bytes = foreign::convert(&file, &args.to)?;
    let lock = Waiting::new("convert", args.lock, talk, None).lock(&args.output)?;
    lock.save_bytes(&bytes, args.force)?;
    talk.say(&format!(
        "{}: {} as {} ({})",
        args.output.display(),
        file.name(),
        args.to,
        format_bytes(bytes.len() as u64)
    ));
    Ok(Outcome::Done)
}
