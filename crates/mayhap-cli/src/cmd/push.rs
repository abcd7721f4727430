//! `mayhap push`: a filter file to a Redis or Valkey server.

use super::Outcome;
use crate::error::Error;
use crate::number::parse_bytes;
use crate::remote::{self, ReplicaArgs, WholeArgs, parse_time};
use crate::talk::Talk;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mayhap push seen.mayhap redis://127.0.0.1:6379/0/seen
  mayhap push --force --ttl 7d today.mayhap redis://127.0.0.1:6379/0/seen   # in its place
  mayhap push --merge more.mayhap redis://127.0.0.1:6379/0/seen     # its keys into the one there";

const NOTES: &str = "\
A URL is redis://host:port/database/name, rediss:// with TLS, \
redis+cluster://host:port,host:port/name of a cluster. The password is better in the environment (REDISCLI_AUTH) than in the URL, where \
others of the machine see it.

The bits of the file are written to the server as they are, in values of at most 4 MiB, over all \
masters of a cluster; how its keys are cut goes with them. Nobody sees the new filter before it is \
whole: readers and writers see the old one or the new one. What is being sent expires by itself \
if this command is killed; until then another push of that name is refused, unless \
--discard-unfinished deletes it. With --merge shards are merged one after another, and the filter \
there, its time to live included, stays; it has to be of the same size and digest. If it would hold \
more keys than it was made for, nothing is sent (exit code 2), unless --overfill is given; the bits \
there are read to know, if the keys of both do not fit into it together.

The file is read into memory, with its log. 8 MiB of it have to arrive within a third of \
--timeout. Filters of the layout standard have to fit in one \
value: --shard-size allows up to 512MiB, but a command on a huge value keeps all others waiting. \
Windows, counting, scalable and fuse filters, matrices, and filters of other systems stay files.";

/// Send a filter file to a Redis or Valkey server
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// The filter file
    #[arg(value_name = "FILTER")]
    pub(crate) file: PathBuf,
    /// Where it goes: redis://host:port/database/name
    #[arg(value_name = "URL")]
    pub(crate) url: PathBuf,
    /// Put it in the place of the filter there
    #[arg(long)]
    pub(crate) force: bool,
    /// Add its keys to the filter there
    #[arg(long, conflicts_with_all = ["force", "ttl", "shard_size"])]
    pub(crate) merge: bool,
    /// Add them even if it holds more keys than it was made for then
    #[arg(long, requires = "merge")]
    pub(crate) overfill: bool,
    /// Let it expire: 7d, 12h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) ttl: Option<Duration>,
    /// The largest value on the server [default: 4MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) shard_size: Option<u64>,
    /// Delete what another push of this name has begun and not ended
    #[arg(long)]
    pub(crate) discard_unfinished: bool,
    #[command(flatten)]
    pub(crate) whole: WholeArgs,
    #[command(flatten)]
    pub(crate) replicas: ReplicaArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let pushed = remote::push::run(args, talk)?;
    if args.whole.json {
        Talk::json(&pushed, true)?;
    } else {
        pushed.say(talk);
    }
    Ok(Outcome::Done)
}
