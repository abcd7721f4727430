//! The role of each file that the arguments of a verb name.

/// The role of the file of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A list of keys: read from beginning to end, or standard input where `-` is named.
    List,
    /// Read and never changed: a filter to query, a key, settings.
    Reads,
    /// [`Role::Reads`] for a filter of a merge.
    Part,
    /// A filter that is read and replaced by itself with more or fewer keys, with its log.
    Changes,
    /// A filter that is written whole, in place of another one with `--force`.
    WritesFilter,
    /// [`Role::WritesFilter`] that may be one of the [`Role::Part`]s: they are open before it is
    /// replaced by a rename, which leaves open files as they are.
    Merges,
    /// Lines or a picture, written as they arrive; standard output where `-` is named.
    WritesLines,
    /// [`Role::WritesLines`] in addition to others on standard output.
    WritesRest,
    /// A secret key, which is never replaced.
    WritesKey,
    /// A folder in which files are replaced.
    WritesFolder,
    /// A filter on a server.
    Url,
}

impl Role {
    /// Whether the file is read.
    pub fn reads(self) -> bool {
        matches!(self, Self::List | Self::Reads | Self::Part | Self::Changes)
    }

    /// Whether the file is changed or replaced.
    pub fn writes(self) -> bool {
        !matches!(self, Self::List | Self::Reads | Self::Part | Self::Url)
    }

    /// Whether it is a filter that may have a log beside it.
    pub fn has_log(self) -> bool {
        matches!(self, Self::Changes | Self::WritesFilter | Self::Merges)
    }

    /// Whether it is written from nothing.
    pub fn creates(self) -> bool {
        self.writes() && self != Self::Changes
    }
}

/// The role of the file of an argument; `None` for arguments that are not listed here, which a test
/// refuses.
pub fn role_of(verb: &str, argument: &str) -> Option<Role> {
    use Role::{
        Changes, List, Merges, Part, Reads, Url, WritesFilter, WritesFolder, WritesKey,
        WritesLines, WritesRest,
    };
    Some(match (verb, argument) {
        (
            "dedup" | "build" | "freeze" | "add" | "remove" | "check" | "filter" | "which",
            "files",
        )
        | ("verify", "keys") => List,
        (_, "key_file" | "password_file" | "tls_ca" | "tls_cert" | "tls_key")
        | ("create", "like")
        | ("move", "from")
        | ("serve", "config")
        | ("check" | "which", "filters" | "filter_list")
        | ("check", "confirm")
        | ("filter" | "info" | "verify" | "bench" | "convert" | "push", "file")
        | ("detect", "files") => Reads,
        ("merge" | "assemble", "files") => Part,
        (_, "new_key_file") => WritesKey,
        ("add" | "clear" | "delete" | "grow" | "remove" | "shrink", "file")
        | ("dedup", "state")
        | ("move", "to") => Changes,
        ("build" | "convert" | "freeze" | "grow" | "shrink", "output")
        | ("create" | "pull", "file") => WritesFilter,
        ("merge" | "assemble", "output") => Merges,
        ("dedup" | "plot", "output") => WritesLines,
        ("filter", "rest") => WritesRest,
        ("man", "out") => WritesFolder,
        ("push" | "pull" | "list" | "orphans" | "ttl" | "ui", "url")
        | ("rename", "from" | "to") => Url,

        _ => return None,
    })
}

/// Whether a verb reads standard input where its lists name no file.
pub(super) fn reads_stdin(verb: &str) -> bool {
    matches!(verb, "dedup" | "build" | "freeze" | "add" | "remove" | "check" | "filter" | "which")
}
