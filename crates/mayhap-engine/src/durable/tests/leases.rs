//! Backups that are copied file by file while checkpoints are made.

use super::disk::MemoryDisk;
use super::model::Model;
use super::packs::Many;
use crate::durable::{DataFolder, Error, Lease, LeaseError, Log, Options, Source, back_up_from};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The files of a lease, read in parts of a few bytes.
struct Parts<'a>(&'a Lease);

impl Parts<'_> {
    fn all(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let part = self.0.read(path, bytes.len() as u64, 100).map_err(io::Error::other)?;
            let part = part.ok_or(io::ErrorKind::NotFound)?;
            bytes.extend_from_slice(&part);
            if part.len() < 100 {
                return Ok(bytes);
            }
        }
    }
}

impl Source for Parts<'_> {
    fn manifest(&mut self) -> io::Result<Vec<u8>> {
        self.all("manifest")
    }

    fn segments(&mut self, first: u64) -> io::Result<Vec<(u64, u64)>> {
        assert_eq!(self.0.segments()[0].0, first);
        Ok(self.0.segments().to_vec())
    }

    fn open(&mut self, path: &str) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(io::Cursor::new(self.all(path)?)))
    }

    fn path(&self, path: &str) -> PathBuf {
        path.into()
    }
}

/// The contents that a server finds in a backup made with a lease.
fn copied(lease: &Lease) -> Model {
    let to = tempfile::tempdir().unwrap();
    let backup = back_up_from(&mut Parts(lease), to.path(), true).unwrap();
    assert!(!backup.has_key, "the folder has no key");
    let (options, found) = (Options::new(mayhap::DigestFunction::xxh3(1)), Model::default());
    Log::open(DataFolder::open(to.path()).unwrap(), options, &found, &|_| {}).unwrap();
    found
}

fn paths(disk: &MemoryDisk) -> BTreeSet<String> {
    disk.files().names.into_keys().collect()
}

/// Changes that are saved one by one, so that lists, packs and segments come and go.
fn change(many: &mut Many, rounds: u64) {
    for round in 0..rounds {
        many.insert(1 + round * 7 % 40);
        many.checkpoint();
    }
}

#[test]
fn checkpoints_leave_leased_files_to_the_removal_after_the_lease() {
    for steps in 0..6 {
        let start = || {
            let mut many = Many::new(40);
            // With only a log, with only images, with both, and with a few lists.
            change(&mut many, steps);
            for id in 1..=steps {
                many.insert(id);
            }
            many
        };
        let (mut many, mut without) = (start(), start());
        let then = many.model.0.lock().unwrap().clone();
        let lease = many.log.lease().unwrap();
        for _ in 0..3 {
            change(&mut many, 5);
            change(&mut without, 5);
            assert_eq!(*copied(&lease).0.lock().unwrap(), then);
        }
        let kept: BTreeSet<_> = &paths(&many.disk) - &paths(&without.disk);
        assert!(!kept.is_empty());
        many.log.remove_released();
        assert!(paths(&many.disk).is_superset(&kept));
        drop(lease);
        many.log.remove_released();
        assert_eq!(paths(&many.disk), paths(&without.disk));
        many.check();
    }
}

#[test]
fn a_lease_that_is_not_used_for_a_minute_is_over() {
    let time = Arc::new(AtomicU64::new(0));
    let mut many = Many::at(40, &time);
    change(&mut many, 3);
    let lease = many.log.lease().unwrap();
    change(&mut many, 3);
    for now in [59_999, 119_998] {
        time.store(now, Ordering::Relaxed);
        assert!(lease.read("manifest", 0, 10).unwrap().is_some());
        let before = paths(&many.disk);
        many.log.remove_released();
        assert_eq!(paths(&many.disk), before);
    }
    time.store(179_998, Ordering::Relaxed);
    let before = paths(&many.disk).len();
    many.log.remove_released();
    assert!(paths(&many.disk).len() < before);
    let over = lease.read("manifest", 0, 10);
    assert!(matches!(over, Err(LeaseError::Over(60_000))), "{over:?}");
    let again = many.log.lease().unwrap();
    assert_eq!(*copied(&again).0.lock().unwrap(), *many.model.0.lock().unwrap());
}

#[test]
fn a_lease_has_the_files_of_its_backup_and_no_others() {
    let mut many = Many::new(40);
    change(&mut many, 3);
    let lease = many.log.lease().unwrap();
    change(&mut many, 3);
    let new = &paths(&many.disk) - &lease_paths(&lease, &many);
    assert!(!new.is_empty());
    let others = ["", "lock", "key.tmp", "../key", "filters/../key", "log/1.log/", "import/x"];
    let others = others.map(str::to_owned).into_iter().chain(new);
    for path in others {
        let read = lease.read(&path, 0, 10);
        assert!(matches!(read, Err(LeaseError::NotKept)), "{path}: {read:?}");
    }
    assert_eq!(lease.read("key", 0, 10).unwrap(), None);
    // Later writes to the log are not part of it.
    let (number, bytes) = *lease.segments().last().unwrap();
    let path = format!("log/{number}.log");
    assert_eq!(lease.read(&path, 0, usize::MAX).unwrap().unwrap().len() as u64, bytes);
    for beyond in [bytes, bytes + 1, u64::MAX] {
        assert_eq!(lease.read(&path, beyond, 10).unwrap(), Some(Vec::new()));
    }
}

/// The files that it gives out.
fn lease_paths(lease: &Lease, many: &Many) -> BTreeSet<String> {
    let has = |path: &String| !matches!(lease.read(path, 0, 1), Err(LeaseError::NotKept));
    paths(&many.disk).into_iter().filter(has).collect()
}

#[test]
fn leases_are_limited_and_one_that_ends_makes_room() {
    let many = Many::new(2);
    let mut all: Vec<Lease> = (0..16).map(|_| many.log.lease().unwrap()).collect();
    assert!(matches!(many.log.lease(), Err(LeaseError::TooMany(16))));
    all.pop();
    all.push(many.log.lease().unwrap());
    assert!(many.log.lease().is_err());
}

/// The written data is not in the folder that has taken its place.
#[test]
fn a_folder_that_was_replaced_is_not_copied() {
    let many = Many::new(2);
    many.disk.state().is_other = true;
    many.log.watcher.look();
    let refused = many.log.lease();
    assert!(matches!(refused, Err(LeaseError::Folder(Error::Refused(_)))), "{refused:?}");
}

/// The later backup needs later files, the earlier one earlier ones, and either may end first.
#[test]
fn of_two_leases_each_keeps_its_files_until_it_is_over() {
    for ends_first in [0, 1] {
        let mut many = Many::new(40);
        change(&mut many, 3);
        let mut leases = Vec::new();
        for _ in 0..2 {
            // In images, and in segments that no checkpoint has taken in.
            change(&mut many, 4);
            (1..=5).for_each(|id| many.insert(id));
            let then = many.model.0.lock().unwrap().clone();
            let there = paths(&many.disk);
            leases.push((many.log.lease().unwrap(), then));
            change(&mut many, 4);
            // What was made since is no part of it.
            let lease = &leases.last().unwrap().0;
            for path in &paths(&many.disk) - &there {
                let read = lease.read(&path, 0, 1);
                assert!(matches!(read, Err(LeaseError::NotKept)), "{path}");
            }
        }
        for (lease, then) in &leases {
            assert_eq!(*copied(lease).0.lock().unwrap(), *then);
        }
        drop(leases.remove(ends_first));
        many.log.remove_released();
        change(&mut many, 4);
        let (lease, then) = leases.pop().unwrap();
        assert_eq!(*copied(&lease).0.lock().unwrap(), then, "without lease {ends_first}");
        drop(lease);
        many.log.remove_released();
        many.check();
    }
}

/// A lease of which a byte of a file comes as another one.
struct Damaging<'a> {
    parts: Parts<'a>,
    path: &'a str,
    at: usize,
}

impl Source for Damaging<'_> {
    fn manifest(&mut self) -> io::Result<Vec<u8>> {
        self.parts.manifest()
    }

    fn segments(&mut self, first: u64) -> io::Result<Vec<(u64, u64)>> {
        self.parts.segments(first)
    }

    fn open(&mut self, path: &str) -> io::Result<Box<dyn Read + '_>> {
        let mut bytes = self.parts.all(path)?;
        if path == self.path {
            bytes[self.at] ^= 0x10;
        }
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn path(&self, path: &str) -> PathBuf {
        path.into()
    }
}

/// Lists, packs, images and the log: every byte of a copy is checked, or the copy is none. No
/// filter was saved twice, so that all records of the packs are images.
#[test]
fn a_copy_of_which_a_byte_is_another_one_is_refused_and_no_server_takes_it() {
    let mut many = Many::new(40);
    many.checkpoint();
    many.insert(1);
    let lease = many.log.lease().unwrap();
    let paths = lease_paths(&lease, &many);
    let mut tried = 0;
    for path in paths.iter().filter(|path| path.contains('/')) {
        let bytes = Parts(&lease).all(path).unwrap().len();
        for at in (0..bytes).step_by(1 + bytes / 6).chain([bytes - 1]) {
            let to = tempfile::tempdir().unwrap();
            let mut damaging = Damaging { parts: Parts(&lease), path, at };
            let Err(error) = back_up_from(&mut damaging, to.path(), true) else {
                // A log may end in the middle of a record, which was not acknowledged then.
                assert!(path.starts_with("log/"), "{path} byte {at}");
                continue;
            };
            assert!(!matches!(error, Error::Io { .. }), "{path} byte {at}: {error}");
            assert!(!to.path().join("manifest").exists(), "{path} byte {at}");
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}
