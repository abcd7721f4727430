//! What other processes do between two calls of this one.

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

/// Records a key and gives the lock up.
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
    // Beside it is the log of another filter, as after an interrupted replacement.
    let other = &folder.path().join("other");
    create(other);
    let mut opened = open(Arc::new(Real), other, LockOptions::new("test"));
    record(&mut opened, 1);
    fs::copy(folder.path().join("other.log"), &log).unwrap();
    // Image, log, and the image once more are as they were; then the log goes.
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
    // The first one is about to leave the log to the second, and holds the lock still.
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
    let options = LockOptions::new("second").timeout(Duration::from_secs(60)).on_wait(move |_| {
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
    assert_eq!(other, Finished::Saved, "the log was left to nobody");
    assert!(!folder.path().join("f.log").exists());
    let filter = crate::load(path, None).unwrap().filter;
    assert!(filter.contains(&1u64) && filter.contains(&2u64));
}
