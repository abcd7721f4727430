//! Many small filters: their images are stored together, and are moved no more than needed.

use super::disk::MemoryDisk;
use super::lists::{is_list, make_old};
use super::model::Model;
use super::run::{folder, options};
use crate::durable::{
    Answered, Error, Log, Operation, Options, Policy, Recorder, Replay, Report, Saves, repair,
};
use mayhap::Digest;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A log of many filters.
pub(super) struct Many {
    pub(super) disk: MemoryDisk,
    pub(super) model: Model,
    pub(super) log: Arc<Log>,
    recorder: Recorder,
    digest: u64,
}

impl Many {
    pub(super) fn new(filters: u64) -> Self {
        Self::at(filters, &Arc::default())
    }

    /// The same with a clock.
    pub(super) fn at(filters: u64, time: &Arc<AtomicU64>) -> Self {
        let (disk, model) = (MemoryDisk::default(), Model::default());
        let options = Options { packed_bytes: usize::MAX, ..options(Policy::No, time) };
        let log = Log::open(folder(&disk), options, &model, &|_| {}).unwrap().0;
        let mut many = Self { disk, model, recorder: log.recorder(), log, digest: 0 };
        for id in 1..=filters {
            let name = format!("f{id}").into_bytes();
            let create = Operation::Create { id, name: &name, spec: b"", expires_at: 0 };
            drop(many.log.now(&create).unwrap());
            Replay::create(&many.model, id, &name, b"", 0).unwrap();
            many.insert(id);
        }
        many
    }

    pub(super) fn insert(&mut self, id: u64) {
        let tally = self.model.tally(id);
        self.digest += 1;
        let digest = [Digest::new(self.digest)];
        tally.announce(1).hand_over(1);
        Replay::insert(&self.model, id, &digest, Answered::New).unwrap();
        self.recorder.insert(&tally, id, &digest);
        self.recorder.commit().unwrap();
    }

    pub(super) fn checkpoint(&self) -> Saves {
        self.log.checkpoint(&self.model).unwrap()
    }

    pub(super) fn packs(&self) -> Vec<String> {
        let files = self.disk.files();
        let is_image = |path: &&String| path.starts_with("filters/") && !is_list(path);
        files.names.keys().filter(is_image).cloned().collect()
    }

    /// Another start finds the same contents.
    pub(super) fn check(&self) {
        let found = Model::default();
        open(&self.disk, &found, usize::MAX).unwrap();
        assert_eq!(*found.0.lock().unwrap(), *self.model.0.lock().unwrap());
    }
}

pub(super) fn open(
    disk: &MemoryDisk,
    model: &Model,
    packed_bytes: usize,
) -> Result<(Arc<Log>, Report), Error> {
    let options = Options { packed_bytes, ..options(Policy::No, &Arc::default()) };
    Log::open(folder(disk), options, model, &|_| {})
}

#[test]
fn a_change_of_one_filter_saves_that_one_and_no_other() {
    let mut many = Many::new(40);
    assert_eq!((many.checkpoint().images, many.checkpoint().images), (40, 0));
    let before = many.packs();
    assert!(before.len() < 10 && before.iter().all(|path| path.contains(".pack")), "{before:?}");
    many.insert(7);
    let saves = many.checkpoint();
    assert_eq!((saves.images, saves.moved), (1, 0));
    assert_eq!(many.packs().len(), before.len() + 1);
    many.check();
}

/// Over many checkpoints the space stays bounded, and images are moved a few times at most.
#[test]
fn packs_with_little_left_in_them_are_given_back() {
    let mut many = Many::new(40);
    let all = many.checkpoint().image_bytes;
    let (mut changed, mut moved, mut most) = (0, 0, 0);
    for round in 0..200 {
        let id = 1 + round * 7 % 40;
        many.insert(id);
        let saves = many.checkpoint();
        (changed, moved) = (changed + saves.images, moved + saves.moved);
        let files = many.disk.files();
        let bytes = many.packs().iter().map(|path| files.read(path).len()).sum();
        most = most.max(bytes);
        many.check();
    }
    assert_eq!(changed, 200);
    assert!(moved > 0 && moved < 6 * changed, "{moved} moved");
    // Including headers, and the tiny packs of a test.
    assert!((most as u64) < 6 * all, "{most} bytes for {all}");
}

#[test]
fn filters_that_are_removed_take_their_packs_with_them() {
    let many = Many::new(40);
    many.checkpoint();
    for id in 1..=40 {
        drop(many.log.now(&Operation::Remove { id }).unwrap());
        many.model.remove(id);
    }
    many.checkpoint();
    assert_eq!(many.packs(), Vec::<String>::new());
    many.check();
}

#[test]
fn a_folder_of_one_image_a_filter_still_opens_and_becomes_one_of_packs() {
    let mut many = Many::new(5);
    // A server without packs.
    let found = Model::default();
    let (log, _) = open(&many.disk, &found, 0).unwrap();
    log.checkpoint(&found).unwrap();
    let mut files = many.disk.files();
    assert_eq!(files.names.keys().filter(|path| path.ends_with(".mayhap")).count(), 5);
    make_old(&mut files, 1);
    many.disk = MemoryDisk::of(files);
    many.model = Model::default();
    let (log, report) = open(&many.disk, &many.model, usize::MAX).unwrap();
    assert_eq!((report.images, report.digests), (5, 0));
    assert_eq!(*many.model.0.lock().unwrap(), *found.0.lock().unwrap());
    (many.recorder, many.log) = (log.recorder(), log);
    for id in 1..=5 {
        many.insert(id);
    }
    many.checkpoint();
    assert_eq!(many.packs(), ["filters/7.pack"]);
    many.check();
}

/// The reported damage, and the state after a repair.
#[test]
fn damage_in_a_pack_takes_the_filters_whose_images_it_struck_and_no_others() {
    let many = Many::new(5);
    many.checkpoint();
    let [path] = &many.packs()[..] else { panic!("{:?}", many.packs()) };
    let struck = |place: usize| {
        let mut files = many.disk.files();
        files.contents.get_mut(&files.names[path]).unwrap()[place] ^= 1;
        let disk = MemoryDisk::of(files);
        let error = open(&disk, &Model::default(), usize::MAX).unwrap_err();
        let Error::Damaged { path: named, offset, .. } = error else { panic!("{error}") };
        assert_eq!(named.to_str(), Some(&**path));
        let repaired = repair(&folder(&disk)).unwrap();
        let found = Model::default();
        open(&disk, &found, usize::MAX).unwrap();
        let left = found.0.lock().unwrap().len();
        (offset, repaired.lost_filters.len(), left)
    };
    // The header, which is the same in all packs; the first record, and the end of the last one;
    // the end of the file.
    let bytes = many.disk.files().read(path).len();
    assert_eq!(struck(3), (0, 0, 5));
    assert_eq!(struck(24), (24, 1, 4));
    let (offset, lost, left) = struck(bytes - 17);
    assert_eq!((lost, left), (1, 4));
    assert!(offset > 24);
    for place in bytes - 16..bytes {
        assert_eq!(struck(place), (bytes as u64 - 16, 0, 5));
    }
}

#[test]
fn bytes_that_were_added_to_a_file_or_cut_off_are_damage_and_a_repair_loses_nothing_else() {
    let many = Many::new(5);
    many.checkpoint();
    let files = many.disk.files();
    let is_file = |path: &&String| !path.starts_with("log/") && !path.ends_with("key");
    for path in files.names.keys().filter(is_file) {
        let whole = files.read(path).len();
        for bytes in (whole + 1..whole + 40).chain([whole + 96, whole + 100, whole - 1]) {
            let mut files = files.clone();
            files.contents.get_mut(&files.names[path]).unwrap().resize(bytes, 0);
            let disk = MemoryDisk::of(files);
            let error = open(&disk, &Model::default(), usize::MAX).unwrap_err();
            let Error::Damaged { path: named, .. } = error else { panic!("{path}: {error}") };
            assert_eq!(named.to_str(), Some(&**path), "{bytes} of {whole}");
            if path.contains(".pack") {
                assert_eq!(repair(&folder(&disk)).unwrap().lost_filters.len(), 0);
                let found = Model::default();
                open(&disk, &found, usize::MAX).unwrap();
                assert_eq!(*found.0.lock().unwrap(), *many.model.0.lock().unwrap());
            }
        }
    }
}

/// Packs of version 1 do not contain their length.
#[test]
fn a_pack_without_an_end_is_read_too() {
    let many = Many::new(5);
    many.checkpoint();
    let [path] = &many.packs()[..] else { panic!("{:?}", many.packs()) };
    let mut files = many.disk.files();
    let pack = files.contents.get_mut(&files.names[path]).unwrap();
    pack.truncate(pack.len() - 16);
    pack[8] = 1;
    let checksum = xxhash_rust::xxh3::xxh3_64(&pack[..16]);
    pack[16..24].copy_from_slice(&checksum.to_le_bytes());
    let found = Model::default();
    open(&MemoryDisk::of(files), &found, usize::MAX).unwrap();
    assert_eq!(*found.0.lock().unwrap(), *many.model.0.lock().unwrap());
}
