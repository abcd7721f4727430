//! Filters that are queried in place: in the file.

use crate::body::verify_body;
use crate::image::{Start, read_start_at_rest};
use crate::load::open_filter;
use crate::map::MappedBlocks;
use crate::pages::Pages;
use crate::{Changed, Error, FileStamp, Image};
use mayhap::native::{HEADER_BYTES, Header, Identity};
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, FilterParams, Key, SecretKey};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number of times that opening is retried while the file is being changed.
const ATTEMPTS: usize = 3;

/// A read-only filter in a mapped file, opened without reading it and shared by all processes that
/// map it.
///
/// Each page is compared with its checksum before it is first read, once in a process. Answers are
/// valid only once [`MappedFilter::check`], called afterwards, has succeeded: a page may be
/// damaged, or its checksum, or others may have changed the file. [`MappedFilter::contains`] and
/// [`MappedFilter::contains_batch`] call it themselves.
///
/// Memory: a bit for each page. Threads can share it.
#[derive(Debug)]
pub struct MappedFilter {
    filter: AnyFilter<MappedBlocks>,
    pages: Pages,
    header: Header,
    /// For reading the mapped file, even if the path refers to another one by now.
    file: File,
    path: PathBuf,
    /// The file when it was opened, and since its header was last marked ([`Marked`]).
    marked: Mutex<Marked>,
    /// When [`MappedFilter::changed_at`] last checked the file.
    looked_at: AtomicU64,
}

/// The only change to a file that does not affect its filter: 32 bytes of its header, written when
/// a log is begun for it (`STATES.md`).
#[derive(Debug, Clone, Copy)]
struct Marked {
    stamp: FileStamp,
    identity: Option<Identity>,
}

/// Opens a filter in constant time: the header is read and checked (magic, version, checksum,
/// ranges, exact file length), the body is not touched before the first query.
///
/// A page that is read for the first time is loaded from the disk and compared with its checksum
/// (0.2 µs); so is one more page for each key, until all are known. [`load()`] reads all at once,
/// into huge pages, which also answers faster from then on.
///
/// # If another process changes the file
///
/// * Replaced by renaming, as by [`save`](crate::save()), or removed: the map keeps the old file;
///   all answers remain the ones of the opened file.
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
/// Same as [`load()`], except for damage in the body, which [`MappedFilter::check`] reports after
/// the first query that meets it, and [`MappedFilter::verify`] at once. [`Error::Unsupported`] on
/// big-endian machines and for files beyond the address space, [`Error::Changed`] if the file is
/// being written to.
///
/// [`load()`]: crate::load()
pub fn open_mapped(path: &Path, secret_key: Option<SecretKey>) -> Result<MappedFilter, Error> {
    open(path, secret_key, false)
}

/// Like [`open_mapped`], for a file whose pages were checked before, as by
/// [`verify()`](crate::verify()): they are not compared with their checksums. If one is damaged,
/// the answer for an inserted key can be "surely not".
///
/// # Errors
///
/// Same as [`open_mapped`].
pub fn open_trusted(path: &Path, secret_key: Option<SecretKey>) -> Result<MappedFilter, Error> {
    open(path, secret_key, true)
}

fn open(
    path: &Path,
    secret_key: Option<SecretKey>,
    is_trusted: bool,
) -> Result<MappedFilter, Error> {
    map(path, open_still(path)?, secret_key, is_trusted)
}

fn map(
    path: &Path,
    (file, start, stamp): (File, Start, FileStamp),
    secret_key: Option<SecretKey>,
    is_trusted: bool,
) -> Result<MappedFilter, Error> {
    if cfg!(target_endian = "big") {
        let what = "a big-endian machine cannot map filters; load it instead";
        return Err(Error::Unsupported { path: path.into(), what });
    }
    let Start { header, short } = start;
    let digest_function = header.digest_function(secret_key).map_err(Error::format(path))?;
    let params = header.params().map_err(Error::format(path))?;
    let Ok(len) = usize::try_from(header.file_bytes()) else {
        let what = "it is larger than this machine's address space";
        return Err(Error::Unsupported { path: path.into(), what });
    };
    let body = HEADER_BYTES..HEADER_BYTES + params.num_bytes() as usize;
    // A short file is in memory already.
    let blocks = match short {
        Some((_, pages)) => MappedBlocks::of_bytes(&pages, body),
        None => MappedBlocks::new(&file, body, len),
    };
    let blocks = blocks.map_err(Error::io("map", path))?;
    let filter = AnyFilter::from_parts(params, digest_function, blocks, header.inserted_items())
        .map_err(Error::format(path))?;
    let marked = Mutex::new(Marked { stamp, identity: header.identity() });
    let (pages, looked_at) = (Pages::new(&header, is_trusted), AtomicU64::new(0));
    Ok(MappedFilter { filter, pages, header, file, path: path.into(), marked, looked_at })
}

/// Opens a file whose header does not change while it is read.
fn open_still(path: &Path) -> Result<(File, Start, FileStamp), Error> {
    for _ in 0..ATTEMPTS {
        // Opening reports any problem with the path.
        let before = FileStamp::at(path).ok();
        let (file, start) = open_filter(path)?;
        let stamp = FileStamp::of(&file).map_err(Error::io("look at", path))?;
        if before == Some(stamp) {
            return Ok((file, start, stamp));
        }
    }
    Err(Error::Changed { path: path.into(), what: Changed::Overwritten })
}

impl MappedFilter {
    /// The filter of an open image, without the keys in a log ([`crate::Snapshot::replay`]); the
    /// pages of one that is trusted are not checked.
    ///
    /// # Errors
    ///
    /// Same as [`open_mapped`] and [`open_trusted`], except for errors of the log.
    pub fn of_image(
        image: &Image,
        secret_key: Option<SecretKey>,
        is_trusted: bool,
    ) -> Result<Self, Error> {
        let (path, file) = (image.path(), image.try_clone_file()?);
        let stamp = FileStamp::of(&file).map_err(Error::io("look at", path))?;
        let start = read_start_at_rest(&file, path, thread::sleep)?;
        if !start.header.is_same_image(image.header()) {
            return Err(Error::Changed { path: path.into(), what: Changed::Overwritten });
        }
        map(path, (file, start, stamp), secret_key, is_trusted)
    }

    /// Whether the key may have been inserted; `false` is certain.
    ///
    /// # Errors
    ///
    /// Same as [`MappedFilter::check`].
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
    /// assert!(mapped.contains("a")? && !mapped.contains("b")?);
    ///
    /// let mut bytes = std::fs::read(path)?;
    /// bytes[4096..4160].fill(0); // as a disk does that loses a sector
    /// std::fs::write(path, bytes)?;
    /// let error = mayhap_store::open_mapped(path, None)?.contains("a").unwrap_err();
    /// assert!(error.to_string().ends_with("page 0 of 1 is damaged (checksum mismatch)"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> Result<bool, Error> {
        let found = self.contains_digest(self.digest_function().digest(key));
        self.check().map(|()| found)
    }

    /// Like [`MappedFilter::contains`], for many keys, with one check of the file.
    ///
    /// # Errors
    ///
    /// Same as [`MappedFilter::check`].
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Result<Bitmap, Error> {
        let (mut digests, mut found) = (vec![Digest::default(); keys.len()], Bitmap::new());
        self.digest_function().digest_batch(keys, &mut digests);
        self.contains_digests_into(&digests, &mut found);
        self.check().map(|()| found)
    }

    /// Whether the key of this digest may have been inserted. Valid once [`MappedFilter::check`],
    /// [`MappedFilter::changed`] or [`MappedFilter::changed_at`] has found nothing afterwards.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.pages.before_queries(self.blocks(), self.params(), &[digest]);
        self.filter.contains_digest(digest)
    }

    /// Like [`MappedFilter::contains_digest`], for many digests, into a reused bitmap.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.pages.before_queries(self.blocks(), self.params(), digests);
        self.filter.contains_digests_into(digests, found);
    }

    /// The whole filter, every page of it compared with its checksum now. Bytes read from it are
    /// valid once [`MappedFilter::check`] has succeeded afterwards.
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
    /// let fill_ratio = mapped.whole().fill_ratio();
    /// mapped.check()?;
    /// assert!(fill_ratio > 0.0);
    ///
    /// std::fs::write(path, "")?; // not how a filter is replaced
    /// let fill_ratio = mapped.whole().fill_ratio();
    /// assert!(fill_ratio == 0.0 && mapped.check().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn whole(&self) -> &AnyFilter<MappedBlocks> {
        self.pages.compare_all(self.blocks());
        &self.filter
    }

    /// Compares up to `most_pages` pages that no query has read yet with their checksums, in order;
    /// returns whether none is left. For checking ahead, in the background.
    pub fn check_ahead(&self, most_pages: u64) -> bool {
        self.pages.compare_next(self.blocks(), most_pages)
    }

    /// The parameters of the filter. Reads no page.
    pub const fn params(&self) -> &FilterParams {
        self.filter.params()
    }

    /// How keys become digests. Reads no page.
    pub const fn digest_function(&self) -> &DigestFunction {
        self.filter.digest_function()
    }

    /// The insertions answered "new" ([`mayhap::Filter::inserted_items`]). Reads no page.
    pub const fn inserted_items(&self) -> u64 {
        self.filter.inserted_items()
    }

    /// Whether both have the layout `blocked`, one size and one digest function, so that a matrix
    /// can include them. Reads no page.
    pub fn is_blocked_like(&self, other: &Self) -> bool {
        match (&self.filter, &other.filter) {
            (AnyFilter::Blocked(ours), AnyFilter::Blocked(theirs)) => {
                ours.check_compatible(theirs).is_ok()
            }
            _ => false,
        }
    }

    /// The header, with the key options.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The file as it was when it was opened, or when its header was last seen marked for a log.
    pub fn stamp(&self) -> FileStamp {
        self.marked.lock().unwrap_or_else(PoisonError::into_inner).stamp
    }

    /// Checks that everything read from the filter so far was read from sound pages of the file as
    /// it was when it was opened. Once this fails, it fails forever.
    ///
    /// It costs a system call of some tenths of a microsecond: call it per batch.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`]; [`Error::Format`] with the damage that a query has met.
    pub fn check(&self) -> Result<(), Error> {
        let Some(what) = self.changed() else { return Ok(()) };
        Err(match what.damage() {
            Some(source) => Error::format(&self.path)(source),
            None => Error::Changed { path: self.path.clone(), what },
        })
    }

    /// The result of [`MappedFilter::check`], without the path.
    pub fn changed(&self) -> Option<Changed> {
        // In this order, since a change of the file best explains lost pages, and lost pages, which
        // read as zeros, damage that another thread has just found in them.
        let damage = self.pages.damage();
        let is_lost = self.blocks().is_lost();
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        match FileStamp::of(&self.file) {
            Ok(found) if found.bytes() < marked.stamp.bytes() => Some(Changed::Shortened),
            Ok(found) if found != marked.stamp && !self.is_marked(&mut marked, found) => {
                Some(Changed::Overwritten)
            }
            Ok(_) if !is_lost => damage,
            _ => Some(Changed::Unreadable),
        }
    }

    /// Whether the only change to the file is a new mark of a log; then this is its state from now
    /// on.
    fn is_marked(&self, marked: &mut Marked, found: FileStamp) -> bool {
        let Ok(start) = read_start_at_rest(&self.file, &self.path, thread::sleep) else {
            return false;
        };
        let header = start.header;
        let identity = header.identity();
        // Read before the stamp: anything written in between is another change.
        let is_mark = FileStamp::of(&self.file).is_ok_and(|stamp| stamp == found)
            && identity != marked.identity
            && self.header.is_same_image(&header)
            && self.pages.are_still_sound(self.blocks());
        if is_mark {
            *marked = Marked { stamp: found, identity };
        }
        is_mark
    }

    /// Like [`MappedFilter::changed`], for single queries: checks whether pages were lost or are
    /// damaged, and checks the file itself only if `now` differs from the time of the last check.
    /// So an overwritten file is noticed when the time has changed, and a shortened one at once if
    /// it matters.
    pub fn changed_at(&self, now: u64) -> Option<Changed> {
        // ORDERING: Relaxed. It guards nothing: two threads may both check.
        let is_known = self.looked_at.load(Ordering::Relaxed) == now;
        if is_known && self.pages.damage().is_none() && !self.blocks().is_lost() {
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
        if self.stamp().bytes() < HEADER_BYTES as u64 {
            // A short file, which is checked as a whole.
            return read_start_at_rest(&self.file, &self.path, thread::sleep).map(drop);
        }
        verify_body(&self.file, &self.path, &self.header, |_, _| {})
    }
}
