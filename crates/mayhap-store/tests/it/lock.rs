//! The lock that writers take in turns: its holder, its waiters, its leftovers.

use crate::common::{Folder, child, child_role, filter};
use mayhap::Layout;
use mayhap_store::{Error, FilterLock, Holder, LockOptions, save};
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const LOCK: &str = ".a.mayhap-lck";

fn take(path: &Path) -> Result<FilterLock, Error> {
    FilterLock::take(path, &mut LockOptions::new("test"))
}

fn patient(verb: &str) -> LockOptions {
    LockOptions::new(verb).timeout(Duration::from_secs(300))
}

#[test]
fn one_process_holds_it_and_identifies_itself_and_nothing_is_left() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let held = FilterLock::take(path, &mut LockOptions::new("add\n\x1b[2J")).unwrap();
    assert_eq!(folder.names(), [LOCK]);
    let Err(Error::Locked { path: locked, lock_path, holder, .. }) = take(path) else {
        panic!("the lock is held twice");
    };
    assert_eq!((locked.as_path(), lock_path), (path.as_path(), folder.file(LOCK)));
    let holder = holder.unwrap();
    assert_eq!(holder, Holder { process: std::process::id(), verb: "add[2J".into() });
    drop(held);
    assert!(folder.names().is_empty());
    assert!(!take(path).unwrap().is_wanted());
    assert!(folder.names().is_empty());
}

#[test]
fn two_links_to_one_file_share_a_lock_be_it_there_or_not() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    fs::create_dir(folder.file("links")).unwrap();
    symlink("../a", folder.file("links/b")).unwrap();
    symlink("links/b", folder.file("c")).unwrap();
    for _ in 0..2 {
        let held = take(&folder.file("links/b")).unwrap();
        for name in ["a", "c", "links/b"] {
            assert!(matches!(take(&folder.file(name)), Err(Error::Locked { .. })), "{name}");
        }
        assert_eq!(held.path(), folder.file("links/../a"));
        drop(held);
        save(&folder.file("a"), &filter(Layout::Blocked, 512, 0..1), "").unwrap();
    }
}

#[test]
fn a_file_of_another_kind_with_that_name_is_left_alone() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let (path, lock) = (&folder.file("a"), &folder.file(LOCK));
    fs::write(lock, "my own notes").unwrap();
    assert!(matches!(take(path), Err(Error::NotALock { .. })));
    assert_eq!(fs::read(lock).unwrap(), b"my own notes");
    fs::remove_file(lock).unwrap();
    fs::create_dir(lock).unwrap();
    assert!(matches!(take(path), Err(Error::NotALock { .. })));
    fs::remove_dir(lock).unwrap();
    fs::write(folder.file("b"), "").unwrap();
    symlink("b", lock).unwrap();
    assert!(matches!(take(path), Err(Error::NotALock { .. })));
    fs::remove_file(lock).unwrap();
    // A lock file left by a crash is reused: whole, cut short, or with the mark of a waiter alone.
    let marked = [&[0; 4096][..], b"w"].concat();
    for left in [&b"mayhap-lock\n4711 mayhap add\n"[..], b"mayh", b"", &marked] {
        fs::write(lock, left).unwrap();
        drop(take(path).unwrap());
        assert_eq!(folder.names(), ["b"]);
    }
}

#[test]
fn who_waits_is_seen_by_the_holder_and_sees_the_holder() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let held = FilterLock::take(path, &mut LockOptions::new("first")).unwrap();
    assert!(!held.is_wanted());
    let (tell, waits) = mpsc::channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(move || {
            let options = patient("second").on_wait(move |wait| {
                let _ = tell.send(wait.holder.map(|holder| holder.verb.clone()));
                ControlFlow::Continue(())
            });
            let mut options = options;
            let lock = FilterLock::take(path, &mut options).unwrap();
            assert!(!lock.is_wanted(), "the mark was its own");
        });
        assert_eq!(waits.recv().unwrap().as_deref(), Some("first"));
        assert!(held.is_wanted());
        drop(held);
        second.join().unwrap();
    });
    assert!(folder.names().is_empty());
}

#[test]
fn waiting_ends_at_the_timeout_or_when_the_program_is_stopped() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let _held = take(path).unwrap();
    let waited = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&waited);
    let mut options =
        LockOptions::new("test").timeout(Duration::from_millis(200)).on_wait(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            ControlFlow::Continue(())
        });
    let Err(Error::Locked { waited: time, .. }) = FilterLock::take(path, &mut options) else {
        panic!("taken while it is held");
    };
    assert!(time >= Duration::from_millis(200) && waited.load(Ordering::Relaxed) > 1);
    let mut options = patient("test").on_wait(|_| ControlFlow::Break(()));
    let stopped = FilterLock::take(path, &mut options).unwrap_err();
    assert!(matches!(stopped, Error::WaitStopped { .. }), "{stopped}");
}

/// The lock of a removed file is void: a process that gets it has to check the name again.
#[test]
fn of_many_that_take_it_in_turns_one_at_a_time_has_it() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let (inside, turns) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let lock = FilterLock::take(path, &mut patient("test")).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "two at once");
                    std::thread::yield_now();
                    turns.fetch_add(1, Ordering::Relaxed);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    drop(lock);
                }
            });
        }
    });
    assert_eq!(turns.into_inner(), 400);
    assert!(folder.names().is_empty());
}

#[test]
fn the_lock_of_a_process_that_was_killed_is_free_and_what_it_left_is_removed() {
    if let Some((_, path)) = child_role() {
        let _held = FilterLock::take(&path, &mut LockOptions::new("victim")).unwrap();
        eprintln!("held");
        std::io::stdin().lines().for_each(drop);
        unreachable!("it is killed before its input ends");
    }
    let folder = Folder::new();
    let path = &folder.file("a");
    let test = "lock::the_lock_of_a_process_that_was_killed_is_free_and_what_it_left_is_removed";
    let mut command = child(&[], test, "victim", path);
    let mut victim = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(victim.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    let Err(Error::Locked { holder: Some(holder), .. }) = take(path) else {
        panic!("it is held by another process");
    };
    assert_eq!(holder, Holder { process: victim.id(), verb: "victim".into() });
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_eq!(folder.names(), [LOCK]);
    drop(take(path).unwrap());
    assert!(folder.names().is_empty());
}
