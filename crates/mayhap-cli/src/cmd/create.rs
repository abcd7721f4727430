//! `mayhap create`: an empty filter file.

#[cfg(feature = "redis")]
use crate::args::secret_key;
use crate::args::{
    DigestArgs, LineArgs, LockArgs, NEW_FORMAT, ReplicaArgs, ServerArgs, SizeArgs, SystemArgs,
};
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::Reporter;
use crate::set::create::{Create, NewSystemFile};
use crate::set::kept::Kept;
use crate::set::notes::say_options;
#[cfg(feature = "redis")]
use crate::set::remote;
#[cfg(feature = "redis")]
use crate::set::remote::{bits::Reading, place::Source};
use crate::set::session::Waiting;
use crate::set::summary::Summary;
#[cfg(feature = "redis")]
use mayhap_keys::KeyOptions;
use mayhap_lists::Stop;
use mayhap_sets::KeySet;
#[cfg(feature = "redis")]
use mayhap_sets::server::ServerUrl;
#[cfg(feature = "redis")]
use mayhap_sets::{Measurements, State};
use mayhap_units::span::parse_time;
#[cfg(feature = "redis")]
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// Create an empty filter, in a file or on a server
#[derive(Debug, clap::Args)]
#[command(mut_arg("format", |arg| arg.help(NEW_FORMAT)))]
pub struct Args {
    /// The filter file to write, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Replace it if it exists
    #[arg(long)]
    force: bool,
    /// As large as this filter, in a file or on a server, with its digests and key options: the two
    /// merge, and each moves to the other's place
    #[arg(long, value_name = "FILTER")]
    #[arg(conflicts_with_all = ["items", "fpp", "mem", "layout", "preset", "seed", "new_key_file"])]
    like: Option<PathBuf>,
    /// Keep the digests of all added keys beside the filter, for mayhap grow: 5 to 6 bytes each
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
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let options = args.lines.key_options();
    #[cfg(feature = "redis")]
    if let Some(model) = &args.like {
        return like(args, model, talk);
    }
    #[cfg(feature = "redis")]
    if mayhap_sets::is_url(&args.file) {
        let url = ServerUrl::of(&args.file)?;
        args.system.check_server()?;
        if args.keep_digests {
            return Err(Error::usage(
                "--keep-digests is for files",
                "omit it; a filter on a server can grow by itself: --layout scalable",
            ));
        }
        let connection = remote::Connection::open(url, &args.server, args.replicas, talk)?;
        let (size, digest) = (&args.size, &args.digest);
        let wanted = remote::create::Wanted {
            size,
            digest,
            options: &options,
            ttl: args.ttl,
            foreign: &args.system.foreign,
        };
        return remote::create::create(&connection, wanted, args.force, (talk, args.json));
    }
    let name = args.file.display().to_string();
    if args.ttl.is_some() {
        return Err(Error::usage(
            format!("--ttl is given, but {name} is a file, and files do not expire"),
            "to forget old keys, use --layout window:7d",
        ));
    }
    // Once it is being written it is written whole: no partial file is left.
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
        return Ok(());
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
    waiting.save_set(&args.file, (&mut set, &options), digests, args.force)?;
    report(args, &set, talk)
}

/// Reports the numbers of the new filter.
fn report(args: &Args, set: &dyn KeySet, talk: Reporter) -> Result<(), Error> {
    let name = args.file.display().to_string();
    Summary::unfilled(name, set.measurements()).print(talk, args.json)
}

/// Creates a filter like another one.
#[cfg(feature = "redis")]
fn like(args: &Args, model: &Path, talk: Reporter) -> Result<(), Error> {
    let stop = Stop::on_signals()?;
    let key = secret_key(args.digest.key_file.as_deref())?;
    let reading =
        Reading { key, server: &args.server, max_bytes: u64::MAX, without_log: false, talk };
    let model = Source::open(model, reading)?.model(key)?;
    if args.lines.key_options() != KeyOptions::default() || args.system.foreign.format.is_some() {
        return Err(Error::usage(
            "--like is given, and options for keys or of other systems",
            "omit them: the new filter has those of the other one",
        ));
    }
    if mayhap_sets::is_url(&args.file) {
        let url = ServerUrl::of(&args.file)?;
        let connection = remote::Connection::open(url, &args.server, args.replicas, talk)?;
        let wanted = (&model, key, args.ttl);
        return remote::create::create_like(connection, wanted, args.force, (talk, args.json));
    }
    let name = args.file.display().to_string();
    if args.ttl.is_some() || args.keep_digests {
        let problem = format!("--ttl or --keep-digests is given, and {name} is like another one");
        return Err(Error::usage(problem, "omit them"));
    }
    refuse_existing(&args.file, args.force)?;
    let (header, filter) = model.empty()?;
    let waiting = Waiting::new("create", args.lock, talk, Some(&stop));
    waiting.save(&args.file, &header, &[filter.blocks()], args.force)?;
    Summary::unfilled(name, Measurements::Own(State::of(&filter))).print(talk, args.json)
}
