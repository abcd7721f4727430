//! The list of all filters: as a checkpoint writes it, and as a start reads it.

use super::disk::{Event, Failing, Fault, Files, MemoryDisk};
use super::model::Model;
use super::packs::{Many, open};
use super::run::{Random, folder};
use crate::durable::image::ImageOf;
use crate::durable::manifest::Manifest;
use crate::durable::store::number_in;
use crate::durable::{Error, Operation, Replay, repair};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes that were written to a disk.
fn written(disk: &MemoryDisk) -> usize {
    let state = disk.state();
    let bytes =
        |event: &Event| if let Event::Write { bytes, .. } = event { bytes.len() } else { 0 };
    state.events.iter().map(bytes).sum()
}

/// Whether it is a list that a manifest may name, and not a copy made by a repair.
pub(super) fn is_list(path: &str) -> bool {
    path.strip_prefix("filters/").is_some_and(|name| number_in(name, ".list").is_some())
}

/// The lists of a folder, with the bytes of each.
fn lists(disk: &MemoryDisk) -> Vec<(String, usize)> {
    let files = disk.files();
    let lists = files.names.keys().filter(|path| is_list(path));
    lists.map(|path| (path.clone(), files.read(path).len())).collect()
}

/// Bytes that a checkpoint writes after a key was inserted into one of `filters` filters.
fn bytes_of_one_change(filters: u64) -> usize {
    let mut many = Many::new(filters);
    many.checkpoint();
    many.insert(7);
    let before = written(&many.disk);
    many.checkpoint();
    many.check();
    written(&many.disk) - before
}

#[test]
fn a_change_of_one_filter_writes_as_much_among_few_as_among_many() {
    assert_eq!(bytes_of_one_change(100), bytes_of_one_change(1000));
}

/// The manifest of a folder, with the contents of its lists.
fn manifest(disk: &MemoryDisk) -> Manifest {
    Manifest::read(&folder(disk).store).unwrap().unwrap()
}

/// A random change to a random filter.
fn change(many: &mut Many, next_id: &mut u64, random: &mut Random) {
    let ids: Vec<u64> = many.model.0.lock().unwrap().keys().copied().collect();
    let id = ids[random.below(ids.len() as u64) as usize];
    let name = format!("n{}", random.below(50)).into_bytes();
    match random.below(8) {
        0 => {
            drop(many.log.now(&Operation::Rename { id, name: &name }).unwrap());
            many.model.rename(id, &name);
        }
        1 => {
            let expires_at = random.next();
            drop(many.log.now(&Operation::Expire { id, expires_at }).unwrap());
            many.model.expire(id, expires_at);
        }
        2 => {
            drop(many.log.now(&Operation::Remove { id }).unwrap());
            many.model.remove(id);
        }
        3 => {
            let id = *next_id;
            *next_id += 1;
            let create = Operation::Create { id, name: &name, spec: b"s", expires_at: 0 };
            drop(many.log.now(&create).unwrap());
            Replay::create(&many.model, id, &name, b"s", 0).unwrap();
        }
        _ => many.insert(id),
    }
}

/// After each of many checkpoints, with changes of all sorts: the filters are unchanged, the lists
/// are few, and all of them together are no more than a few times their contents.
#[test]
fn lists_stay_few_small_and_correct() {
    let (mut random, mut next_id) = (Random(17), 201);
    let mut many = Many::new(200);
    many.checkpoint();
    let all = lists(&many.disk)[0].1;
    let (mut most, mut longest, before) = (0, 0, written(&many.disk));
    for _ in 0..300 {
        for _ in 0..=random.below(4) {
            change(&mut many, &mut next_id, &mut random);
        }
        many.checkpoint();
        many.check();
        let lists = lists(&many.disk);
        longest = longest.max(lists.len());
        most = most.max(lists.iter().map(|(_, bytes)| bytes).sum());
    }
    let each = (written(&many.disk) - before) / 300;
    println!("{longest} lists, {most} bytes at most for {all}; {each} bytes a checkpoint");
    // Each list of changes is about twice as long as the next one, and all are a quarter at most.
    assert!((2..=1 + 6).contains(&longest), "{longest}");
    assert!(most < 2 * all, "{most} bytes for {all}");
    assert!(each < all / 3, "{each} bytes a checkpoint for {all}");
}

/// The log is cut off where the checkpoint was made, so the lists alone have the filters.
#[test]
fn names_and_times_that_the_log_sets_again_at_a_start_are_listed_too() {
    let (mut random, mut next_id) = (Random(18), 201);
    let mut many = Many::new(200);
    many.checkpoint();
    for _ in 0..30 {
        change(&mut many, &mut next_id, &mut random);
    }
    // Another process, which knows the changes only from the log.
    let found = Model::default();
    let (log, _) = open(&many.disk, &found, usize::MAX).unwrap();
    log.checkpoint(&found).unwrap();
    many.check();
    assert_eq!(lists(&many.disk).len(), 2, "not all are listed anew");
    let listed = manifest(&many.disk)
        .filters
        .into_iter()
        .map(|(saved, _)| (saved.id, saved.name.to_vec(), saved.expires_at));
    let sets = many.model.0.lock().unwrap();
    let there = sets.iter().map(|(id, set)| (*id, set.name.clone(), set.expires_at));
    assert_eq!(listed.collect::<Vec<_>>(), there.collect::<Vec<_>>());
}

#[test]
fn a_checkpoint_that_fails_leaves_what_was_renamed_to_the_next() {
    for failing in 0.. {
        let mut many = two_lists();
        drop(many.log.now(&Operation::Rename { id: 5, name: b"other" }).unwrap());
        many.model.rename(5, b"other");
        {
            let mut state = many.disk.state();
            let from = state.calls + failing;
            (state.struck, state.failing) =
                (0, Some(Failing { fault: Fault::NoSpace, from, all: true }));
        }
        let failed = many.log.checkpoint(&many.model).is_err();
        let struck = many.disk.state().struck;
        many.disk.state().failing = None;
        // A file that cannot be removed at the end is no failure.
        if struck == 0 {
            assert!(failing > 10 && !failed, "{failing} calls");
            return;
        }
        many.insert(7);
        many.checkpoint();
        many.check();
    }
}

#[test]
fn a_list_that_was_removed_is_written_again_by_the_next_checkpoint() {
    for place in 0..2 {
        let mut many = two_lists();
        let (path, _) = &lists(&many.disk)[place];
        many.disk.state().files.names.remove(path);
        let error = refusal(&many.disk);
        let Error::Missing { path: named, .. } = &error else { panic!("{error}") };
        assert_eq!(named.to_str(), Some(&**path));
        many.insert(4);
        many.checkpoint();
        many.check();
    }
}

/// A folder with a list of 40 filters and one of a change.
fn two_lists() -> Many {
    let mut many = Many::new(40);
    many.checkpoint();
    many.insert(3);
    many.checkpoint();
    assert_eq!(lists(&many.disk).len(), 2);
    many
}

/// Why a folder is not opened.
fn refusal(disk: &MemoryDisk) -> Error {
    open(disk, &Model::default(), usize::MAX).map(|_| "it opens").unwrap_err()
}

/// Corrects the checksum at the end of a manifest.
fn seal(manifest: &mut [u8]) {
    let end = manifest.len() - 8;
    let checksum = xxh3_64(&manifest[..end]);
    manifest[end..].copy_from_slice(&checksum.to_le_bytes());
}

/// Makes the manifest of a folder one of version 1 or 2, which have the filters themselves.
pub(super) fn make_old(files: &mut Files, version: u8) {
    let disk = MemoryDisk::of(files.clone());
    let inode = files.names["manifest"];
    let filters = manifest(&disk).filters;
    let mut then = files.contents[&inode][..80].to_vec();
    then[8] = version;
    then.extend_from_slice(&(filters.len() as u64).to_le_bytes());
    for (saved, ImageOf { number, offset, bytes, checksum, mark }) in filters {
        assert!(version > 1 || offset == 0, "the image is a file of its own");
        let place = (version > 1).then_some(offset);
        let numbers = [saved.id, saved.expires_at, number];
        let numbers = numbers.into_iter().chain(place).chain([bytes, checksum, mark]);
        then.extend(numbers.flat_map(u64::to_le_bytes));
        then.extend_from_slice(&(saved.name.len() as u32).to_le_bytes());
        then.extend_from_slice(&(saved.spec.len() as u32).to_le_bytes());
        then.extend_from_slice(&saved.name);
        then.extend_from_slice(&saved.spec);
    }
    then.extend_from_slice(&[0; 8]);
    seal(&mut then);
    files.contents.insert(inode, then);
    files.names.retain(|path, _| !is_list(path));
}

#[test]
fn a_folder_whose_manifest_has_the_filters_opens_and_becomes_one_of_lists() {
    let mut many = Many::new(40);
    many.checkpoint();
    let mut files = many.disk.files();
    make_old(&mut files, 2);
    let disk = MemoryDisk::of(files);
    let found = Model::default();
    let (log, report) = open(&disk, &found, usize::MAX).unwrap();
    assert_eq!((report.images, report.digests), (40, 0));
    assert_eq!(*found.0.lock().unwrap(), *many.model.0.lock().unwrap());
    let saves = log.checkpoint(&found).unwrap();
    assert_eq!((saves.images, lists(&disk).len()), (0, 1));
    many.disk = disk;
    many.check();
}

/// A folder with a list and a shorter one of changes, and the errors of a start and a repair after
/// a change to the manifest or a list.
fn forged(change: impl FnOnce(&mut Vec<u8>, &mut Files)) -> (Error, Error) {
    let mut files = two_lists().disk.files();
    let inode = files.names["manifest"];
    let mut manifest = files.contents[&inode].clone();
    assert_eq!(manifest.len(), 88 + 2 * 32 + 8);
    change(&mut manifest, &mut files);
    seal(&mut manifest);
    files.contents.insert(inode, manifest);
    let disk = MemoryDisk::of(files.clone());
    let error = refusal(&disk);
    let repaired = repair(&folder(&disk)).unwrap_err();
    assert_eq!(disk.files(), files, "nothing is changed");
    (error, repaired)
}

fn assert_damaged(errors: &(Error, Error), path: &str, why: &str) {
    for error in [&errors.0, &errors.1] {
        let Error::Damaged { path: named, what, .. } = error else { panic!("{error}") };
        assert!(named.to_str() == Some(path) && what.contains(why), "{error}");
    }
}

/// The offsets of a field in the record of a list in a manifest.
fn place(list: usize, field: usize) -> std::ops::Range<usize> {
    let at = 88 + 32 * list + 8 * field;
    at..at + 8
}

#[test]
fn a_forged_chain_of_lists_is_refused() {
    let first = |manifest: &[u8]| u64::from_le_bytes(manifest[place(0, 0)].try_into().unwrap());
    // The same list twice, and a list before its predecessor.
    let twice =
        forged(|manifest, _| manifest.copy_within(place(0, 0).start..place(1, 0).start, 120));
    assert_damaged(&twice, "manifest", "is not between");
    let swapped = forged(|manifest, _| {
        let (a, b) = manifest[88..152].split_at_mut(32);
        a.swap_with_slice(b);
    });
    assert_damaged(&swapped, "manifest", "is not between");
    let beyond = forged(|manifest, _| manifest[place(1, 0)].fill(0x7f));
    assert_damaged(&beyond, "manifest", "is not between");
    // A number of lists too large to be true, in the file and in memory.
    let many = forged(|manifest, _| manifest[80..88].fill(0x7f));
    assert_damaged(&many, "manifest", "announced");
    let none = forged(|manifest, _| manifest[80..88].fill(0));
    assert_damaged(&none, "manifest", "too many");
    let mut number = 0;
    let long = forged(|manifest, _| {
        number = first(manifest);
        manifest[place(0, 1)].fill(0x7f);
    });
    assert_damaged(&long, &format!("filters/{number}.list"), "instead of");
    let more = forged(|manifest, _| manifest[place(0, 3)].fill(0x7f));
    assert_damaged(&more, &format!("filters/{number}.list"), "announces");
    // Only the changes: their first record is another image of a filter that no list names.
    let alone = forged(|manifest, files| {
        manifest[80] = 1;
        manifest.drain(place(0, 0).start..place(0, 3).end);
        files.names.remove(&format!("filters/{number}.list"));
    });
    let last = number + 2;
    assert_damaged(&alone, &format!("filters/{last}.list"), "not listed");
    let absent = forged(|_, files| {
        files.names.remove(&format!("filters/{number}.list"));
    });
    assert!(matches!(absent, (Error::Missing { .. }, Error::Missing { .. })), "{absent:?}");
}

#[test]
fn a_repair_that_drops_a_filter_lists_the_others_anew() {
    let mut many = two_lists();
    let mut files = many.disk.files();
    // The image of the changed filter is alone in a pack.
    let path =
        manifest(&many.disk).filters.iter().find(|(saved, _)| saved.id == 3).unwrap().1.path();
    let bytes = files.contents.get_mut(&files.names[&path]).unwrap();
    let end = bytes.len() - 17;
    bytes[end] ^= 1;
    let disk = MemoryDisk::of(files);
    let repaired = repair(&folder(&disk)).unwrap();
    assert_eq!(repaired.lost_filters, [(*b"f3").into()]);
    // Manifest, lists and pack, in their original state.
    assert_eq!(repaired.copies.len(), 4, "{:?}", repaired.copies);
    let found = Model::default();
    let (log, _) = open(&disk, &found, usize::MAX).unwrap();
    assert_eq!((found.0.lock().unwrap().len(), lists(&disk).len()), (39, 1));
    log.checkpoint(&found).unwrap();
    many.disk = disk;
    many.model = found;
    many.check();
}
