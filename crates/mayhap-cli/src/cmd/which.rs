//! `mayhap which`: which of many sets may hold a line.

use crate::args::{LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::memory;
use crate::outcome::Outcome;
use crate::set::named::NamedSets;
use crate::set::open;
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Reading};
use mayhap_units::number::format_bytes;
use serde::Serialize;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mayhap which -f mon.mayhap -f tue.mayhap -f wed.mayhap < keys.txt
  mayhap which shards.mayhap < keys.txt          # the sets of a matrix file
  mayhap which -f filters/ < keys.txt            # all filters in a folder
  mayhap which -F filters.list < keys.txt        # the filters in a list
  mayhap which -a -f a.mayhap -f b.mayhap keys   # also lines of no set";

const NOTES: &str = "\
Prints the names of the sets that may contain a line, separated by commas, then a tab and the \
line. A set that contains it is always named; one that does not is named at the rate of its \
filter. Lines that are surely in no set are omitted, unless -a is given. Nobody can say which sets \
have a line without a key: such lines are never printed, and at the end they are an error, unless \
--skip-bad is given. Exit codes: 0 if a set may contain a line, 1 if none does, 2 after an error.

A matrix file (mayhap build --layout matrix) has the names of the lists that it was built from, or \
numbers. Of a folder, the filters in it are queried in the order of their names, and not those in \
folders below; other files are passed over.

A line is digested once for all filters with the same digest. If there are many filters of one \
shape (created with the same -n, -p and digest) and much input, they are combined into a matrix \
in memory, which is queried for all of them at once.";

const MAX_MEMORY: &str = "Memory limit for a matrix [default: half the memory of this machine] and \
                          for a filter of another system [default: all of it]";

/// Print which of many sets may contain each line
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
#[command(mut_arg("max_memory", |arg| arg.help(MAX_MEMORY)))]
pub struct Args {
    /// A matrix file (unless -f is given), then input files, or - for standard input, the default
    #[arg(value_name = "MATRIX] [INPUT")]
    files: Vec<PathBuf>,
    /// A filter for each set, of any kind, or a folder of filters; may be given several times
    #[arg(short = 'f', long = "filter", value_name = "FILTER")]
    filters: Vec<PathBuf>,
    /// A file with the name of a filter or folder on each line
    #[arg(short = 'F', long, value_name = "LIST")]
    filter_list: Option<PathBuf>,
    /// Also print lines that are in no set, with nothing before the tab
    #[arg(short = 'a', long)]
    all: bool,
    /// Print a summary as JSON, on stderr
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
    #[command(flatten)]
    lines: LineArgs,
}

/// The longest list of filters: names of 64 bytes for as many as a matrix has.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// What was found, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    lines_read: u64,
    lines_in_a_set: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    queried_as: &'static str,
    sets: Vec<Found<'a>>,
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    name: &'a str,
    maybe_present: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let given = args.lines.key_options();
    let half = || memory::physical_bytes().map(|bytes| bytes / 2);
    let limit = args.open.max_memory.or_else(half).unwrap_or(u64::MAX);
    let mut reading = args.lines.reading();
    let named = named_filters(args, &reading)?;
    let is_folder = |path: &PathBuf| named.is_empty() && path.is_dir();
    let (named, files) = match args.files.split_first() {
        Some((folder, files)) if is_folder(folder) => (filters_in(folder, &reading)?, files),
        _ => (named, &*args.files),
    };
    let (filters, files) = open::split(&named, files, &reading);
    let (sets, options, inputs) = match (filters.as_slice(), args.files.split_first()) {
        ([], None) => {
            return Err(Error::usage(
                "no filter is given",
                "for example: mayhap which -f a.mayhap -f b.mayhap < keys.txt",
            ));
        }
        ([], Some((matrix, inputs))) => {
            let (sets, options) = NamedSets::open_matrix(matrix, args.open.secret_key()?, &given)?;
            (sets, options, inputs)
        }
        (filters, _) => {
            let (opened, options) =
                open::open_all(filters, &args.open, (&given, KeyOptions::agree), talk)?;
            reading.gathers = open::any_remote(&opened);
            (NamedSets::of_filters(opened, &options, limit), options, files.as_slice())
        }
    };
    let (sources, total_bytes) = super::sources::input::<Args>("which", inputs)?;
    let progress = Progress::new(talk, total_bytes);
    let output = Output::stdout(&sources)?;
    let reader = reader::open(sources, &options, reading, None, talk)?;
    pump(args, sets, reader, output, (talk, progress))
}

/// The filters of -f and -F, with those of folders in their place.
fn named_filters(args: &Args, reading: &Reading) -> Result<Vec<PathBuf>, Error> {
    let mut named = args.filters.clone();
    if let Some(list) = &args.filter_list {
        let text = read_list(list)?;
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
        let lines = text.split(|byte| *byte == b'\n');
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let names = lines.filter(|line| !line.is_empty());
        let before = named.len();
        named.extend(names.map(|name| PathBuf::from(OsStr::from_bytes(name))));
        if named.len() == before {
            return Err(Error::usage(
                format!("{} names no filter", list.display()),
                "write the name of a filter on each line",
            ));
        }
    }
    let mut filters = Vec::new();
    for path in named {
        if path.is_dir() {
            filters.extend(filters_in(&path, reading)?);
        } else {
            filters.push(path);
        }
    }
    Ok(filters)
}

/// The bytes of a list of filters, if it is as short as such lists are.
fn read_list(list: &Path) -> Result<Vec<u8>, Error> {
    let name = list.display().to_string();
    let file = std::fs::File::open(list).map_err(Error::io("open", &name))?;
    let mut text = Vec::new();
    let read = file.take(MAX_LIST_BYTES + 1).read_to_end(&mut text);
    let bytes = read.map_err(Error::io("read", &name))? as u64;
    if bytes > MAX_LIST_BYTES {
        let limit = format_bytes(MAX_LIST_BYTES);
        return Err(Error::usage(
            format!("{name} is a list of filters of more than {limit}"),
            "name the filters in it; keys to look up are the INPUT",
        ));
    }
    Ok(text)
}

/// The filters in a folder, in the order of their names.
fn filters_in(folder: &Path, reading: &Reading) -> Result<Vec<PathBuf>, Error> {
    let name = folder.display().to_string();
    let mut filters = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io("read", &name))? {
        let path = entry.map_err(Error::io("read", &name))?.path();
        if mayhap_lists::is_filter(&path, reading) {
            filters.push(path);
        }
    }
    if filters.is_empty() {
        return Err(Error::usage(
            format!("there is no filter in the folder {name}"),
            "name the folder that has them, or each of them with -f",
        ));
    }
    filters.sort();
    Ok(filters)
}

fn pump(
    args: &Args,
    mut sets: NamedSets,
    mut reader: LineReader,
    mut output: Output,
    (talk, mut progress): (Talk, Progress),
) -> Result<Outcome, Error> {
    let prints = !talk.is_quiet();
    let mut selected = 0;
    let mut line = Vec::new();
    loop {
        let raw_bytes = reader.raw_bytes();
        let Some(batch) = reader.next_batch(|| output.flush())? else { break };
        if batch.is_keyless() {
            continue;
        }
        let names = sets.query(&batch)?;
        for i in 0..batch.len() {
            line.clear();
            let any = names.of_line(i, &mut line);
            selected += u64::from(any);
            if prints && (any || args.all) {
                output.write(&line)?;
                output.write(b"\t")?;
                output.write(batch.lines(i..i + 1))?;
            }
        }
        if talk.is_quiet() && !args.json && selected > 0 {
            break;
        }
        progress.tick(reader.lines(), raw_bytes, String::new);
    }
    progress.clear();
    output.flush()?;
    let is_answered = talk.is_quiet() && !args.json && selected > 0;
    let answered = reader::answered(&reader, talk, args.lines.skip_bad || is_answered);
    sets.warn(talk);
    if args.json {
        let found = |(name, maybe_present)| Found { name, maybe_present };
        let summary = Summary {
            lines_read: reader.lines(),
            lines_in_a_set: selected,
            lines_without_key: reader.keyless().lines() + sets.lines_without_key(),
            lines_with_crlf: reader.cr_lines(),
            queried_as: sets.queried_as(),
            sets: sets.counts().map(found).collect(),
        };
        Talk::json(&summary, false)?;
    }
    answered?;
    Ok(if selected > 0 { Outcome::Done } else { Outcome::Nothing })
}
