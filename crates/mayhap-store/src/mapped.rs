//! Filters that are queried in place: in the file.

use crate::body::verify_body;
use crate::image::read_header_at_rest;
use crate::load::open_filter;
use crate::map::MappedBlocks;
use crate::{Changed, Error, FileStamp};
use mayhap::native::{HEADER_BYTES, Header, Identity};
use mayhap::{AnyFilter, SecretKey};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How often opening is retried if the file is being changed.
const ATTEMPTS: usize = 3;

/// A read-only filter in a mapped file, opened without reading it and shared by all processes that
/// map it.
///
/// Answers are valid only once [`MappedFilter::check`], called afterwards, has succeeded: others
/// may have changed the file.
#[derive(Debug)]
pub struct MappedFilter {
    filter: AnyFilter<MappedBlocks>,
    header: Header,
    /// For reading what the map shows, even if the path refers to another file by now.
    file: File,
    path: PathBuf,
    /// The file when it was opened, and since its header was last marked ([`Marked`]).
    marked: Mutex<Marked>,
    /// When [`MappedFilter::changed_at`] last checked the file.
    looked_at: AtomicU64,
}

/// The only change to a file that does not affect its filter: 32 bytes of its header are written
/// when a log is begun for it (`docs/native-format.md`, "States").
#[derive(Debug, Clone, Copy)]
struct Marked {
    stamp: FileStamp,
    identity: Option<Identity>,
}

/// Opens a filter in constant time: the header is read and checked (magic, version, checksum,
/// ranges, exact file length), the body is not touched before the first query.
///
/// A page that is read for the first time comes from the disk; [`load()`] reads all at once, into
/// huge pages, which also answers faster from then on.
///
/// # When someone else changes the file
///
/// * Replaced by renaming, which is what [`save`](crate::save()) does, or removed: the map keeps
///   the old file; all answers remain those of the file that was opened.
/// * Truncated, overwritten in place, or on a disk that fails to read a page: answers can be wrong.
///   [`MappedFilter::check`] reports it from then on; a caller that runs it after each batch,
///   before using the answers, never uses a wrong one.
///
/// On Linux this installs, once, a SIGBUS handler that replaces lost pages of its own maps by zeros
/// and passes everything else on to the previous handler. Elsewhere, and if another handler
/// replaces it, touching a lost page ends the process, as it does without a handler.
///
/// # Errors
///
/// As [`load()`], except for damage in the body, which [`MappedFilter::verify`] finds.
/// [`Error::Unsupported`] on big-endian machines and for files beyond the address space,
/// [`Error::Changed`] if the file is being written to.
///
/// [`load()`]: crate::load()
pub fn open_mapped(path: &Path, secret_key: Option<SecretKey>) -> Result<MappedFilter, Error> {
    if cfg!(target_endian = "big") {
        let what = "a big-endian machine cannot map filters; load it instead";
        return Err(Error::Unsupported { path: path.into(), what });
    }
    let (file, header, stamp) = open_still(path)?;
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
    let marked = Mutex::new(Marked { stamp, identity: header.identity() });
    let looked_at = AtomicU64::new(0);
    Ok(MappedFilter { filter, header, file, path: path.into(), marked, looked_at })
}

/// Opens a file whose header does not change while it is read.
fn open_still(path: &Path) -> Result<(File, Header, FileStamp), Error> {
    for _ in 0..ATTEMPTS {
        // Opening reports any problem with the path.
        let before = FileStamp::at(path).ok();
        let (file, header) = open_filter(path)?;
        let stamp = FileStamp::of(&file).map_err(Error::io("look at", path))?;
        if before == Some(stamp) {
            return Ok((file, header, stamp));
        }
    }
    Err(Error::Changed { path: path.into(), what: Changed::Overwritten })
}

impl MappedFilter {
    /// The filter, for queries. Its answers are valid once [`MappedFilter::check`] has succeeded
    /// afterwards.
    ///
    /// # Examples
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = &folder.path().join("seen.mayhap");
    /// # let mut seen = mayhap::AnyFilter::builder().expected_items(9).target_fpp(1e-6).build()?;
    /// # seen.insert("a");
    /// mayhap_store::save(path, &seen, "")?;
    /// let mapped = mayhap_store::open_mapped(path, None)?;
    /// let is_there = mapped.filter().contains("a");
    /// mapped.check()?;
    /// assert!(is_there);
    ///
    /// std::fs::write(path, "")?; // not how a filter is replaced
    /// let is_there = mapped.filter().contains("a");
    /// assert!(!is_there && mapped.check().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn filter(&self) -> &AnyFilter<MappedBlocks> {
        &self.filter
    }

    /// The header, with the key options.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The file as it was when it was opened, or when its header was last seen marked for a log.
    pub fn stamp(&self) -> FileStamp {
        self.marked.lock().unwrap_or_else(PoisonError::into_inner).stamp
    }

    /// Checks that everything read from the filter so far came from the file as it was when it was
    /// opened. Once this fails, it fails forever.
    ///
    /// It costs a system call of some tenths of a microsecond: call it per batch.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`].
    pub fn check(&self) -> Result<(), Error> {
        let changed = |what| Err(Error::Changed { path: self.path.clone(), what });
        self.changed().map_or(Ok(()), changed)
    }

    /// The result of [`MappedFilter::check`], without the path.
    pub fn changed(&self) -> Option<Changed> {
        // First, since what happened to the file best explains lost pages.
        let is_lost = self.blocks().is_lost();
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        match FileStamp::of(&self.file) {
            Ok(found) if found.bytes() < marked.stamp.bytes() => Some(Changed::Shortened),
            Ok(found) if found != marked.stamp && !self.is_marked(&mut marked, found) => {
                Some(Changed::Overwritten)
            }
            Ok(_) if !is_lost => None,
            _ => Some(Changed::Unreadable),
        }
    }

    /// Whether the only change to the file is a new mark of a log; then this is its state from now
    /// on.
    fn is_marked(&self, marked: &mut Marked, found: FileStamp) -> bool {
        let Ok(header) = read_header_at_rest(&self.file, &self.path, thread::sleep) else {
            return false;
        };
        let identity = header.identity();
        // Read before the stamp: anything written in between is another change.
        let is_mark = FileStamp::of(&self.file).is_ok_and(|stamp| stamp == found)
            && identity != marked.identity
            && self.header.is_same_image(&header);
        if is_mark {
            *marked = Marked { stamp: found, identity };
        }
        is_mark
    }

    /// [`MappedFilter::changed`] for single queries: checks whether pages were lost, and checks the
    /// file itself only if `now` differs from the time of the last check. So an overwritten file is
    /// noticed when the time has changed, and a shortened one at once if it matters.
    pub fn changed_at(&self, now: u64) -> Option<Changed> {
        // ORDERING: Relaxed. It guards nothing: two threads may both check.
        if self.looked_at.load(Ordering::Relaxed) == now && !self.blocks().is_lost() {
            return None;
        }
        let changed = self.changed();
        if changed.is_none() {
            // ORDERING: Relaxed, as above.
            self.looked_at.store(now, Ordering::Relaxed);
        }
        changed
    }

    fn blocks(&self) -> &MappedBlocks {
        self.filter.storage()
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
