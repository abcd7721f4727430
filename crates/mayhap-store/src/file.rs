//! What this crate asks of the operating system beyond `std::fs`.

use crate::Error;
use std::fs::{self, File, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// Follows symbolic links of the last component, to a file that need not exist.
pub(crate) fn resolve_links(path: &Path) -> Result<PathBuf, Error> {
    // As many as Linux follows.
    const MAX_LINKS: usize = 40;
    let mut resolved = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&resolved) {
            Ok(target) => resolved = folder_of(&resolved).join(target),
            Err(_) => return Ok(resolved),
        }
    }
    let source = io::Error::other("too many symbolic links");
    Err(Error::Io { action: "follow", path: path.into(), source })
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
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

/// Makes creations, renames and removals in the folder of `path` survive a power cut.
pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    // Other systems cannot open folders.
    if cfg!(unix) {
        let folder = folder_of(path);
        File::open(folder).and_then(|f| f.sync_all()).map_err(Error::io("sync", folder))?;
    }
    Ok(())
}

/// [`Error::NotRegular`] unless `file_type` is that of a regular file.
pub(crate) fn check_regular(path: &Path, file_type: FileType) -> Result<(), Error> {
    if file_type.is_file() {
        return Ok(());
    }
    let kind = if file_type.is_dir() { "a folder" } else { special_kind(file_type) };
    Err(Error::NotRegular { path: path.into(), kind })
}

#[cfg(unix)]
fn special_kind(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_fifo() {
        "a pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special_kind(_: FileType) -> &'static str {
    "a special file"
}

/// Opens a regular file for reading; its length is the second result.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64), Error> {
    // Before the open, which would wait for the other end of a pipe.
    let file_type = fs::metadata(path).map_err(Error::io("open", path))?.file_type();
    check_regular(path, file_type)?;
    let file = File::open(path).map_err(Error::io("open", path))?;
    let metadata = file.metadata().map_err(Error::io("open", path))?;
    check_regular(path, metadata.file_type())?;
    Ok((file, metadata.len()))
}

/// Whether `path` is still a name of `file`.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Other systems do not let go of the name of an open file.
#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Reads at a place without moving a cursor that other threads may share.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

/// Fills `bytes` from `offset` on, up to the end of the file; says how many there were.
pub(crate) fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match read_at(file, &mut bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Fills `bytes` from `offset` on.
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    if read_up_to(file, bytes, offset)? < bytes.len() {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter meanwhile"));
    }
    Ok(())
}
