//! Where a URL can be named, and what to do where it cannot.

use crate::error::Error;
use crate::files::role_of;
use clap::ArgMatches;
use mayhap_sets::{is_of_engine, is_url, redacted};

/// Refuses URLs where a verb takes none: nobody is to look for a file of that name.
///
/// # Errors
///
/// [`Error::Usage`] with the next step.
pub fn check(matches: &ArgMatches) -> Result<(), Error> {
    let Some((verb, matches)) = matches.subcommand() else { return Ok(()) };
    for id in matches.ids() {
        // Groups have no values of their own.
        let Ok(Some(values)) = matches.try_get_raw(id.as_str()) else { continue };
        for (i, value) in values.enumerate().filter(|(_, value)| is_url(value)) {
            let text = value.to_string_lossy();
            // A key to explain, or the address of a page, is a URL, and none of a filter.
            let is_path = role_of(verb, id.as_str()).is_some() || is_of_folders(verb);
            if !is_path && !is_of_engine(&text) {
                continue;
            }
            let url = redacted(&text);
            if cfg!(not(feature = "redis")) {
                return Err(Error::usage(
                    format!(
                        "{url} is a filter on a server, which this build of mayhap does not \
                             support"
                    ),
                    "build mayhap with its feature redis, or name a file",
                ));
            }
            let has = |id| matches.try_contains_id(id).unwrap_or(false);
            let has_filters = has("filters") || has("filter_list");
            if !is_taken(verb, id.as_str(), i, has_filters) {
                return Err(refusal(verb, id.as_str(), &url));
            }
        }
    }
    Ok(())
}

/// Whether the arguments of a verb are folders.
fn is_of_folders(verb: &str) -> bool {
    matches!(verb, "backup" | "restore")
}

/// Whether an argument of a verb can be a URL; `position` counts the values of one argument.
fn is_taken(verb: &str, id: &str, position: usize, has_filters: bool) -> bool {
    matches!(
        (verb, id),
        ("add" | "clear" | "create" | "delete" | "filter" | "info" | "remove" | "verify", "file",)
            | ("check" | "which", "filters")
            | ("merge", "files" | "output")
            | ("dedup", "state")
            | ("push" | "pull" | "list" | "orphans" | "ttl" | "ui" | "health", "url")
            | ("create", "like")
            | ("move" | "rename", "from" | "to")
            | ("backup", "data")
            | ("serve", "store")
    ) || (verb, id) == ("check", "files") && position == 0 && !has_filters
}

fn refusal(verb: &str, id: &str, url: &str) -> Error {
    let pull = "copy it into a file first: mayhap pull URL FILE";
    let (problem, hint) = match (verb, id) {
        ("build" | "freeze", "output") => (
            "but this verb writes files",
            "build a file and send it: mayhap push FILE URL; or mayhap create URL -n COUNT, then \
             mayhap add URL",
        ),
        ("push", "file") => {
            ("but push needs a file first", "in the other direction: mayhap pull URL FILE")
        }
        ("backup" | "restore", _) => ("but a backup is a folder", "name a folder"),
        ("grow", "file" | "output") => (
            "but digests are kept beside files",
            "build a larger file from the keys and send it: mayhap push --force FILE URL",
        ),
        ("shrink", "file" | "output") => (
            "but shrink folds files",
            "copy it, shrink the copy, and send it back: mayhap pull URL FILE, mayhap shrink FILE, \
             mayhap push --force FILE URL",
        ),
        ("pull", "file") => {
            ("but pull writes a file", "to copy between servers, pull to a file, then push it")
        }
        ("which", "files") => ("not a matrix", "name each filter with -f"),
        ("plot" | "bench" | "plan" | "completions" | "man", _) => {
            ("which this command does not read", "mayhap info URL says what is there")
        }
        ("convert" | "detect", _) => ("but this command reads files", pull),
        (_, "output" | "rest") => ("but lines are written to files", "name a file, or a pipe"),
        (_, "key_file" | "new_key_file") => ("but keys are kept in files", "name a file"),
        _ => ("but lines are read from files and pipes", "name a file, or pipe lines in"),
    };
    Error::usage(format!("{url} is a filter on a server, {problem}"), hint)
}
