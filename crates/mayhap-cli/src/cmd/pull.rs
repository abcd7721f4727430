//! `mayhap pull`: a filter on a Redis or Valkey server to a file.

use crate::args::{ForeignArgs, LockArgs, ReplicaArgs, WholeArgs};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::io::progress::Progress;
use crate::memory;
use crate::set::kept::ReplacedDigests;
use crate::set::remote::Connection;
use crate::set::remote::bits::MOST_SWITCHES;
use crate::set::remote::bits::{Bits, is_switched};
use crate::set::session::Waiting;
use mayhap::native::MAGIC;
use mayhap_lists::Stop;
use mayhap_redis::NativeFilter;
use mayhap_sets::State;
use mayhap_sets::server::{Copied, ServerUrl, copy, find_other};
use mayhap_store::{Assembled, FilterLock};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Copy a filter from a Redis or Valkey server to a file
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The filter: redis://host:port/database/name
    #[arg(value_name = "URL")]
    url: PathBuf,
    /// The filter file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    foreign: ForeignArgs,
    #[command(flatten)]
    whole: WholeArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let pulled = pull(args, talk)?;
    talk.summary(args.whole.json, &pulled, |Pulled { url, file, seconds, state, .. }| {
        (format!("{file}: read from {url} ({seconds:.2} s)"), state.text())
    })?;
    if let Some(note) = pulled.note.filter(|_| !args.whole.json) {
        talk.say(&format!("{}: does not store its parameters; use it with {note}", pulled.file));
    }
    Ok(())
}

/// The filter read, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Pulled {
    url: String,
    file: String,
    seconds: f64,
    #[serde(flatten)]
    state: State,
    /// The facts that a user needs to open a file that does not record them.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Reads the filter and saves it.
///
/// # Errors
///
/// The errors of [`ServerUrl::of`], [`Connection::open`], [`Bits::save`] and of the file.
fn pull(args: &Args, talk: Reporter) -> Result<Pulled, Error> {
    let place = ServerUrl::of(&args.url)?;
    crate::files::refuse_existing(&args.file, args.force)?;
    let stop = Stop::on_signals()?;
    let connection = Connection::open(place, &args.whole.server, ReplicaArgs::default(), talk)?;
    let key = args.whole.secret_key()?;
    let (origin, known) = (connection.origin.clone(), args.foreign.known(key));
    if let Some(found) = find_other(&origin, &known)? {
        let copied = copy(&origin, found, &known, args.whole.max_bytes())?;
        return save_other(args, &copied, &stop, talk);
    }
    let filter = connection.attach(key)?;
    let bytes = filter.params().num_bytes();
    memory::check(bytes, args.whole.max_streamed())?;
    let mut progress = Progress::new(talk, Some(bytes));
    let lock = Waiting::new("pull", args.lock, talk, Some(&stop)).lock(&args.file)?;
    let digests = ReplacedDigests::of(&args.file);
    let saved = read(&connection, &filter, (&lock, args.force), (&stop, &mut progress))?;
    digests.say(talk);
    let seconds = progress.end().as_secs_f64();
    let file = args.file.display().to_string();
    let state = State::of_assembled(&saved)?;
    Ok(Pulled { url: origin.url, file, seconds, state, note: None })
}

/// Reads a filter of mayhap's own layout into the file of a lock. Begins again where it is switched
/// to another one meanwhile.
fn read(
    connection: &Connection,
    filter: &NativeFilter,
    (lock, force): (&FilterLock, bool),
    (stop, progress): (&Stop, &mut Progress),
) -> Result<Assembled, Error> {
    for _ in 1..MOST_SWITCHES {
        let bits = Bits::of_server(connection, filter)?;
        match bits.save((lock, force), None, (stop, progress)) {
            Err(error) if is_switched(&error) => {}
            saved => return saved,
        }
    }
    let bits = Bits::of_server(connection, filter)?;
    bits.save((lock, force), None, (stop, progress))
}

/// Saves the file of another scheme.
fn save_other(
    args: &Args,
    copied: &Copied,
    stop: &Arc<Stop>,
    talk: Reporter,
) -> Result<Pulled, Error> {
    let started = Instant::now();
    let lock = Waiting::new("pull", args.lock, talk, Some(stop)).lock(&args.file)?;
    lock.save_bytes(&copied.bytes, args.force)?;
    if copied.bytes.starts_with(&MAGIC) {
        // Its pages have checksums.
        mayhap_store::verify(&args.file)?;
    }
    Ok(Pulled {
        url: copied.set.url().into(),
        file: args.file.display().to_string(),
        seconds: started.elapsed().as_secs_f64(),
        state: copied.set.state(),
        note: copied.unrecorded.map(|(format, shape)| {
            let (format, m, k) = (format.name(), shape.num_bits.unsigned_abs(), shape.num_hashes);
            format!("--format {format} --bits {m} --hashes {k}")
        }),
    })
}
