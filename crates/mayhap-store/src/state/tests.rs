//! Actions of other processes between two calls of this one.

use super::{Finished, Held, LogFound, Session, SessionOptions, Snapshot};
use crate::disk::{Call, Double, Real};
use crate::{LockOptions, Operation};
use mayhap::{AnyFilter, Digest, DigestFunction};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{fs, thread};

fn digest(key: u64) -> Digest {
    DigestFunction::default().digest(&key)
}

fn create(path: &Path) {
    let filter = AnyFilter::builder().expected_items(100).target_fpp(1e-9).build().unwrap();
    crate::save(path, &filter, "").unwrap();
}

type Opened = (Session, Held<AnyFilter>);

fn open(disk: Arc<dyn crate::disk::Disk>, path: &Path, lock: LockOptions) -> Opened {
    let opening = Session::open_on(disk, path, SessionOptions::new(lock)).unwrap();
    let filter = opening.image().load(None, |_, _| {}).unwrap();
    let mut held = Held { filter, secret_key: None };
    let (session, _) = opening.follow(&mut held).unwrap();
    (session, held)
}

/// Records a key and releases the lock.
fn record((session, held): &mut Opened, key: u64) {
    session.ready(held).unwrap();
    held.filter.insert_digest(digest(key));
    session.note(Operation::Insert, 0, [digest(key)]);
    session.release(held).unwrap();
}

#[test]
fn a_snapshot_is_of_one_moment_also_if_the_log_changes_at_the_second_look() {
    let folder = tempfile::tempdir().unwrap();
    let (path, log) = (&folder.path().join("f"), folder.path().join("f.log"));
    create(path);
    // The log of another filter is beside it, as after an interrupted replacement.
    let other = &folder.path().join("other");
    create(other);
    let mut opened = open(Arc::new(Real), other, LockOptions::new("test"));
    record(&mut opened, 1);
    fs::copy(folder.path().join("other.log"), &log).unwrap();
    // Image, log, and the image again are unchanged; then the log is removed.
    let opens = AtomicU64::new(0);
    let disk = Double::new(move |call, _| {
        if call == Call::Open && opens.fetch_add(1, Ordering::Relaxed) == 3 {
            fs::remove_file(&log).unwrap();
        }
        Ok(())
    });
    let snapshot = Snapshot::open_on(&*disk, path).unwrap();
    assert_eq!(snapshot.log(), LogFound::None);
}

#[test]
fn of_two_sessions_that_end_at_once_one_saves() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("f");
    create(path);
    // The first one is about to leave the log to the second, and still holds the lock.
    let (tell, is_waiting) = mpsc::channel();
    let second: Arc<Mutex<Option<Opened>>> = Arc::default();
    let (ending, ended) = (Arc::clone(&second), Arc::new(Mutex::new(None)));
    let thread = Arc::clone(&ended);
    let is_waiting = Mutex::new(is_waiting);
    let told = tell.clone();
    let disk = Double::new(move |call, path| {
        if call == Call::Sync && path.ends_with("f.log") {
            let Some((session, mut held)) = ending.lock().unwrap().take() else { return Ok(()) };
            let tell = told.clone();
            *thread.lock().unwrap() = Some(thread::spawn(move || {
                let finished = session.finish(&mut held).unwrap();
                let _ = tell.send(());
                finished
            }));
            // It waits for the lock, or has ended without it.
            is_waiting.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    let mut first = open(disk, path, LockOptions::new("first"));
    record(&mut first, 1);
    let options = LockOptions::new("second").timeout(Duration::from_secs(300)).on_wait(move |_| {
        let _ = tell.send(());
        ControlFlow::Continue(())
    });
    let mut opened = open(Arc::new(Real), path, options);
    record(&mut opened, 2);
    let (mut session, mut held) = first;
    session.ready(&mut held).unwrap();
    *second.lock().unwrap() = Some(opened);
    assert_eq!(session.finish(&mut held).unwrap(), Finished::LeftToOthers);
    let other = ended.lock().unwrap().take().unwrap().join().unwrap();
    assert_eq!(other, Finished::Saved, "no process has the log");
    assert!(!folder.path().join("f.log").exists());
    let filter = crate::load(path, None).unwrap().filter;
    assert!(filter.contains(&1u64) && filter.contains(&2u64));
}

/// A checkpoint between the image and its log: the log is gone, as its keys are in a newer image.
#[test]
fn a_snapshot_is_of_the_new_image_if_a_checkpoint_takes_the_log_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("f");
    create(path);
    let mut opened = open(Arc::new(Real), path, LockOptions::new("test"));
    record(&mut opened, 1);
    let other = Mutex::new(Some(opened));
    let disk = Double::new(move |call, path| {
        if call == Call::Open && path.ends_with("f.log") {
            let other = other.lock().unwrap().take();
            other.map(|(session, mut held)| session.finish(&mut held).unwrap());
        }
        Ok(())
    });
    let snapshot = Snapshot::open_on(&*disk, path).unwrap();
    assert_eq!(snapshot.log(), LogFound::None);
    snapshot.check_alone().unwrap();
    let (loaded, recovery) = snapshot.load::<AnyFilter>(None, |_| {}).unwrap();
    assert!(loaded.filter.contains(&1u64));
    assert_eq!(recovery.replayed_digests, 0);
}

/// What is being written at the end of a log is looked at again; what was read before is not.
#[test]
fn records_before_a_torn_one_are_passed_once_however_often_the_log_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (path, log) = (&folder.path().join("f"), folder.path().join("f.log"));
    create(path);
    let mut opened = open(Arc::new(Real), path, LockOptions::new("test"));
    for key in 1..=3 {
        record(&mut opened, key);
    }
    let snapshot = Snapshot::open(path).unwrap();
    let LogFound::Records { bytes } = snapshot.log() else { panic!("{:?}", snapshot.log()) };
    let alone = snapshot.check_alone().unwrap_err();
    assert!(matches!(alone, crate::Error::UnreadLog { log_bytes, .. } if log_bytes == bytes));
    let whole = fs::read(&log).unwrap();
    fs::write(&log, [&whole[..], &whole[whole.len() - bytes as usize / 3..][..20]].concat())
        .unwrap();
    let snapshot = Snapshot::open(path).unwrap();
    let mut passed = Vec::new();
    let recovery = snapshot.replay(|record| {
        passed.extend_from_slice(record.digests);
        Ok(record.digests.len() as u64)
    });
    let recovery = recovery.unwrap();
    assert_eq!(passed, [1, 2, 3].map(digest));
    assert_eq!((recovery.new_items, recovery.replayed_digests, recovery.dropped_bytes), (3, 3, 20));
}
