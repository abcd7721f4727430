//! File systems with missing operations: the work is done with the remaining guarantees, or
//! refused.

use super::{Call, Double};
use crate::notice::Notice;
use crate::state::Held;
use crate::{Error, FilterLock, LockKind, LockOptions, Operation, Session, SessionOptions};
use mayhap::native::{Header, Native};
use mayhap::{AnyFilter, Digest, DigestFunction};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, thread};

const EPERM: i32 = 1;
const EIO: i32 = 5;
const EBADF: i32 = 9;
const EACCES: i32 = 13;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const ENOLCK: i32 = 37;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// A disk on which all calls of one kind fail.
fn failing(which: Call, number: i32) -> Arc<Double> {
    Double::new(
        move |call, _| {
            if call == which { Err(io::Error::from_raw_os_error(number)) } else { Ok(()) }
        },
    )
}

fn digest(key: u64) -> Digest {
    DigestFunction::default().digest(&key)
}

fn filter(keys: Range<u64>) -> AnyFilter {
    let mut filter = AnyFilter::builder().expected_items(9000).target_fpp(1e-9).build().unwrap();
    for key in keys {
        filter.insert_digest(digest(key));
    }
    filter
}

fn lock() -> LockOptions {
    LockOptions::new("test").timeout(Duration::from_secs(300))
}

fn save(disk: &Arc<Double>, path: &Path, keys: Range<u64>, replace: bool) -> Result<(), Error> {
    let (filter, disk) = (filter(keys), Arc::clone(disk));
    let lock = FilterLock::take_on(disk, path, &mut lock())?;
    lock.save(&Header::of(&filter, ""), &filter.segments(), replace)
}

fn holds(path: &Path, keys: Range<u64>) -> bool {
    let filter = crate::load(path, None).unwrap().filter;
    keys.into_iter().all(|key| filter.contains(&key)) && !filter.contains(&u64::MAX)
}

#[test]
fn a_folder_that_cannot_be_synced_is_no_error_and_what_is_lost_is_said() {
    for number in [EINVAL, EBADF, EACCES, EPERM, ENOSYS, EOPNOTSUPP] {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("f");
        let disk = failing(Call::SyncFolder, number);
        save(&disk, path, 0..10, false).unwrap();
        save(&disk, path, 0..20, true).unwrap();
        assert!(holds(path, 0..20), "{number}");
        let found = disk.notices.lock().unwrap();
        let Some(Notice::FolderNotSynced { folder: of, source }) = found.first() else {
            panic!("{number}: {found:?}");
        };
        assert_eq!((of.as_path(), source.raw_os_error()), (folder.path(), Some(number)));
        assert!(found[0].to_string().contains("a power cut"), "{}", found[0]);
    }
}

#[test]
fn a_disk_that_fails_when_a_folder_is_synced_is_an_error_and_leaves_no_new_file() {
    for number in [EIO, ENOSPC] {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("f");
        let disk = failing(Call::SyncFolder, number);
        let error = save(&disk, path, 0..10, false).unwrap_err();
        assert!(matches!(error, Error::Io { action: "sync", .. }), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{number}");
        assert!(disk.notices.lock().unwrap().is_empty());
    }
}

#[test]
fn permissions_that_cannot_be_set_are_said_and_the_file_is_saved() {
    use std::os::unix::fs::PermissionsExt;
    for (number, is_tolerated) in [(EPERM, true), (EOPNOTSUPP, true), (ENOSYS, true), (EIO, false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("f");
        let disk = failing(Call::Protect, number);
        save(&disk, path, 0..10, false).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
        let saved = save(&disk, path, 0..20, true);
        assert_eq!(saved.is_ok(), is_tolerated, "{number}: {saved:?}");
        assert!(holds(path, if is_tolerated { 0..20 } else { 0..10 }), "{number}");
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if is_tolerated { 0o600 } else { 0o640 }, "readable by its owner only");
        assert_eq!(disk.notices.lock().unwrap().len(), usize::from(is_tolerated));
    }
}

#[test]
fn permissions_that_a_new_file_has_anyway_are_not_set() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("f");
    let disk = failing(Call::Protect, EIO);
    save(&disk, path, 0..10, false).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    save(&disk, path, 0..20, true).unwrap();
}

#[test]
fn a_file_system_without_locks_is_refused_unless_another_way_is_chosen() {
    for number in [ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL, EBADF] {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("f");
        let disk = failing(Call::Lock, number);
        let error = save(&disk, path, 0..10, false).unwrap_err();
        assert!(matches!(error, Error::NoLocks { .. }), "{number}: {error}");
        assert!(!path.exists(), "{number}: nothing was changed");
        for kind in [LockKind::Folder, LockKind::None] {
            let disk: Arc<Double> = Arc::clone(&disk);
            drop(FilterLock::take_on(disk, path, &mut lock().kind(kind)).unwrap());
        }
        assert!(!folder.path().join(".f.mayhap-own").exists());
    }
    let disk = failing(Call::Lock, EIO);
    let folder = tempfile::tempdir().unwrap();
    for kind in [LockKind::System, LockKind::Folder, LockKind::None] {
        let options = &mut lock().kind(kind);
        let disk: Arc<Double> = Arc::clone(&disk);
        let error = FilterLock::take_on(disk, &folder.path().join("f"), options).unwrap_err();
        assert!(matches!(error, Error::Io { action: "lock", .. }), "{error}");
    }
}

#[test]
fn a_lock_in_the_folder_is_held_by_one_names_its_holder_and_respects_others() {
    let folder = tempfile::tempdir().unwrap();
    let (path, own) = (&folder.path().join("f"), folder.path().join(".f.mayhap-own"));
    let disk = failing(Call::Lock, ENOSYS);
    let take = |disk: &Arc<Double>, kind| {
        let disk: Arc<Double> = Arc::clone(disk);
        FilterLock::take_on(disk, path, &mut LockOptions::new("add").kind(kind))
    };
    let first = take(&disk, LockKind::Folder).unwrap();
    let Err(error) = take(&disk, LockKind::Folder) else { panic!("it is held twice") };
    let Error::Locked { lock_path, holder: Some(holder), is_left_behind: true, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!((lock_path, holder.process), (&own, std::process::id()));
    assert!(error.to_string().contains("remove this file"), "{error}");
    drop(first);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // As left behind by a killed process.
    fs::write(&own, "mayhap-lock\n4711 mayhap add\nbox\n").unwrap();
    let Err(Error::Locked { holder, .. }) = take(&disk, LockKind::Folder) else { panic!() };
    assert_eq!(holder.unwrap().process, 4711);
    fs::remove_file(&own).unwrap();
    // Where there are locks, holders of a lock and users of the folder exclude each other.
    let real = Double::new(|_, _| Ok(()));
    let first = take(&real, LockKind::System).unwrap();
    let refused = take(&real, LockKind::Folder);
    assert!(matches!(refused, Err(Error::Locked { is_left_behind: false, .. })));
    assert!(!own.exists());
    drop(first);
    let first = take(&real, LockKind::Folder).unwrap();
    assert!(matches!(take(&real, LockKind::System), Err(Error::Locked { .. })));
    drop(first);
}

/// Adds keys in several turns, as eight processes at once.
fn add_at_once(path: &Path, disk: &Arc<Double>, kind: LockKind) {
    let turns = AtomicU64::new(0);
    thread::scope(|scope| {
        for writer in 0..8 {
            let turns = &turns;
            scope.spawn(move || {
                let disk: Arc<Double> = Arc::clone(disk);
                let options = SessionOptions::new(lock().kind(kind));
                let opening = Session::open_on(disk, path, options).unwrap();
                let filter: AnyFilter = opening.image().load(None, |_, _| {}).unwrap();
                let mut held = Held { filter, secret_key: None };
                let (mut session, _) = opening.follow(&mut held).unwrap();
                for key in writer * 1000..writer * 1000 + 40 {
                    session.ready(&mut held).unwrap();
                    held.filter.insert_digest(digest(key));
                    session.note(Operation::Insert, 0, [digest(key)]);
                    if key % 4 == 0 {
                        session.release(&mut held).unwrap();
                        turns.fetch_add(1, Ordering::Relaxed);
                    }
                }
                session.finish(&mut held).unwrap();
            });
        }
    });
    assert_eq!(turns.into_inner(), 80);
}

#[test]
fn eight_writers_without_system_locks_lose_nothing_with_a_lock_in_the_folder() {
    for number in [ENOSYS, EOPNOTSUPP, ENOLCK] {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("f");
        crate::save(path, &filter(0..0), "").unwrap();
        add_at_once(path, &failing(Call::Lock, number), LockKind::Folder);
        let filter =
            crate::Snapshot::open(path).unwrap().load::<AnyFilter>(None, |_| {}).unwrap().0.filter;
        for writer in 0..8 {
            let keys = writer * 1000..writer * 1000 + 40;
            let lost = keys.filter(|key| !filter.contains(key)).count();
            assert_eq!(lost, 0, "{number}: keys of writer {writer} are lost");
        }
    }
}
