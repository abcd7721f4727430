//! Paths: resolving links, and names of companion files.

use crate::Error;
use crate::disk::{Disk, folder_of};
use std::io;
use std::path::{Path, PathBuf};

/// Follows symbolic links of the last component; the file itself need not exist.
pub(crate) fn resolve_links(disk: &dyn Disk, path: &Path) -> Result<PathBuf, Error> {
    // The number that Linux follows.
    const MAX_LINKS: usize = 40;
    let mut resolved = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match disk.read_link(&resolved) {
            Ok(target) => resolved = folder_of(&resolved).join(target),
            Err(_) => return Ok(resolved),
        }
    }
    let source = io::Error::other("too many symbolic links");
    Err(Error::Io { action: "follow", path: path.into(), source })
}

/// `path` with text before and after its file name.
pub(crate) fn rename_with(path: &Path, prefix: &str, suffix: &str) -> Result<PathBuf, Error> {
    let Some(name) = path.file_name() else {
        return Err(Error::NotRegular { path: path.into(), kind: "a folder" });
    };
    let mut renamed = std::ffi::OsString::from(prefix);
    renamed.push(name);
    renamed.push(suffix);
    Ok(path.with_file_name(renamed))
}
