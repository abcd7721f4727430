//! `mayhap freeze`: the smallest filter of a set that no longer changes. Lists take the way of
//! `build`, filters with kept digests that of `grow`.

use super::{build, grow};
use crate::args::{DigestArgs, LineArgs, LockArgs, SizeArgs};
use crate::error::Error;
use crate::io::messages::Reporter;
use mayhap::native::Kind;
use mayhap_keys::KeyOptions;
use mayhap_sets::LayoutName;
use mayhap_store::KeptDigests;
use mayhap_units::number::{parse_bytes, parse_fpp};
use std::path::{Path, PathBuf};

/// Build the smallest filter of a set that no longer changes: of lists, or of kept digests
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lists of keys, or - for standard input, the default; or a filter with its digests beside it
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The filter file to write
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// False-positive probability: 1e-6, 0.1% [default: 1e-4; of a filter: as it is]
    #[arg(short = 'p', long, value_name = "RATE", value_parser = parse_fpp)]
    fpp: Option<f64>,
    /// Build a fuse filter in place of a ribbon filter: 12 % more bits, faster queries
    #[arg(long)]
    fuse: bool,
    /// Use files beside FILTER if building it takes more memory: 24 bytes per key [default: the
    /// memory of the machine or container]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_memory: Option<u64>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    digest: DigestArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let filter = args.files.iter().find_map(|path| Some((path.clone(), kind_of(path)?)));
    let layout = if args.fuse { LayoutName::Fuse } else { LayoutName::Ribbon };
    let size = SizeArgs {
        items: None,
        fpp: args.fpp,
        preset: None,
        mem: None,
        layout: Some(layout),
        max_memory: args.max_memory,
    };
    let Some((path, kind)) = filter else { return build::run(&of_lists(args, size), talk) };
    check(args, &path, kind)?;
    let of_digests = grow::Args {
        file: path,
        output: Some(args.output.clone()),
        force: args.force,
        keep_digests: false,
        key_file: args.digest.key_file.clone(),
        json: args.json,
        size,
        lock: args.lock,
    };
    grow::run(&of_digests, talk)
}

fn of_lists(args: &Args, size: SizeArgs) -> build::Args {
    let lists = build::FrozenLists {
        files: args.files.clone(),
        output: (args.output.clone(), args.force),
        size,
        lines: args.lines.clone(),
        digest: args.digest.clone(),
        lock: args.lock,
        json: args.json,
    };
    lists.into()
}

/// The kind of the filter in a file, if there is one; a pipe is a list, and is not read here.
fn kind_of(path: &Path) -> Option<Kind> {
    let is_file = path.metadata().is_ok_and(|it| it.is_file());
    let header = is_file.then(|| mayhap_store::read_header(path).ok()).flatten();
    header.map(|header| header.kind())
}

/// Refuses filters whose keys are not known, and arguments that are for lists.
fn check(args: &Args, path: &Path, kind: Kind) -> Result<(), Error> {
    let name = path.display();
    if args.files.len() > 1 {
        return Err(Error::usage(
            format!("{name} is a filter, and is given together with other files"),
            "freeze a filter alone, or lists; mayhap merge unites filters",
        ));
    }
    let is_for_lists = args.digest.seed.is_some()
        || args.digest.new_key_file.is_some()
        || args.lines.key_options() != KeyOptions::default();
    if is_for_lists {
        return Err(Error::usage(
            format!("{name} is a filter, whose keys are digests already"),
            "omit what says how keys are cut from lines, --seed and --new-key-file",
        ));
    }
    let why = match kind {
        Kind::Bloom | Kind::Scalable if KeptDigests::open(path)?.is_some() => return Ok(()),
        Kind::Bloom | Kind::Scalable => {
            "no digests of its keys are kept beside it, and its bits are not enough"
        }
        Kind::Compact => {
            "a compact filter keeps a part of each digest, and a frozen one asks for all of it"
        }
        Kind::Segment => "a segment has bits and no digests",
        Kind::Fuse | Kind::Ribbon => "it is frozen already",
        Kind::Counting => "a counting filter has counters and no digests",
        Kind::Window => "a window forgets its keys",
        Kind::Matrix => "a matrix has many sets",
        _ => "it is of an unknown kind",
    };
    Err(Error::usage(
        format!("{name} cannot be frozen: {why}"),
        "freeze the list of its keys, or a filter of mayhap build --keep-digests",
    ))
}
