//! `mayhap list`: the filters on a server.

use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::{Reporter, print_stdout};
use crate::outcome::Outcome;
use crate::set::remote::Connection;
use mayhap_redis::FilterScheme;
use mayhap_sets::server::ServerUrl;
use mayhap_units::line::printable;
use mayhap_units::number::{counted, parse_whole};
use serde::Serialize;
use std::path::PathBuf;

/// List the filters on a Redis or Valkey server
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The server: redis://host:port/database
    #[arg(value_name = "URL")]
    url: PathBuf,
    /// Print at most this many
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<u64>, default_value = "100000")]
    max: u64,
    /// Print a JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// A filter, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    scheme: &'static str,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
    let place = ServerUrl::of_server(&args.url)?;
    let connection = Connection::open(place, &args.server, ReplicaArgs::default(), talk)?;
    let max = usize::try_from(args.max).unwrap_or(usize::MAX);
    let listed = connection.wait(connection.origin.server.filters(max))?;
    let mut text = String::new();
    for filter in &listed.filters {
        let scheme = match filter.scheme {
            FilterScheme::Native => "mayhap",
            FilterScheme::Bf => "bf",
            FilterScheme::Redisson => "redisson",
            _ => "other",
        };
        let row = Row { name: &filter.name, scheme };
        let line = if args.json {
            serde_json::to_string(&row).unwrap_or_default()
        } else {
            [&*printable(&filter.name), scheme].join("\t")
        };
        text += &line;
        text.push('\n');
    }
    print_stdout(&text)?;
    if listed.is_cut {
        talk.warn(&format!("there are more than {}: raise --max", counted(args.max, "filter")));
    }
    if listed.unnamed > 0 {
        let names = counted(listed.unnamed, "filter");
        talk.warn(&format!("{names} with a name that is not UTF-8 left out"));
    }
    Ok(Outcome::found(!listed.filters.is_empty()))
}
