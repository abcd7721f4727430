//! `mayhap push`: a filter file to a Redis or Valkey server.

use crate::args::{ForeignArgs, ReplicaArgs, WholeArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Talk, grouped};
use crate::io::progress::Progress;
use crate::outcome::Outcome;
use crate::set::remote::union::{Reading, Whole, refuse_foreign};
use crate::set::remote::{Connection, Place};
use mayhap_lists::Stop;
use mayhap_redis::{BfChunk, Found, NativeFilter};
use mayhap_remote::{Known, NativeSet, ServerSet, chunks_of, find_other, send};
use mayhap_sets::{KeySet, State};
use mayhap_store::{LogFound, Snapshot};
use mayhap_units::number::parse_bytes;
use mayhap_units::span::parse_time;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mayhap push seen.mayhap redis://127.0.0.1:6379/0/seen
  mayhap push --force --ttl 7d today.mayhap redis://127.0.0.1:6379/0/seen   # in its place
  mayhap push --merge more.mayhap redis://127.0.0.1:6379/0/seen     # add its keys";

const NOTES: &str = "\
A URL is redis://host:port/database/name, rediss:// with TLS, or \
redis+cluster://host:port,host:port/name for a cluster. Put the password into the environment \
(REDISCLI_AUTH) rather than the URL, which other users of the machine can see.

The bits of the file are written to the server as they are, in values of at most 4 MiB, spread \
over all masters of a cluster, together with its key options. The new filter becomes visible only \
when it is complete: readers and writers see the old one or the new one. Keys that others added to \
the old one are not in the new one unless the file has them: mayhap add, beside --force, counts \
those of its run and exits with 2. If this command is killed, what it has sent expires; until then \
another push to that name is refused, unless --discard-unfinished deletes it. With --merge the \
shards are merged one after another, and the filter there keeps its time to live; it must have the \
same size and digest. If the result would exceed its capacity, nothing is sent (exit code 2), \
unless --overfill is given; if the keys of both might not fit, its bits are read first.

The file is read into memory, with its log. Every 8 MiB must arrive within a third of --timeout. \
Filters of the layout standard must fit into one value: --shard-size allows up to 512MiB, but a \
command on a huge value blocks all others. Windows, counting, scalable and fuse filters, \
matrices, and filters of other systems cannot be pushed to Redis.

mayhap serve accepts files of every kind except fuse filters and matrices, and a filter with a \
secret key only if the key is the server's own. A dump of RedisBloom (see mayhap pull --help) can \
be pushed to RedisBloom and to mayhap serve. On both it is loaded under a temporary name, \
NAME:load:NUMBER, and then renamed in one step.";

/// Send a filter file to a Redis or Valkey server
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
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
    pub(super) merge: bool,
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
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let pushed = push(args, talk)?;
    if args.whole.json {
        Talk::json(&pushed, true)?;
    } else {
        pushed.say(talk);
    }
    Ok(Outcome::Done)
}

/// What was sent, as `--json` prints it.
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
/// Those of [`Whole::read`], [`Whole::upload`], [`Whole::check_room_in`] and
/// [`Whole::merge_into`]; [`Error::Usage`] if there is a filter already.
fn push(args: &Args, talk: Talk) -> Result<Pushed, Error> {
    let place = Place::of(&args.url)?;
    let stop = Stop::on_signals()?;
    let key = args.whole.secret_key()?;
    let reading = Reading {
        key,
        server: &args.whole.server,
        max_bytes: args.whole.max_bytes(),
        without_log: false,
        talk,
    };
    // The key is that of the file; what is there may be replaced, or is refused by what it is.
    let known = ForeignArgs::default().known_of_server(key);
    let known = mayhap_remote::Known { key_of_several: true, ..known };
    let connection = if let Some(chunks) = dump_of(args)? {
        let connection = Connection::open(place, &args.whole.server, args.replicas, talk)?;
        return push_chunks(args, &connection, &chunks, &known);
    } else {
        Connection::open(place, &args.whole.server, args.replicas, talk)?
    };
    connection.warn_of_eviction(args.ttl)?;
    if let Some(chunks) = other_form(args, &connection, &known)? {
        return push_chunks(args, &connection, &chunks, &known);
    }
    let mut progress = Progress::new(talk, None);
    let whole = Whole::read(&args.file, reading, (&stop, &mut progress))?;
    if args.discard_unfinished {
        let (server, name) = (&connection.server, &connection.place.filter);
        connection.wait(NativeFilter::discard(server, name))?;
    }
    // What is replaced can be anything.
    let there = if args.force { None } else { connection.find(key)? };
    let mut progress = Progress::new(talk, Some(whole.filter.params().num_bytes()));
    let filter = match there {
        Some(filter) if args.merge => {
            if !args.overfill {
                whole.check_room_in(&connection, &filter, args.whole.max_bytes(), &stop)?;
            }
            whole.merge_into(&connection, &filter, (&stop, &mut progress))?;
            filter
        }
        Some(_) => return Err(refuse_existing(&connection)),
        None => {
            let mut options = whole.native_options();
            options.ttl = args.ttl;
            options.max_shard_bytes = args.shard_size;
            whole.upload(&connection, &options, (&stop, &mut progress))?
        }
    };
    let seconds = progress.elapsed().as_secs_f64();
    progress.clear();
    let (file, _) = NativeSet::new(&connection.origin(), filter, connection.round_trip())?;
    Ok(Pushed {
        file: whole.name,
        url: connection.place.name.clone(),
        merged: args.merge,
        num_shards: file.seen().num_shards,
        ttl_ms: file.seen().ttl_ms,
        seconds,
        state: file.state(),
    })
}

/// The chunks of a file that is a dump of `RedisBloom`.
fn dump_of(args: &Args) -> Result<Option<Vec<BfChunk>>, Error> {
    use mayhap_store::Error::{Foreign, Format};
    match mayhap_store::read_header(&args.file) {
        // A dump looks like nothing known: numbers follow its first line.
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
    match find_other(&connection.origin(), known)? {
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
    let set = send(&connection.origin(), chunks, (args.ttl, args.force), known)?;
    Ok(Pushed {
        file: args.file.display().to_string(),
        url: connection.place.name.clone(),
        merged: false,
        num_shards: set.seen().num_shards,
        ttl_ms: set.seen().ttl_ms,
        seconds: started.elapsed().as_secs_f64(),
        state: set.state(),
    })
}

/// Why a filter that the server holds behind `BF.*` commands is not merged into.
fn refuse_merge(connection: &Connection, known: &Known) -> Result<Error, Error> {
    let found = find_other(&connection.origin(), known)?;
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
    Ok(Error::usage(format!("{} is {why}", connection.place.name), hint))
}

/// A name that holds a filter of another system.
fn refuse_place(connection: &Connection) -> Error {
    Error::usage(
        format!("{} holds a filter of another system", connection.place.name),
        "use another name, or delete that filter first: mayhap delete --force URL",
    )
}

fn refuse_existing(connection: &Connection) -> Error {
    Error::usage(
        format!("{} exists already", connection.place.name),
        "replace it with --force, or add the keys with --merge",
    )
}

impl Pushed {
    /// In words.
    fn say(&self, talk: Talk) {
        let done = if self.merged { "added to" } else { "sent to" };
        let expires = self
            .ttl_ms
            .map(|ttl| format!(", expires in {}", mayhap_units::span::format_millis(ttl)));
        let line = format!(
            "{}: {done} {} ({} values{}, {:.2} s)",
            self.file,
            self.url,
            grouped(self.num_shards),
            expires.unwrap_or_default(),
            self.seconds,
        );
        talk.report(&line, &self.state.text());
    }
}
