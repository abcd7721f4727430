//! File → filter, every byte checked.

use crate::image::{Start, read_start_at_rest};
use crate::{Error, Loaded, Snapshot, image};
use mayhap::SecretKey;
use mayhap::native::{Header, Native};
use std::fs::File;
use std::path::Path;
use std::thread;

/// Reads a filter into memory (in huge pages if it is large) and checks every byte of it.
///
/// `secret_key` is needed for filters of the `sip13` digest. The file is read directly into the
/// filter's memory, which exists only once.
///
/// A state whose log has records that its file lacks is rejected: see [`Snapshot`].
///
/// # Errors
///
/// [`Error::Io`], [`Error::NotRegular`], [`Error::Foreign`], and [`Error::Format`] for truncated,
/// damaged and newer files, a missing key and too little memory. [`Error::UnreadLog`],
/// [`Error::MissingLog`] and [`Error::OlderCopy`] for a state that the file is only a part of.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// # let filter = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
/// mayhap_store::save(path, &filter, "")?;
/// let loaded = mayhap_store::load(path, None)?;
/// assert_eq!(loaded.filter.params().expected_items(), 1000);
///
/// std::fs::write(path, "keep\nthese\nwords\n")?;
/// let error = mayhap_store::load(path, None).unwrap_err().to_string();
/// assert!(error.ends_with("seen.mayhap: this looks like text, not a mayhap filter"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(path: &Path, secret_key: Option<SecretKey>) -> Result<Loaded, Error> {
    load_as(path, secret_key)
}

/// Like [`load`], for a filter of any kind.
///
/// # Errors
///
/// Same as [`load`]; if the file holds another kind, [`Error::Format`] with
/// [`mayhap::Error::WrongKind`].
///
/// # Examples
///
/// ```
/// use mayhap::BlockedBloomFilter;
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let mut filter = BlockedBloomFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
/// filter.insert("key");
/// mayhap_store::save(path, &filter, "")?;
/// let copy = mayhap_store::load_as::<BlockedBloomFilter>(path, None)?.filter;
/// assert!(copy.contains("key") && !copy.contains("other"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_as<F: Native>(path: &Path, secret_key: Option<SecretKey>) -> Result<Loaded<F>, Error> {
    let snapshot = Snapshot::open(path)?;
    snapshot.check_alone()?;
    let filter = snapshot.image().load(secret_key, |_, _| {})?;
    Ok(Loaded { filter, header: snapshot.header().clone() })
}

/// Reads and checks only the header, and checks the length of the file against it. Ignores the log
/// if the file is a state.
///
/// # Errors
///
/// Same as [`load`], except for errors in the body or the log.
pub fn read_header(path: &Path) -> Result<Header, Error> {
    image::open(path).map(|image| image.header().clone())
}

/// Checks a whole file without keeping it, in constant memory, and returns its header. No secret
/// key is needed. Ignores the log if the file is a state.
///
/// # Errors
///
/// Same as [`load`], except for errors in the log.
pub fn verify(path: &Path) -> Result<Header, Error> {
    verify_with(path, |_, _| {})
}

/// Like [`verify()`], but reports the bytes done and the bytes in all, several times a millisecond.
///
/// # Errors
///
/// Same as [`load`].
pub fn verify_with(path: &Path, progress: impl FnMut(u64, u64)) -> Result<Header, Error> {
    let image = image::open(path)?;
    image.verify(progress)?;
    Ok(image.header().clone())
}

/// Opens a file that is the whole filter, for mapping.
pub(crate) fn open_filter(path: &Path) -> Result<(File, Start), Error> {
    let snapshot = Snapshot::open(path)?;
    snapshot.check_alone()?;
    let image = snapshot.image();
    let file = image.try_clone_file()?;
    let start = if image.is_short() {
        read_start_at_rest(&file, path, thread::sleep)?
    } else {
        Start { header: image.header().clone(), short: None }
    };
    Ok((file, start))
}
