//! `mayhap create`: an empty filter file.

use crate::args::{
    DigestArgs, LineArgs, LockArgs, NEW_FORMAT, ReplicaArgs, ServerArgs, SizeArgs, SystemArgs,
};
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::Talk;
use crate::outcome::Outcome;
use crate::set::create::{Create, NewSystemFile};
use crate::set::fill::Counts;
use crate::set::foreign::say_options;
use crate::set::kept::Kept;
#[cfg(feature = "redis")]
use crate::set::remote;
use crate::set::session::Waiting;
use crate::set::summary::Summary;
use mayhap_lists::Stop;
use mayhap_sets::KeySet;
use mayhap_units::span::parse_time;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mayhap create seen.mayhap -n 100M -p 0.1%
  mayhap create seen.mayhap --mem 1GiB -p 1e-4
  mayhap create seen.mayhap -n 100M --preset 8            # 8 bits per key: 2.5 %
  mayhap create day.mayhap --layout window:24h -n 5M      # forgets older keys
  mayhap create last.mayhap --layout window:1M            # the last million keys
  mayhap create all.mayhap --layout scalable              # grows with its keys
  mayhap create on.mayhap --layout counting -n 1M         # keys can be removed
  mayhap create redis://127.0.0.1:6379/0/seen -n 10M --ttl 7d    # on a server, for a week
  mayhap create users.mayhap -n 1M --new-key-file users.key   # keys from strangers
  mayhap create ids.guava --format guava -n 1M -p 1%      # for a program with Guava";

const NOTES: &str = "\
On a server (see mayhap push --help) the default layout is blocked. If a filter of that name \
exists with the same parameters, nothing is changed and the command says so, so many programs can \
start with it; one with other parameters is an error. --force replaces it with an empty one, in \
one step.

With --format the file is one of another system, of the size that this system computes from -n \
and -p (or of --bits and --hashes, for bits-and-blooms, magnuss and magnuss-redis): it opens the \
file, and so do the other commands. --seed N makes a Spark filter of version 2. Where a file does \
not record its size, the command prints the options that it needs.";

/// Create an empty filter, in a file or on a server
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
#[command(mut_arg("format", |arg| arg.help(NEW_FORMAT)))]
pub struct Args {
    /// The filter file to write, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Replace it if it exists
    #[arg(long)]
    force: bool,
    /// Keep the digests of all keys that are added, in a file beside the filter, for mayhap grow: 5
    /// to 6 bytes per key
    #[arg(long)]
    keep_digests: bool,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    /// On a server: expire after this time, such as 7d or 12h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    ttl: Option<Duration>,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
    #[command(flatten)]
    system: SystemArgs,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    digest: DigestArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let options = args.lines.key_options();
    #[cfg(feature = "redis")]
    if crate::args::url::is_url(&args.file) {
        let place = remote::Place::of(&args.file)?;
        args.system.check_server()?;
        if args.keep_digests {
            return Err(Error::usage(
                "--keep-digests is for files",
                "omit it; a filter on a server can grow by itself: --layout scalable",
            ));
        }
        let connection = remote::Connection::open(place, &args.server, args.replicas, talk)?;
        let (size, digest) = (&args.size, &args.digest);
        let wanted = remote::create::Wanted {
            size,
            digest,
            options: &options,
            ttl: args.ttl,
            foreign: &args.system.foreign,
        };
        remote::create::create(&connection, wanted, args.force, (talk, args.json))?;
        return Ok(Outcome::Done);
    }
    let name = args.file.display().to_string();
    if args.ttl.is_some() {
        return Err(Error::usage(
            format!("--ttl is given, but {name} is a file, and files do not expire"),
            "to forget old keys, use --layout window:7d",
        ));
    }
    // Once it is being written it is written whole: no half of it is left beside its name.
    let stop = Stop::on_signals()?;
    let waiting = Waiting::new("create", args.lock, talk, Some(&stop));
    let system = NewSystemFile::of(&args.file, &args.system, (&args.size, &args.digest))?;
    let keep = || Kept::for_new(&args.size, system.is_some());
    let kept = args.keep_digests.then(keep).transpose()?;
    if let Some(new) = system {
        refuse_existing(&args.file, args.force)?;
        let (mut set, notes) = new.build(args.size.items, &args.digest, false)?;
        say_options(&name, new.format(), &options, talk);
        waiting.save_set(&args.file, (&mut set, ""), None, args.force)?;
        report(args, &set, talk)?;
        talk.say_all(&notes);
        return Ok(Outcome::Done);
    }
    let create = Create::of(&args.size, args.size.items)?;
    if create.is_none() && !args.size.is_fixed() {
        return Err(Error::usage(
            "the capacity is missing: neither -n nor --mem is given",
            format!("for example: mayhap create {name} -n 10M -p 0.1%"),
        ));
    }
    refuse_existing(&args.file, args.force)?;
    let mut set = Create::build_any(&args.size, args.size.items, &args.digest)?;
    let options = set.key_options(options).to_header();
    let digests = kept.map(Kept::into_digests);
    waiting.save_set(&args.file, (&mut *set, &options), digests, args.force)?;
    report(args, &*set, talk)?;
    Ok(Outcome::Done)
}

/// Reports what the new filter is.
fn report(args: &Args, set: &dyn KeySet, talk: Talk) -> Result<(), Error> {
    let name = args.file.display().to_string();
    Summary::new(name, Counts::default(), Duration::ZERO, true, set.numbers())
        .print(talk, args.json)
}
