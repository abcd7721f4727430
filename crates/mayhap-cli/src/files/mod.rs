//! The files that a command names: an input is never an output, and an output that cannot be
//! written is refused before anything is read.
//!
//! [`check`] runs once, before the verb, over the arguments as clap has read them, so that no verb
//! can forget it. `role.rs` has the role of each file of each verb, `place.rs` resolves names. It
//! only looks at names ([`Place::of`] opens nothing): a file that is swapped between this check and
//! the verb's own open has to be refused by the verb ([`crate::io::output::Output`]).

mod place;
mod role;

use crate::error::Error;
use clap::{Arg, ArgMatches, Command};
use mayhap_sets::is_url;
use std::any::TypeId;
use std::path::{Path, PathBuf};

pub use place::{Kind, Place, refuse_existing};
pub use role::{Role, role_of};

/// A file that a command names.
#[derive(Debug)]
struct Named {
    /// The argument and the name, as shown in messages.
    shown: String,
    path: PathBuf,
    role: Role,
    place: Place,
}

/// The arguments of a verb that name files: those whose value is a path.
pub fn path_arguments(verb: &Command) -> impl Iterator<Item = &Arg> {
    let is_path = |arg: &&Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    verb.get_arguments().filter(is_path)
}

/// Refuses a command two of whose files are one, unless both are only read; and outputs that cannot
/// be written. `command` is the definition of the command line, `matches` the parsed arguments.
///
/// # Errors
///
/// [`Error::SameFile`]; [`Error::Usage`] and [`Error::Io`] for outputs that exist without
/// `--force`, that are folders, whose folder does not exist, or that cannot be standard output.
pub fn check(command: &Command, matches: &ArgMatches) -> Result<(), Error> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(verb) = command.find_subcommand(name) else { return Ok(()) };
    let files = named(verb, matches);
    for (i, one) in files.iter().enumerate() {
        for other in &files[i + 1..] {
            refuse_same(one, other)?;
        }
    }
    let force = matches.try_get_one("force").ok().flatten().copied().unwrap_or(false);
    files.iter().try_for_each(|file| check_output(file, force))
}

/// All files of a command, including the implicit ones: logs and standard streams.
fn named(verb: &Command, matches: &ArgMatches) -> Vec<Named> {
    let name = verb.get_name();
    let has = |id| matches.try_contains_id(id).unwrap_or(false);
    let has_filters = has("filters") || has("filter_list");
    let mut files = Vec::new();
    let (mut lists, mut writes_lines) = (0, false);
    for arg in path_arguments(verb) {
        let id = arg.get_id().as_str();
        let role = role_of(name, id).unwrap_or(Role::Reads);
        let values = matches.try_get_many::<PathBuf>(id).ok().flatten().into_iter().flatten();
        for (i, path) in values.enumerate() {
            // `check FILTER INPUT...`: the first one is no list unless filters are named with -f.
            let is_filter = i == 0 && id == "files" && matches!(name, "check" | "which");
            let role = if is_filter && !has_filters { Role::Reads } else { role };
            if role == Role::Url || is_url(path) {
                continue;
            }
            lists += usize::from(role == Role::List);
            let is_stream = path == Path::new("-");
            writes_lines |= role == Role::WritesLines && !is_stream;
            let shown = format!("{} {}", shown(arg, i, has_filters), path.display());
            if role.has_log()
                && let Ok(log) = mayhap_store::log_path(path)
            {
                let (shown, place) = (format!("the log of {shown}"), Place::of(&log));
                files.push(Named { shown, path: log, role: Role::Changes, place });
            }
            match role {
                Role::List if is_stream => files.extend(standard_input()),
                Role::WritesLines if is_stream => {}
                _ => files.push(Named { shown, path: path.clone(), role, place: Place::of(path) }),
            }
        }
    }
    if lists == 0 && role::reads_stdin(name) {
        files.extend(standard_input());
    }
    if !writes_lines && let Some(place) = Place::of_stream(&std::io::stdout()) {
        let (shown, path) = ("standard output".into(), PathBuf::new());
        files.push(Named { shown, path, role: Role::WritesLines, place });
    }
    files
}

fn standard_input() -> Option<Named> {
    let place = Place::of_stream(&std::io::stdin())?;
    Some(Named { shown: "standard input".into(), path: PathBuf::new(), role: Role::List, place })
}

/// An argument as users type or read it: `-o`, `--rest`, `INPUT`.
fn shown(arg: &Arg, position: usize, has_filters: bool) -> String {
    if let Some(short) = arg.get_short() {
        return format!("-{short}");
    }
    if let Some(long) = arg.get_long() {
        return format!("--{long}");
    }
    let names = arg.get_value_names().and_then(|names| names.first());
    let names: Vec<&str> = names.map_or("FILE", |name| name.as_str()).split("] [").collect();
    // `FILTER] [INPUT`: the first one, and the ones after it.
    let at = if has_filters { names.len() - 1 } else { position.min(names.len() - 1) };
    names[at].to_owned()
}

fn refuse_same(one: &Named, other: &Named) -> Result<(), Error> {
    let is_merge =
        |merges: &Named, part: &Named| (merges.role, part.role) == (Role::Merges, Role::Part);
    if !(one.role.writes() || other.role.writes())
        || is_merge(one, other)
        || is_merge(other, one)
        || !one.place.meets(&other.place)
    {
        return Ok(());
    }
    Err(Error::SameFile {
        first: one.shown.clone(),
        second: other.shown.clone(),
        is_read: one.role.reads() || other.role.reads(),
    })
}

/// Refuses outputs that cannot be written, or not in this way.
fn check_output(file: &Named, force: bool) -> Result<(), Error> {
    let (path, shown) = (&file.path, &file.shown);
    if path == Path::new("-") {
        return Err(refuse_stream(file));
    }
    if path.as_os_str().is_empty() || !file.role.creates() {
        return Ok(());
    }
    let kind = match file.place {
        Place::There { kind, .. } => kind,
        // It is created with the folders above it.
        _ if file.role == Role::WritesFolder => return Ok(()),
        _ => return refuse_existing(path, force),
    };
    match (file.role, kind) {
        (Role::WritesKey, _) => Err(Error::usage(
            format!("{} exists already", path.display()),
            "a key file is never replaced: use it with --key-file, or name a new file",
        )),
        // A device or a pipe loses nothing, and takes lines as they arrive.
        (Role::WritesLines | Role::WritesRest, Kind::Shared | Kind::Device)
        | (Role::WritesFolder, Kind::Folder) => Ok(()),
        (Role::WritesFolder, _) => {
            Err(Error::usage(format!("{shown} is not a folder"), "name a folder, or a new one"))
        }
        (Role::WritesFilter | Role::Merges, Kind::Shared | Kind::Device) => Err(Error::usage(
            format!("{shown} is not a regular file, and a filter is written whole, then renamed"),
            "name a file, and copy it to the device: cat FILTER > DEVICE",
        )),
        _ => refuse_existing(path, force),
    }
}

/// The error for `-` as this file, with the alternative.
fn refuse_stream(file: &Named) -> Error {
    let (problem, hint) = match file.role {
        Role::WritesFilter | Role::Merges => (
            "but a filter is written whole or not at all, which a pipe does not support",
            "name a file, and send that: mayhap ... -o FILTER && cat FILTER",
        ),
        Role::WritesRest => (
            "but the records that pass are written to standard output",
            "name a file, or /dev/stderr",
        ),
        Role::WritesFolder => {
            ("but pages go to files", "omit it for a single page: mayhap man VERB")
        }
        Role::Changes => (
            "but a filter is replaced in place, which a pipe does not support",
            "name its file; - is for the list of keys after it",
        ),
        _ => (
            "but this is read at random, which a pipe does not support",
            "name its file; - is for lists of keys",
        ),
    };
    let stream = if file.role.creates() { "output" } else { "input" };
    Error::usage(format!("{} is standard {stream}, {problem}", file.shown), hint)
}
