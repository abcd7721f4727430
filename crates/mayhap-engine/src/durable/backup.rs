//! Copies of a data folder, even while a server writes to it, or from a remote server.
//!
//! Images and lists never change, and no number is given twice; the manifest is replaced as a
//! whole; the log only grows at its end. So a manifest, the lists that it names, their images, and
//! the log from its first segment to any point make a folder as a power cut would leave it. If
//! files are gone before they are copied, a checkpoint has removed them, and its manifest is in
//! place: the copy starts over from that manifest, keeping the images and lists that it already
//! has.
//!
//! The copy only counts as one when it is complete: `incomplete.rs`.

use super::census::Census;
use super::lists::ListOf;
use super::load::{packs_of, verify_images};
use super::manifest::Manifest;
use super::recover::replay_log;
use super::segment;
use super::source::{InFolder, Source};
use super::store::{FILTERS, IMPORT, KEY, LOG, MANIFEST, segment_path};
use super::{Error, Report, Store, incomplete, pack};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

/// A copy gives up after this many checkpoints of the server.
const MOST_ATTEMPTS: usize = 1000;

/// The contents of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backup {
    /// Number of filters, including those that are only in its log.
    pub filters: u64,
    /// Bytes of its images.
    pub image_bytes: u64,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// Whether the secret key is in it.
    pub has_key: bool,
    /// The id of the secret key that its filters need, shown by `BF.INFO key DIGEST` in
    /// hexadecimal.
    pub key_id: u64,
}

/// Copies a data folder, even while a server uses it, into a new folder, and checks every byte of
/// the copy. It has every change that was acknowledged before this call. Files in `import/` belong
/// to their owner and are not copied.
///
/// The key is copied if there is one and `with_key` is set. Without it the copy only opens where
/// the same key is given.
///
/// The same call restores a backup: into the folder that a server will use.
///
/// # Examples
///
/// ```
/// use mayhap_engine::durable::{DataFolder, Log, Options, back_up};
/// # use mayhap_engine::keyspace::{self, Keyspace, Recovery};
///
/// # let path = tempfile::tempdir()?;
/// # let (from, to) = (path.path().join("data"), path.path().join("backup"));
/// let folder = DataFolder::open(&from)?;
/// let key = folder.secret_key()?;
/// # let recovery = Recovery::new(keyspace::Options::new(key));
/// let options = Options::new(mayhap::DigestFunction::sip13(key));
/// let (_log, _) = Log::open(folder, options, &recovery, &|_| {})?;
/// assert!(back_up(&from, &to, true)?.has_key);
/// assert_eq!(DataFolder::open(&to)?.secret_key()?, key);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Missing`] if there is no data folder, [`Error::Io`], also of kind `AlreadyExists` if
/// the target has files, [`Error::Damaged`] for a copy that is not sound. [`Error::Incomplete`] if
/// the source is not complete. A copy that is cut short, by an error or by the end of the process
/// at any point, is marked as incomplete: no server opens it, and another copy may replace it.
pub fn back_up(from: &Path, to: &Path, with_key: bool) -> Result<Backup, Error> {
    if incomplete::is_incomplete(from).map_err(Error::io("look into", from.into()))? {
        return Err(Error::Incomplete { folder: from.into() });
    }
    back_up_from(&mut InFolder(from), to, with_key)
}

/// [`back_up`] from any source.
///
/// # Errors
///
/// As [`back_up`].
pub fn back_up_from(from: &mut dyn Source, to: &Path, with_key: bool) -> Result<Backup, Error> {
    let first = read_manifest(from)?;
    let store = incomplete::begin(to)?.store;
    for folder in [LOG, FILTERS, IMPORT] {
        store.create_dir(folder)?;
    }
    let mut copied = BTreeSet::new();
    let mut manifest = first;
    let mut attempts = 0;
    loop {
        match copy_of(from, &store, &mut manifest.1, &mut copied) {
            Ok(()) => break,
            Err(error) if attempts == MOST_ATTEMPTS || !is_gone(&error) => return Err(error),
            Err(error) => {
                let now = read_manifest(from)?;
                if now.0 == manifest.0 {
                    return Err(error);
                }
                (attempts, manifest) = (attempts + 1, now);
            }
        }
    }
    let (bytes, manifest) = manifest;
    let images = manifest.filters.iter().map(|(_, of)| of.path());
    let named: BTreeSet<String> = images.chain(manifest.lists.iter().map(ListOf::path)).collect();
    for path in copied.difference(&named) {
        store.remove(path)?;
    }
    let has_key = with_key && copy(from, &store, KEY, None).map(|_| true).or_else(no_key)?;
    for folder in [LOG, FILTERS] {
        store.sync_dir(folder)?;
    }
    let (filters, log_bytes) = check(&store, &manifest)?;
    store.replace(MANIFEST, &bytes)?;
    // From here on this is a data folder.
    incomplete::complete(&store)?;
    let image_bytes = manifest.filters.iter().map(|(_, of)| of.bytes).sum();
    let key_id = manifest.identity.digest_parameter;
    Ok(Backup { filters, image_bytes, log_bytes, has_key, key_id })
}

fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

fn no_key(error: Error) -> Result<bool, Error> {
    if is_gone(&error) { Ok(false) } else { Err(error) }
}

fn read_manifest(from: &mut dyn Source) -> Result<(Vec<u8>, Manifest), Error> {
    let path = from.path(MANIFEST);
    let bytes = from.manifest().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::Missing { path: path.clone(), why: "every data folder has one" }
        }
        _ => Error::io("read", path.clone())(error),
    })?;
    let manifest = Manifest::of_bytes(&bytes, path)?;
    Ok((bytes, manifest))
}

/// Copies the log, the lists and the images of a manifest, and reads the lists.
fn copy_of(
    from: &mut dyn Source,
    store: &Store,
    manifest: &mut Manifest,
    copied: &mut BTreeSet<String>,
) -> Result<(), Error> {
    // The log first: its segments are shorter-lived than images, and it has every change that was
    // acknowledged when this began.
    let lengths = from.segments(manifest.first_segment);
    let lengths = lengths.map_err(Error::io("look at", from.path(LOG)))?;
    for number in store.numbers(LOG, ".log")? {
        // Left by an earlier attempt.
        store.remove(&segment_path(number))?;
    }
    for (number, bytes) in lengths {
        copy(from, store, &segment_path(number), Some(bytes))?;
    }
    let mut copy_once = |path: String| {
        if !copied.contains(&path) {
            copy(from, store, &path, None)?;
            copied.insert(path);
        }
        Ok(())
    };
    manifest.lists.iter().map(ListOf::path).try_for_each(&mut copy_once)?;
    manifest.read_lists(store)?;
    let with_image = manifest.filters.iter().filter(|(_, of)| of.number != 0);
    let paths: BTreeSet<String> = with_image.map(|(_, of)| of.path()).collect();
    paths.into_iter().try_for_each(copy_once)
}

/// Copies a file, or its first bytes, onto the disk.
fn copy(
    from: &mut dyn Source,
    store: &Store,
    path: &str,
    bytes: Option<u64>,
) -> Result<u64, Error> {
    let source = from.path(path);
    let file = from.open(path).map_err(Error::io("open", source.clone()))?;
    store.copy(file.take(bytes.unwrap_or(u64::MAX)), &source, path)
}

/// Checks every byte of a copy; returns the number of filters and of log bytes.
fn check(store: &Store, manifest: &Manifest) -> Result<(u64, u64), Error> {
    for number in packs_of(manifest) {
        pack::check(store, number)?;
    }
    if let Some((.., error)) = verify_images(store, manifest).into_iter().next() {
        return Err(error);
    }
    let mut report = Report::default();
    let census = Census::of(manifest);
    let end = replay_log(store, manifest, &census, None, &|_| {}, &mut report)?;
    // A record that was being written when it was copied is cut off at the next start.
    let header = segment::HEADER_BYTES as u64;
    let log_bytes = report.log_bytes.saturating_sub(header * end.num_segments() as u64);
    Ok((census.filters(), log_bytes))
}
