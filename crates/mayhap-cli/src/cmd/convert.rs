//! `mayhap convert`: a filter of another system in another of its forms.

use crate::args::{ForeignArgs, LockArgs};
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::Reporter;
use crate::memory;
use crate::set::session::Waiting;
use mayhap_sets::file::{self as foreign, ForeignFile};
use mayhap_units::number::{format_bytes, parse_bytes};
use std::path::PathBuf;

/// Convert a filter of another system between that system's forms
#[derive(Debug, clap::Args)]
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
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    refuse_existing(&args.output, args.force)?;
    let (known, max_bytes) = (args.foreign.known(None), memory::limit(args.max_memory));
    let Some(file) = ForeignFile::open(&args.file, known, max_bytes)? else {
        mayhap_store::read_header(&args.file)?;
        return Err(foreign::no_form(&args.file.display().to_string(), None, &args.to).into());
    };
    let bytes = foreign::convert(&file, &args.to)?;
    let lock = Waiting::new("convert", args.lock, talk, None).lock(&args.output)?;
    lock.save_bytes(&bytes, args.force)?;
    let (output, name, bytes) = (args.output.display(), file.name(), bytes.len() as u64);
    talk.say(&format!("{output}: {name} as {} ({})", args.to, format_bytes(bytes)));
    Ok(())
}
