//! The next step after an error of a library, in the words of the command line: libraries know of
//! no option of the command.
//!
//! Files and logs of mayhap's own and key options are here; `file.rs` has files of other systems,
//! `server.rs` filters on servers, `list.rs` lists of keys.

pub mod file;
pub mod list;
#[cfg(feature = "redis")]
pub mod server;

use mayhap_keys::{Error as Keys, Mismatch};
use mayhap_sets::Refusal;
use std::io;

/// The way out where a process may open no more files.
pub const MORE_FILES: &str = "raise the limit of open files: ulimit -n 4096, LimitNOFILE=4096 of \
                              systemd, --ulimit nofile=4096 of Docker";

/// The way out where a filter would be larger than the memory.
pub const LESS_MEMORY: &str =
    "choose fewer keys (-n) or a higher rate (-p), or allow more with --max-memory SIZE";

/// The way out where the keys of an exact set take too much memory.
pub const FEWER_KEYS: &str = "all lines before were printed; allow more with --max-memory SIZE, or \
                              omit --exact: a filter takes 2 to 4 bytes a line";

/// A key option as it is typed.
fn typed(option: &str) -> String {
    match option {
        "nul" => "-0".into(),
        option => format!("--{option}"),
    }
}

/// A key option as it is typed, with its value if it has one.
fn typed_with(option: &str, value: Option<&str>) -> String {
    let option = typed(option);
    value.map_or_else(|| option.clone(), |value| format!("{option} {value}"))
}

/// Errors of key options, as they are typed.
pub fn message_of_keys(error: &Keys) -> String {
    match error {
        Keys::Mismatch { filter, option, given, has } => {
            let given = typed_with(option, given.as_deref());
            let has = match has {
                Mismatch::With(ours) => format!("with {}", typed_with(option, ours.as_deref())),
                Mismatch::Without => format!("without {}", typed(option)),
            };
            format!("{given} is given, but {filter} was created {has}")
        }
        error => error.to_string(),
    }
}

/// The message about a data folder that cannot be opened, with the command's way out.
#[cfg(feature = "server")]
pub fn message_of_data(error: &mayhap_engine::durable::Error) -> String {
    use mayhap_engine::durable::Error;
    match error {
        Error::Incomplete { .. } => format!(
            "{error}: mayhap backup or mayhap restore was ended before its last file was there; \
             run it again, or remove the folder to go on without it"
        ),
        Error::NoKey { .. } => {
            format!("{error}; put it back, or give its file with --key-file; nothing was changed")
        }
        error => error.to_string(),
    }
}

/// The next step where key options cannot be used.
pub fn of_keys(error: &Keys) -> Option<String> {
    Some(match error {
        Keys::Unknown { .. } => "it was created by a newer mayhap; use that version".into(),
        Keys::Wrong { .. } => {
            "it was not created by mayhap, or its header is damaged: build it again".into()
        }
        Keys::Mismatch { option, .. } => {
            format!("omit {}: key options are stored in the filter's file", typed(option))
        }
        Keys::Contradiction { .. } => "choose one field, or query another filter".into(),
        _ => return None,
    })
}

/// What is wrong with a file of mayhap's own, with the commands that are named as they are typed.
pub fn message_of_store(error: &mayhap_store::Error) -> String {
    match error {
        mayhap_store::Error::DigestsNotKept { path, filter } => {
            let (path, filter) = (path.display(), filter.display());
            format!(
                "{path}: has the digests of {filter}, which this program would not keep; change \
                 the filter with mayhap add, or remove {path} to continue without it"
            )
        }
        error => error.to_string(),
    }
}

/// The hint for a filter of a kind that refuses.
pub fn of_refusal(name: &str, why: Refusal) -> Option<String> {
    Some(match why {
        Refusal::NeverChanges => {
            format!("build it again from all keys: mayhap build --frozen --force -o {name} KEYS")
        }
        Refusal::ReadOnly => "open it for adding: mayhap add".into(),
        Refusal::ForeignTime => {
            "add to it with the program that created it, which set its times".into()
        }
        Refusal::ManySets => {
            format!("list the sets that may contain a line: mayhap which {name} < keys.txt")
        }
        Refusal::OneSegment => {
            format!("put all segments together: mayhap assemble -o FILTER {name} ...")
        }
        _ => return None,
    })
}

/// The next step, where the store's message has none.
pub fn of_store(error: &mayhap_store::Error) -> Option<&'static str> {
    use mayhap_store::Error as Store;
    Some(match error {
        Store::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            "create a filter with mayhap build or mayhap create"
        }
        Store::Foreign { .. } => {
            "mayhap build and mayhap create write filters; are the arguments in order? One of \
             another system may need --format FORMAT"
        }
        Store::Exists { .. } => "or replace it with --force",
        Store::Unlike { parameter: "size", .. } => {
            "a size folds to those that divide it: create them with one -n and -p, or shrink them \
             to a common size with mayhap shrink --factor"
        }
        Store::Unlike { .. } => {
            "create them with one -n, -p, --layout, digest (--seed, --key-file) and key options"
        }
        Store::SegmentsUnlike { .. } => {
            "build all segments with one -n, -p, digest (--seed, --key-file) and key options"
        }
        Store::SegmentsMissing { .. } => "name the files of all segments",
        Store::SegmentsOverlap { .. } => "name each segment once, all of one --segment .../N",
        Store::NoLocks { .. } => {
            "if nothing else changes the filter: --lock none; if other commands do, all of them \
             with --lock folder"
        }
        Store::Locked { .. } => "try again when it has ended, or wait longer: --lock-timeout TIME",
        Store::MissingLog { .. } => {
            "or use the file alone: --without-log; to drop the lost log for good: mayhap add \
             --without-log FILE /dev/null"
        }
        Store::UnreadLog { .. } => "apply the log with mayhap add FILE /dev/null",
        Store::Replaced { .. } => "add the keys again to the filter that is there now",
        Store::LogLost { .. } => "use the file alone: --without-log",
        Store::Format { source, .. } => match source {
            mayhap::Error::WrongKind { found: "segment", .. } => {
                "put all segments together: mayhap assemble -o FILTER SEGMENT..."
            }
            mayhap::Error::WrongKind { wanted: "segment", .. } => {
                "mayhap build --segment I/N writes segments; mayhap merge unites whole filters"
            }
            mayhap::Error::WrongKey { .. } => "give its key with --key-file FILE",
            mayhap::Error::NotKeyed => {
                "omit --key-file; a filter gets its key when it is created: --new-key-file FILE"
            }
            mayhap::Error::NotAFilter => {
                "mayhap build and mayhap create write filters; are the arguments in order? \
                 One of another system may need --format FORMAT"
            }
            mayhap::Error::WrongLength { .. }
            | mayhap::Error::HeaderDamaged
            | mayhap::Error::ShortDamaged
            | mayhap::Error::IdentityDamaged
            | mayhap::Error::BadField { .. }
            | mayhap::Error::PageDamaged { .. } => "restore it from a backup, or build it again",
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(all(test, feature = "server"))]
mod tests {
    use super::message_of_data;
    use mayhap_engine::durable::Error;

    #[test]
    fn a_folder_without_its_key_or_its_last_files_is_reported_in_words_of_the_command() {
        let error = Error::NoKey { path: "data/key".into(), id: 0xab };
        assert_eq!(
            message_of_data(&error),
            "data/key: missing: the filters here need the secret key 00000000000000ab, and no \
             other can tell which keys they have; put it back, or give its file with --key-file; \
             nothing was changed"
        );
        let error = Error::Incomplete { folder: "data".into() };
        assert_eq!(
            message_of_data(&error),
            "data: this copy is not complete: mayhap backup or mayhap restore was ended before its \
             last file was there; run it again, or remove the folder to go on without it"
        );
        let error = Error::Locked { folder: "data".into() };
        assert_eq!(message_of_data(&error), error.to_string());
    }
}
