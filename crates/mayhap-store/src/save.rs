//! Filter → file, atomically.

use crate::Error;
use crate::file::{check_regular, resolve_links};
use crate::temporary::Temporary;
use mayhap::native::{self, HEADER_BYTES, Header, MAX_KEY_OPTIONS_BYTES, Native, PAGE_BYTES};
use mayhap::{Block, DigestFunction};
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Blocks that are checksummed and written together: whole pages, small enough for the cache.
const CHUNK_BLOCKS: usize = (256 << 10) / Block::BYTES;

/// Saves a filter so that the path holds, at any moment and after any crash, the old file or the
/// new one.
///
/// `key_options` says how keys are cut from input lines ([`Header::key_options`]); empty means "as
/// they are". A symbolic link is followed and stays. A replaced file's permissions are kept; a new
/// file of a keyed (`sip13`) filter is readable by its owner only.
///
/// # Errors
///
/// [`Error::Io`], [`Error::NoSpace`], [`Error::NotRegular`] for folders, pipes and devices,
/// [`Error::Locked`] while the same path is being saved by someone else, [`Error::Format`] if
/// `key_options` is longer than [`MAX_KEY_OPTIONS_BYTES`]. After an error the path holds what it
/// held before; only if the *folder* could not be synced can it be the new file already.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let filter = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
/// mayhap_store::save(path, &filter, "trim=1\n")?;
/// assert_eq!(mayhap_store::read_header(path)?.key_options(), "trim=1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save<F: Native>(path: &Path, filter: &F, key_options: &str) -> Result<(), Error> {
    save_as(path, filter, key_options, true).map(|_| ())
}

/// [`save`] that never replaces a file, not even one that appears while it writes.
///
/// # Errors
///
/// As [`save`], and [`Error::Exists`].
pub fn save_new<F: Native>(path: &Path, filter: &F, key_options: &str) -> Result<(), Error> {
    save_as(path, filter, key_options, false).map(|_| ())
}

/// Saves, and returns the [`file_id`] of what was saved.
pub(crate) fn save_as<F: Native>(
    path: &Path,
    filter: &F,
    key_options: &str,
    replace: bool,
) -> Result<u64, Error> {
    let found = key_options.len();
    if found > MAX_KEY_OPTIONS_BYTES {
        let (field, limit) = ("key_options bytes", MAX_KEY_OPTIONS_BYTES as u64);
        let source = mayhap::Error::TooLarge { field, limit, found: found as u64 };
        return Err(Error::format(path)(source));
    }
    let keyed = matches!(filter.digest_function(), DigestFunction::Sip13 { .. });
    let (path, mut temporary) = begin(path, keyed, replace)?;
    let header = Header::of(filter, key_options);
    let id = write_filter(temporary.file(), &header, &filter.segments())
        .map_err(Error::write(&path, header.file_bytes()))?;
    temporary.commit(&path, replace)?;
    Ok(id)
}

/// The path with symbolic links followed, and the file that is to become the one there, with the
/// permissions that it is to have.
pub(crate) fn begin(
    path: &Path,
    keyed: bool,
    replace: bool,
) -> Result<(PathBuf, Temporary), Error> {
    let path = resolve_links(path)?;
    let old = match fs::metadata(&path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::io("look at", &path)(error)),
    };
    if let Some(old) = &old {
        check_regular(&path, old.file_type())?;
        if !replace {
            return Err(Error::Exists { path });
        }
    }
    let mut temporary = Temporary::create(&path, keyed || old.is_some())?;
    if let Some(old) = old {
        let permissions = old.permissions();
        temporary.file().set_permissions(permissions).map_err(Error::io("protect", &path))?;
    }
    Ok((path, temporary))
}

/// What tells a filter file from all others: the checksum of its header, which has those of all
/// pages. Never 0.
pub(crate) fn file_id(header: &Header) -> u64 {
    header_id(&header.encode(header.table_checksum()))
}

fn header_id(header: &[u8; HEADER_BYTES]) -> u64 {
    xxh3_64(header).max(1)
}

/// Writes body and table, then the header in front of them, in one pass over the memory; returns
/// the [`file_id`].
fn write_filter(file: &mut File, header: &Header, segments: &[&[Block]]) -> io::Result<u64> {
    let mut table: Vec<u8> = Vec::new();
    table.try_reserve_exact(header.num_pages() as usize * 8)?;
    file.write_all(&[0; HEADER_BYTES])?;
    for segment in segments {
        for chunk in segment.chunks(CHUNK_BLOCKS) {
            let checksums = native::page_checksums(chunk);
            table.extend(checksums.iter().flat_map(|checksum| checksum.to_le_bytes()));
            file.write_all(&native::body_bytes(chunk))?;
        }
        let used_bytes = size_of_val(*segment);
        file.write_all(&[0; PAGE_BYTES][..used_bytes.next_multiple_of(PAGE_BYTES) - used_bytes])?;
    }
    file.write_all(&table)?;
    file.rewind()?;
    let header = header.encode(xxh3_64(&table));
    file.write_all(&header)?;
    Ok(header_id(&header))
}
