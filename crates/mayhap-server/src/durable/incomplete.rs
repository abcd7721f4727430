//! The folder of a copy that is not complete, which no server takes for one of its own.
//!
//! The file `incomplete` is in such a folder before any other file and goes after the last one. A
//! folder that is made for a copy gets it under the name `R.partial` and then its own name, so that
//! a copy that is ended at any point leaves a complete folder, one that says that it is not, or
//! `R.partial` beside the folder that there is not: then no server starts on that one either.

use super::disk::{make_private, private, sync_names};
use super::store::{FILTERS, INCOMPLETE, KEY, LOG, MANIFEST, TEMPORARY, number_in};
use super::{DataFolder, Error, Store};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// For those who look into it.
const TEXT: &[u8] = b"mayhap backup or mayhap restore has not completed this copy; run it again\n";

/// Whether a folder has the file that says that it is not complete.
pub(super) fn is_incomplete(folder: &Path) -> io::Result<bool> {
    fs::exists(folder.join(INCOMPLETE))
}

/// The name under which a folder is made: `R.partial` for `R`.
fn partial(folder: &Path) -> Option<PathBuf> {
    let mut name = folder.file_name()?.to_owned();
    name.push(".partial");
    Some(folder.with_file_name(name))
}

/// Whether a folder has nothing but what [`make`] puts into one.
fn is_just_made(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if entry?.file_name() != INCOMPLETE {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Checks that a folder, which may not be there yet, is not that of a copy that was cut short.
///
/// # Errors
///
/// [`Error::Incomplete`]; [`Error::Io`].
pub(super) fn check(folder: &Path) -> Result<(), Error> {
    let error = || Error::io("open", folder.into());
    if is_incomplete(folder).map_err(error())? {
        return Err(Error::Incomplete { folder: folder.into() });
    }
    if let Some(partial) = partial(folder)
        && is_just_made(&partial).unwrap_or(false)
        && !fs::exists(folder.join(MANIFEST)).map_err(error())?
    {
        return Err(Error::Incomplete { folder: partial });
    }
    Ok(())
}

/// A folder for a copy: a new or an empty one, or that of a copy that was cut short, from which its
/// files are removed. It says that it is not complete until [`complete`].
///
/// # Errors
///
/// [`Error::Io`], of kind `AlreadyExists` if the folder has other files; [`Error::Locked`].
pub(super) fn begin(folder: &Path) -> Result<DataFolder, Error> {
    let was_empty = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(folder)?;
            false
        }
        Err(error) => return Err(Error::io("look into", folder.into())(error)),
        Ok(mut entries) => entries.next().is_none(),
    };
    if was_empty {
        mark(folder).map_err(Error::io("mark", folder.into()))?;
    } else if !is_incomplete(folder).map_err(Error::io("look into", folder.into()))? {
        let taken = "it has files already, and a copy needs a new or an empty folder";
        return Err(Error::io("copy into", folder.into())(taken_by(taken)));
    }
    let locked = DataFolder::lock_if_possible(folder).inspect_err(|_| {
        if was_empty {
            // A server was faster, and the folder is its own.
            let _ = fs::remove_file(folder.join(INCOMPLETE));
        }
    })?;
    clear(&locked.store)?;
    Ok(locked)
}

/// Takes the mark off a folder, all files of which are on the disk.
pub(super) fn complete(store: &Store) -> Result<(), Error> {
    store.remove(INCOMPLETE)?;
    store.sync_dir("")
}

fn taken_by(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}

/// Makes a folder that is not complete from the moment when it has its name.
fn make(folder: &Path) -> Result<(), Error> {
    let Some(partial) = partial(folder) else {
        return make_private(folder).map_err(Error::io("create", folder.into()));
    };
    make_private(&partial).map_err(Error::io("create", partial.clone()))?;
    if !is_just_made(&partial).map_err(Error::io("look into", partial.clone()))? {
        let taken = "it has files already, and copies are begun under this name; move it away";
        return Err(Error::io("copy into", partial)(taken_by(taken)));
    }
    mark(&partial).map_err(Error::io("mark", partial.clone()))?;
    fs::rename(&partial, folder).map_err(|error| {
        let _ = fs::remove_dir_all(&partial);
        Error::io("create", folder.into())(error)
    })
}

/// Puts the mark into a folder, and both onto the disk.
fn mark(folder: &Path) -> io::Result<()> {
    let path = folder.join(INCOMPLETE);
    let mut file = private().create(true).truncate(true).open(path)?;
    file.write_all(TEXT)?;
    // As all files, so that what file systems cannot do with folders is no error of a file.
    file.sync_data()?;
    sync_names(folder)
}

/// Removes what a copy that was cut short has left.
fn clear(store: &Store) -> Result<(), Error> {
    let is_file = |folder: &str, name: &str| match folder {
        "" => name == MANIFEST || name == KEY,
        LOG => number_in(name, ".log").is_some(),
        _ => [".mayhap", ".pack", ".list"].iter().any(|end| number_in(name, end).is_some()),
    };
    for folder in ["", LOG, FILTERS] {
        if !folder.is_empty() {
            store.create_dir(folder)?;
        }
        for name in store.list(folder)? {
            if is_file(folder, name.strip_suffix(TEMPORARY).unwrap_or(&name)) {
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                store.remove(&path)?;
            }
        }
    }
    Ok(())
}
