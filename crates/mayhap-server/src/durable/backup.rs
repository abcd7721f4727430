//! A copy of a data folder, also of one that a server writes to meanwhile, or has elsewhere.
//!
//! Images and lists never change, and no number is given twice; the manifest is replaced as a
//! whole; the log only grows at its end. So a manifest, the lists that it names, their images, and
//! the log from its first segment to any place make a folder as a power cut would leave it. Files
//! that are gone before they are copied were let go of by a checkpoint, and its manifest is there:
//! the copy begins again with that, and keeps the images and lists that it has.
//!
//! The copy is one only when it is complete: `incomplete.rs`.

use super::census::Census;
use super::disk::{DiskFile, write_all_at};
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

const COPY_BYTES: usize = 1 << 20;
/// A server that makes so many checkpoints while one copy is made is not waited for any longer.
const MOST_ATTEMPTS: usize = 1000;

/// What a backup has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backup {
    /// Filters in it, also those that are in its log alone.
    pub filters: u64,
    /// Bytes of its images.
    pub image_bytes: u64,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// Whether the secret key is in it.
    pub has_key: bool,
    /// The id of the secret key that its filters need, which `BF.INFO key DIGEST` shows in
    /// hexadecimal.
    pub key_id: u64,
}

/// Copies a data folder, which a server may serve meanwhile, into a new folder, and checks every
/// byte of the copy. All that was acknowledged before this is called is in it. Files in `import/`
/// are their owner's and are not copied.
///
/// The key is copied if there is one and `with_key` says so. Without it the copy opens only where
/// the same key is given.
///
/// The same restores a backup: into the folder that a server is to be given.
///
/// # Examples
///
/// ```
/// use mayhap_server::durable::{DataFolder, Log, Options, back_up};
/// # use mayhap_server::keyspace::{self, Keyspace, Recovery};
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
/// there are files where the copy is to be, [`Error::Damaged`] for a copy that is not sound.
/// [`Error::Incomplete`] if the folder that is copied is not complete. A copy that is cut short, by
/// an error or at any point by the end of the process, says that it is not complete: no server
/// takes it, and another copy may be made in its place.
pub fn back_up(from: &Path, to: &Path, with_key: bool) -> Result<Backup, Error> {
    if incomplete::is_incomplete(from).map_err(Error::io("look into", from.into()))? {
        return Err(Error::Incomplete { folder: from.into() });
    }
    back_up_from(&mut InFolder(from), to, with_key)
}

/// [`back_up`] from anywhere.
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
    // The log first: its segments are shorter lived than images, and what is in it is what was
    // acknowledged when this began.
    let lengths = from.segments(manifest.first_segment);
    let lengths = lengths.map_err(Error::io("look at", from.path(LOG)))?;
    for number in store.numbers(LOG, ".log")? {
        // Of an attempt before this one.
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

/// Copies a file, or so many bytes of its beginning, onto the disk.
fn copy(
    from: &mut dyn Source,
    store: &Store,
    path: &str,
    bytes: Option<u64>,
) -> Result<u64, Error> {
    let source = from.path(path);
    let file = from.open(path).map_err(Error::io("open", source.clone()))?;
    let mut input = file.take(bytes.unwrap_or(u64::MAX));
    let to = store.disk.create(path).map_err(store.error("create", path))?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut done = 0;
    loop {
        let found = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io("read", source)(error)),
        };
        write_all_at(&*to, &buffer[..found], done).map_err(store.error("write", path))?;
        done += found as u64;
    }
    store.sync(&*to as &dyn DiskFile, path)?;
    Ok(done)
}

/// Checks every byte of a copy; returns how many filters and bytes of the log there are.
fn check(store: &Store, manifest: &Manifest) -> Result<(u64, u64), Error> {
    for number in packs_of(manifest) {
        pack::check(store, number)?;
    }
    if let Some((.., error)) = verify_images(store, manifest).into_iter().next() {
        return Err(error);
    }
    let mut report = Report::default();
    let census = Census::of(manifest);
    let end = replay_log(store, manifest, &census, &|_| {}, &mut report)?;
    // A record that was being written when it was copied is cut off by the next start.
    let header = segment::HEADER_BYTES as u64;
    let log_bytes = report.log_bytes.saturating_sub(header * end.segments.len() as u64);
    Ok((census.filters(), log_bytes))
}
