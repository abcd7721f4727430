//! The replies to clients when the disk is full, slow or broken, and folders that are not opened.

use super::disk::{Failing, Fault, MemoryDisk};
use super::model::Model;
use super::run::{folder, names, options};
use crate::durable::{
    Answered, Error, Filters, Log, Operation, Options, Policy, ReadBack, Recorder, Refused, Replay,
    Saved, Snapshot, State, Tally, Ticket,
};
use mayhap::{Digest, DigestFunction};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Served {
    disk: MemoryDisk,
    time: Arc<AtomicU64>,
    log: Arc<Log>,
    tally: Arc<Tally>,
}

fn serve(policy: Policy) -> Served {
    let (disk, time) = (MemoryDisk::default(), Arc::default());
    let opened = open(&disk, options(policy, &time));
    let (log, tally) = (opened.unwrap(), Arc::default());
    let operation = Operation::Create { id: 1, name: b"a", spec: b"", expires_at: 0 };
    drop(log.now(&operation).unwrap());
    log.sync().unwrap();
    Served { disk, time, log, tally }
}

fn open(disk: &MemoryDisk, options: Options) -> Result<Arc<Log>, Error> {
    let model = Model::default();
    Log::open(folder(disk), options, &model, &|_| {}).map(|(log, _)| log)
}

impl Served {
    fn insert(&self) -> Result<Option<Ticket>, Refused> {
        let mut recorder = self.log.recorder();
        self.tally.announce(1).hand_over(1);
        recorder.insert(&self.tally, 1, &[Digest::new(7)]);
        recorder.commit().map_err(|error| error.why)
    }

    /// Bytes that the log grows by when these digests are inserted in a turn, into this filter.
    fn turn(&self, filter: &RefCell<BTreeSet<u64>>, digests: &[u64]) -> u64 {
        let (before, mut recorder) = (self.log.stats().log_bytes, self.log.recorder());
        for &digest in digests {
            let contains = || filter.borrow().contains(&digest);
            let insert = || Ok::<_, Refused>(filter.borrow_mut().insert(digest));
            let digest = Digest::new(digest);
            recorder.insert_one(&self.tally, 1, digest, contains, insert).unwrap();
        }
        recorder.commit().unwrap();
        self.log.stats().log_bytes - before
    }

    fn not_safe(&self) -> u64 {
        self.tally.at_risk()
    }

    fn fail(&self, fault: Option<Fault>) {
        let mut state = self.disk.state();
        let from = state.calls;
        state.failing = fault.map(|fault| Failing { fault, from, all: true });
    }
}

#[test]
fn operations_are_waited_for_as_insertions_are() {
    for (policy, late, waits) in [
        (Policy::Always, 0, true),
        (Policy::EverySecond, 0, false),
        (Policy::EverySecond, 2001, true),
        (Policy::No, 2001, false),
    ] {
        let served = serve(policy);
        assert_eq!(served.log.recorder().commit(), Ok(None));
        drop(served.log.now(&Operation::Remove { id: 1 }).unwrap());
        served.time.fetch_add(late, Ordering::Relaxed);
        let ticket = served.log.recorder().commit().unwrap();
        assert_eq!(ticket.is_some(), waits, "{policy:?} after {late} ms");
        assert_eq!(ticket, served.log.last_operation());
        served.log.sync().unwrap();
        assert_eq!(served.log.recorder().commit(), Ok(None));
    }
}

#[test]
fn a_turn_does_not_record_its_own_insertions_again() {
    let (served, filter) = (serve(Policy::EverySecond), RefCell::default());
    let once = served.turn(&filter, &[1, 2]);
    assert_eq!(served.turn(&filter, &[3, 4, 3, 4, 1]), once);
    assert_eq!(served.turn(&filter, &[1, 2, 3]), 0);
    // Keys that another turn has not written yet are recorded again.
    let mut other = served.log.recorder();
    served.tally.announce(1).hand_over(1);
    filter.borrow_mut().insert(5);
    other.insert(&served.tally, 1, &[Digest::new(5)]);
    assert!(served.turn(&filter, &[5]) > 0);
    assert!(served.turn(&filter, &[6, 5]) > once);
    // Records of this turn for another filter are not mistaken for it.
    let (mut own, elsewhere) = (served.log.recorder(), Arc::default());
    own.insert(&elsewhere, 2, &[Digest::new(8)]);
    assert_eq!((own.recorded(&elsewhere), own.recorded(&served.tally)), (1, 0));
    own.commit().unwrap();
    other.commit().unwrap();
    assert_eq!(served.turn(&filter, &[5, 6]), 0);
}

/// Clients have the state that a restart would find: the refused key is neither present nor
/// counted.
#[test]
fn a_full_disk_refuses_writes_until_it_has_room_and_nothing_of_them_stays() {
    let served = serve(Policy::EverySecond);
    let model = Model::default();
    Replay::create(&model, 1, b"a", b"", 0).unwrap();
    assert_eq!(served.insert(), Ok(None));
    Replay::insert(&model, 1, &[Digest::new(7)], Answered::New).unwrap();
    let before = served.log.stats().log_bytes;
    served.fail(Some(Fault::Full));
    // Two turns have begun: one is refused by the disk, the other since it may rely on the first.
    let mut other = served.log.recorder();
    other.begin();
    let mut recorder = served.log.recorder();
    Replay::insert(&model, 1, &[Digest::new(8)], Answered::New).unwrap();
    served.tally.announce(1).hand_over(1);
    recorder.insert(&served.tally, 1, &[Digest::new(8)]);
    let refused = recorder.commit().unwrap_err();
    let why = refused.why.to_string();
    assert!(why.contains("No space left") && why.contains("free at least"), "{why}");
    let until = refused.until.expect("the filter has a refused key");
    assert!(!served.log.is_undone(until) && served.log.check_writable().is_err());
    served.fail(None);
    served.log.tick();
    assert!(served.log.check_writable().is_err(), "the filter still has a refused key");
    assert!(served.log.checkpoint(&model).is_err(), "an image would include it");
    served.log.put_back(&model).unwrap();
    assert!(served.log.is_undone(until));
    assert_eq!(model.digests(), BTreeSet::from([(1, 7)]));
    assert_eq!(model.copy(1).unwrap().items(), 1);
    served.log.tick();
    served.log.check_writable().unwrap();
    assert_eq!(other.commit().unwrap_err().until, Some(until));
    assert_eq!(served.insert(), Ok(None));
    assert!(served.log.stats().log_bytes > before);
    served.log.checkpoint(&model).unwrap();
}

#[test]
fn a_creation_that_could_not_be_written_is_taken_back() {
    let served = serve(Policy::Always);
    let model = Model::default();
    Replay::create(&model, 1, b"a", b"", 0).unwrap();
    let mut creating = served.log.recorder();
    creating.begin();
    let create = Operation::Create { id: 2, name: b"b", spec: b"", expires_at: 0 };
    drop(served.log.defer(&create).unwrap());
    Replay::create(&model, 2, b"b", b"", 0).unwrap();
    served.fail(Some(Fault::Full));
    assert!(served.insert().is_err());
    served.fail(None);
    served.log.put_back(&model).unwrap();
    served.log.tick();
    let found =
        |model: &Model| -> Vec<_> { names(model).into_values().map(|(name, _)| name).collect() };
    assert_eq!(found(&model), [b"a"]);
    // It continues as if nothing had happened, and ends after the disk has space again.
    let create = Operation::Create { id: 3, name: b"c", spec: b"", expires_at: 0 };
    drop(served.log.defer(&create).unwrap());
    Replay::create(&model, 3, b"c", b"", 0).unwrap();
    assert!(creating.commit().is_err(), "it has created a filter that was undone");
    served.log.put_back(&model).unwrap();
    served.log.tick();
    assert_eq!(found(&model), [b"a"]);
    served.insert().unwrap();
    served.log.sync().unwrap();
    // A kill: only the log is left.
    let model = Model::default();
    let opened =
        Log::open(folder(&served.disk), options(Policy::Always, &served.time), &model, &|_| {});
    drop(opened.unwrap());
    assert_eq!(found(&model), [b"a"]);
}

/// A turn that only creates, and ends early: its creation is in the log by then, or nothing would
/// refuse the answer when another turn's failure takes the creation back.
#[test]
fn a_turn_that_ends_early_has_written_what_it_created() {
    let served = serve(Policy::Always);
    let model = Model::default();
    let mut creating = served.log.recorder();
    creating.begin();
    let create = Operation::Create { id: 2, name: b"b", spec: b"", expires_at: 0 };
    drop(served.log.defer(&create).unwrap());
    Replay::create(&model, 2, b"b", b"", 0).unwrap();
    creating.end_early().unwrap();
    served.fail(Some(Fault::Full));
    assert!(served.insert().is_err());
    served.fail(None);
    served.log.put_back(&model).unwrap();
    creating.commit().unwrap();
    let model = Model::default();
    let opened =
        Log::open(folder(&served.disk), options(Policy::Always, &served.time), &model, &|_| {});
    drop(opened.unwrap());
    assert!(names(&model).contains_key(&2), "it was acknowledged");
}

/// An image has nothing that is refused later: the checkpoint waits for the turns that it may have
/// copied, and fails with any of them.
#[test]
fn a_checkpoint_fails_if_a_turn_that_it_has_copied_is_refused() {
    let served = serve(Policy::EverySecond);
    served.insert().unwrap();
    let model = Model::default();
    Replay::create(&model, 1, b"a", b"", 0).unwrap();
    Replay::insert(&model, 1, &[Digest::new(7), Digest::new(8)], Answered::New).unwrap();
    let mut recorder = served.log.recorder();
    served.tally.announce(1).hand_over(1);
    recorder.insert(&served.tally, 1, &[Digest::new(8)]);
    let refusing = Refusing { model, served: &served, turn: RefCell::new(Some(recorder)).into() };
    assert!(served.log.checkpoint(&refusing).is_err());
    assert!(refusing.turn.lock().unwrap().borrow().is_none(), "the turn was refused meanwhile");
    served.fail(None);
    served.log.put_back(&refusing).unwrap();
    assert_eq!(refusing.model.digests(), BTreeSet::from([(1, 7)]));
}

/// Filters for which a turn is refused once they are copied.
struct Refusing<'a> {
    model: Model,
    served: &'a Served,
    turn: std::sync::Mutex<RefCell<Option<Recorder>>>,
}

impl Filters for Refusing<'_> {
    fn ids(&self) -> Vec<u64> {
        self.model.ids()
    }

    fn saved(&self, id: u64) -> Option<Saved> {
        self.model.saved(id)
    }

    fn snapshot(&self, id: u64, segment: u64) -> std::io::Result<Option<Box<dyn Snapshot>>> {
        let copy = self.model.snapshot(id, segment);
        if let Some(mut turn) = self.turn.lock().unwrap().take() {
            self.served.fail(Some(Fault::Full));
            turn.commit().unwrap_err();
            self.served.fail(None);
        }
        copy
    }

    fn put_back(&self, ids: &[u64], read: &ReadBack<'_>) -> Result<(), Error> {
        self.model.put_back(ids, read)
    }
}

#[test]
fn a_failed_sync_ends_all_writing_until_the_folder_is_opened_again() {
    for policy in [Policy::Always, Policy::EverySecond] {
        let served = serve(policy);
        let ticket = served.insert().unwrap();
        served.fail(Some(Fault::Io));
        assert!(served.log.sync().is_err());
        served.fail(None);
        for _ in 0..3 {
            served.log.tick();
            assert!(served.log.sync().is_err(), "a second sync that succeeds proves nothing");
            assert!(served.insert().is_err());
            assert!(served.log.now(&Operation::Remove { id: 1 }).is_err());
        }
        assert!(served.log.stats().poisoned);
        if let Some(ticket) = ticket {
            assert_eq!(served.log.state(ticket), State::Refused);
            assert!(served.log.wait(ticket).is_err());
        }
        assert!(matches!(served.log.checkpoint(&Model::default()), Err(Error::Refused(_))));
        let log = open(&served.disk, options(policy, &served.time)).unwrap();
        log.check_writable().unwrap();
    }
}

#[test]
fn under_always_an_answer_waits_for_the_disk_and_no_longer() {
    let served = serve(Policy::Always);
    let called = Arc::new(AtomicU64::new(0));
    let count = called.clone();
    served.log.on_progress(Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    let first = served.insert().unwrap().unwrap();
    let second = served.insert().unwrap().unwrap();
    assert_eq!([first, second].map(|ticket| served.log.state(ticket)), [State::Waiting; 2]);
    assert_eq!(served.not_safe(), 2);
    served.log.sync().unwrap();
    assert_eq!([first, second].map(|ticket| served.log.state(ticket)), [State::Safe; 2]);
    assert_eq!((served.not_safe(), called.load(Ordering::Relaxed)), (0, 1));
    served.log.wait(second).unwrap();
}

#[test]
fn under_everysec_answers_wait_once_the_disk_is_two_seconds_behind() {
    let served = serve(Policy::EverySecond);
    assert_eq!(served.insert(), Ok(None));
    served.time.fetch_add(2000, Ordering::Relaxed);
    assert_eq!(served.insert(), Ok(None));
    served.time.fetch_add(1, Ordering::Relaxed);
    let ticket = served.insert().unwrap().expect("the first one is 2001 ms old");
    assert_eq!((served.log.state(ticket), served.not_safe()), (State::Waiting, 1));
    served.log.sync().unwrap();
    assert_eq!((served.log.state(ticket), served.not_safe()), (State::Safe, 0));
    assert_eq!(served.insert(), Ok(None));
}

/// The iterations of the sync thread, with a clock of their own.
#[test]
fn what_was_written_is_synced_each_second_and_under_always_at_once() {
    for (policy, at_once, in_time) in [
        (Policy::Always, true, true),
        (Policy::EverySecond, false, true),
        (Policy::No, false, false),
    ] {
        let served = serve(policy);
        let mut ticked = 0;
        for second in 0..3 {
            served.insert().unwrap();
            let written = served.log.stats().frames;
            let mut turn = |millis| {
                served.time.fetch_add(millis, Ordering::Relaxed);
                served.log.sync_turn(&mut ticked);
                let stats = served.log.stats();
                stats.frames - stats.unsynced_frames >= written
            };
            assert_eq!(turn(0), at_once, "{policy:?}, second {second}");
            assert_eq!(turn(999), at_once, "{policy:?}, second {second}");
            assert_eq!(turn(1), in_time, "{policy:?}, second {second}");
            assert_eq!(served.not_safe(), 0);
        }
    }
}

/// Whichever call of a checkpoint fails, the next one saves the same changes.
#[test]
fn a_checkpoint_that_fails_leaves_what_was_changed_to_the_next() {
    let mut failed = 0;
    for from in 0.. {
        let served = serve(Policy::EverySecond);
        served.insert().unwrap();
        let model = Model::default();
        Replay::create(&model, 1, b"a", b"", 0).unwrap();
        Replay::insert(&model, 1, &[Digest::new(7)], Answered::New).unwrap();
        let calls = {
            let mut state = served.disk.state();
            state.failing =
                Some(Failing { fault: Fault::NoSpace, from: state.calls + from, all: false });
            state.calls
        };
        let result = served.log.checkpoint(&model);
        let struck = served.disk.state().calls > calls + from;
        served.disk.state().failing = None;
        if !struck {
            assert!(result.is_ok());
            break;
        }
        if let Err(error) = result {
            assert!(error.to_string().contains("No space left"), "{error}");
            assert_eq!(served.log.stats().changed_filters, 1, "call {from}");
            assert_eq!(served.log.checkpoint(&model).unwrap().images, 1, "call {from}");
            failed += 1;
        }
        // Nothing is left of the log before the image.
        let found = Model::default();
        let folder = folder(&served.disk);
        let options = options(Policy::No, &served.time);
        let (_log, report) = Log::open(folder, options, &found, &|_| {}).unwrap();
        assert_eq!((report.images, report.digests), (1, 0), "call {from}");
        assert_eq!(found.digests(), model.digests(), "call {from}");
    }
    assert!(failed >= 8, "{failed}");
}

#[test]
fn a_closed_log_takes_no_more() {
    let served = serve(Policy::Always);
    let ticket = served.insert().unwrap().unwrap();
    served.log.close().unwrap();
    assert_eq!(served.log.state(ticket), State::Safe);
    assert!(served.insert().is_err());
}

#[test]
fn a_folder_of_another_key_or_a_later_version_is_not_opened() {
    let served = serve(Policy::Always);
    drop(served.log);
    let other = Options {
        digest_function: DigestFunction::xxh3(2),
        ..options(Policy::Always, &served.time)
    };
    let error = open(&served.disk, other).unwrap_err();
    assert!(matches!(error, Error::OtherDigests { folder: 1, given: 2, .. }), "{error}");
    for (path, supported) in [("manifest", 3), ("log/1.log", 1)] {
        let mut files = served.disk.files();
        let contents = files.contents.get_mut(&files.names[path]).unwrap();
        contents[8] = supported + 1;
        // The checksum of a segment covers its header, that of a manifest the whole file.
        let end = if path == "manifest" { contents.len() } else { 64 };
        let checksum = xxhash_rust::xxh3::xxh3_64(&contents[..end - 8]);
        contents[end - 8..end].copy_from_slice(&checksum.to_le_bytes());
        let disk = MemoryDisk::of(files);
        let error = open(&disk, options(Policy::Always, &served.time)).unwrap_err();
        let Error::Newer { found, supported: newest, .. } = &error else { panic!("{error}") };
        assert_eq!((*found, *newest), (u16::from(supported) + 1, supported.into()));
        assert!(error.to_string().starts_with(path), "{error}");
    }
}
