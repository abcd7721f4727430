//! `mayhap push`: a filter file to a server.

use super::union::{Reading, Whole};
use super::{Connection, OnServer, Place, RemoteFile};
use crate::cmd::push::Args;
use crate::error::Error;
use crate::fill::State;
use crate::progress::Progress;
use crate::signals::Stop;
use crate::talk::{Talk, grouped};
use mayhap_redis::NativeFilter;
use serde::Serialize;

/// What was sent, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Pushed {
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
pub fn run(args: &Args, talk: Talk) -> Result<Pushed, Error> {
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
    let mut progress = Progress::new(talk, None);
    let whole = Whole::read(&args.file, reading, (&stop, &mut progress))?;
    let connection = Connection::open(place, &args.whole.server, args.replicas, talk)?;
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
    let (file, _) = RemoteFile::of(&connection, filter)?;
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

fn refuse_existing(connection: &Connection) -> Error {
    Error::usage(
        format!("{} exists already", connection.place.name),
        "put this one in its place with --force, or add its keys with --merge",
    )
}

impl Pushed {
    /// Tells it in words.
    pub fn say(&self, talk: Talk) {
        let done = if self.merged { "added to" } else { "sent to" };
        let expires =
            self.ttl_ms.map(|ttl| format!(", expires in {}", crate::span::format_millis(ttl)));
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
