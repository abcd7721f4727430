//! Digests while their filter is being replaced.
//!
//! Two files cannot take their names at once. So one file of digests waits under a name of its own
//! while the image is replaced: the new one, if the new filter has digests, or else the old one.
//! Whatever happens in between, the image found afterwards decides which of them is kept.
//!
//! | | `f` | `f.digests` | `.f.mayhap-dig` |
//! |---|---|---|---|
//! | before | old | old | – |
//! | at any moment, if the new filter has digests | old or new | old | new |
//! | at any moment, if it has none | old or new | – | old |
//! | afterwards | new | new, or none | – |

use super::contents::DigestFile;
use super::place::{covers, is_ours, path_of, waiting_path};
use crate::disk::{Disk, How, look_for, open_regular, sync_folder};
use crate::{Error, Image};
use mayhap::Error::NotAFilter;
use std::path::Path;

/// Sets aside the digests of a filter that is about to be replaced by one without digests: until
/// [`forget`] or, if it is not replaced, [`settle`].
///
/// # Errors
///
/// [`Error::Io`].
pub(crate) fn set_aside(disk: &dyn Disk, filter: &Path) -> Result<(), Error> {
    let (path, waiting) = (path_of(filter)?, waiting_path(filter)?);
    if look_for(disk, &path, false)?.is_none() || !is_ours(disk, &path)? {
        return Ok(());
    }
    disk.rename(&path, &waiting).map_err(Error::io("set aside", &path))?;
    sync_folder(disk, filter)
}

/// Removes digests that wait, after their filter was replaced by one without; even if that is the
/// same filter again.
///
/// # Errors
///
/// [`Error::Io`].
pub(crate) fn forget(disk: &dyn Disk, filter: &Path) -> Result<(), Error> {
    let waiting = waiting_path(filter)?;
    if look_for(disk, &waiting, false)?.is_none() {
        return Ok(());
    }
    disk.remove(&waiting).map_err(Error::io("remove", &waiting))?;
    sync_folder(disk, filter)
}

/// Ends the replacement of a filter, even an interrupted one: waiting digests get their name if
/// they belong to the image at the path, and are removed if not. To be called with the lock of the
/// filter.
///
/// # Errors
///
/// [`Error::Io`].
pub(crate) fn settle(disk: &dyn Disk, filter: &Path) -> Result<(), Error> {
    let (path, waiting) = (path_of(filter)?, waiting_path(filter)?);
    if look_for(disk, &waiting, false)?.is_none() {
        return Ok(());
    }
    // A power cut must not bring back the other image afterwards.
    sync_folder(disk, filter)?;
    let are_its = match Image::open(disk, filter) {
        Ok(image) => are_those_of(disk, &waiting, &image)?,
        Err(error) if error.is_not_found() => false,
        // A file of another system.
        Err(Error::Foreign { .. } | Error::Format { source: NotAFilter, .. }) => false,
        // It may be restored.
        Err(_) => return Ok(()),
    };
    if !are_its {
        disk.remove(&waiting).map_err(Error::io("remove", &waiting))?;
    } else if look_for(disk, &path, false)?.is_none() || is_ours(disk, &path)? {
        disk.rename(&waiting, &path).map_err(Error::io("replace", &path))?;
    }
    sync_folder(disk, filter)
}

fn are_those_of(disk: &dyn Disk, path: &Path, image: &Image) -> Result<bool, Error> {
    let read = open_regular(disk, path, How::Read)
        .and_then(|file| DigestFile::read(&*file, path, Some(image.fingerprint()?)));
    match read {
        Ok(Some(contents)) => covers(&contents, image),
        Ok(None)
        | Err(Error::DigestsDamaged { .. } | Error::Format { .. } | Error::NotRegular { .. }) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
