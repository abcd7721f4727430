//! `mayhap pull`: a filter on a server to a file.

use super::union::Whole;
use super::{Connection, Place, ReplicaArgs};
use crate::cmd::{self, pull::Args};
use crate::error::Error;
use crate::fill::State;
use crate::keys::KeyOptions;
use crate::progress::Progress;
use crate::session::Waiting;
use crate::signals::Stop;
use crate::talk::Talk;
use mayhap::native::Header;
use mayhap_redis::RemoteFilter;
use serde::Serialize;

/// What was read, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Pulled {
    url: String,
    file: String,
    seconds: f64,
    #[serde(flatten)]
    state: State,
}

/// Reads the filter and saves it.
///
/// # Errors
///
/// Those of [`Place::of`], [`Connection::open`], [`Whole::download`] and of the file.
pub fn run(args: &Args, talk: Talk) -> Result<Pulled, Error> {
    let place = Place::of(&args.url)?;
    cmd::refuse_existing(&args.file, args.force)?;
    let stop = Stop::on_signals()?;
    let connection = Connection::open(place, &args.whole.server, ReplicaArgs::default(), talk)?;
    let filter = connection.attach(args.whole.secret_key()?)?;
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
    Ok(Pulled { url: whole.name, file, seconds, state: State::of(&whole.filter) })
}

impl Pulled {
    /// Tells it in words.
    pub fn say(&self, talk: Talk) {
        let line = format!("{}: read from {} ({:.2} s)", self.file, self.url, self.seconds);
        talk.report(&line, &self.state.text());
    }
}
