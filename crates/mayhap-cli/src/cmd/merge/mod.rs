//! `mayhap merge`: one filter file that holds the keys of many.

mod foreign;

use crate::args::{LockArgs, OpenArgs, ReplicaArgs, secret_key};
use crate::error::{Error, Limit, over_full};
use crate::files::refuse_existing;
use crate::io::messages::{Reporter, counted, grouped, rate};
use crate::io::progress::Progress;
use crate::memory;
use crate::set::kept::ReplacedDigests;
use crate::set::notes::say;
use crate::set::open;
#[cfg(feature = "redis")]
use crate::set::remote;
use crate::set::session::Waiting;
use mayhap::native::{Header, Kind};
use mayhap::set::Set;
use mayhap::{Health, SecretKey};
use mayhap_sets::{OwnSet, State, open_snapshot, shown};
use mayhap_store::{FilterLock, Memory, MergeOptions};
use mayhap_units::number::{counted_short, format_count};
use serde::Serialize;
use std::path::{Path, PathBuf};

const KEY_FILE: &str = "The filters' secret key, if they are merged in memory";
const MAX_MEMORY: &str =
    "Most memory to use for merging [default: the memory of the machine or container]";

/// Merge filters into one with the keys of all of them
#[derive(Debug, clap::Args)]
#[command(mut_arg("key_file", |arg| arg.help(KEY_FILE)))]
#[command(mut_arg("max_memory", |arg| arg.help(MAX_MEMORY)))]
pub struct Args {
    /// The filters: files, or redis://host:port/database/name
    #[arg(value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,
    /// The filter file to write, or the filter on a server to merge into
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Write it even if it has more keys than its capacity
    #[arg(long)]
    overfill: bool,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// The merged filter, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    merged: Vec<Part>,
    /// Keys in several files count once, by the bits; `null` if these give no estimate.
    estimated_items: Option<f64>,
    seconds: f64,
    #[serde(flatten)]
    state: State,
}

#[derive(Debug, Serialize)]
struct Part {
    file: String,
    items: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    #[cfg(feature = "redis")]
    if args.files.iter().chain([&args.output]).any(mayhap_sets::is_url) {
        return merge_with_server(args, talk);
    }
    refuse_existing(&args.output, args.force)?;
    // Before anything is read: the output may be one of the inputs.
    let lock = Waiting::new("merge", args.lock, talk, None).lock(&args.output)?;
    if let Some(first) = open::foreign(&args.files[0], &args.open, talk)? {
        return foreign::run(first, (args, &lock), talk);
    }
    let key = args.open.secret_key()?;
    let headers = args.files.iter().map(|path| mayhap_store::read_header(path));
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    let first = args.files[0].display().to_string();
    check_kinds(&args.files, &headers)?;
    for (path, header) in args.files.iter().zip(&headers) {
        secret_key::check(key, path, header)?;
    }
    check_memory(args, &headers)?;
    let bytes = headers.iter().map(Header::body_bytes).fold(0, u64::saturating_add);
    let mut progress = Progress::new(talk, Some(bytes));
    let digests = ReplacedDigests::of(&args.output);
    let sum = match headers[0].kind() {
        Kind::Bloom => {
            let (replace, without_log) = (args.force, args.open.without_log);
            let options = MergeOptions { secret_key: key, replace, without_log };
            let mut refused = Ok(());
            let (merged, items) = lock.merge(
                &args.files,
                options,
                |done, _| progress.tick_bytes(done),
                |merged| {
                    let state = State::of_assembled(merged).map_err(Error::from);
                    refused = state.and_then(|state| check_room(&state, args.overfill));
                    refused.is_ok()
                },
            )?;
            refused?;
            let estimate = merged.estimated_items.items;
            let estimate = estimate.is_finite().then_some(estimate);
            (items, estimate, State::of_assembled(&merged)?)
        }
        kind if kind.capabilities().unites && kind != Kind::Segment => {
            let (set, items) = load_all((args, talk), &headers, key)?;
            (items, None, save((args, &lock), &common(&headers), set)?)
        }
        kind => return Err(refuse_kind(kind, &first)),
    };
    let seconds = progress.end().as_secs_f64();
    digests.say(talk);
    if headers[0].kind() == Kind::Compact {
        talk.say("copies add up: a key of several files has to be removed as often as from all");
    }
    warn_of_other_numbers(&headers, talk);
    Summary::of(args, sum, seconds).print(talk, args.json)
}

/// Merges where a file or the output is on a server.
#[cfg(feature = "redis")]
fn merge_with_server(args: &Args, talk: Reporter) -> Result<(), Error> {
    let to_server = mayhap_sets::is_url(&args.output);
    if !to_server {
        refuse_existing(&args.output, args.force)?;
    } else if args.force {
        return Err(Error::usage(
            "--force is given, but merging into a filter on a server keeps its keys",
            "omit --force, or replace the filter with a file: mayhap push --force FILE URL",
        ));
    }
    let (key, server) = (args.open.secret_key()?, &args.open.server);
    let (max_bytes, without_log) = (args.open.max_bytes(), args.open.without_log);
    let how = remote::bits::Reading { key, server, max_bytes, without_log, talk };
    let started = std::time::Instant::now();
    let output = remote::union::Output {
        path: &args.output,
        force: args.force,
        overfill: args.overfill,
        replicas: args.replicas,
        lock: args.lock,
    };
    let sum = remote::union::merge(&args.files, output, how)?;
    Summary::of(args, sum, started.elapsed().as_secs_f64()).print(talk, args.json)
}

/// Plain filters that are larger than the smallest are folded in memory, one after the other.
fn check_memory(args: &Args, headers: &[Header]) -> Result<(), Error> {
    let bytes = || headers.iter().filter(|it| it.kind() == Kind::Bloom).map(Header::body_bytes);
    let smallest = bytes().min().unwrap_or(0);
    let larger = bytes().filter(|&bytes| bytes > smallest);
    let folded = larger.clone().map(|_| smallest).fold(0, u64::saturating_add);
    memory::check(larger.max().unwrap_or(0).saturating_add(folded), args.open.max_bytes())
}

/// All files have to be of one kind.
fn check_kinds(files: &[PathBuf], headers: &[Header]) -> Result<(), Error> {
    for (path, header) in files.iter().zip(headers) {
        if header.kind() != headers[0].kind() {
            let (kind, first_kind) = (header.kind().name(), headers[0].kind().name());
            let (name, first) = (path.display(), files[0].display());
            return Err(Error::usage(
                format!("{name} is a {kind} filter, but {first} is a {first_kind} filter"),
                "merge files of one kind",
            ));
        }
    }
    Ok(())
}

/// The error for a kind that cannot be merged, with the alternative.
fn refuse_kind(kind: Kind, first: &str) -> Error {
    let (problem, hint) = match kind {
        Kind::Window => (
            "a window: the order of keys across several windows is unknown",
            "add the keys to one window in their order: mayhap add",
        ),
        Kind::Fuse => (
            "a fuse filter, which is immutable",
            "build one from all keys (mayhap build --layout fuse), or query all: mayhap check -f",
        ),
        Kind::Ribbon => (
            "a ribbon filter, which is immutable",
            "build one from all keys (mayhap build --frozen), or query all: mayhap check -f",
        ),
        Kind::Segment => (
            "one segment of a filter",
            "put all segments together: mayhap assemble -o FILTER SEGMENT...",
        ),
        Kind::Matrix => (
            "a matrix, which has many sets",
            "query several one after the other with mayhap which, or build one matrix of all sets",
        ),
        _ => ("of an unknown kind", "it was created by a newer mayhap; use that version"),
    };
    Error::usage(format!("{first} cannot be merged: it is {problem}"), hint)
}

/// Refuses to write a merged filter that holds more keys than it was made for.
fn check_room(state: &State, overfill: bool) -> Result<(), Error> {
    if overfill || state.health != Health::OverCapacity {
        return Ok(());
    }
    let limit = match state.expected_items {
        Some(made_for) => Limit::Keys(made_for),
        None => Limit::Rate { now: state.estimated_fpp, target: state.target_fpp },
    };
    Err(Error::Full(over_full(state.keys(), limit)))
}

/// The union of all files, in memory, and how many keys each had.
fn load_all(
    (args, talk): (&Args, Reporter),
    headers: &[Header],
    key: Option<SecretKey>,
) -> Result<(OwnSet, Vec<u64>), Error> {
    let limit = args.open.max_bytes();
    let mut sum: Option<Box<dyn Set>> = None;
    let (mut bytes, mut items) = (0, Vec::new());
    for (path, header) in args.files.iter().zip(headers) {
        check_alike(args, path, header, &headers[0])?;
        // The sum may have to hold all of them side by side, while the next one is read.
        bytes = header.body_bytes().saturating_add(bytes);
        memory::check(bytes, limit)?;
        let snapshot = open_snapshot(path, args.open.without_log, &|note| say([note], talk))?;
        let mut more = snapshot.image().load_set(key)?;
        snapshot.replay(|record| mayhap_store::apply(&mut *more, record))?;
        items.push(more.inserted_items());
        match &mut sum {
            None => sum = Some(more),
            Some(sum) => {
                let copies = sum.inserted_items().saturating_add(more.inserted_items());
                sum.union_with(&*more).map_err(|source| match source {
                    mayhap::Error::Full { expected_items, .. } => {
                        Error::Full(over_full(copies, Limit::Copies(expected_items)))
                    }
                    source => unlike(args, path, &source),
                })?;
            }
        }
    }
    match sum {
        Some(sum) => Ok((OwnSet::new(sum, false), items)),
        None => Err(Error::usage("no filters are given", "name the files to merge")),
    }
}

fn unlike(args: &Args, path: &Path, source: &mayhap::Error) -> Error {
    let (name, first) = (path.display(), args.files[0].display());
    Error::usage(
        format!("{name} and {first} cannot be merged: {source}; nothing was written"),
        "create them with the same -n, -p, --layout and digest",
    )
}

fn check_alike(args: &Args, path: &Path, header: &Header, first: &Header) -> Result<(), Error> {
    if mayhap_store::common_key_options(header.key_options(), first.key_options()).is_some() {
        return Ok(());
    }
    let (name, first_name) = (path.display(), args.files[0].display());
    Err(Error::usage(
        format!(
            "{name} and {first_name} cannot be merged: they differ in key options: {:?} against \
             {:?}; nothing was written",
            header.key_options(),
            first.key_options()
        ),
        "filters whose keys were extracted differently cannot be queried together",
    ))
}

/// The first header, with the key options of all.
fn common(headers: &[Header]) -> Header {
    let mut options = headers[0].key_options().to_owned();
    for header in headers {
        let common = mayhap_store::common_key_options(&options, header.key_options());
        options = common.unwrap_or(options);
    }
    headers[0].clone().with_key_options(&options)
}

fn save(
    (args, lock): (&Args, &FilterLock),
    header: &Header,
    mut set: OwnSet,
) -> Result<State, Error> {
    let state = set.state();
    check_room(&state, args.overfill)?;
    let header = set.header(header.key_options());
    lock.save(&header, &set.segments(), args.force)?;
    Ok(state)
}

/// n and p decide nothing about bits, but only one of each can be kept.
fn warn_of_other_numbers(headers: &[Header], talk: Reporter) {
    let numbers = |header: &Header| {
        let fields = header.fields();
        (fields.expected_items, fields.target_fpp)
    };
    // Larger plain filters are folded to the smallest.
    let size = |header: &&Header| match header.kind() {
        Kind::Bloom => header.fields().num_bits,
        _ => 0,
    };
    let Some(first) = headers.iter().min_by_key(size).map(numbers) else { return };
    if let Some((items, fpp)) = headers.iter().map(numbers).find(|&numbers| numbers != first) {
        talk.warn(&format!(
            "the files were created with different parameters: {} at {} and {} at {}; \
             the first ones are kept",
            counted(first.0, "key"),
            rate(first.1),
            counted(items, "key"),
            rate(fpp),
        ));
    }
}

impl Summary {
    /// Of the keys of each file, those of the whole by its bits, and its state.
    fn of(
        args: &Args,
        (items, estimated_items, state): (Vec<u64>, Option<f64>, State),
        seconds: f64,
    ) -> Self {
        let part = |(path, items): (&PathBuf, u64)| Part { file: shown(path), items };
        let merged = args.files.iter().zip(items).map(part).collect();
        Self { file: shown(&args.output), merged, estimated_items, seconds, state }
    }

    fn print(&self, talk: Reporter, json: bool) -> Result<(), Error> {
        let State { expected_items, health, target_fpp, estimated_fpp, .. } = self.state;
        talk.summary(json, self, |Self { file, merged, seconds, state, .. }| {
            let keys = merged.iter().map(|part| part.items).fold(0, u64::saturating_add);
            let (filters, keys) = (counted(merged.len() as u64, "filter"), counted(keys, "key"));
            let after = match self.estimated_items {
                Some(items) => format!("about {} of them distinct", grouped(items.round() as u64)),
                None => format!("{} after", grouped(state.items)),
            };
            let line = format!("{file}: {filters} with {keys} counted, {after} ({seconds:.2} s)");
            (line, state.text())
        })?;
        let of = expected_items.map_or(String::new(), |items| {
            let now = format_count(self.state.keys());
            format!(" with {now} of {}", counted_short(items, "key"))
        });
        if health == Health::OverCapacity {
            talk.warn(&format!(
                "the merged filter is over capacity{of}: its rate is {}, its target {}; create \
                 each shard with the -n of all keys together",
                rate(estimated_fpp),
                rate(target_fpp),
            ));
        } else if health == Health::NearCapacity {
            let beyond = match self.state.layout {
                "compact" => "it takes no more keys when it is full",
                _ => "beyond that the rate rises",
            };
            talk.warn(&format!("the merged filter is nearly full{of}; {beyond}"));
        }
        Ok(())
    }
}
