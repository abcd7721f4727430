//! A disk with little space.

use super::disk::{Event, Failing, Fault, MemoryDisk};
use super::model::Model;
use super::run::{folder, options};
use crate::durable::{
    Answered, Error, Filters, Log, Operation, Options, Policy, Refused, Replay, State,
};
use mayhap::Digest;
use std::sync::Arc;

/// Space that stays free for the log.
const LOG_BYTES: u64 = 64 << 10;

struct Served {
    disk: MemoryDisk,
    model: Arc<Model>,
    log: Arc<Log>,
}

/// With a filter whose image takes some 8,000 bytes.
fn serve(packed_bytes: usize) -> Served {
    let (disk, model) = (MemoryDisk::default(), Arc::new(Model::default()));
    let options = Options { packed_bytes, ..options(Policy::No, &Arc::default()) };
    let log = Log::open(folder(&disk), options, &*model, &|_| {}).unwrap().0;
    let create = Operation::Create { id: 1, name: b"a", spec: b"", expires_at: 0 };
    drop(log.now(&create).unwrap());
    Replay::create(&*model, 1, b"a", b"", 0).unwrap();
    let served = Served { disk, model, log };
    served.insert(1000);
    served
}

impl Served {
    fn create(&self, id: u64, name: &[u8]) {
        drop(self.log.now(&Operation::Create { id, name, spec: b"", expires_at: 0 }).unwrap());
        Replay::create(&*self.model, id, name, b"", 0).unwrap();
    }

    /// Fills the disk until writes are refused.
    fn fill(&self) {
        let capacity = self.disk.state().bytes() + 100;
        self.disk.state().capacity = Some(capacity);
        assert!((0..10).any(|_| self.try_insert(2, 7).is_err()));
        assert!(self.log.check_writable().is_err() && self.log.check_deletable().is_ok());
    }

    fn try_insert(&self, id: u64, digest: u64) -> Result<(), Refused> {
        let (tally, mut recorder) = (self.model.tally(id), self.log.recorder());
        let digest = [Digest::new(digest)];
        tally.announce(1).hand_over(1);
        recorder.insert(&tally, id, &digest);
        recorder.commit().map_err(|error| error.why)?;
        Replay::insert(&*self.model, id, &digest, Answered::New).unwrap();
        Ok(())
    }

    fn remove(&self, id: u64) -> Result<(), Refused> {
        let logged = self.log.now(&Operation::Remove { id })?;
        Replay::remove(&*self.model, id);
        let ticket = logged.ticket.unwrap();
        drop(logged);
        self.log.sync()?;
        assert_eq!(self.log.state(ticket), State::Safe);
        Ok(())
    }

    /// The names of the filters that another start finds.
    fn found(&self) -> Vec<(u64, Vec<u8>)> {
        let model = Model::default();
        let disk = MemoryDisk::of(self.disk.files());
        let options = options(Policy::No, &Arc::default());
        Log::open(folder(&disk), options, &model, &|_| {}).unwrap();
        let sets = model.0.lock().unwrap();
        sets.iter().map(|(id, set)| (*id, set.name.clone())).collect()
    }

    fn has(&self, path: &str) -> bool {
        self.disk.state().files.names.contains_key(path)
    }

    fn insert(&self, digests: u64) {
        let (tally, mut recorder) = (self.model.tally(1), self.log.recorder());
        let digests: Vec<Digest> = (0..digests).map(Digest::new).collect();
        tally.announce(digests.len()).hand_over(digests.len());
        Replay::insert(&*self.model, 1, &digests, Answered::New).unwrap();
        recorder.insert(&tally, 1, &digests);
        recorder.commit().unwrap();
    }
}

#[test]
fn a_checkpoint_that_cannot_fit_is_not_begun() {
    let served = serve(0);
    let image = Filters::image_bytes(&*served.model, 1);
    assert!(image > 8_000);
    let calls = served.disk.state().calls;
    served.disk.state().free = Some(image + LOG_BYTES - 1);
    for _ in 0..3 {
        let error = served.log.checkpoint(&*served.model).unwrap_err();
        let Error::NoRoom { needed, free, log, .. } = error else { panic!("{error}") };
        assert_eq!((needed, free, log), (image, image + LOG_BYTES - 1, LOG_BYTES));
    }
    assert_eq!(served.disk.state().calls, calls, "the disk was touched");
    let stats = served.log.stats();
    assert!(stats.writable && stats.changed_filters == 1, "{stats:?}");
    assert!(stats.checkpoint_error.unwrap().contains("delete filters"));
    served.insert(1);
    served.disk.state().free = Some(image + LOG_BYTES);
    assert_eq!(served.log.checkpoint(&*served.model).unwrap().images, 1);
    assert_eq!(served.log.stats().checkpoint_error, None);
    // Nothing has to be saved, or the free space is unknown.
    served.disk.state().free = Some(0);
    served.log.checkpoint(&*served.model).unwrap();
    served.insert(1);
    served.disk.state().free = None;
    served.log.checkpoint(&*served.model).unwrap();
}

/// The length of its record is unknown; most are much shorter than their images.
#[test]
fn a_packed_image_is_taken_to_be_as_long_as_it_was() {
    let served = serve(usize::MAX);
    served.disk.state().free = Some(0);
    served.log.checkpoint(&*served.model).unwrap();
    served.insert(1);
    let error = served.log.checkpoint(&*served.model).unwrap_err();
    assert!(matches!(error, Error::NoRoom { needed: 1.., .. }), "{error}");
    served.disk.state().free = Some(1 << 20);
    served.log.checkpoint(&*served.model).unwrap();
}

#[test]
fn the_results_of_a_checkpoint_are_described() {
    let served = serve(0);
    let saves = served.log.checkpoint(&*served.model).unwrap().to_string();
    let first = saves.split(';').next().unwrap();
    assert!(first.starts_with("1 filter saved: ") && first.ends_with(" of lists"), "{saves}");
    assert!(saves.ends_with(" of log dropped") && !saves.contains('{'), "{saves}");
}

/// With a second filter, images of both, and reserved space.
fn serve_two() -> Served {
    let served = serve(0);
    served.create(2, b"b");
    served.try_insert(2, 1).unwrap();
    served.log.checkpoint(&*served.model).unwrap();
    served.log.keep_spare();
    assert_eq!(served.disk.files().read("spare").len(), 64 << 10);
    served
}

#[test]
fn deleting_works_on_a_full_disk_and_makes_room() {
    let served = serve_two();
    assert!(served.has("filters/1.mayhap"));
    served.fill();
    let why = served.log.now(&Operation::Expire { id: 1, expires_at: 1 }).unwrap_err().to_string();
    assert!(why.contains("nothing can be written"), "{why}");
    served.remove(1).unwrap();
    assert_eq!(served.found(), [(2, b"b".to_vec())]);
    // Nothing else is written meanwhile; then a whole checkpoint fits, or not: the image is
    // removed.
    assert!(served.disk.files().read("spare").len() < 64 << 10);
    served.disk.state().free = Some(0);
    let saved = served.log.checkpoint(&*served.model);
    assert!(matches!(saved, Err(Error::NoRoom { .. } | Error::Io { .. })), "{saved:?}");
    assert!(!served.has("filters/1.mayhap"));
    assert_eq!(served.found(), [(2, b"b".to_vec())]);
    served.log.put_back(&*served.model).unwrap();
    served.log.retry();
    served.log.check_writable().unwrap();
    served.try_insert(2, 9).unwrap();
    served.disk.state().free = None;
    served.log.keep_spare();
    assert_eq!(served.disk.files().read("spare").len(), 64 << 10);
    served.log.checkpoint(&*served.model).unwrap();
    assert_eq!(served.found(), [(2, b"b".to_vec())]);
}

/// Even under a policy that syncs nothing: no manifest may have a removal that no record has.
#[test]
fn the_records_of_deletions_are_on_the_disk_before_their_images_are_let_go_of() {
    let served = serve_two();
    served.fill();
    drop(served.log.now(&Operation::Remove { id: 1 }).unwrap());
    Replay::remove(&*served.model, 1);
    let before = served.disk.state().events.len();
    served.disk.state().free = Some(0);
    let _ = served.log.checkpoint(&*served.model);
    let state = served.disk.state();
    let segment = state.files.names[&format!("log/{}.log", served.log.stats().segment)];
    let place = |is: &dyn Fn(&Event) -> bool| state.events[before..].iter().position(is).unwrap();
    let synced = place(&|event| matches!(event, Event::Sync { inode } if *inode == segment));
    let named = place(&|event| matches!(event, Event::Rename { to, .. } if to == "manifest"));
    assert!(synced < named, "{synced} {named}");
}

/// A record of a rename takes a name from another filter, so its filter has to be known as long as
/// the record exists.
#[test]
fn a_filter_that_was_renamed_and_deleted_takes_the_other_one_with_it() {
    let served = serve_two();
    served.create(3, b"c");
    drop(served.log.now(&Operation::Rename { id: 1, name: b"c" }).unwrap());
    Replay::rename(&*served.model, 1, b"c");
    served.fill();
    served.remove(1).unwrap();
    served.disk.state().free = Some(0);
    let _ = served.log.checkpoint(&*served.model);
    assert_eq!(served.found(), [(2, b"b".to_vec())]);
}

/// Every call fails once on the way: deleted filters stay deleted, and all others stay.
#[test]
fn failures_while_a_full_disk_gets_room_restore_and_lose_nothing() {
    for from in 0.. {
        let served = serve_two();
        served.fill();
        let calls = served.disk.state().calls;
        let failing = Failing { fault: Fault::Io, from: calls + from, all: false };
        served.disk.state().failing = Some(failing);
        let removed = served.remove(1);
        let _ = served.log.checkpoint(&*served.model);
        let struck = served.disk.state().struck;
        served.disk.state().failing = None;
        let found = served.found();
        assert!(found.contains(&(2, b"b".to_vec())), "{from}: {found:?}");
        assert!(removed.is_err() || found.len() == 1, "{from}: {found:?}");
        if struck == 0 {
            assert!(from > 10, "{from}");
            break;
        }
    }
}
