//! A filter and its digests are replaced together, whatever fails and wherever it stops.

use crate::disk::{Call, Double, Real, plain};
use crate::state::Held;
use crate::{
    Error, FilterLock, KeptDigests, LockOptions, MergeOptions, Operation, Session, SessionOptions,
};
use mayhap::native::{Header, Native};
use mayhap::{AnyFilter, Digest, DigestFunction};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{fs, io};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn digest(key: u64) -> Digest {
    DigestFunction::default().digest(&key)
}

fn filter(keys: Range<u64>) -> AnyFilter {
    let mut filter = AnyFilter::builder().expected_items(1000).target_fpp(1e-9).build().unwrap();
    for key in keys {
        filter.insert_digest(digest(key));
    }
    filter
}

/// The kinds of replacement of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    WithDigests,
    Without,
    AsBytes,
    Merged,
}

fn replace(lock: &FilterLock, how: How, keys: Range<u64>) -> Result<(), Error> {
    let filter = filter(keys.clone());
    let (header, segments) = (Header::of(&filter, ""), filter.segments());
    match how {
        How::WithDigests => {
            lock.save_with_digests(&header, &segments, keys.map(digest).collect(), true)
        }
        How::Without => lock.save(&header, &segments, true),
        How::AsBytes => lock.save_bytes(b"of another system", true),
        How::Merged => {
            let other = lock.path().with_file_name("other");
            let options = MergeOptions { secret_key: None, replace: true, without_log: false };
            lock.merge(&[other], options, |_, _| {}, |_| true).map(drop)
        }
    }
}

/// The keys of the filter at the path and whether all its digests are kept, as they must be for a
/// filter that had digests; `None` if it is a file of another system.
fn look(path: &Path, what: &str) -> Option<(Vec<u64>, bool)> {
    let options = SessionOptions::new(LockOptions::new("test")).keeps_digests();
    let opening = match Session::open_on(plain(), path, options) {
        Err(Error::Format { .. } | Error::Foreign { .. }) => return None,
        opened => opened.unwrap_or_else(|error| panic!("{what}: {error}")),
    };
    let filter: AnyFilter = opening.image().load(None, |_, _| {}).unwrap();
    let keys: Vec<u64> = (0..200).filter(|&key| filter.contains_digest(digest(key))).collect();
    let mut held = Held { filter, secret_key: None };
    let (mut session, _) = opening.follow(&mut held).unwrap();
    let keeps = session.keeps_digests();
    if keeps {
        let mut kept = Vec::new();
        let read = session.for_each_digest(|all| {
            kept.extend_from_slice(all);
            Ok::<(), Error>(())
        });
        read.unwrap();
        let mut wanted: Vec<Digest> = keys.iter().copied().map(digest).collect();
        wanted.sort_unstable();
        assert_eq!(kept, wanted, "{what}");
    }
    // And it can be continued.
    held.filter.insert_digest(digest(500));
    session.note(Operation::Insert, 0, [digest(500)]);
    session.finish(&mut held).unwrap();
    Some((keys, keeps))
}

/// Whether a reader without the lock finds its digests.
fn has_its_digests(path: &Path) -> bool {
    let kept = KeptDigests::open(path).unwrap();
    let image = crate::Image::open(&Real, path).unwrap();
    kept.is_some_and(|kept| kept.covers(&image).unwrap())
}

/// A filter of the keys 0..20 with its digests, and a second one to merge.
fn two_filters(folder: &Path) {
    let lock = |name| {
        let options = &mut LockOptions::new("test");
        FilterLock::take_on(plain(), &folder.join(name), options).unwrap()
    };
    replace(&lock("f"), How::WithDigests, 0..20).unwrap();
    replace(&lock("other"), How::Without, 100..130).unwrap();
}

/// A disk on which the call of this number fails, and all later ones if `stays`, as after a kill:
/// then nothing is tidied up. Also returns whether it has failed.
fn failing(when: u64, fault: i32, stays: bool) -> (Arc<Double>, Arc<AtomicBool>) {
    let (calls, struck) = (AtomicU64::new(0), Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&struck);
    let disk = Double::new(move |call, path| {
        let is_of_lock = call == Call::Lock || path.ends_with(".f.mayhap-lck");
        let is_dead = stays && seen.load(Ordering::Relaxed);
        if is_dead || !is_of_lock && calls.fetch_add(1, Ordering::Relaxed) == when {
            seen.store(true, Ordering::Relaxed);
            return Err(io::Error::from_raw_os_error(fault));
        }
        Ok(())
    });
    (disk, struck)
}

/// Whether the new filter is in place, rather than the old one; each with its digests.
fn is_new(path: &Path, how: How, what: &str) -> bool {
    let has_digests = crate::read_header(path).is_ok() && has_its_digests(path);
    let Some((keys, keeps)) = look(path, what) else {
        assert!(how == How::AsBytes, "{what}");
        return true;
    };
    assert_eq!(has_digests, keeps, "{what}: with the lock and without");
    if keys == (0..20).collect::<Vec<_>>() {
        assert!(keeps, "{what}: the old digests are gone");
        return false;
    }
    assert_eq!(keys, (100..130).collect::<Vec<_>>(), "{what}");
    assert_eq!(keeps, how == How::WithDigests, "{what}");
    true
}

#[test]
fn a_filter_and_its_digests_are_replaced_together_or_not_at_all() {
    let mut left = [0, 0];
    for how in [How::WithDigests, How::Without, How::AsBytes, How::Merged] {
        for (fault, stays) in [(EIO, false), (ENOSPC, false), (EIO, true)] {
            for when in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let path = &folder.path().join("f");
                two_filters(folder.path());
                let (disk, struck) = failing(when, fault, stays);
                let lock = FilterLock::take_on(disk, path, &mut LockOptions::new("test")).unwrap();
                let replaced = replace(&lock, how, 100..130);
                drop(lock);
                if !struck.load(Ordering::Relaxed) {
                    replaced.unwrap();
                    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
                    let is_hidden =
                        |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes()[0] == b'.';
                    assert_eq!(names.filter(is_hidden).count(), 0, "{how:?}");
                    assert!(when > 5, "{how:?}: {when} calls");
                    break;
                }
                let what = format!("{how:?}, {fault} at {when}, {stays}: {replaced:?}");
                left[usize::from(is_new(path, how, &what))] += 1;
            }
        }
    }
    println!("{} faults left the old filter, {} the new one", left[0], left[1]);
    assert!(left[0] > 100 && left[1] > 10);
}

#[test]
fn digests_go_with_their_filter_also_if_it_is_replaced_by_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("f");
    let lock = FilterLock::take_on(plain(), path, &mut LockOptions::new("test")).unwrap();
    replace(&lock, How::WithDigests, 0..20).unwrap();
    replace(&lock, How::Without, 0..20).unwrap();
    drop(lock);
    assert!(!has_its_digests(path));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_run_that_no_image_has_is_cut_off_if_a_sector_of_it_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("f");
    let lock = FilterLock::take(path, &mut LockOptions::new("test")).unwrap();
    replace(&lock, How::WithDigests, 0..20).unwrap();
    drop(lock);
    let image = fs::read(path).unwrap();
    let options = SessionOptions::new(LockOptions::new("test")).keeps_digests();
    let opening = Session::open(path, options).unwrap();
    let filter = opening.image().load(None, |_, _| {}).unwrap();
    let mut held: Held<AnyFilter> = Held { filter, secret_key: None };
    let (mut session, _) = opening.follow(&mut held).unwrap();
    for key in 1000..1900 {
        held.filter.insert_digest(digest(key));
        session.note(Operation::Insert, 0, [digest(key)]);
    }
    session.finish(&mut held).unwrap();
    // A power cut: the image has not got its name, and a sector of the run is not on the disk.
    fs::write(path, image).unwrap();
    let digests = crate::digests_path(path).unwrap();
    let mut bytes = fs::read(&digests).unwrap();
    assert!(bytes.len() > 4096);
    bytes[2048..2560].fill(0);
    fs::write(&digests, bytes).unwrap();
    assert!(has_its_digests(path));
    assert_eq!(look(path, "cut"), Some(((0..20).collect(), true)));
    // The next one has cut it off.
    let kept = KeptDigests::open(path).unwrap().unwrap();
    assert_eq!(kept.digests(), 21);
}
