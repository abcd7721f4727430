//! `mayhap orphans`: values on a server that belong to no filter.

use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::{Reporter, print_stdout};
use crate::outcome::Outcome;
use crate::set::remote::Connection;
use mayhap_lists::Stop;
use mayhap_redis::{Found, Orphan, find};
use mayhap_sets::server::{ServerUrl, wait};
use mayhap_units::line::printable;
use mayhap_units::number::counted;
use mayhap_units::span::parse_time;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Find values on a server that belong to no filter, and delete them
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The server: redis://host:port/database
    #[arg(value_name = "URL")]
    url: PathBuf,
    /// Delete them
    #[arg(long)]
    delete: bool,
    /// Look again after this time before anything is deleted [default: 20s in a cluster, else 0s]
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "delete")]
    after: Option<Duration>,
    /// Print a JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
}

/// A name that no filter has.
const NO_FILTER: &str = "mayhap:orphans:none";
/// Generations that are looked at in one run.
const MOST: usize = 10_000;
/// A master that is cut off from its cluster may answer for 15 s (`cluster-node-timeout`).
const CUT_OFF: Duration = Duration::from_secs(20);
/// The time within which a signal ends the wait.
const TICK: Duration = Duration::from_millis(100);

/// The values of a filter that is not there, as `--json` prints them.
#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    values: usize,
    /// How many of them were deleted.
    deleted: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
    let stop = Stop::on_signals()?;
    let place = ServerUrl::of_server(&args.url)?;
    let usual = if place.is_cluster() { CUT_OFF } else { Duration::ZERO };
    let connection = Connection::open(place, &args.server, args.replicas, talk)?;
    let server = &connection.origin.server;
    refuse_serve(&connection)?;
    let orphans = connection.wait(server.orphans(MOST))?;
    if args.delete && !orphans.is_empty() {
        let until = Instant::now() + args.after.unwrap_or(usual);
        while Instant::now() < until {
            stop.check()?;
            std::thread::sleep(TICK.min(until.saturating_duration_since(Instant::now())));
        }
    }
    let mut values = 0;
    for orphan in &orphans {
        stop.check()?;
        // It looks again whether they belong to a filter.
        let deleted = if args.delete { connection.wait(server.delete_orphan(orphan))? } else { 0 };
        values += orphan.keys().len() as u64;
        print(orphan, deleted, args)?;
    }
    if orphans.is_empty() {
        talk.say("no values without a filter");
    } else if !args.delete {
        let values = counted(values, "value");
        talk.say(&format!("{values} that belong to no filter: --delete deletes them"));
    }
    Ok(Outcome::found(!orphans.is_empty()))
}

/// Refuses `mayhap serve`, which shows filters and no values: also one in front of a store.
fn refuse_serve(connection: &Connection) -> Result<(), Error> {
    let found = wait(find(&connection.origin.server, NO_FILTER, None))?;
    // Errors are reported by the search itself.
    if !matches!(found, Ok(Found::Nothing { filters_only: true })) {
        return Ok(());
    }
    Err(Error::usage(
        format!("{} is mayhap serve, which shows no values of a store", connection.origin.url),
        "name the Redis or Valkey server or cluster itself, the one of --store",
    ))
}

fn print(orphan: &Orphan, deleted: u64, args: &Args) -> Result<(), Error> {
    let row = Row { name: orphan.name(), values: orphan.keys().len(), deleted };
    if args.json {
        return Reporter::json(&row, true);
    }
    let values = counted(row.values as u64, "value");
    let done = if args.delete { format!(", {deleted} deleted") } else { String::new() };
    print_stdout(&format!("{}\t{values}{done}\n", printable(row.name)))
}
