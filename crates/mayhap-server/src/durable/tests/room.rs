//! A disk with little room.

use super::disk::MemoryDisk;
use super::model::Model;
use super::run::{folder, options};
use crate::durable::{Answered, Error, Filters, Log, Operation, Options, Policy, Replay};
use mayhap::Digest;
use std::sync::Arc;

/// What stays free for the log.
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
    // Nothing is to be saved, and nobody can tell.
    served.disk.state().free = Some(0);
    served.log.checkpoint(&*served.model).unwrap();
    served.insert(1);
    served.disk.state().free = None;
    served.log.checkpoint(&*served.model).unwrap();
}

/// How long its record will be, nobody knows; most are much shorter than their images.
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
fn what_a_checkpoint_did_is_said_in_words() {
    let served = serve(0);
    let saves = served.log.checkpoint(&*served.model).unwrap().to_string();
    let first = saves.split(';').next().unwrap();
    assert!(first.starts_with("1 filter saved: ") && first.ends_with(" of lists"), "{saves}");
    assert!(saves.ends_with(" of log dropped") && !saves.contains('{'), "{saves}");
}
