//! The folder of an incomplete copy, which no server opens as its own.
//!
//! The file `incomplete` is created in such a folder before any other file and removed after the
//! last one. A folder that is created for a copy gets the name `R.partial` first and then its own,
//! so that a copy that is ended at any point leaves a complete folder, one that is marked as
//! incomplete, or `R.partial` beside the missing folder: then no server starts on that one either.

use super::disk::{make_private, private, sync_names};
use super::store::{FILTERS, INCOMPLETE, LOG, MANIFEST};
use super::{DataFolder, Error, Store};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// For a person who opens it.
const TEXT: &[u8] = b"mayhap backup or mayhap restore has not completed this copy; run it again\n";

/// Whether a folder has the file that marks it as incomplete.
pub(super) fn is_incomplete(folder: &Path) -> io::Result<bool> {
    fs::exists(folder.join(INCOMPLETE))
}

/// The name under which a folder is created: `R.partial` for `R`.
fn partial(folder: &Path) -> Option<PathBuf> {
    let mut name = folder.file_name()?.to_owned();
    name.push(".partial");
    Some(folder.with_file_name(name))
}

/// Whether a folder contains only the files that [`make`] puts into one.
fn is_just_made(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if entry?.file_name() != INCOMPLETE {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Checks that a folder, which may not exist yet, is not a copy that was cut short.
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

/// A folder for a copy: a new or an empty one, or the remains of a copy that was cut short, whose
/// files are removed. It is marked as incomplete until [`complete`].
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
            // A server was faster, and the folder belongs to it.
            let _ = fs::remove_file(folder.join(INCOMPLETE));
        }
    })?;
    clear(&locked.store)?;
    Ok(locked)
}

/// Removes the mark from a folder whose files are all on the disk.
pub(super) fn complete(store: &Store) -> Result<(), Error> {
    store.remove(INCOMPLETE)?;
    store.sync_dir("")
}

fn taken_by(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}

/// Creates a folder that is marked as incomplete from the moment it has its name.
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

/// Puts the mark into a folder, and syncs both to the disk.
fn mark(folder: &Path) -> io::Result<()> {
    let path = folder.join(INCOMPLETE);
    let mut file = private().create(true).truncate(true).open(path)?;
    file.write_all(TEXT)?;
    // Synced like all files, so that a file system that cannot sync folders causes no error here.
    file.sync_data()?;
    sync_names(folder)
}

/// Removes the remains of a copy that was cut short.
fn clear(store: &Store) -> Result<(), Error> {
    [LOG, FILTERS].iter().try_for_each(|folder| store.create_dir(folder))?;
    store.files()?.iter().try_for_each(|path| store.remove(path))
}
