//! `mayhap ttl`: when a filter on a server expires.

use crate::args::OpenArgs;
use crate::error::Error;
use crate::io::messages::{Reporter, print_findings};
use crate::set::open;
use mayhap_units::span::{format_millis, parse_time};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Show or set when a filter on a server expires
#[derive(Debug, clap::Args)]
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

/// The time of expiry, as `--json` prints it; `null`: never.
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
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let Some((mut set, _)) = open::on_server(&args.url, &args.open.how()?, talk)? else {
        return Err(Error::usage(
            format!("{} is a file, and files do not expire", args.url.display()),
            "to forget old keys, use mayhap create FILE --layout window:7d",
        ));
    };
    if args.never || args.time.is_some() {
        set.expire(args.time)?;
        set.refresh()?;
    }
    let (file, ttl_ms) = (set.url().to_owned(), set.seen().ttl_ms);
    print_findings(args.json, &Expires { file, ttl_ms }, |_| {
        ttl_ms.map_or("never\n".into(), |ttl| format!("in {}\n", format_millis(ttl)))
    })
}
