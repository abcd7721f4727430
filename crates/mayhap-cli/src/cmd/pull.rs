//! `mayhap pull`: a filter on a Redis or Valkey server to a file.

use crate::args::{ForeignArgs, LockArgs, ReplicaArgs, WholeArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use crate::io::progress::Progress;
use crate::outcome::Outcome;
use crate::set::remote::union::Whole;
use crate::set::remote::{Connection, Place};
use crate::set::session::Waiting;
use mayhap::native::{Header, MAGIC};
use mayhap_keys::KeyOptions;
use mayhap_lists::Stop;
use mayhap_redis::RemoteFilter;
use mayhap_remote::{Copied, copy, find_other};
use mayhap_sets::State;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  mayhap pull redis://127.0.0.1:6379/0/seen seen.mayhap
  mayhap pull --force redis://127.0.0.1:6379/0/seen backup.mayhap";

const NOTES: &str = "\
The file holds the bits as they are on the server, with everything known about the filter there. \
The number of insertions is unknown: the file has an estimate from the bits. Others may insert \
meanwhile: every key that was acknowledged before is in the file, and any later one may be. The \
file appears whole or not at all.

A filter of mayhap serve is written as a file of mayhap, of its kind, which mayhap push sends to \
another server or, if it is a plain one (made with --layout blocked or standard), to any Redis. A \
filter of RedisBloom is written as the replies to BF.SCANDUMP (redisbloom), one of Redisson or of \
Java-BloomFilter as its bitmap, which does not record m and k: they are printed. One of \
valkey-bloom cannot be copied: its server has no command for that.

A URL is redis://host:port/database/name; see mayhap push --help.";

/// Copy a filter from a Redis or Valkey server to a file
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
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
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let pulled = pull(args, talk)?;
    if args.whole.json {
        Talk::json(&pulled, true)?;
    } else {
        pulled.say(talk);
    }
    Ok(Outcome::Done)
}

/// What was read, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Pulled {
    url: String,
    file: String,
    seconds: f64,
    #[serde(flatten)]
    state: State,
    /// What has to be said to open a file that does not record it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Reads the filter and saves it.
///
/// # Errors
///
/// Those of [`Place::of`], [`Connection::open`], [`Whole::download`] and of the file.
fn pull(args: &Args, talk: Talk) -> Result<Pulled, Error> {
    let place = Place::of(&args.url)?;
    crate::files::refuse_existing(&args.file, args.force)?;
    let stop = Stop::on_signals()?;
    let connection = Connection::open(place, &args.whole.server, ReplicaArgs::default(), talk)?;
    let key = args.whole.secret_key()?;
    let (origin, known) = (connection.origin(), args.foreign.known_of_server(key));
    if let Some(found) = find_other(&origin, &known)? {
        let copied = copy(&origin, found, &known, args.whole.max_bytes())?;
        return save_other(args, &copied, &stop, talk);
    }
    let filter = connection.attach(key)?;
    let bytes = connection.wait(filter.info())?.num_bytes;
    let mut progress = Progress::new(talk, Some(bytes));
    let whole =
        Whole::download(&connection, &filter, args.whole.max_bytes(), (&stop, &mut progress))?;
    let options = KeyOptions::from_header(&whole.name, &whole.key_options)?;
    let header = Header::of(&whole.filter, &options.to_header());
    let waiting = Waiting::new("pull", args.lock, talk, Some(&stop));
    waiting.save(&args.file, &header, &[whole.filter.blocks()], args.force)?;
    let seconds = progress.elapsed().as_secs_f64();
    progress.clear();
    let file = args.file.display().to_string();
    Ok(Pulled { url: whole.name, file, seconds, state: State::of(&whole.filter), note: None })
}

/// Saves the file of another scheme.
fn save_other(args: &Args, copied: &Copied, stop: &Arc<Stop>, talk: Talk) -> Result<Pulled, Error> {
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
        note: copied.note.clone(),
    })
}

impl Pulled {
    /// In words.
    fn say(&self, talk: Talk) {
        let line = format!("{}: read from {} ({:.2} s)", self.file, self.url, self.seconds);
        talk.report(&line, &self.state.text());
        if let Some(note) = &self.note {
            talk.say(&format!("{}: does not store its parameters; use it with {note}", self.file));
        }
    }
}
