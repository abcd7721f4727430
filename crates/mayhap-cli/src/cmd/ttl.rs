//! `mayhap ttl`: when a filter on a server expires.

use crate::args::OpenArgs;
use crate::error::Error;
use crate::io::messages::{Talk, print_stdout};
use crate::outcome::Outcome;
use crate::set::remote::{self, Access};
use mayhap_units::span::{format_millis, parse_time};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mayhap ttl redis://127.0.0.1:6379/0/seen          # when does it expire?
  mayhap ttl redis://127.0.0.1:6379/0/seen 7d       # a week from now
  mayhap ttl --never redis://127.0.0.1:6379/0/seen";

const NOTES: &str = "\
All keys of a filter expire together, whatever its system: the config and the bits of Redisson, \
each bitmap of Java-BloomFilter. A file does not expire; to forget old keys, create a window: \
mayhap create FILE --layout window:7d.";

/// Show or set when a filter on a server expires
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter: redis://host:port/database/name
    #[arg(value_name = "URL")]
    url: PathBuf,
    /// Expire after this time: 7d, 12h
    #[arg(value_name = "TIME", value_parser = parse_time)]
    time: Option<Duration>,
    /// Never expire
    #[arg(long, conflicts_with = "time")]
    never: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
}

/// When it expires, as `--json` prints it; `null`: never.
#[derive(Debug, Serialize)]
struct Expires {
    file: String,
    ttl_ms: Option<u64>,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    if !crate::args::url::is_url(&args.url) {
        return Err(Error::usage(
            format!("{} is a file, and files do not expire", args.url.display()),
            "to forget old keys, use mayhap create FILE --layout window:7d",
        ));
    }
    let (mut set, _) = remote::open_server_set(&args.url, Access::of(&args.open)?, talk)?;
    if args.never || args.time.is_some() {
        set.expire(args.time)?;
        set.refresh()?;
    }
    let (file, ttl_ms) = (set.url().to_owned(), set.seen().ttl_ms);
    if args.json {
        Talk::json(&Expires { file, ttl_ms }, true)?;
    } else {
        let expires = ttl_ms.map_or("never".into(), |ttl| format!("in {}", format_millis(ttl)));
        print_stdout(&format!("{expires}\n"))?;
    }
    Ok(Outcome::Done)
}
