//! `mayhap rename`: another name for a filter on a server.

use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::set::remote::Connection;
use mayhap_redis::rename;
use mayhap_sets::server::ServerUrl;
use mayhap_sets::{is_url, redacted};
use serde::Serialize;
use std::path::PathBuf;

/// Give a filter on a server another name
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The filter: redis://host:port/database/name
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// Its new name, or the URL with it
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
}

/// The filter renamed, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Renamed {
    from: String,
    to: String,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    if !is_url(&args.from) {
        return Err(Error::usage(
            format!("{} is a file", args.from.display()),
            "while nothing uses it: mv FROM TO, and likewise FROM.log and FROM.digests if they are \
             there; a filter on a server: mayhap rename redis://127.0.0.1:6379/0/old new",
        ));
    }
    let from = ServerUrl::of(&args.from)?;
    let Some(to) = from.beside(&args.to)? else {
        return Err(Error::usage(
            format!("{} is on another server", redacted(&args.to.to_string_lossy())),
            "to another server: mayhap move FROM TO; on this one the new name is enough",
        ));
    };
    let connection = Connection::open(from, &args.server, args.replicas, talk)?;
    let origin = &connection.origin;
    connection.wait(rename(&origin.server, &origin.name, &to.name))?;
    let renamed = Renamed { from: origin.url.clone(), to: to.url };
    talk.summary(args.json, &renamed, |Renamed { from, to }| {
        (format!("{to}: renamed from {from}"), String::new())
    })
}
