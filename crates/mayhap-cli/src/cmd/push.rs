//! `mayhap push`: a filter file to a Redis or Valkey server.

use crate::args::{ReplicaArgs, WholeArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Reporter, counted};
use crate::io::progress::Progress;
use crate::memory;
use crate::set::remote::Connection;
use crate::set::remote::bits::Bits;
use crate::set::remote::bits::Reading;
use crate::set::remote::model::refuse_foreign;
use crate::set::remote::target::Target;
use mayhap_lists::Stop;
use mayhap_redis::{BfChunk, Found, NativeFilter};
use mayhap_sets::State;
use mayhap_sets::server::{Known, NativeSet, ServerSet, ServerUrl, chunks_of, find_other, send};
use mayhap_store::{LogFound, Snapshot};
use mayhap_units::number::parse_bytes;
use mayhap_units::span::{format_millis, parse_time};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Send a filter file to a Redis or Valkey server
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// The destination: redis://host:port/database/name
    #[arg(value_name = "URL")]
    url: PathBuf,
    /// Replace the filter there
    #[arg(long)]
    force: bool,
    /// Add its keys to the filter there
    #[arg(long, conflicts_with_all = ["force", "ttl", "shard_size"])]
    merge: bool,
    /// Merge even if the result has more keys than its capacity
    #[arg(long, requires = "merge")]
    overfill: bool,
    /// Expire after this time: 7d, 12h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    ttl: Option<Duration>,
    /// Largest value on the server [default: 4MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    shard_size: Option<u64>,
    /// Delete what an unfinished push to this name left behind
    #[arg(long)]
    discard_unfinished: bool,
    #[command(flatten)]
    whole: WholeArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    talk.summary(args.whole.json, &push(args, talk)?, Pushed::words)
}

/// The filter sent, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Pushed {
    file: String,
    url: String,
    merged: bool,
    num_shards: u64,
    ttl_ms: Option<u64>,
    seconds: f64,
    #[serde(flatten)]
    state: State,
}

/// Sends the file.
///
/// # Errors
///
/// The errors of [`Bits::of_file`], [`Bits::upload`] and [`Target::add`]; [`Error::Usage`] if a
/// filter already exists.
fn push(args: &Args, talk: Reporter) -> Result<Pushed, Error> {
    let place = ServerUrl::of(&args.url)?;
    let stop = Stop::on_signals()?;
    let key = args.whole.secret_key()?;
    let reading = Reading {
        key,
        server: &args.whole.server,
        max_bytes: args.whole.max_bytes(),
        without_log: false,
        talk,
    };
    // The key belongs to the file; the value on the server is replaced, or refused by its type.
    let known = Known { secret_key: key, key_of_several: true, ..Known::default() };
    let dump = dump_of(args)?;
    let connection = Connection::open(place, &args.whole.server, args.replicas, talk)?;
    if let Some(chunks) = dump {
        return push_chunks(args, &connection, &chunks, &known);
    }
    connection.warn_of_eviction(args.ttl)?;
    if args.merge {
        return merge(args, connection, reading, &stop);
    }
    if let Some(chunks) = other_form(args, &connection, &known)? {
        return push_chunks(args, &connection, &chunks, &known);
    }
    let bits = Bits::of_file(&args.file, reading)?;
    memory::check(bits.params().num_bytes(), args.whole.max_streamed())?;
    if args.discard_unfinished {
        let (server, name) = (&connection.origin.server, &connection.origin.name);
        connection.wait(NativeFilter::discard(server, name))?;
    }
    // The replaced value can be anything.
    if !args.force && connection.find(key)?.is_some() {
        return Err(refuse_existing(&connection));
    }
    let mut progress = Progress::new(talk, Some(bits.params().num_bytes()));
    let mut options = bits.model().native_options();
    options.ttl = args.ttl;
    options.max_shard_bytes = args.shard_size;
    let filter = bits.upload(&connection, &options, (&stop, &mut progress))?;
    let seconds = progress.end().as_secs_f64();
    let (file, _) = NativeSet::new(&connection.origin, filter, connection.round_trip())?;
    Ok(Pushed::of(args, connection.origin.url, &file, seconds))
}

/// Adds the keys of the file to the filter there, or makes one like it.
fn merge(
    args: &Args,
    connection: Connection,
    how: Reading<'_>,
    stop: &Stop,
) -> Result<Pushed, Error> {
    let header = mayhap_store::read_header(&args.file)
        .map_err(|error| refuse_foreign(&args.file.display().to_string(), error))?;
    secret_key::check(how.key, &args.file, &header)?;
    let mut target = Target::find(connection, how.key)?;
    let bits = Bits::of_file(&args.file, how)?;
    memory::check(bits.params().num_bytes(), args.whole.max_streamed())?;
    if args.discard_unfinished {
        target.discard()?;
    }
    let mut progress = Progress::new(how.talk, Some(bits.params().num_bytes()));
    target.add(&bits, (args.overfill, how.key), (stop, &mut progress))?;
    let (seconds, url) = (progress.end().as_secs_f64(), target.connection().origin.url.clone());
    let set = target.set(how.key)?;
    Ok(Pushed::of(args, url, &*set, seconds))
}

/// The chunks of a file that is a dump of `RedisBloom`.
fn dump_of(args: &Args) -> Result<Option<Vec<BfChunk>>, Error> {
    use mayhap_store::Error::{Foreign, Format};
    match mayhap_store::read_header(&args.file) {
        // A dump has no known format: numbers follow its first line.
        Err(Foreign { .. } | Format { source: mayhap::Error::NotAFilter, .. }) => {
            secret_key::refuse(args.whole.secret_key()?, &args.file)?;
            chunks(args)
        }
        _ => Ok(None),
    }
}

/// The chunks of a file of mayhap, where the server has filters only.
fn other_form(
    args: &Args,
    connection: &Connection,
    known: &Known,
) -> Result<Option<Vec<BfChunk>>, Error> {
    let header = mayhap_store::read_header(&args.file)
        .map_err(|error| refuse_foreign(&args.file.display().to_string(), error))?;
    secret_key::check(args.whole.secret_key()?, &args.file, &header)?;
    match find_other(&connection.origin, known)? {
        None | Some(Found::Nothing { filters_only: false }) => Ok(None),
        Some(Found::Bf(filter)) if filter.kind().is_none() => Err(refuse_place(connection)),
        Some(Found::Bf(_) | Found::Nothing { .. }) => {
            if Snapshot::open(&args.file)?.log() != LogFound::None {
                let name = args.file.display();
                return Err(Error::usage(
                    format!("{name} has a log beside it, which would not be copied"),
                    format!("apply the log with mayhap add {name} /dev/null"),
                ));
            }
            chunks(args)
        }
        Some(_) => Err(refuse_place(connection)),
    }
}

fn chunks(args: &Args) -> Result<Option<Vec<BfChunk>>, Error> {
    let max_bytes = args.whole.max_bytes();
    let bytes = mayhap_store::read_bytes(&args.file, max_bytes)?;
    chunks_of(&bytes, max_bytes)
        .map_err(|source| Error::Foreign { name: args.file.display().to_string(), source })
}

/// Sends a filter that the server holds behind `BF.*` commands.
fn push_chunks(
    args: &Args,
    connection: &Connection,
    chunks: &[BfChunk],
    known: &Known,
) -> Result<Pushed, Error> {
    if args.merge {
        return Err(refuse_merge(connection, known)?);
    }
    let started = Instant::now();
    let set = send(&connection.origin, chunks, (args.ttl, args.force), known)?;
    let url = connection.origin.url.clone();
    Ok(Pushed::of(args, url, &*set, started.elapsed().as_secs_f64()))
}

/// The error for merging into a filter that the server holds behind `BF.*` commands.
fn refuse_merge(connection: &Connection, known: &Known) -> Result<Error, Error> {
    let found = find_other(&connection.origin, known)?;
    let (why, hint) = match found {
        Some(Found::Bf(filter)) if filter.kind().is_none() => (
            "a filter of RedisBloom or valkey-bloom, which cannot merge filters",
            "push it under another name and query both: mayhap check -f ONE -f OTHER",
        ),
        _ => (
            "managed by its server, which merges into new filters only",
            "push it under another name and merge the two there: BF.MERGE NEW ONE OTHER",
        ),
    };
    Ok(Error::usage(format!("{} is {why}", connection.origin.url), hint))
}

/// A name that holds a filter of another system.
fn refuse_place(connection: &Connection) -> Error {
    Error::usage(
        format!("{} holds a filter of another system", connection.origin.url),
        "use another name, or delete that filter first: mayhap delete --force URL",
    )
}

fn refuse_existing(connection: &Connection) -> Error {
    Error::usage(
        format!("{} exists already", connection.origin.url),
        "replace it with --force, or add the keys with --merge",
    )
}

impl Pushed {
    fn of(args: &Args, url: String, set: &dyn ServerSet, seconds: f64) -> Self {
        Self {
            file: args.file.display().to_string(),
            url,
            merged: args.merge,
            num_shards: set.seen().num_shards,
            ttl_ms: set.seen().ttl_ms,
            seconds,
            state: set.state(),
        }
    }

    fn words(&self) -> (String, String) {
        let Self { file, url, seconds, .. } = self;
        let (done, values) =
            (if self.merged { "added to" } else { "sent to" }, counted(self.num_shards, "value"));
        let expires = self.ttl_ms.map(|ttl| format!(", expires in {}", format_millis(ttl)));
        let expires = expires.unwrap_or_default();
        let line = format!("{file}: {done} {url} ({values}{expires}, {seconds:.2} s)");
        (line, self.state.text())
    }
}
