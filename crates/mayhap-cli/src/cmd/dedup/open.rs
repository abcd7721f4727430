//! The set that a run remembers lines in: from arguments, or from a state file.

use super::Args;
#[cfg(feature = "redis")]
use crate::args::ForeignArgs;
use crate::args::{DEFAULT_FPP, Existing, SizeArgs, conflict, secret_key};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::memory;
use crate::set::create::{Chain, Create, FIRST_ITEMS};
use crate::set::fill::Inserter;
#[cfg(feature = "redis")]
use crate::set::remote;
use crate::set::session::{Recording, Waiting, Writer};
use crate::set::spilling::Spilling;
use mayhap::native::{Header, Kind};
use mayhap_keys::KeyOptions;
use mayhap_lists::{Source, Stop};
use mayhap_sets::{KeySet, LayoutName, OwnSet};
use mayhap_units::number::{counted_short, format_bytes};
use std::path::Path;
use std::sync::Arc;

/// The set to remember lines in, and how keys are cut.
pub(super) fn open(
    args: &Args,
    sources: &[Source],
    stop: &Arc<Stop>,
    talk: Reporter,
) -> Result<(Inserter, KeyOptions), Error> {
    let size = args.size();
    check_clearing(args, &size)?;
    check_refresh(args, &size)?;
    #[cfg(feature = "redis")]
    if let Some(url) = args.state.as_ref().filter(|path| mayhap_sets::is_url(path)) {
        let given = args.lines.key_options();
        let (size, digest, foreign) = (&size, &args.digest, &ForeignArgs::default());
        let server = (&args.server, args.replicas);
        let wanted = remote::create::Wanted { size, digest, options: &given, ttl: None, foreign };
        let (set, options) = remote::create::find_or_create(url, wanted, server, talk)?;
        let inserter = Inserter::new(set, args.overfill).also_with_cr(&options);
        return Ok((inserter, options));
    }
    if let Some(path) = &args.state {
        let waiting = Waiting::new("dedup", args.lock, talk, Some(stop));
        let new = if path.exists() {
            None
        } else {
            mayhap_lists::look(sources, &args.lines.key_options(), &args.lines.reading())?;
            Some(new_state(args, &size, path, &waiting))
        };
        let (set, writer, options) = match new {
            // A filter that another run has created meanwhile is used.
            None | Some(Err(Error::Store(mayhap_store::Error::Exists { .. }))) => {
                open_state(args, &size, path, (&waiting, talk))?
            }
            Some(new) => new?,
        };
        let inserter =
            Inserter::new(Box::new(set), args.overfill).absent_only().with_writer(writer);
        let inserter = inserter.also_with_cr(&options);
        return Ok((inserter, options));
    }
    let options = args.lines.key_options();
    let set = match Create::of(&size, size.items)? {
        // A chain in memory is held to the limit from its first layer on.
        None | Some(Create::Scalable(_)) if !size.is_fixed() => {
            in_memory(args, &size, sources, stop, talk)?
        }
        _ => Box::new(Create::build_any(&size, size.items, &args.digest)?),
    };
    let counted = !size.is_fixed();
    Ok((Inserter::new(set, args.overfill).absent_only().without_warning(counted), options))
}

/// A set for an unspecified number of lines: for as many as the input has or, where they cannot be
/// counted or are too many, one that grows.
fn in_memory(
    args: &Args,
    size: &SizeArgs,
    sources: &[Source],
    stop: &Stop,
    talk: Reporter,
) -> Result<Box<dyn KeySet>, Error> {
    let options = args.lines.key_options();
    let grows = size.layout == Some(LayoutName::Scalable);
    let mut lines = Some(0u64).filter(|_| !grows);
    for source in sources {
        // Counting stops at the first source that cannot be counted.
        let Some(before) = lines else { break };
        let how = (options.separator(), args.lines.raw);
        lines = source.count_lines(how, Some(stop))?.map(|count| before + count);
    }
    if let Some(lines) = lines {
        match size.build(Some(lines.max(1)), &args.digest) {
            // Repeats may make it fit.
            Err(Error::TooMuchMemory { .. }) => {}
            Err(error) => return Err(error),
            Ok(filter) => {
                let (lines, bytes) = (counted_short(lines, "line"), filter.params().num_bytes());
                let bytes = format_bytes(bytes);
                talk.say(&format!("sized for {lines}, the number in the input: {bytes}"));
                // The files may have grown when they are read.
                let spills = size.layout.is_none_or(|layout| layout == LayoutName::Blocked);
                if spills && !args.overfill {
                    return Ok(Spilling::boxed(filter, size.max_bytes()));
                }
                return Ok(Box::new(OwnSet::from(filter)));
            }
        }
    }
    if !matches!(size.layout, None | Some(LayoutName::Blocked | LayoutName::Scalable)) {
        return Err(Error::usage(
            "a growing filter always has the layout blocked",
            "give -n or --mem for another layout",
        ));
    }
    size.refuse_preset("growing")?;
    let fpp = size.fpp.unwrap_or(DEFAULT_FPP);
    let chain = Chain::plan(fpp, args.digest.function()?, size.max_bytes())?;
    Ok(Box::new(chain.create()?))
}

/// Refuses `--no-refresh` for anything but a window, before its file is created.
fn check_refresh(args: &Args, size: &SizeArgs) -> Result<(), Error> {
    let is_there = args.state.as_ref().is_some_and(|path| path.exists());
    let is_window = |layout: LayoutName| layout.name() == "window";
    if !args.no_refresh || is_there || size.layout.is_some_and(is_window) {
        return Ok(());
    }
    Err(Error::usage("--no-refresh is for windows", "omit it, or give --window"))
}

/// Refuses to clear anything but a plain filter, before its file is created.
fn check_clearing(args: &Args, size: &SizeArgs) -> Result<(), Error> {
    let is_there = args.state.as_ref().is_some_and(|path| path.exists());
    let is_plain = size.layout.is_none_or(|layout| layout.layout().is_some());
    if args.clear_at.is_none() || is_there || is_plain && size.is_fixed() {
        return Ok(());
    }
    Err(Error::usage(
        "--clear-at is for plain filters, and this one would grow or be of another kind",
        "give -n or --mem, and no --layout but blocked or standard",
    ))
}

/// Creates the filter that `--state` names: of the requested size, or growing.
fn new_state(
    args: &Args,
    size: &SizeArgs,
    path: &Path,
    waiting: &Waiting,
) -> Result<(OwnSet, Writer, KeyOptions), Error> {
    let name = path.display();
    let mut options = args.lines.key_options().for_new();
    let create = match Create::of(size, size.items)? {
        None if size.layout.is_none() && !size.is_fixed() => {
            size.refuse_preset("growing")?;
            Some(Create::Scalable(FIRST_ITEMS))
        }
        create => create,
    };
    if create.is_none() && !size.is_fixed() {
        return Err(Error::usage(
            format!("{name} does not exist yet, so -n is needed to create it"),
            format!(
                "for example: mayhap dedup --state {name} -n 10M -p 1e-6; without --layout it grows"
            ),
        ));
    }
    crate::files::refuse_existing(path, true)?;
    options.unix_ms = matches!(create, Some(Create::WindowMillis(..)));
    let mut set = match create {
        Some(create) => create.build(size, &args.digest)?,
        None => size.build(size.items, &args.digest)?.into(),
    };
    set.set_max_bytes(size.max_bytes());
    let writer = Writer::create(path, &mut set, &options.to_header(), waiting)?;
    Ok((set, writer, options))
}

/// Opens the filter that `--state` names.
fn open_state(
    args: &Args,
    size: &SizeArgs,
    path: &Path,
    (waiting, talk): (&Waiting, Reporter),
) -> Result<(OwnSet, Writer, KeyOptions), Error> {
    let name = path.display().to_string();
    let header = mayhap_store::read_header(path)?;
    memory::check(header.body_bytes(), size.max_bytes())?;
    check_state_arguments(args, size, &name, &header)?;
    let options = KeyOptions::from_header(&name, header.key_options())?
        .agree(&name, &args.lines.key_options())?;
    let key = secret_key(args.digest.key_file.as_deref())?;
    let how = (Recording::Always, args.without_log);
    let (mut set, writer) = Writer::open(path, key, how, waiting, talk)?;
    if let (Some(has), Some(given)) = (set.layout_name(), size.layout)
        && given != has
    {
        return Err(conflict("--layout", &given, &has, &name));
    }
    set.set_max_bytes(size.max_bytes());
    Ok((set, writer, options))
}

/// Refuses numbers that contradict the file.
fn check_state_arguments(
    args: &Args,
    size: &SizeArgs,
    name: &str,
    header: &Header,
) -> Result<(), Error> {
    let (fields, is_plain) = (header.fields(), header.kind() == Kind::Bloom);
    if !is_plain && size.mem.is_some() {
        return Err(Error::usage(
            format!("--mem is given, but {name} is a {} filter", header.kind().name()),
            "omit --mem to use it, or name another filter",
        ));
    }
    let params = is_plain.then(|| header.params()).transpose()?;
    let existing = Existing {
        name,
        expected_items: fields.expected_items,
        target_fpp: fields.target_fpp,
        shape: params.map(|params| (params.layout(), params.num_bytes())),
        seed: (header.digest_id() == 1).then(|| header.digest_parameter()),
    };
    existing.check(size, &args.digest)
}
