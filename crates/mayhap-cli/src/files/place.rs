//! The file that a name refers to, so that two names of one file are recognised.

use crate::error::Error;
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The number of symbolic links that Linux follows.
const MAX_LINKS: usize = 40;

/// Where a name leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// To a file, whatever its names are.
    There {
        /// Its device and inode.
        id: (u64, u64),
        /// The kind of the file.
        kind: Kind,
    },
    /// To no file, in an existing folder.
    Free {
        /// The device and inode of the folder.
        folder: (u64, u64),
        /// The name in it.
        name: OsString,
    },
    /// Nowhere: the folder is missing, or may not be read.
    Nowhere(io::ErrorKind),
}

/// The kind of a file, as far as it matters for writing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A pipe or a block device: one place for all that open it.
    Shared,
    /// A terminal, `/dev/null` or a socket, where reading and writing do not meet.
    Device,
}

impl Kind {
    fn of(file_type: FileType) -> Self {
        if file_type.is_file() {
            Self::Regular
        } else if file_type.is_dir() {
            Self::Folder
        } else if file_type.is_fifo() || file_type.is_block_device() {
            Self::Shared
        } else {
            Self::Device
        }
    }
}

impl Place {
    /// Resolves a path. Opens nothing, so that a pipe without a writer does not block.
    pub fn of(path: &Path) -> Self {
        match path.metadata() {
            Ok(metadata) => Self::there(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::free(path),
            Err(error) => Self::Nowhere(error.kind()),
        }
    }

    /// The file behind an open stream; `None` if it is closed.
    pub fn of_stream(stream: &impl AsFd) -> Option<Self> {
        let file = std::fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
        file.metadata().ok().map(|metadata| Self::there(&metadata))
    }

    fn there(metadata: &Metadata) -> Self {
        let id = (metadata.dev(), metadata.ino());
        Self::There { id, kind: Kind::of(metadata.file_type()) }
    }

    /// Follows links that lead to no file yet: the new file is created there.
    fn free(path: &Path) -> Self {
        let mut path: PathBuf = path.into();
        for _ in 0..MAX_LINKS {
            let Ok(target) = path.read_link() else { break };
            path = folder_of(&path).join(target);
        }
        let folder = folder_of(&path).metadata();
        match (folder, path.file_name()) {
            (Ok(folder), Some(name)) if folder.is_dir() => {
                Self::Free { folder: (folder.dev(), folder.ino()), name: name.into() }
            }
            (Ok(_), _) => Self::Nowhere(io::ErrorKind::NotADirectory),
            (Err(error), _) => Self::Nowhere(error.kind()),
        }
    }

    /// Whether writing to one affects reading from, or overwrites, the other.
    pub fn meets(&self, other: &Self) -> bool {
        let is_one_place = match self {
            Self::There { kind, .. } => *kind != Kind::Device,
            Self::Free { .. } => true,
            Self::Nowhere(_) => false,
        };
        is_one_place && self == other
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Refuses an output that exists, or whose folder does not, before any work is done for it.
///
/// # Errors
///
/// [`Error::Usage`], [`Error::Io`].
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Error> {
    let name = path.display().to_string();
    match Place::of(path) {
        Place::There { kind: Kind::Folder, .. } => Err(Error::usage(
            format!("{name} is a folder"),
            format!("name a file in it: {}", path.join("NAME").display()),
        )),
        Place::There { .. } if !force => Err(crate::io::output::already_there(&name)),
        Place::Nowhere(kind) => Err(no_folder(path, kind)),
        Place::There { .. } | Place::Free { .. } => Ok(()),
    }
}

/// The error of a file that cannot be created, because its folder is missing or not accessible.
fn no_folder(path: &Path, kind: io::ErrorKind) -> Error {
    let name = path.display();
    if has_scheme(path) {
        return Error::usage(
            format!("{name} is a URL of a scheme that mayhap does not use"),
            "filters on servers are redis://host:port/database/name; mayhap serve understands it",
        );
    }
    let folder = folder_of(path);
    match kind {
        io::ErrorKind::NotFound => Error::usage(
            format!("cannot create {name}: there is no folder {}", folder.display()),
            format!("create it first: mkdir -p {}", folder.display()),
        ),
        io::ErrorKind::NotADirectory => Error::usage(
            format!("cannot create {name}: {} is not a folder", folder.display()),
            "name a file in a folder",
        ),
        _ => Error::io("create", &name.to_string())(kind.into()),
    }
}

/// Whether a path is written as a URL, of any scheme.
fn has_scheme(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    let scheme = text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'+');
    let scheme = scheme.count();
    scheme > 1 && text[scheme..].starts_with(b"://")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_of_one_file_meet_and_those_of_two_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "a").unwrap();
        fs::write(at("b"), "a").unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        symlink("a", at("soft")).unwrap();
        symlink("new", at("dangling")).unwrap();
        symlink("dangling", at("twice")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        symlink(folder.path(), at("here")).unwrap();
        let meets = |one: &str, other: &str| Place::of(&at(one)).meets(&Place::of(&at(other)));
        for (one, other) in [
            ("a", "hard"),
            ("a", "soft"),
            ("hard", "soft"),
            ("a", "sub/../a"),
            ("a", "here/a"),
            ("new", "dangling"),
            ("new", "twice"),
            ("new", "here/new"),
            ("new", "sub/../new"),
        ] {
            assert!(meets(one, other) && meets(other, one), "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("a", "new"), ("new", "newer"), ("new", "sub/new")] {
            assert!(!meets(one, other) && !meets(other, one), "{one} {other}");
        }
        assert!(!meets("absent/x", "absent/x"), "that is another error");
        let null = Place::of(Path::new("/dev/null"));
        assert!(!null.meets(&null), "what is written there is not read there");
    }

    #[test]
    fn a_loop_of_links_is_followed_no_further_than_the_system_does() {
        let folder = tempfile::tempdir().unwrap();
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert!(matches!(Place::of(&folder.path().join("a")), Place::Nowhere(_)));
    }
}
