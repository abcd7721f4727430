//! On the file system.

use super::model::Model;
use crate::durable::{DataFolder, Log, Operation, Options, Report};
use mayhap::{Digest, DigestFunction};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn open(path: &Path, model: &Model) -> (Arc<Log>, Report) {
    let options = Options::new(DigestFunction::default());
    Log::open(DataFolder::open(path).unwrap(), options, model, &|_| {}).unwrap()
}

#[test]
fn what_was_committed_is_there_again_before_and_after_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let (count, model) = (Arc::new(AtomicU64::new(0)), Model::default());
    let (log, report) = open(folder.path(), &model);
    let id = report.next_id;
    let operation = Operation::Create { id, name: b"a", spec: b"spec", expires_at: 7 };
    drop(log.now(&operation).unwrap());
    let mut recorder = log.recorder();
    for round in 0..4 {
        for digest in (0..3).map(|i| Digest::new(round * 100 + i)) {
            count.fetch_add(1, Ordering::Relaxed);
            recorder.insert(&count, id, &[digest]);
        }
        recorder.commit().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
    drop((recorder, log));

    let model = Model::default();
    let (log, report) = open(folder.path(), &model);
    assert_eq!((report.digests, report.operations, report.next_id), (12, 1, id + 1));
    assert_eq!(model.digests().len(), 12);
    let saves = log.checkpoint(&model).unwrap();
    assert_eq!(saves.images, 1);
    assert_eq!(log.checkpoint(&model).unwrap().images, 0, "nothing was changed");
    let before = model.0.lock().unwrap().clone();
    drop(log);

    let model = Model::default();
    let (_log, report) = open(folder.path(), &model);
    assert_eq!((report.digests, report.images, report.next_id), (0, 1, id + 1));
    assert_eq!(*model.0.lock().unwrap(), before);
}
