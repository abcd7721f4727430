//! Filter → file, atomically.

use crate::digests::{Keeper, forget, remove_digests_of, set_aside, settle};
use crate::disk::{DiskFile, Writer, look_for, protect};
use crate::log::Meaning;
use crate::state::remove_log_of;
use crate::temporary::Temporary;
use crate::{Error, FilterLock, Image, LockOptions};
use mayhap::native::{self, HEADER_BYTES, Header, MAX_KEY_OPTIONS_BYTES, Native, PAGE_BYTES};
use mayhap::{Block, Digest};
use std::io::{self, Seek, Write};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Blocks that are checksummed and written together: whole pages, small enough for the cache.
const CHUNK_BLOCKS: usize = (256 << 10) / Block::BYTES;

/// Saves a filter so that the path holds either the old file or the new one, at any moment and
/// after any crash.
///
/// `key_options` records how keys are extracted from input lines ([`Header::key_options`]); empty
/// if the key is the whole line. A symbolic link is followed and stays. A replaced file's
/// permissions are kept; a new file of a keyed (`sip13`) filter is only readable by its owner. If
/// the replaced file was a state, its log is removed; the new file is not a state.
///
/// # Errors
///
/// [`Error::Io`], [`Error::NoSpace`], [`Error::NotRegular`] for folders, pipes and devices,
/// [`Error::Locked`] while another process changes the filter at the path (see [`FilterLock::save`]
/// to wait), [`Error::Format`] if `key_options` is longer than [`MAX_KEY_OPTIONS_BYTES`]. After an
/// error the path is unchanged; only if the *folder* could not be synced, or the log not removed,
/// may it already be the new file.
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
    let lock = FilterLock::take(path, &mut LockOptions::new("save"))?;
    lock.save(&header_of(path, filter, key_options)?, &filter.segments(), true)
}

/// [`save`] that never replaces a file, not even one created while it writes.
///
/// # Errors
///
/// As [`save`], and [`Error::Exists`].
pub fn save_new<F: Native>(path: &Path, filter: &F, key_options: &str) -> Result<(), Error> {
    let lock = FilterLock::take(path, &mut LockOptions::new("save"))?;
    lock.save(&header_of(path, filter, key_options)?, &filter.segments(), false)
}

fn header_of<F: Native>(path: &Path, filter: &F, key_options: &str) -> Result<Header, Error> {
    let found = key_options.len();
    if found > MAX_KEY_OPTIONS_BYTES {
        let (field, limit) = ("key_options bytes", MAX_KEY_OPTIONS_BYTES as u64);
        let source = mayhap::Error::TooLarge { field, limit, found: found as u64 };
        return Err(Error::format(path)(source));
    }
    Ok(Header::of(filter, key_options))
}

impl FilterLock {
    /// [`save`] with a held lock, for a filter with this header and body. An existing file is
    /// replaced, and its log removed, only if `replace`.
    ///
    /// # Errors
    ///
    /// As [`save`] and [`save_new`], except for the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::native::{Header, Native};
    /// use mayhap_store::{FilterLock, LockOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = &folder.path().join("seen.mayhap");
    /// let lock = FilterLock::take(path, &mut LockOptions::new("build"))?;
    /// let filter = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
    /// lock.save(&Header::of(&filter, ""), &filter.segments(), false)?;
    /// drop(lock);
    /// assert_eq!(mayhap_store::load(path, None)?.filter.params().expected_items(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, header: &Header, segments: &[&[Block]], replace: bool) -> Result<(), Error> {
        let header = header.clone().with_identity(None).map_err(Error::format(self.path()))?;
        let replaced = replaced(self, replace)?;
        let (temporary, _) = write_image(self, &header, segments, replace)?;
        take_place(self, temporary, replace, replaced.as_ref())
    }

    /// [`FilterLock::save`] that also writes the digests of all keys of the filter, in any order,
    /// to a file beside it ([`crate::digests_path`]), from which [`crate::KeptDigests`] reads them.
    /// Digests beside a replaced filter are replaced with it: after any error or crash there is the
    /// old filter with the old digests, or the new one with the new ones.
    ///
    /// # Errors
    ///
    /// As [`FilterLock::save`]; [`Error::Exists`] if another file has the name of the digests, even
    /// if `replace`.
    pub fn save_with_digests(
        &self,
        header: &Header,
        segments: &[&[Block]],
        digests: Vec<Digest>,
        replace: bool,
    ) -> Result<(), Error> {
        let header = header.clone().with_identity(None).map_err(Error::format(self.path()))?;
        if !replace && look_for(&**self.disk(), self.path(), true)?.is_some() {
            return Err(Error::Exists { path: self.path().into() });
        }
        let replaced = replaced(self, replace)?;
        let meaning =
            Meaning::of(header.digest_id(), header.digest_parameter(), header.key_options());
        let mut keeper = Keeper::create(self, meaning, replace)?;
        keeper.note_all(digests);
        let saved = save_image(self, &header, segments, replace, Some(&mut keeper));
        let settled = settle(&**self.disk(), self.path());
        saved.and(settled)?;
        remove_log_of(&**self.disk(), self.path(), replaced.as_ref())
    }

    /// Removes the digests beside the filter, which is gone or continues without them; `false` if
    /// there are none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn remove_digests(&self) -> Result<bool, Error> {
        settle(&**self.disk(), self.path())?;
        remove_digests_of(&**self.disk(), self.path())
    }
}

/// The header of the filter that is about to be replaced, if there is a sound one; whoever was
/// killed while replacing it has ended then.
pub(crate) fn replaced(lock: &FilterLock, replace: bool) -> Result<Option<Header>, Error> {
    settle(&**lock.disk(), lock.path())?;
    if !replace {
        return Ok(None);
    }
    match Image::open(&**lock.disk(), lock.path()) {
        Ok(image) => Ok(Some(image.header().clone())),
        // A disk that fails now may not fail later, and then its log would be that of another.
        Err(error @ Error::Io { .. }) if !error.is_not_found() && !error.is_denied() => Err(error),
        Err(_) => Ok(None),
    }
}

/// Puts a file in the place of the filter at the path of the lock, and removes what belonged to
/// that filter. Its digests go with it, or stay with it after an error.
pub(crate) fn take_place(
    lock: &FilterLock,
    temporary: Temporary,
    replace: bool,
    replaced: Option<&Header>,
) -> Result<(), Error> {
    let (disk, path) = (&**lock.disk(), lock.path());
    let aside = if replace { set_aside(disk, path) } else { Ok(()) };
    let placed = aside.and_then(|()| temporary.commit(replace));
    if let Err(error) = placed {
        // Best effort: otherwise the next writer does it.
        let _ = settle(disk, path);
        return Err(error);
    }
    forget(disk, path)?;
    remove_log_of(disk, path, replaced)
}

/// Saves a filter with its identity at the path of the lock, regardless of any log. What a keeper
/// has noted is on disk before the filter gets its name.
pub(crate) fn save_image(
    lock: &FilterLock,
    header: &Header,
    segments: &[&[Block]],
    replace: bool,
    keeper: Option<&mut Keeper>,
) -> Result<(), Error> {
    let (temporary, fingerprint) = write_image(lock, header, segments, replace)?;
    if let Some(keeper) = keeper {
        keeper.cover(fingerprint)?;
    }
    temporary.commit(replace)
}

/// Writes a filter to the file that will take its place, which is not synced; with the checksum of
/// its header ([`Image::fingerprint`]).
fn write_image(
    lock: &FilterLock,
    header: &Header,
    segments: &[&[Block]],
    replace: bool,
) -> Result<(Temporary, u64), Error> {
    let temporary = begin(lock, header.digest_id() != 1, replace)?;
    let fingerprint = write_filter(temporary.file(), header, segments)
        .map_err(Error::write(lock.path(), header.file_bytes()))?;
    Ok((temporary, fingerprint))
}

/// The file that will replace the one at the path of the lock, with its final permissions.
pub(crate) fn begin(lock: &FilterLock, keyed: bool, replace: bool) -> Result<Temporary, Error> {
    let path = lock.path();
    let old = look_for(&**lock.disk(), path, true)?;
    if let Some(old) = &old {
        old.check_regular(path)?;
        if !replace {
            return Err(Error::Exists { path: path.into() });
        }
    }
    let temporary = Temporary::create(lock, keyed || old.is_some())?;
    if let Some(permissions) = old.and_then(|old| old.permissions) {
        protect(&**lock.disk(), temporary.file(), permissions, path)?;
    }
    Ok(temporary)
}

/// Writes body and table, then the header in front of them, in one pass over the memory; returns
/// the checksum of the header ([`Image::fingerprint`]).
fn write_filter(file: &dyn DiskFile, header: &Header, segments: &[&[Block]]) -> io::Result<u64> {
    let mut out = Writer::new(file);
    let mut table: Vec<u8> = Vec::new();
    table.try_reserve_exact(header.num_pages() as usize * 8)?;
    out.write_all(&[0; HEADER_BYTES])?;
    for segment in segments {
        for chunk in segment.chunks(CHUNK_BLOCKS) {
            let checksums = native::page_checksums(chunk);
            table.extend(checksums.iter().flat_map(|checksum| checksum.to_le_bytes()));
            out.write_all(&native::body_bytes(chunk))?;
        }
        let used_bytes = size_of_val(*segment);
        out.write_all(&[0; PAGE_BYTES][..used_bytes.next_multiple_of(PAGE_BYTES) - used_bytes])?;
    }
    out.write_all(&table)?;
    out.rewind()?;
    let bytes = header.encode(xxh3_64(&table));
    out.write_all(&bytes)?;
    Ok(u64::from_le_bytes(std::array::from_fn(|i| bytes[HEADER_BYTES - 8 + i])))
}
