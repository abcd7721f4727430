//! `mayhap ui`: the dashboard of a Redis or Valkey server.

use crate::args::{ReplicaArgs, ServerArgs, secret_key};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::set::remote::Connection;
use mayhap_dashboard::remote::{Dashboard, Options, Words};
use mayhap_formats::KeyType;
use mayhap_lists::Stop;
use mayhap_sets::server::{Known, ServerUrl, wait};
use mayhap_units::number::parse_whole;
use std::path::PathBuf;
use std::time::Duration;

/// Show the filters on a Redis or Valkey server in a browser
#[derive(Debug, clap::Args)]
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

/// The time within which a signal ends the page.
const TICK: Duration = Duration::from_millis(100);

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let stop = Stop::on_signals()?;
    let place = ServerUrl::of_server(&args.url)?;
    let connection = Connection::open(place, &args.server, ReplicaArgs::default(), talk)?;
    let secret_key = secret_key(args.key_file.as_deref())?;
    let known =
        Known { secret_key, key_of_several: true, key_type: args.key_type, ..Known::default() };
    let url = connection.origin.url.clone();
    let words = Words {
        may_not_add: "this page may only query: mayhap ui --allow-add lets it add keys",
        copy: "mayhap pull",
        create: ["mayhap create", "-n 1M -p 0.1%"],
    };
    let options = Options { port: args.http, may_add: args.allow_add, known, words, url };
    let bound = wait(Dashboard::bind(connection.origin.server.clone(), options))?;
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
    wait(dashboard.serve(ended))?.map_err(Error::io("serve", "the page"))
}
