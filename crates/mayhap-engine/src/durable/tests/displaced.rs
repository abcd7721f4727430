//! Files of the folder are removed, moved, replaced and cut short while the log is written.

use super::disk::{Failing, Fault, MemoryDisk};
use super::model::Model;
use super::run::{folder, options};
use crate::durable::{
    Answered, DataFolder, Error, Log, Operation, Options, Policy, Recorder, Refused, Replay, State,
    Threads, Ticket,
};
use mayhap::{Digest, DigestFunction};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A log with one filter, and its contents.
struct Served {
    model: Arc<Model>,
    log: Arc<Log>,
    recorder: Recorder,
}

impl Served {
    fn new(log: Arc<Log>) -> Self {
        let model = Arc::new(Model::default());
        let operation = Operation::Create { id: 1, name: b"a", spec: b"", expires_at: 0 };
        drop(log.now(&operation).unwrap());
        Replay::create(&*model, 1, b"a", b"", 0).unwrap();
        Self { model, recorder: log.recorder(), log }
    }

    fn insert(&mut self, digest: u64) -> Result<Option<Ticket>, Refused> {
        let (tally, digest) = (self.model.tally(1), [Digest::new(digest)]);
        tally.announce(1).hand_over(1);
        Replay::insert(&*self.model, 1, &digest, Answered::New).unwrap();
        self.recorder.insert(&tally, 1, &digest);
        self.recorder.commit().map_err(|error| error.why)
    }
}

fn in_memory(policy: Policy) -> (MemoryDisk, Served) {
    let disk = MemoryDisk::default();
    let opened = open(&disk, policy, &Model::default());
    (disk, Served::new(opened.unwrap()))
}

fn open(disk: &MemoryDisk, policy: Policy, model: &Model) -> Result<Arc<Log>, Error> {
    let options = options(policy, &Arc::default());
    Log::open(folder(disk), options, model, &|_| {}).map(|(log, _)| log)
}

fn remove(disk: &MemoryDisk, path: &str) {
    assert!(disk.state().files.names.remove(path).is_some());
}

/// An event that happens to a file, with the expected message.
type Happens = (&'static str, fn(&MemoryDisk));

const HAPPENS: [Happens; 5] = [
    ("this file was removed", |disk| remove(disk, "log/2.log")),
    ("this file was removed, moved or replaced", |disk| {
        // A copy in its place.
        let mut state = disk.state();
        let copy = state.files.contents[&state.files.names["log/2.log"]].clone();
        state.files.contents.insert(1_000_000, copy);
        state.files.names.insert("log/2.log".to_owned(), 1_000_000);
    }),
    ("this file was truncated", |disk| {
        let mut state = disk.state();
        let inode = state.files.names["log/2.log"];
        state.files.contents.get_mut(&inode).unwrap().truncate(70);
    }),
    ("log/1.log was removed", |disk| remove(disk, "log/1.log")),
    ("manifest was removed", |disk| remove(disk, "manifest")),
];

#[test]
fn what_is_not_where_it_was_is_noticed_and_refused_until_it_is_back() {
    for policy in [Policy::Always, Policy::EverySecond, Policy::No] {
        for (what, happens) in HAPPENS {
            let (disk, mut served) = in_memory(policy);
            served.insert(1).unwrap();
            // A checkpoint that failed after it switched to another segment: both are needed.
            let from = disk.state().calls + 8;
            disk.state().failing = Some(Failing { fault: Fault::NoSpace, from, all: true });
            served.log.checkpoint(&*served.model).unwrap_err();
            disk.state().failing = None;
            served.insert(2).unwrap();
            served.log.watcher.look();
            served.log.check_writable().unwrap();
            assert!(!served.log.stats().displaced, "{what}: all files are in place");
            let waiting = served.insert(3).unwrap();
            let acknowledged = served.model.digests();

            let before = disk.files();
            happens(&disk);
            let then = disk.files();
            served.log.watcher.look();
            let why = served.log.check_writable().unwrap_err().to_string();
            assert!(why.contains(what), "{why}");
            let stats = served.log.stats();
            assert!(stats.displaced && !stats.writable && !stats.poisoned, "{what}");
            assert!(served.insert(4).is_err() && served.log.sync().is_err(), "{what}");
            assert!(served.log.now(&Operation::Remove { id: 1 }).is_err(), "{what}");
            // A waiting client gets no reply that its change is safe, however often the lost file
            // is synced.
            served.log.tick();
            if let Some(ticket) = waiting {
                assert_eq!(served.log.state(ticket), State::Waiting, "{what}");
            }
            // The key of the refused turn is still in the filter, and goes nowhere.
            assert!(served.log.checkpoint(&*served.model).is_err(), "{what}");
            assert!(served.log.put_back(&*served.model).is_err(), "{what}");
            assert!(disk.files() == then, "{what}: nothing is written");

            disk.state().files = before;
            served.log.watcher.look();
            assert!(served.log.check_writable().is_err(), "{what}: a refused key is in the filter");
            served.log.put_back(&*served.model).unwrap();
            served.log.tick();
            served.log.check_writable().unwrap();
            assert!(!served.log.stats().displaced);
            assert_eq!(served.model.digests(), acknowledged, "{policy:?}, {what}");
            served.log.checkpoint(&*served.model).unwrap();
            if let Some(ticket) = waiting {
                assert_eq!(served.log.state(ticket), State::Safe, "{what}");
            }
            served.insert(5).unwrap();
            let found = Model::default();
            open(&disk, Policy::No, &found).unwrap();
            assert_eq!(found.digests(), served.model.digests(), "{policy:?}, {what}");
            let items = found.copy(1).unwrap().items();
            assert_eq!(items, served.model.copy(1).unwrap().items(), "{policy:?}, {what}");
        }
    }
}

#[test]
fn writing_resumes_when_files_are_put_back() {
    for policy in [Policy::Always, Policy::EverySecond] {
        let (disk, mut served) = in_memory(policy);
        let waiting = served.insert(1).unwrap();
        let inode = disk.state().files.names.remove("log/1.log").unwrap();
        served.log.watcher.look();
        disk.state().files.names.insert("log/1.log".to_owned(), inode);
        served.log.watcher.look();
        served.log.check_writable().unwrap();
        served.insert(3).unwrap();
        served.log.sync().unwrap();
        assert!(waiting.is_none_or(|ticket| served.log.state(ticket) == State::Safe));
        let found = Model::default();
        open(&disk, Policy::No, &found).unwrap();
        let digests: Vec<u64> = found.digests().into_iter().map(|(_, digest)| digest).collect();
        assert_eq!(digests, [1, 3], "{policy:?}");
    }
}

#[test]
fn an_image_that_was_removed_is_saved_again() {
    let (disk, mut served) = in_memory(Policy::No);
    served.insert(1).unwrap();
    assert_eq!(served.log.checkpoint(&*served.model).unwrap().images, 1);
    assert_eq!(served.log.checkpoint(&*served.model).unwrap().images, 0);
    remove(&disk, "filters/1.pack");
    assert_eq!(served.log.checkpoint(&*served.model).unwrap().images, 1);
    let found = Model::default();
    open(&disk, Policy::No, &found).unwrap();
    assert_eq!(found.digests(), served.model.digests());
}

#[test]
fn nothing_is_written_into_a_folder_that_is_not_ours() {
    let (disk, mut served) = in_memory(Policy::No);
    served.insert(1).unwrap();
    disk.state().is_other = true;
    let before = disk.files();
    // Before it was detected, and after.
    for _ in 0..2 {
        let error = served.log.checkpoint(&*served.model).unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error}");
        assert!(disk.files() == before);
        assert!(served.insert(2).unwrap_err().to_string().contains("the data folder was"));
    }
    disk.state().is_other = false;
    served.log.watcher.look();
    served.log.put_back(&*served.model).unwrap();
    served.log.tick();
    served.insert(3).unwrap();
}

fn serve(path: &Path) -> Served {
    let options = Options::new(DigestFunction::default());
    let folder = DataFolder::open(path).unwrap();
    folder.secret_key().unwrap();
    Served::new(Log::open(folder, options, &Model::default(), &|_| {}).unwrap().0)
}

fn found_in(path: &Path) -> Model {
    let (found, options) = (Model::default(), Options::new(DigestFunction::default()));
    Log::open(DataFolder::open(path).unwrap(), options, &found, &|_| {}).unwrap();
    found
}

/// On the file system: an event that happens to the folder at `data`, with a spare path.
type HappensTo = (&'static str, fn(&Path, &Path));

const HAPPENS_TO_FOLDER: [HappensTo; 6] = [
    ("the log's folder is removed", |data, _| fs::remove_dir_all(data.join("log")).unwrap()),
    ("the log's folder is moved", |data, aside| fs::rename(data.join("log"), aside).unwrap()),
    ("the folder is removed", |data, _| fs::remove_dir_all(data).unwrap()),
    ("the folder is moved", |data, aside| fs::rename(data, aside).unwrap()),
    ("the lock is removed", |data, _| fs::remove_file(data.join("lock")).unwrap()),
    ("the key is removed", |data, _| fs::remove_file(data.join("key")).unwrap()),
];

#[test]
fn a_folder_that_is_removed_or_moved_takes_no_change_and_is_not_made_anew() {
    for (what, happens) in HAPPENS_TO_FOLDER {
        let parent = tempfile::tempdir().unwrap();
        let (data, aside) = (parent.path().join("data"), parent.path().join("aside"));
        let mut served = serve(&data);
        served.insert(1).unwrap();
        served.log.checkpoint(&*served.model).unwrap();
        served.insert(2).unwrap();
        served.log.watcher.look();
        served.log.check_writable().unwrap();
        happens(&data, &aside);
        let left = all_in(parent.path());
        for _ in 0..2 {
            served.log.watcher.look();
            let why = served.insert(3).unwrap_err().to_string();
            assert!(why.contains("nothing is accepted"), "{what}: {why}");
            served.log.checkpoint(&*served.model).unwrap_err();
            served.log.keep_spare();
        }
        assert_eq!(all_in(parent.path()), left, "{what}");
    }
}

/// All paths below a folder.
fn all_in(path: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.append(&mut all_in(&entry.path()));
        }
        all.insert(entry.path());
    }
    all
}

#[test]
fn filters_of_others_in_the_place_of_a_folder_are_not_touched() {
    let parent = tempfile::tempdir().unwrap();
    let (data, aside) = (parent.path().join("data"), parent.path().join("aside"));
    let mut served = serve(&data);
    served.insert(1).unwrap();
    fs::rename(&data, &aside).unwrap();
    // A backup is put in place.
    drop(serve(&data));
    let listed = || {
        let mut all: Vec<_> = ["", "log", "filters"]
            .into_iter()
            .flat_map(|part| fs::read_dir(data.join(part)).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect();
        all.sort();
        let bytes: Vec<_> = all.iter().map(|path| fs::read(path).unwrap_or_default()).collect();
        (all, bytes)
    };
    let before = listed();
    served.log.watcher.look();
    for _ in 0..2 {
        let error = served.log.checkpoint(&*served.model).unwrap_err().to_string();
        assert!(error.contains("the data folder was removed, moved or replaced"), "{error}");
        assert!(served.insert(2).is_err());
        served.log.watcher.look();
    }
    assert!(listed() == before);
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&aside, &data).unwrap();
    served.log.watcher.look();
    served.log.put_back(&*served.model).unwrap();
    served.log.tick();
    served.insert(3).unwrap();
    drop(served);
    let digests = found_in(&data).digests();
    assert_eq!(digests.into_iter().map(|(_, digest)| digest).collect::<Vec<_>>(), [1, 3]);
}

/// With the threads of a server: no one has to intervene.
#[test]
fn a_log_that_is_moved_and_moved_back_goes_on_by_itself() {
    let parent = tempfile::tempdir().unwrap();
    let (data, aside) = (parent.path().join("data"), parent.path().join("aside"));
    let mut served = serve(&data);
    let threads = Threads::start(&served.log, served.model.clone()).unwrap();
    served.insert(1).unwrap();
    fs::rename(data.join("log"), &aside).unwrap();
    wait_until(|| served.log.check_writable().is_err());
    fs::rename(&aside, data.join("log")).unwrap();
    wait_until(|| served.log.check_writable().is_ok());
    served.insert(2).unwrap();
    threads.close().unwrap();
    let model = served.model.clone();
    drop(served);
    assert_eq!(found_in(&data).digests(), model.digests());
}

fn wait_until(is: impl Fn() -> bool) {
    while !is() {
        std::thread::yield_now();
    }
}
