//! Where the digests of a filter are, and whether a file has them.

use super::contents::{DigestFile, header_of};
use crate::disk::{Disk, How, open_regular};
use crate::file::rename_with;
use crate::log::Meaning;
use crate::{Error, Image};
use std::path::{Path, PathBuf};

/// Like [`super::digests_path`], for a path with its links already followed.
pub(super) fn path_of(path: &Path) -> Result<PathBuf, Error> {
    rename_with(path, "", ".digests")
}

/// The name under which digests wait, for the path of a filter with its links followed.
pub(super) fn waiting_path(filter: &Path) -> Result<PathBuf, Error> {
    rename_with(filter, ".", ".mayhap-dig")
}

/// Whether a file is one of digests, perhaps a damaged one.
pub(super) fn is_ours(disk: &dyn Disk, path: &Path) -> Result<bool, Error> {
    let file = match open_regular(disk, path, How::Read) {
        Ok(file) => file,
        Err(Error::NotRegular { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(header_of(&*file, path)?.is_some())
}

/// Whether the runs have all keys of an image.
pub(super) fn covers(contents: &DigestFile, image: &Image) -> Result<bool, Error> {
    Ok(contents.meaning == Meaning::of(image.header()) && contents.covers(image.fingerprint()?))
}
