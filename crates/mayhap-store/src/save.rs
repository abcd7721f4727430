//! Filter → file, atomically; bytes of other systems, read whole and replaced likewise.

use crate::digests::{Keeper, forget, remove_digests_of, set_aside, settle};
use crate::disk::{
    DiskFile, How, Real, look_for, open_regular, protect, read_exact_at, write_all_at,
};
use crate::log::Meaning;
use crate::state::remove_log_of;
use crate::temporary::Temporary;
use crate::{Error, FilterLock, Image, LockOptions};
use mayhap::native::{self, HEADER_BYTES, Header, MAX_KEY_OPTIONS_BYTES, Native, PAGE_BYTES};
use mayhap::set::Set;
use mayhap::{Block, Digest};
use std::io;
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

/// Like [`save`], but never replaces a file, not even one created while it writes.
///
/// # Errors
///
/// Same as [`save`], and [`Error::Exists`].
pub fn save_new<F: Native>(path: &Path, filter: &F, key_options: &str) -> Result<(), Error> {
    let lock = FilterLock::take(path, &mut LockOptions::new("save"))?;
    lock.save(&header_of(path, filter, key_options)?, &filter.segments(), false)
}

/// Like [`save`], for a filter of any kind; like [`save_new`] unless it is to `replace`.
///
/// # Errors
///
/// Same as [`save`] and [`save_new`].
pub fn save_set(path: &Path, set: &dyn Set, key_options: &str, replace: bool) -> Result<(), Error> {
    let lock = FilterLock::take(path, &mut LockOptions::new("save"))?;
    check_key_options(path, key_options)?;
    lock.save(&set.header(key_options), &set.segments(), replace)
}

/// Like [`save_set`], as a short file ([`mayhap::native::encode_short`]).
///
/// # Errors
///
/// Same as [`save_set`]; [`Error::Format`] for a filter that has no short form: one that is too
/// large for it, or not a plain one.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let mut filter = mayhap::AnyFilter::builder().expected_items(100).target_fpp(0.01).build()?;
/// filter.insert("one");
/// mayhap_store::save_short(path, &filter, "", false)?;
/// assert_eq!(std::fs::metadata(path)?.len(), 200);
/// let copy = mayhap_store::load(path, None)?.filter;
/// assert!(copy.contains("one") && !copy.contains("two"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_short(
    path: &Path,
    set: &dyn Set,
    key_options: &str,
    replace: bool,
) -> Result<(), Error> {
    let lock = FilterLock::take(path, &mut LockOptions::new("save"))?;
    check_key_options(path, key_options)?;
    lock.save_short(&set.header(key_options), &set.segments(), replace)
}

fn header_of<F: Native>(path: &Path, filter: &F, key_options: &str) -> Result<Header, Error> {
    check_key_options(path, key_options)?;
    Ok(Header::of(filter, key_options))
}

fn check_key_options(path: &Path, key_options: &str) -> Result<(), Error> {
    let found = key_options.len();
    if found > MAX_KEY_OPTIONS_BYTES {
        let (field, limit) = ("key_options bytes", MAX_KEY_OPTIONS_BYTES as u64);
        let source = mayhap::Error::TooLarge { field, limit, found: found as u64 };
        return Err(Error::format(path)(source));
    }
    Ok(())
}

impl FilterLock {
    /// Like [`save`], with a held lock, for a filter with this header and body. An existing file is
    /// replaced, and its log removed, only if `replace`.
    ///
    /// # Errors
    ///
    /// Same as [`save`] and [`save_new`], except for the lock.
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
        let new = Replacement::begin(self, header.digest_id() != 1, replace)?;
        write_filter(new.file(), &header, segments)
            .map_err(Error::write(self.path(), header.file_bytes()))?;
        new.commit()
    }

    /// Like [`FilterLock::save`], as a short file.
    ///
    /// # Errors
    ///
    /// Same as [`save_short`], except for the lock.
    pub fn save_short(
        &self,
        header: &Header,
        segments: &[&[Block]],
        replace: bool,
    ) -> Result<(), Error> {
        let header = header.clone().with_identity(None).map_err(Error::format(self.path()))?;
        let short = header.encode_short(segments).map_err(Error::format(self.path()))?;
        self.save_whole(&short, header.is_keyed(), replace)
    }

    /// Like [`FilterLock::save`], but also writes the digests of all keys of the filter, in any
    /// order, to a file beside it ([`crate::digests_path`]), from which [`crate::KeptDigests`]
    /// reads them. Digests beside a replaced filter are replaced with it: after any error or crash
    /// the path has the old filter with the old digests, or the new one with the new ones.
    ///
    /// # Errors
    ///
    /// Same as [`FilterLock::save`]; [`Error::Exists`] if another file has the name of the digests,
    /// even if `replace`.
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
        let mut keeper = Keeper::create(self, Meaning::of(&header), replace)?;
        keeper.note_all(digests);
        let saved = save_image(self, &header, segments, replace, Some(&mut keeper));
        let settled = settle(&**self.disk(), self.path());
        saved.and(settled)?;
        remove_log_of(&**self.disk(), self.path(), replaced.as_ref())
    }

    /// Like [`save_bytes`], with a held lock. If the replaced file was a state, its log is removed.
    ///
    /// # Errors
    ///
    /// Same as [`save_bytes`], except for the lock.
    pub fn save_bytes(&self, bytes: &[u8], replace: bool) -> Result<(), Error> {
        self.save_whole(bytes, false, replace)
    }

    fn save_whole(&self, bytes: &[u8], keyed: bool, replace: bool) -> Result<(), Error> {
        let new = Replacement::begin(self, keyed, replace)?;
        write_all_at(new.file(), bytes, 0)
            .map_err(Error::write(self.path(), bytes.len() as u64))?;
        new.commit()
    }

    /// Removes the digests beside the filter, which was removed or continues without them; `false`
    /// if there are none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn remove_digests(&self) -> Result<bool, Error> {
        settle(&**self.disk(), self.path())?;
        remove_digests_of(&**self.disk(), self.path())
    }
}

/// A file that will take the place of the filter at the path of a lock.
pub(crate) struct Replacement<'a> {
    lock: &'a FilterLock,
    temporary: Temporary,
    replace: bool,
    /// The header of the filter that will be replaced, if it is sound.
    replaced: Option<Header>,
}

impl<'a> Replacement<'a> {
    /// Begins it, with its final permissions; first finishes an interrupted replacement.
    pub(crate) fn begin(lock: &'a FilterLock, keyed: bool, replace: bool) -> Result<Self, Error> {
        let replaced = replaced(lock, replace)?;
        Ok(Self { lock, temporary: begin(lock, keyed, replace)?, replace, replaced })
    }

    pub(crate) fn file(&self) -> &dyn DiskFile {
        self.temporary.file()
    }

    /// Puts the file in its place, and removes the files of the filter that was there. Its digests
    /// are removed with it, or stay with it after an error.
    pub(crate) fn commit(self) -> Result<(), Error> {
        let (disk, path) = (&**self.lock.disk(), self.lock.path());
        let aside = if self.replace { set_aside(disk, path) } else { Ok(()) };
        let placed = aside.and_then(|()| self.temporary.commit(self.replace));
        if let Err(error) = placed {
            // Best effort: otherwise the next writer does it.
            let _ = settle(disk, path);
            return Err(error);
        }
        forget(disk, path)?;
        remove_log_of(disk, path, self.replaced.as_ref())
    }
}

/// The header of the filter that is about to be replaced, if it is sound; first finishes an
/// interrupted replacement.
fn replaced(lock: &FilterLock, replace: bool) -> Result<Option<Header>, Error> {
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

/// Saves a short file at the path of the lock in the place of another, regardless of any log.
pub(crate) fn save_short_image(lock: &FilterLock, short: &[u8], keyed: bool) -> Result<(), Error> {
    let temporary = begin(lock, keyed, true)?;
    write_all_at(temporary.file(), short, 0)
        .map_err(Error::write(lock.path(), short.len() as u64))?;
    temporary.commit(true)
}

/// Saves a filter with its identity at the path of the lock, regardless of any log. The digests
/// noted by a keeper are on disk before the filter gets its name.
pub(crate) fn save_image(
    lock: &FilterLock,
    header: &Header,
    segments: &[&[Block]],
    replace: bool,
    keeper: Option<&mut Keeper>,
) -> Result<(), Error> {
    let temporary = begin(lock, header.digest_id() != 1, replace)?;
    let fingerprint = write_filter(temporary.file(), header, segments)
        .map_err(Error::write(lock.path(), header.file_bytes()))?;
    if let Some(keeper) = keeper {
        keeper.cover(fingerprint)?;
    }
    temporary.commit(replace)
}

/// The file that will replace the one at the path of the lock, with its final permissions.
fn begin(lock: &FilterLock, keyed: bool, replace: bool) -> Result<Temporary, Error> {
    let path = lock.path();
    let old = look_for(&**lock.disk(), path, true)?;
    if let Some(old) = &old {
        old.check_regular(path)?;
        if !replace {
            return Err(Error::Exists { path: path.into() });
        }
    }
    let temporary = Temporary::create(lock, keyed || old.is_some())?;
    protect(&**lock.disk(), temporary.file(), old.and_then(|old| old.permissions), path)?;
    Ok(temporary)
}

/// Writes body and table, then the header in front of them, in one pass over the memory; returns
/// the checksum of the header ([`Image::fingerprint`]).
fn write_filter(file: &dyn DiskFile, header: &Header, segments: &[&[Block]]) -> io::Result<u64> {
    let mut at = 0;
    let mut write = |bytes: &[u8]| {
        at += bytes.len() as u64;
        write_all_at(file, bytes, at - bytes.len() as u64)
    };
    let mut table: Vec<u8> = Vec::new();
    table.try_reserve_exact(header.num_pages() as usize * 8)?;
    write(&[0; HEADER_BYTES])?;
    for segment in segments {
        for chunk in segment.chunks(CHUNK_BLOCKS) {
            let checksums = native::page_checksums(chunk);
            table.extend(checksums.iter().flat_map(|checksum| checksum.to_le_bytes()));
            write(&native::body_bytes(chunk))?;
        }
        let used_bytes = size_of_val(*segment);
        write(&[0; PAGE_BYTES][..used_bytes.next_multiple_of(PAGE_BYTES) - used_bytes])?;
    }
    write(&table)?;
    let bytes = header.encode(xxh3_64(&table));
    write_all_at(file, &bytes, 0)?;
    Ok(u64::from_le_bytes(std::array::from_fn(|i| bytes[HEADER_BYTES - 8 + i])))
}

/// Reads a whole regular file of at most `max_bytes`.
///
/// # Errors
///
/// [`Error::Io`]; [`Error::NotRegular`] for folders, pipes and devices; [`Error::Format`] with
/// [`mayhap::Error::TooLarge`] for a longer file, or [`mayhap::Error::OutOfMemory`], before
/// anything is read.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("bitmap");
/// mayhap_store::save_bytes(path, &[0x80, 1], false)?;
/// assert_eq!(mayhap_store::read_bytes(path, 2)?, [0x80, 1]);
/// assert!(mayhap_store::read_bytes(path, 1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_bytes(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let file = open_regular(&Real, path, How::Read)?;
    let found = file.look().map_err(Error::io("open", path))?.bytes;
    if found > max_bytes {
        let (field, limit) = ("file bytes", max_bytes);
        return Err(Error::format(path)(mayhap::Error::TooLarge { field, limit, found }));
    }
    let mut bytes = Vec::new();
    let reserved = usize::try_from(found).is_ok_and(|len| bytes.try_reserve_exact(len).is_ok());
    if !reserved {
        return Err(Error::format(path)(mayhap::Error::OutOfMemory { bytes: found }));
    }
    bytes.resize(found as usize, 0);
    read_exact_at(&*file, &mut bytes, 0).map_err(Error::io("read", path))?;
    Ok(bytes)
}

/// Saves bytes as [`crate::save()`] saves a filter: at any moment the path holds the old file or
/// the new one. An existing file is replaced only if `replace` is set.
///
/// # Errors
///
/// Same as [`crate::save()`] and [`crate::save_new`].
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("bitmap");
/// mayhap_store::save_bytes(path, &[1], false)?;
/// assert!(mayhap_store::save_bytes(path, &[2], false).is_err());
/// mayhap_store::save_bytes(path, &[3], true)?;
/// assert_eq!(std::fs::read(path)?, [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_bytes(path: &Path, bytes: &[u8], replace: bool) -> Result<(), Error> {
    FilterLock::take(path, &mut LockOptions::new("save"))?.save_bytes(bytes, replace)
}
