//! On the file system.

use super::model::Model;
use crate::durable::{
    Answered, DataFolder, Image, Log, Operation, Options, Policy, Replay, Report, Snapshot,
    Threads, images::Images, read_native, write_segments,
};
use mayhap::native::{Header, Native};
use mayhap::{AnyFilter, Digest, DigestFunction};
use std::path::Path;
use std::sync::Arc;

fn open(path: &Path, model: &Model) -> (Arc<Log>, Report) {
    let options = Options::new(DigestFunction::default());
    Log::open(DataFolder::open(path).unwrap(), options, model, &|_| {}).unwrap()
}

#[test]
fn committed_changes_are_restored_before_and_after_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::default();
    let tally = model.tally(1);
    let (log, report) = open(folder.path(), &model);
    let id = report.next_id;
    let operation = Operation::Create { id, name: b"a", spec: b"spec", expires_at: 7 };
    drop(log.now(&operation).unwrap());
    let mut recorder = log.recorder();
    for round in 0..4 {
        for digest in (0..3).map(|i| Digest::new(round * 100 + i)) {
            tally.announce(1).hand_over(1);
            recorder.insert(&tally, id, &[digest]);
        }
        recorder.commit().unwrap();
        assert_eq!(model.at_risk(), 0);
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

#[test]
fn threads_sync_save_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Model::default());
    let always = Options {
        policy: Policy::Always,
        checkpoint_every: None,
        ..Options::new(DigestFunction::default())
    };
    let data = DataFolder::open(folder.path()).unwrap();
    let (log, _) = Log::open(data, always, &*model, &|_| {}).unwrap();
    let threads = Threads::start(&log, model.clone()).unwrap();
    let operation = Operation::Create { id: 1, name: b"a", spec: b"", expires_at: 0 };
    let logged = log.now(&operation).unwrap();
    Replay::create(&*model, 1, b"a", b"", 0).unwrap();
    let ticket = logged.ticket.unwrap();
    drop(logged);
    log.wait(ticket).unwrap();
    // Several threads at once, while images are made: each digest is inserted before its record.
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (log, model) = (&log, &model);
            scope.spawn(move || {
                let (mut recorder, tally) = (log.recorder(), model.tally(1));
                for digest in (0..200).map(|i| Digest::new(thread << 32 | i)) {
                    tally.announce(1).hand_over(1);
                    Replay::insert(&**model, 1, &[digest], Answered::New).unwrap();
                    recorder.insert(&tally, 1, &[digest]);
                    if let Some(ticket) = recorder.commit().unwrap() {
                        log.wait(ticket).unwrap();
                    }
                }
            });
        }
        for _ in 0..20 {
            log.checkpoint(&*model).unwrap();
        }
    });
    assert_eq!(model.at_risk(), 0);
    threads.close().unwrap();
    drop(log);
    let found = Model::default();
    let (_log, report) = open(folder.path(), &found);
    assert_eq!((found.digests().len(), report.dropped), (800, None));
    assert_eq!(model.digests(), found.digests());
    assert_eq!(found.copy(1).unwrap().items(), 800);
}

#[test]
fn files_in_import_are_reported_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), &Model::default()));
    for name in ["import/seen.bloom", "import/.hidden", "log/notes.log", "filters/007.mayhap"] {
        std::fs::write(folder.path().join(name), "a user's").unwrap();
    }
    let (log, report) = open(folder.path(), &Model::default());
    assert_eq!(report.import, folder.path().join("import"));
    log.checkpoint(&Model::default()).unwrap();
    for name in ["import/seen.bloom", "import/.hidden", "log/notes.log", "filters/007.mayhap"] {
        assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), b"a user's");
    }
}

#[test]
fn a_filter_with_a_file_format_is_restored_from_its_image() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataFolder::open(folder.path()).unwrap();
    data.store.create_dir("filters").unwrap();
    let key = data.secret_key().unwrap();
    for items in [1, 10_000, 3_000_000] {
        let function = DigestFunction::sip13(key);
        let builder = AnyFilter::builder().expected_items(items).target_fpp(0.01);
        let mut filter = builder.digest_function(function).build().unwrap();
        for item in 0..items.min(1000) {
            filter.insert(&item);
        }
        let mut images = Images::new(&data.store, items, 0);
        let of = images.save(1, &Saves(&filter)).unwrap();
        let mut opened = Image::open(&data.store, of).unwrap();
        let copy: AnyFilter = read_native(&mut opened, Some(key)).unwrap();
        opened.check(&data.store).unwrap();
        assert_eq!(copy.blocks(), filter.blocks());
        // Files that `mayhap info` and the other commands read.
        let path = folder.path().join(format!("filters/{items}.mayhap"));
        let loaded = mayhap_store::load(&path, Some(key)).unwrap();
        assert_eq!(loaded.filter.blocks(), filter.blocks());
        let other = read_native::<AnyFilter>(&mut Image::open(&data.store, of).unwrap(), None);
        assert!(other.unwrap_err().to_string().contains("key"));
    }
}

struct Saves<'a>(&'a AnyFilter);

impl Snapshot for Saves<'_> {
    fn write(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        write_segments(&Header::of(self.0, ""), &self.0.segments(), out)
    }
}
