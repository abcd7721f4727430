//! `mayhap convert`: a filter of another system in another of its forms, and a small filter of ours
//! as a short file or with pages.

use crate::args::{ForeignArgs, LockArgs};
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::Reporter;
use crate::memory;
use crate::set::session::Waiting;
use crate::set::short;
use mayhap::native::{Kind, PAGE_BYTES};
use mayhap_sets::file::{self as foreign, ForeignFile};
use mayhap_store::Snapshot;
use mayhap_units::number::{format_bytes, parse_bytes};
use std::path::PathBuf;

/// Convert a filter between the forms of its system
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
        let snapshot = Snapshot::open(&args.file)?;
        if let "mayhap" | SHORT = args.to.as_str() {
            return convert_own(args, &snapshot, talk);
        }
        return Err(foreign::no_form(&args.file.display().to_string(), None, &args.to).into());
    };
    let bytes = foreign::convert(&file, &args.to)?;
    let lock = Waiting::new("convert", args.lock, talk, None).lock(&args.output)?;
    lock.save_bytes(&bytes, args.force)?;
    let (output, name, bytes) = (args.output.display(), file.name(), bytes.len() as u64);
    talk.say(&format!("{output}: {name} as {} ({})", args.to, format_bytes(bytes)));
    Ok(())
}

/// The form of a filter of ours in a short file.
const SHORT: &str = "mayhap-short";

/// Writes a plain filter as a short file, or a short one with pages. Needs no secret key.
fn convert_own(args: &Args, snapshot: &Snapshot, talk: Reporter) -> Result<(), Error> {
    let (image, name) = (snapshot.image(), args.file.display());
    snapshot.check_alone()?;
    let (header, to_short) = (image.header().clone().renewed(), args.to == SHORT);
    if header.kind() != Kind::Bloom {
        return Err(short::no_short_form(header.kind().name()));
    }
    if image.is_short() == to_short {
        let is = if to_short { "is a short file" } else { "has pages" };
        return Err(Error::usage(
            format!("{name} {is} already"),
            format!("it is the file that would be written; a copy is: cp {name} {}", {
                args.output.display()
            }),
        ));
    }
    // Before its bits are read: it may be any file.
    if header.body_bytes() > PAGE_BYTES as u64 {
        short::check(&args.file, &header, &[])?;
    }
    image.verify(|_, _| {})?;
    let blocks = image.blocks(0..header.segment_blocks()[0])?;
    if to_short {
        short::check(&args.file, &header, &[&blocks])?;
    }
    let lock = Waiting::new("convert", args.lock, talk, None).lock(&args.output)?;
    let file_bytes = if to_short {
        lock.save_short(&header, &[&blocks], args.force)?;
        header.encode_short(&[&blocks]).map_or(0, |short| short.len() as u64)
    } else {
        lock.save(&header, &[&blocks], args.force)?;
        header.file_bytes()
    };
    let output = args.output.display();
    talk.say(&format!("{output}: {name} as {} ({})", args.to, format_bytes(file_bytes)));
    Ok(())
}
