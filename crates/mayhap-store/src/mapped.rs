//! Filters that are asked where they lie: in the file.

use crate::Error;
use crate::load::{open_filter, verify_body};
use crate::map::MappedBlocks;
use mayhap::native::{HEADER_BYTES, Header};
use mayhap::{AnyFilter, SecretKey};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A read-only filter in a mapped file: opened without being read, shared by all processes that
/// map it.
#[derive(Debug)]
pub struct MappedFilter {
    filter: AnyFilter<MappedBlocks>,
    header: Header,
    /// For reading what the map shows, even if the path leads elsewhere by now.
    file: File,
    path: PathBuf,
}

/// Opens a filter in constant time: the header is read and checked (magic, version, checksum,
/// ranges, exact file length), the body is not touched before it is asked.
///
/// A page that is asked for the first time comes from the disk; [`load()`] reads all at once, into
/// huge pages, which also answers faster from then on.
///
/// # When someone else changes the file
///
/// * Replaced by renaming, which is what [`save`](crate::save()) does, or removed: the map keeps
///   the old file; all answers stay those of the file that was opened.
/// * Truncated: touching a lost page kills the process with SIGBUS. There is no wrong answer.
/// * Overwritten in place: answers can be wrong. No writer of this crate does that.
///
/// A disk that fails to read a page kills the process in the same way. If that must not happen, or
/// if others can write to the file, use [`load()`], which returns an error.
///
/// # Errors
///
/// As [`load()`], except for damage in the body: that is found by [`MappedFilter::verify`].
/// [`Error::Unsupported`] on big-endian machines and for files beyond the address space.
///
/// [`load()`]: crate::load()
pub fn open_mapped(path: &Path, secret_key: Option<SecretKey>) -> Result<MappedFilter, Error> {
    if cfg!(target_endian = "big") {
        let what = "a big-endian machine cannot map filters; load it instead";
        return Err(Error::Unsupported { path: path.into(), what });
    }
    let (file, header) = open_filter(path)?;
    let digest_function = header.digest_function(secret_key).map_err(Error::format(path))?;
    let params = header.params().map_err(Error::format(path))?;
    let body_end = HEADER_BYTES as u64 + params.num_bytes();
    let Ok(body_end) = usize::try_from(body_end) else {
        let what = "it is larger than this machine's address space";
        return Err(Error::Unsupported { path: path.into(), what });
    };
    let blocks =
        MappedBlocks::new(&file, HEADER_BYTES, body_end).map_err(Error::io("map", path))?;
    let filter = AnyFilter::from_parts(params, digest_function, blocks, header.inserted_items())
        .map_err(Error::format(path))?;
    Ok(MappedFilter { filter, header, file, path: path.into() })
}

impl MappedFilter {
    /// The filter, to be asked.
    pub const fn filter(&self) -> &AnyFilter<MappedBlocks> {
        &self.filter
    }

    /// What the file says of it, with the key options.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Checks every page of the opened file, by reading it in constant memory.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] with the damaged pages, [`Error::Io`].
    pub fn verify(&self) -> Result<(), Error> {
        verify_body(&self.file, &self.path, &self.header, |_, _| {})
    }
}
