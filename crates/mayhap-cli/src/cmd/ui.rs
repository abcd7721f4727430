//! `mayhap ui`: the dashboard of a Redis or Valkey server.

use crate::args::{ReplicaArgs, ServerArgs, secret_key};
use crate::error::Error;
use crate::io::messages::Talk;
use crate::outcome::Outcome;
use crate::set::remote::{Connection, Place};
use mayhap_dashboard::remote::{Dashboard, Options};
use mayhap_formats::KeyType;
use mayhap_lists::Stop;
use mayhap_remote::{Known, wait};
use mayhap_units::number::parse_whole;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mayhap ui redis://127.0.0.1:6379             # open http://127.0.0.1:8081/ui in a browser
  mayhap ui --http 9000 redis+cluster://10.0.0.1:7000,10.0.0.2:7000
  mayhap ui --allow-add redis://127.0.0.1:6379/2";

const NOTES: &str = "\
Shows the filters on a Redis or Valkey server: those behind BF.* (RedisBloom, valkey-bloom), those \
of mayhap and those of Redisson, with their keys, current and promised rate, memory and expiry. \
The server needs no module and no change. Filters are found by SCAN, every ten seconds or less \
often; the page asks only for those on the screen, and counts 16 KiB of their bits. Filters whose \
name is not UTF-8 and bitmaps that record no parameters (Java-BloomFilter) are not found.

The page listens on 127.0.0.1 alone and has no password: other users of this machine can read it. \
From elsewhere: ssh -L 8081:127.0.0.1:8081 HOST. The password of the server is taken from the URL \
or from REDISCLI_AUTH. The dashboard of mayhap serve is its own: mayhap serve --http 8080.";

/// Show the filters on a Redis or Valkey server in a browser
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The server: redis://host:port/database
    #[arg(value_name = "URL")]
    url: PathBuf,
    /// Port of the page on 127.0.0.1; 0 for any
    #[arg(long, value_name = "PORT", value_parser = parse_whole::<u16>, default_value = "8081")]
    http: u16,
    /// Let the page add keys, not only query them
    #[arg(long)]
    allow_add: bool,
    /// The secret key of filters that have one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// How Redisson encodes keys: bytes, kryo ... [default: its usual encoding]
    #[arg(long, value_name = "TYPE", value_parser = crate::args::key_types())]
    #[arg(hide_possible_values = true)]
    key_type: Option<KeyType>,
    #[command(flatten)]
    server: ServerArgs,
}

/// How soon a signal ends the page.
const TICK: Duration = Duration::from_millis(100);

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let stop = Stop::on_signals()?;
    let place = Place::without_filter(&args.url)?;
    let connection = Connection::open(place, &args.server, ReplicaArgs::default(), talk)?;
    let secret_key = secret_key(args.key_file.as_deref())?;
    let known =
        Known { secret_key, key_of_several: true, key_type: args.key_type, ..Known::default() };
    let url = connection.place.name.clone();
    let options = Options { port: args.http, may_add: args.allow_add, known, url };
    let bound = wait(Dashboard::bind(connection.server.clone(), options))?;
    let dashboard = bound.map_err(|error| {
        let problem = format!("cannot listen on 127.0.0.1:{}: {error}", args.http);
        Error::usage(problem, "choose another port: --http PORT, or --http 0 for any")
    })?;
    talk.say(&format!("HTTP: http://{}/ui", dashboard.address()));
    let ended = async {
        while stop.signal().is_none() {
            tokio::time::sleep(TICK).await;
        }
    };
    wait(dashboard.serve(ended))?.map_err(Error::io("serve", "the page"))?;
    Ok(Outcome::Done)
}
