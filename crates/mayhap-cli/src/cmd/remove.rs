//! `mayhap remove`: keys out of a counting filter.

use crate::args::{ForeignArgs, LineArgs, LockArgs, ReplicaArgs, ServerArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Talk, counted, grouped};
use crate::io::progress::Progress;
use crate::io::reader;
use crate::outcome::Outcome;
use crate::set::remote::{self, Access};
use crate::set::session::{Recording, Waiting, Writer};
use crate::set::with_cr::WithCr;
use mayhap::Bitmap;
use mayhap::native::Kind;
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Reading, Source, Stop};
use mayhap_sets::{KeySet, State};
use mayhap_store::Operation;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap remove users.mayhap gone.txt
  comm -23 yesterday today | mayhap remove users.mayhap";

const NOTES: &str = "\
Only for counting filters: mayhap create users.mayhap --layout counting. A line that was added \
twice stays until it is removed twice; one that was added 15 times or more stays for good, since \
counters end at 15, and a warning says so. Remove only keys that were added: a surely absent key \
is ignored, but removing a false positive makes the filter forget other keys.

On a server, only the counting filters of mayhap serve support removal: mayhap create URL \
--layout counting. A removal whose reply was lost is not repeated, as that could remove other \
keys: the command ends with an error (exit code 2) and reports how many were removed before.

The file is replaced at the end, whole or not at all; after Ctrl-C, the keys up to there have \
been removed.";

/// Remove keys, one per line, from a counting filter file
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter: a file, or redis://host:port/name on mayhap serve
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Input files, or - for standard input, the default
    #[arg(value_name = "INPUT")]
    files: Vec<PathBuf>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Continue without a missing log: what was recorded in it is lost
    #[arg(long)]
    without_log: bool,
    #[command(flatten)]
    foreign: ForeignArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// What was removed, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    lines_read: u64,
    removed: u64,
    not_there: u64,
    /// Lines whose key stays.
    staying: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    seconds: f64,
    complete: bool,
    #[serde(flatten)]
    state: State,
}

/// What became of the lines.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Lines dealt with.
    lines: u64,
    /// Those whose key was removed.
    removed: u64,
    /// Those whose key is there and stays.
    staying: u64,
}

impl Summary {
    fn new(
        file: String,
        counts: Counts,
        reader: &LineReader,
        (seconds, complete): (f64, bool),
        state: State,
    ) -> Self {
        let Counts { lines, removed, staying } = counts;
        let lines_without_key = reader.keyless().lines();
        Self {
            file,
            lines_read: lines,
            removed,
            not_there: lines - removed - staying - lines_without_key,
            staying,
            lines_without_key,
            lines_with_crlf: reader.cr_lines(),
            seconds,
            complete,
            state,
        }
    }

    fn print(&self, talk: Talk, json: bool) -> Result<(), Error> {
        if self.staying > 0 {
            let (keys, stay) = match self.staying {
                1 => ("key is", "stays"),
                _ => ("keys are", "stay"),
            };
            talk.warn(&format!(
                "{} {keys} in saturated counters and {stay}",
                grouped(self.staying)
            ));
        }
        if json {
            return Talk::json(self, true);
        }
        let (removed, not_there) = (grouped(self.removed), grouped(self.not_there));
        let (file, lines, seconds) = (&self.file, counted(self.lines_read, "line"), self.seconds);
        talk.report(
            &format!(
                "{file}: {removed} removed, {not_there} not present ({lines}, {seconds:.2} s)"
            ),
            &self.state.text(),
        );
        Ok(())
    }
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let (sources, total_bytes) = super::sources::input::<Args>("remove", &args.files)?;
    let access = args.access()?;
    if let Some((name, set, options)) = remote::open(&args.file, access, talk)? {
        let options = options.unwrap_or_else(|| args.lines.key_options());
        return remove_on_server(args, (name, set), &options, (sources, total_bytes), talk);
    }
    let file = args.file.display().to_string();
    let header = mayhap_store::read_header(&args.file)?;
    if header.kind() != Kind::Counting {
        return Err(not_counting(&file, header.kind()));
    }
    let options = KeyOptions::from_header(&file, header.key_options())?
        .agree(&file, &args.lines.key_options())?;
    let stop = Stop::on_signals()?;
    let recording =
        if total_bytes.is_some() { Recording::WhenOthersWait } else { Recording::Streams };
    let key = secret_key(args.key_file.as_deref())?;
    let waiting = Waiting::new("remove", args.lock, talk, Some(&stop));
    let how = (recording, args.without_log);
    let (mut set, mut writer) = Writer::open(&args.file, key, how, &waiting, talk)?;
    if set.name() != Kind::Counting.name() {
        return Err(not_counting(&file, Kind::Bloom));
    }
    let mut reader = reader::open(sources, &options, args.lines.reading(), Some(stop), talk)?;
    let mut progress = Progress::new(talk, total_bytes);
    let mut counts = Counts::default();
    let with = (WithCr::of(&options), &mut progress);
    let result = remove_all(&mut reader, (&mut *set, &mut writer), &mut counts, with);
    let seconds = progress.elapsed().as_secs_f64();
    progress.clear();
    let usable = usable(args, &reader, counts, talk);
    writer.finish(&mut *set)?;
    let end = (seconds, result.is_ok());
    let summary = Summary::new(file, counts, &reader, end, set.state());
    summary.print(talk, args.json)?;
    result.and(usable).map(|()| Outcome::Done)
}

/// What there is to say of the lines.
fn usable(args: &Args, reader: &LineReader, counts: Counts, talk: Talk) -> Result<(), Error> {
    let (without_key, outcome) = (reader.keyless().lines(), "the keys of the others were removed");
    reader::usable(reader, (without_key, counts.lines), (talk, args.lines.skip_bad), outcome)
}

impl Args {
    fn access(&self) -> Result<Access<'_>, Error> {
        let (key, replicas) = (secret_key(self.key_file.as_deref())?, ReplicaArgs::default());
        let (foreign, server) = (&self.foreign, &self.server);
        Ok(Access { key, key_of_several: false, foreign, server, replicas })
    }
}

/// Removes keys on a server, which answers which of them were there.
fn remove_on_server(
    args: &Args,
    (file, mut set): (String, Box<dyn KeySet>),
    options: &KeyOptions,
    (sources, total_bytes): (Vec<Source>, Option<u64>),
    talk: Talk,
) -> Result<Outcome, Error> {
    let stop = Stop::on_signals()?;
    let reading = Reading { gathers: true, ..args.lines.reading() };
    let mut reader = reader::open(sources, options, reading, Some(stop), talk)?;
    let mut progress = Progress::new(talk, total_bytes);
    let (mut counts, mut gone) = (Counts::default(), Bitmap::new());
    let mut remove = || -> Result<(), Error> {
        loop {
            let raw_bytes = reader.raw_bytes();
            let Some(batch) = reader.next_batch(|| Ok::<(), Error>(()))? else { return Ok(()) };
            let keys: Vec<&[u8]> = batch.keys().collect();
            if !set.remove_keys_into(keys[..].into(), &mut gone)? {
                return Err(Error::usage(
                    format!("{file}: does not support removing keys"),
                    "use a counting filter: mayhap create --layout counting, in a file or on \
                     mayhap serve; or let the filter expire: mayhap ttl URL 7d",
                ));
            }
            counts.lines += batch.len() as u64;
            counts.removed += gone.count_ones() as u64;
            let left = left_of(&keys, &gone);
            if !left.is_empty() {
                set.contains_keys_into(left[..].into(), &mut gone)?;
                counts.staying += gone.count_ones() as u64;
            }
            progress.tick(counts.lines, raw_bytes, String::new);
        }
    };
    let result = remove();
    let seconds = progress.elapsed().as_secs_f64();
    progress.clear();
    let usable = usable(args, &reader, counts, talk);
    if counts.lines > 0 && !matches!(result, Err(Error::Remote { .. })) {
        set.refresh()?;
    }
    if counts.lines > 0 || result.is_ok() {
        let end = (seconds, result.is_ok());
        let summary = Summary::new(file, counts, &reader, end, set.state());
        summary.print(talk, args.json)?;
    }
    result.and(usable).map(|()| Outcome::Done)
}

/// The keys that were not removed: they are surely absent, or stay.
fn left_of<T: Copy>(keys: &[T], gone: &Bitmap) -> Vec<T> {
    keys.iter().enumerate().filter(|(i, _)| !gone.get(*i)).map(|(_, &key)| key).collect()
}

/// Removes every line that has a key; `counts` is right even where an error ends it.
fn remove_all(
    reader: &mut LineReader,
    (set, writer): (&mut dyn KeySet, &mut Writer),
    counts: &mut Counts,
    (mut with_cr, progress): (Option<WithCr>, &mut Progress),
) -> Result<(), Error> {
    let function = set.digest_function();
    reader.digest_by(function);
    let (mut digests, mut gone) = (Vec::new(), Bitmap::new());
    loop {
        let raw_bytes = reader.raw_bytes();
        let batch = reader.next_batch_in_pauses(|paused| {
            let due = writer.due_in_pause(paused);
            writer.settle(set, due).map(|()| due.pause())
        })?;
        let Some(batch) = batch else { return Ok(()) };
        if !writer.is_ready() {
            writer.ready(set)?;
        }
        // Leaves none for lines without a key.
        batch.digest_into(&function, &mut digests);
        counts.lines += batch.len() as u64;
        set.remove_digests_into(&digests, &mut gone);
        writer.note(Operation::Remove, 0, gone.iter_ones().map(|i| digests[i]));
        counts.removed += gone.count_ones() as u64;
        let left = left_of(&digests, &gone);
        if let Some(with_cr) = &mut with_cr {
            with_cr.set(&batch);
            let lines: Vec<usize> = with_cr.lines().to_vec();
            let others = lines.iter().zip(with_cr.digests(&function));
            let others: Vec<_> =
                others.filter(|(line, _)| !gone.get(**line)).map(|(_, d)| *d).collect();
            set.remove_digests_into(&others, &mut gone);
            writer.note(Operation::Remove, 0, gone.iter_ones().map(|i| others[i]));
            counts.removed += gone.count_ones() as u64;
        }
        if !left.is_empty() {
            set.contains_digests_into(&left, &mut gone)?;
            counts.staying += gone.count_ones() as u64;
        }
        let due = writer.due();
        writer.settle(set, due)?;
        progress.tick(counts.lines, raw_bytes, String::new);
    }
}

fn not_counting(file: &str, kind: Kind) -> Error {
    Error::usage(
        format!("{file} is a {} filter: keys cannot be removed from it", kind.name()),
        "create a counting filter with mayhap create --layout counting, or rebuild this one",
    )
}
