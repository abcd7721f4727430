//! Repairs a damaged folder so that it opens: unreadable parts are copied aside and cut out.

use super::disk::{Reader, again};
use super::lists::ListOf;
use super::load::{packs_of, verify_images};
use super::manifest::Manifest;
use super::recover::{check_digests, replay_log};
use super::replay::Nobody;
use super::segment::{self, Identity};
use super::store::{FILTERS, KEY, LOG, MANIFEST, pack_path, segment_path};
use super::{DataFolder, Error, Options, Report, Store, pack};
use crate::fail_point::{fail_point, fail_point_of};
use mayhap::{DigestFunction, SecretKey};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

const DAMAGED: &str = "damaged";

/// The results of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// Copies of all files that were changed or removed, in their original state.
    pub copies: Vec<PathBuf>,
    /// Names of filters whose images were damaged. They are gone.
    pub lost_filters: Vec<Box<[u8]>>,
    /// Bytes of log that were cut out. The changes recorded in them are lost.
    pub lost_log_bytes: u64,
}

/// Makes a damaged folder open again, by dropping what cannot be trusted: filters whose images are
/// damaged, and the log from the first damaged record on. Copies of all changed files are kept in
/// `damaged/` of the folder. A folder without damage is left alone.
///
/// A dropped filter is missing; one that was kept with a hole would answer "no" for keys that were
/// inserted.
///
/// # Errors
///
/// [`Error::Damaged`] for a damaged manifest or list of filters, which only a backup can restore;
/// [`Error::Io`], after which it can be tried again.
pub fn repair(folder: &DataFolder) -> Result<Repaired, Error> {
    let store = &folder.store;
    let mut repaired = Repaired::default();
    let Some(mut manifest) = Manifest::read(store)? else { return Ok(repaired) };
    repair_images(store, &mut manifest, &mut repaired)?;
    // Each iteration cuts at one place, after which the log ends.
    loop {
        let found = replay_log(store, &manifest, &Nobody, None, &|_| {}, &mut Report::default());
        let (path, offset) = match found {
            Ok(_) => return Ok(repaired),
            Err(Error::Damaged { path, offset, .. } | Error::Replay { path, offset, .. }) => {
                (path, offset)
            }
            Err(Error::Missing { path, .. }) => (path, 0),
            Err(error) => return Err(error),
        };
        let number = |number: &u64| store.path(&segment_path(*number)) == path;
        let last = store.numbers(LOG, ".log")?.last().copied().unwrap_or(0);
        let last = last.max(manifest.first_segment);
        let Some(bad) = (manifest.first_segment..=last).find(number) else {
            return Err(Error::Damaged { path, offset, what: "no segment".to_owned() });
        };
        cut(store, &manifest, bad, last, offset, &mut repaired)?;
    }
}

impl DataFolder {
    /// Checks that this key, or without one the key of the folder, is the one that its filters were
    /// filled with. Only a backup can restore it, and [`repair`] does not check it.
    ///
    /// # Errors
    ///
    /// [`Error::NoKey`], [`Error::Damaged`], [`Error::OtherDigests`] for the key; as [`repair`]
    /// for the manifest, which has the id of the key.
    pub fn check_key(&self, given: Option<SecretKey>) -> Result<(), Error> {
        let Some(manifest) = Manifest::read(&self.store)? else { return Ok(()) };
        let key = match given {
            Some(key) => key,
            None if self.store.read(KEY)?.is_some() => self.secret_key()?,
            None => return Err(self.no_key(&manifest)),
        };
        let options = Options::new(DigestFunction::sip13(key));
        check_digests(&self.store, &manifest, &options)
    }
}

fn repair_images(
    store: &Store,
    manifest: &mut Manifest,
    repaired: &mut Repaired,
) -> Result<(), Error> {
    for number in packs_of(manifest) {
        // All packs have the same header, and their trailers only their length: nothing is lost
        // with them.
        if let Err(Error::Damaged { .. } | Error::Newer { .. }) = pack::check(store, number) {
            keep_copy(store, &pack_path(number), repaired)?;
            pack::mend(store, number)?;
        }
    }
    let damaged = verify_images(store, manifest);
    let mut paths = BTreeSet::new();
    for (filter, of, error) in &damaged {
        if let Error::Io { .. } = error {
            // A disk that fails now may work later.
            let path = store.path(FILTERS);
            let source = std::io::Error::other(error.to_string());
            return Err(Error::Io { action: "check the images in", path, source });
        }
        paths.insert(of.path());
        repaired.lost_filters.push(filter.name.as_ref().into());
    }
    for path in &paths {
        keep_copy(store, path, repaired)?;
    }
    if !damaged.is_empty() {
        keep_copy(store, MANIFEST, repaired)?;
        let lost: HashSet<u64> = damaged.iter().map(|(lost, ..)| lost.id).collect();
        manifest.filters.retain(|(filter, _)| !lost.contains(&filter.id));
        // A start removes the old lists, without which the copy of the manifest is useless.
        for path in manifest.lists.iter().map(ListOf::path) {
            keep_copy(store, &path, repaired)?;
        }
        manifest.list_anew(store)?;
        store.replace(MANIFEST, &manifest.encode())?;
    }
    Ok(())
}

/// Ends the log at a place.
fn cut(
    store: &Store,
    manifest: &Manifest,
    bad: u64,
    last: u64,
    offset: u64,
    repaired: &mut Repaired,
) -> Result<(), Error> {
    let there = store.numbers(LOG, ".log")?;
    for number in (bad..=last).rev().filter(|number| there.contains(number)) {
        let path = &segment_path(number);
        repaired.lost_log_bytes += keep_copy(store, path, repaired)?;
        if number > bad {
            store.remove(path)?;
            fail_point("repair.removed");
            store.sync_dir(LOG)?;
        }
    }
    if offset >= segment::HEADER_BYTES as u64 {
        let path = &segment_path(bad);
        let file = store.open(path)?;
        again(|| file.set_len(offset)).map_err(store.error("cut", path))?;
        fail_point("repair.cut");
        repaired.lost_log_bytes = repaired.lost_log_bytes.saturating_sub(offset);
        store.sync(&*file, path)
    } else {
        // Its header is damaged, or it is missing: an empty one replaces it.
        let identity: &Identity = &manifest.identity;
        segment::create(store, identity, bad).map(|_| ())
    }
}

/// Copies a file to `damaged/`, under a free name; returns its length.
fn keep_copy(store: &Store, path: &str, repaired: &mut Repaired) -> Result<u64, Error> {
    store.create_dir(DAMAGED)?;
    store.sync_dir("")?;
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let there = store.list(DAMAGED)?;
    // One more than the existing files: one of these is free.
    let free = (0..=there.len()).map(|n| format!("{name}.{n}")).find(|n| !there.contains(n));
    let copy = &format!("{DAMAGED}/{}", free.unwrap_or_default());
    let Some(from) = store.open_if_there(path)? else { return Ok(0) };
    fail_point_of("repair.copying", path);
    let done = store.copy(Reader(from, 0), &store.path(path), copy)?;
    store.sync_dir(DAMAGED)?;
    fail_point_of("repair.copied", path);
    repaired.copies.push(store.path(copy));
    Ok(done)
}
