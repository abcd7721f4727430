//! `mayhap move`: a filter to another place while it is in use.

use crate::args::{LockArgs, ReplicaArgs, WholeArgs};
use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped};
use crate::io::progress::Progress;
use crate::outcome::Outcome;
use crate::set::kept::ReplacedDigests;
use crate::set::remote::bits::{Bits, is_switched};
use crate::set::remote::bits::{MOST_SWITCHES, Reading};
use crate::set::remote::place::{Destination, Source};
use crate::set::remote::target::Target;
use crate::set::session::Waiting;
use mayhap_lists::Stop;
use mayhap_units::number::{format_bytes, parse_fpp};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Move a filter between files and servers while it is in use
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// Its new place: a file, or a URL
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// Delete what an unfinished move or push to this name left behind
    #[arg(long)]
    discard_unfinished: bool,
    /// Rate that a growing filter may have as a plain one [default: its own]
    #[arg(short = 'p', long, value_name = "RATE", value_parser = parse_fpp)]
    fpp: Option<f64>,
    #[command(flatten)]
    whole: WholeArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// How often the two are compared while keys keep arriving.
const MOST_PASSES: u64 = 5;

/// The filter moved, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Moved {
    from: String,
    to: String,
    num_bytes: u64,
    /// How often the bits were read.
    passes: u64,
    /// Whether the last time all of them were there already.
    complete: bool,
    seconds: f64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
    let moved = go(args, talk)?;
    talk.summary(args.whole.json, &moved, Moved::words)?;
    Ok(if moved.complete { Outcome::Done } else { Outcome::Off })
}

/// Refuses a new place where the filter is already: it would have all of its keys, and nothing
/// would be left if the old one were deleted then.
fn refuse_same(from: &Source, to: &Destination<'_>) -> Result<(), Error> {
    let (from_name, to_name) = (from.name(), to.name());
    let message = if from_name == to_name {
        format!("{to_name} is the place where the filter is")
    } else if from.is_also(to)? {
        format!("{from_name} and {to_name} are one filter: both addresses are of one server")
    } else {
        return Ok(());
    };
    let hint = "name its new place as TO, or another name on this server: mayhap rename";
    Err(Error::usage(message, hint))
}

fn go(args: &Args, talk: Reporter) -> Result<Moved, Error> {
    let started = Instant::now();
    let stop = Stop::on_signals()?;
    let reading = Reading {
        key: args.whole.secret_key()?,
        server: &args.whole.server,
        max_bytes: args.whole.max_bytes(),
        without_log: false,
        talk,
    };
    // Both places are looked at before anything is copied.
    let from = Source::open(&args.from, reading)?;
    let waiting = Waiting::new("move", args.lock, talk, Some(&stop));
    let mut to = Destination::open(&args.to, (reading, args.replicas), &waiting)?;
    refuse_same(&from, &to)?;
    if args.discard_unfinished {
        to.discard()?;
    }
    let (mut passes, mut switches, mut complete, mut num_bytes) = (0, 0, false, 0);
    while !complete && passes < MOST_PASSES {
        let bits = from.bits(reading, args.fpp)?;
        num_bytes = bits.params().num_bytes();
        let mut progress = Progress::new(talk, Some(num_bytes));
        match pass(&mut to, (&bits, &from), (&stop, &mut progress)) {
            Err(error) if is_switched(&error) && switches < MOST_SWITCHES => switches += 1,
            lacked => {
                complete = !lacked?;
                passes += 1;
            }
        }
        progress.end();
    }
    let (from, to, seconds) = (from.name(), to.name(), started.elapsed().as_secs_f64());
    Ok(Moved { from, to, num_bytes, passes, complete, seconds })
}

/// Adds what is lacking at the new place; returns whether anything was.
fn pass(
    to: &mut Destination<'_>,
    (bits, from): (&Bits<'_>, &Source),
    run: (&Stop, &mut Progress),
) -> Result<bool, Error> {
    match to {
        Destination::File(path, lock, reading) => {
            if !path.exists() {
                bits.save((lock, false), None, run)?;
                return Ok(true);
            }
            let there = Bits::of_file(path, *reading)?;
            bits.check_like(&there)?;
            if there.has_all_of(bits, run.0)? {
                return Ok(false);
            }
            let digests = ReplacedDigests::of(path);
            there.save((lock, true), Some(bits), run)?;
            digests.say(reading.talk);
            Ok(true)
        }
        Destination::Server(Target::Served(place)) => place.pass(bits, from.ttl()?, run),
        Destination::Server(Target::Native(connection, Some(filter))) => {
            Ok(bits.merge_into((connection, filter), true, run)? > 0)
        }
        Destination::Server(Target::Native(connection, there)) => {
            connection.warn_of_eviction(from.ttl()?)?;
            let mut options = bits.model().native_options();
            options.ttl = from.ttl()?;
            *there = Some(bits.upload(connection, &options, run)?);
            Ok(true)
        }
    }
}

impl Moved {
    fn words(&self) -> (String, String) {
        let Self { from, to, seconds, .. } = self;
        let (bytes, passes) = (format_bytes(self.num_bytes), counted(self.passes, "pass"));
        let passes = passes.replace("passs", "passes");
        let line = format!("{to}: has all of {from} ({bytes}, {passes}, {seconds:.2} s)");
        if self.complete {
            let next = "keys that come later: let all clients use the new place, and run it again";
            return (line, next.into());
        }
        let line = format!("{to}: {from} kept changing during {} passes", grouped(self.passes));
        (line, "let all clients use the new place, and run it again".into())
    }
}
