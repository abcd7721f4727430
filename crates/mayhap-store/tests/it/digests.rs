//! Digests beside a filter: all of them exist, or their absence is an error.

use crate::common::{Folder, digest, filter, overwrite};
use mayhap::native::{Header, Native};
use mayhap::{AnyFilter, Digest, DigestFunction, Layout, SecretKey};
use mayhap_store::{
    Error, FilterLock, Image, KeptDigests, LiveFilter, LockOptions, Memory, Operation, Record,
    Session, SessionOptions, Snapshot, apply, save,
};
use std::fs;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

fn sorted(keys: Range<u64>) -> Vec<Digest> {
    let mut digests: Vec<Digest> = keys.map(digest).collect();
    digests.sort_unstable();
    digests
}

/// A filter of these keys with their digests beside it.
fn build(path: &Path, keys: Range<u64>) -> Result<(), Error> {
    let filter = filter(Layout::Blocked, 1 << 16, keys.clone());
    let lock = FilterLock::take(path, &mut LockOptions::new("test"))?;
    // In any order, and some of them twice.
    let digests = keys.clone().rev().chain(keys).map(digest).collect();
    lock.save_with_digests(&Header::of(&filter, ""), &filter.segments(), digests, true)
}

/// Appends digests to the previous ones, as they are read.
fn extend(all: &mut Vec<Digest>) -> impl FnMut(&[Digest]) -> Result<(), Error> {
    |digests| {
        all.extend_from_slice(digests);
        Ok(())
    }
}

/// All digests, if they belong to the filter.
fn kept(path: &Path) -> Option<Vec<Digest>> {
    let kept = KeptDigests::open(path).unwrap()?;
    let mut all = Vec::new();
    kept.for_each(extend(&mut all)).unwrap();
    kept.covers(Snapshot::open(path).unwrap().image()).unwrap().then_some(all)
}

#[derive(Debug)]
struct Held(AnyFilter);

impl Memory for Held {
    fn load(&mut self, image: &Image) -> Result<(), Error> {
        self.0 = image.load(None, |_, _| {})?;
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        apply(&mut self.0, record)
    }

    fn header(&mut self, key_options: &str) -> Header {
        Header::of(&self.0, key_options)
    }

    fn segments(&self) -> Vec<&[mayhap::Block]> {
        self.0.segments()
    }
}

fn open(path: &Path) -> Result<(Session, Held), Error> {
    let options = SessionOptions::new(LockOptions::new("test")).keeps_digests();
    let opening = Session::open(path, options)?;
    let mut held = Held(opening.image().load(None, |_, _| {})?);
    let (session, _) = opening.follow(&mut held)?;
    Ok((session, held))
}

fn insert(session: &mut Session, held: &mut Held, keys: Range<u64>) {
    for key in keys {
        held.0.insert_digest(digest(key));
        session.note(Operation::Insert, 0, [digest(key)]);
    }
}

#[test]
fn digests_are_kept_in_step_with_the_filter() {
    let folder = Folder::new();
    let path = &folder.file("a");
    build(path, 0..1000).unwrap();
    assert_eq!(folder.names(), ["a", "a.digests"]);
    assert_eq!(kept(path).unwrap(), sorted(0..1000));

    let (mut session, mut held) = open(path).unwrap();
    assert!(session.keeps_digests());
    insert(&mut session, &mut held, 900..1100);
    session.record(&mut held).unwrap();
    drop(session); // as after kill -9: they are in the log
    assert_eq!(kept(path).unwrap(), sorted(0..1000));

    let (mut session, mut held) = open(path).unwrap();
    insert(&mut session, &mut held, 1100..1101);
    let mut all = Vec::new();
    session.for_each_digest(extend(&mut all)).unwrap();
    assert_eq!(all, sorted(0..1101));
    session.finish(&mut held).unwrap();
    assert_eq!(kept(path).unwrap(), sorted(0..1101));
    assert_eq!(folder.names(), ["a", "a.digests"]);

    // Without a log, and a session that changes nothing.
    let (mut session, mut held) = open(path).unwrap();
    insert(&mut session, &mut held, 1101..1200);
    session.finish(&mut held).unwrap();
    let (session, mut held) = open(path).unwrap();
    session.finish(&mut held).unwrap();
    assert_eq!(kept(path).unwrap(), sorted(0..1200));
}

#[test]
fn two_sessions_in_turns_keep_the_digests_of_both() {
    let folder = Folder::new();
    let path = &folder.file("a");
    build(path, 0..10).unwrap();
    let (mut one, mut held_by_one) = open(path).unwrap();
    insert(&mut one, &mut held_by_one, 10..20);
    one.release(&mut held_by_one).unwrap();
    let (mut two, mut held_by_two) = open(path).unwrap();
    insert(&mut two, &mut held_by_two, 20..30);
    two.checkpoint(&mut held_by_two).unwrap();
    insert(&mut two, &mut held_by_two, 30..40);
    two.release(&mut held_by_two).unwrap();
    one.ready(&mut held_by_one).unwrap();
    insert(&mut one, &mut held_by_one, 40..50);
    one.release(&mut held_by_one).unwrap();
    two.finish(&mut held_by_two).unwrap();
    one.finish(&mut held_by_one).unwrap();
    assert_eq!(folder.names(), ["a", "a.digests"]);
    assert_eq!(kept(path).unwrap(), sorted(0..50));
}

#[test]
fn a_filter_that_another_program_has_changed_is_refused() {
    let folder = Folder::new();
    let (path, other) = (&folder.file("a"), &folder.file("other"));
    build(path, 0..10).unwrap();
    let digests = fs::read(folder.file("a.digests")).unwrap();
    save(other, &filter(Layout::Blocked, 1 << 16, 0..11), "").unwrap();
    fs::rename(other, path).unwrap();
    assert_eq!(kept(path), None);
    let error = open(path).unwrap_err();
    assert!(matches!(error, Error::DigestsBehind { .. }), "{error}");
    assert_eq!(fs::read(folder.file("a.digests")).unwrap(), digests, "nothing has changed");
    // A state is not created beside digests of another filter either.
    fs::remove_file(path).unwrap();
    let mut held = Held(filter(Layout::Blocked, 1 << 16, 0..0));
    let options = SessionOptions::new(LockOptions::new("test"));
    let error = Session::create(path, options, &mut held, "").unwrap_err();
    assert!(matches!(error, Error::DigestsBehind { .. }), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_program_that_would_not_keep_them_does_not_open_the_filter() {
    let folder = Folder::new();
    let path = &folder.file("a");
    build(path, 0..10).unwrap();
    let error = LiveFilter::open(path, None).unwrap_err();
    assert!(matches!(error, Error::DigestsNotKept { .. }), "{error}");
    fs::remove_file(folder.file("a.digests")).unwrap();
    LiveFilter::open(path, None).unwrap();
}

#[test]
fn digests_that_are_removed_meanwhile_are_no_longer_kept() {
    let folder = Folder::new();
    let path = &folder.file("a");
    build(path, 0..10).unwrap();
    let (mut session, mut held) = open(path).unwrap();
    insert(&mut session, &mut held, 10..20);
    fs::remove_file(folder.file("a.digests")).unwrap();
    session.finish(&mut held).unwrap();
    assert_eq!(folder.names(), ["a"]);
    // Another file in their place is not written to.
    build(path, 0..10).unwrap();
    let (mut session, mut held) = open(path).unwrap();
    insert(&mut session, &mut held, 10..20);
    let digests = folder.file("a.digests");
    fs::rename(&digests, folder.file("moved")).unwrap();
    fs::copy(folder.file("moved"), &digests).unwrap();
    let error = session.finish(&mut held).unwrap_err();
    assert!(matches!(error, Error::DigestsBehind { .. }), "{error}");
    assert_eq!(fs::read(&digests).unwrap(), fs::read(folder.file("moved")).unwrap());
}

#[test]
fn digests_go_with_the_filter_that_is_replaced_and_files_of_others_stay() {
    let folder = Folder::new();
    let (path, digests) = (&folder.file("a"), &folder.file("a.digests"));
    build(path, 0..10).unwrap();
    build(path, 20..30).unwrap();
    assert_eq!(kept(path).unwrap(), sorted(20..30));
    save(path, &filter(Layout::Blocked, 1 << 16, 0..5), "").unwrap();
    assert_eq!(folder.names(), ["a"]);
    fs::write(digests, "notes of somebody").unwrap();
    assert!(matches!(build(path, 0..1), Err(Error::Exists { path }) if path == *digests));
    let (session, mut held) = open(path).unwrap();
    assert!(!session.keeps_digests());
    session.finish(&mut held).unwrap();
    save(path, &filter(Layout::Blocked, 1 << 16, 0..5), "").unwrap();
    let lock = FilterLock::take(path, &mut LockOptions::new("test")).unwrap();
    assert!(!lock.remove_digests().unwrap());
    assert_eq!(fs::read(digests).unwrap(), b"notes of somebody");
}

#[test]
fn the_digests_of_a_keyed_filter_are_readable_only_by_its_owner() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let function = DigestFunction::sip13(SecretKey::new([7; 16]));
    let builder = AnyFilter::builder().expected_items(10).target_fpp(0.01);
    let filter = builder.digest_function(function).build().unwrap();
    let lock = FilterLock::take(path, &mut LockOptions::new("test")).unwrap();
    let header = Header::of(&filter, "");
    lock.save_with_digests(&header, &filter.segments(), vec![digest(1)], false).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path), mode(&folder.file("a.digests"))), (0o600, 0o600));
}

#[test]
fn a_torn_end_is_ignored_and_then_cut_off() {
    let folder = Folder::new();
    let (path, digests) = (&folder.file("a"), &folder.file("a.digests"));
    build(path, 0..10).unwrap();
    let whole = fs::read(digests).unwrap();
    for torn in [&b"\x89mhd"[..], &[0; 5000], &whole[64..whole.len() - 50], &whole[64..]] {
        fs::write(digests, [&whole[..], torn].concat()).unwrap();
        assert_eq!(kept(path).unwrap(), sorted(0..10));
        let (mut session, mut held) = open(path).unwrap();
        insert(&mut session, &mut held, 10..11);
        session.finish(&mut held).unwrap();
        assert_eq!(kept(path).unwrap(), sorted(0..11));
        let bytes = fs::metadata(digests).unwrap().len();
        // A run of a digest, which takes 65 bits, and a cover.
        assert_eq!(bytes, whole.len() as u64 + 40 + 9 + 40);
        build(path, 0..10).unwrap();
    }
}

/// Either every digest of the filter exists, or an error reports that it does not.
fn is_all_or_an_error(path: &Path, keys: Range<u64>) -> bool {
    let expected = sorted(keys);
    let Ok(Some(kept)) = KeptDigests::open(path) else { return true };
    let is_covered = kept.covers(Snapshot::open(path).unwrap().image()).unwrap();
    let mut all = Vec::new();
    let read = kept.for_each(extend(&mut all));
    assert!(all.is_sorted());
    !is_covered || read.is_err() || expected.iter().all(|digest| all.binary_search(digest).is_ok())
}

#[test]
fn no_damage_goes_unnoticed_where_it_matters() {
    let folder = Folder::new();
    let (path, digests) = (&folder.file("a"), &folder.file("a.digests"));
    build(path, 0..60).unwrap();
    let (mut session, mut held) = open(path).unwrap();
    insert(&mut session, &mut held, 60..80);
    session.finish(&mut held).unwrap();
    let whole = fs::read(digests).unwrap();
    assert!(KeptDigests::open(path).unwrap().is_some_and(|kept| kept.digests() == 80));
    for at in 0..whole.len() {
        for bit in [1, 0x80] {
            overwrite(digests, at, &[whole[at] ^ bit]);
            assert!(is_all_or_an_error(path, 0..80), "byte {at}");
        }
        overwrite(digests, at, &whole[at..=at]);
    }
    for len in 0..whole.len() {
        fs::write(digests, &whole[..len]).unwrap();
        assert!(is_all_or_an_error(path, 0..80), "{len} bytes");
        assert!(len < 64 || KeptDigests::open(path).unwrap().is_some());
    }
}

/// What is refused later, when the filter grows, is refused before a key is added.
#[test]
fn damaged_digests_are_an_error_before_anything_is_added() {
    let folder = Folder::new();
    let path = &folder.file("a");
    build(path, 0..1000).unwrap();
    let digests = &folder.file("a.digests");
    let (image, whole) = (fs::read(path).unwrap(), fs::read(digests).unwrap());
    // The magic, the header, the first and the last code of the run; its cover is the last record.
    for (at, found_at) in [(0, 0), (20, 0), (104, 64), (whole.len() - 41, 64)] {
        overwrite(digests, at, &[whole[at] ^ 1]);
        let error = open(path).unwrap_err();
        let Error::DigestsDamaged { offset, .. } = &error else { panic!("byte {at}: {error}") };
        assert_eq!(*offset, found_at, "byte {at}");
        let kept = KeptDigests::open(path).and_then(|kept| kept.unwrap().check());
        assert!(matches!(kept, Err(Error::DigestsDamaged { .. })), "byte {at}");
        overwrite(digests, at, &whole[at..=at]);
        assert_eq!(fs::read(path).unwrap(), image, "byte {at}");
    }
    assert_eq!(
        (folder.names(), kept(path)),
        (vec!["a".into(), "a.digests".into()], Some(sorted(0..1000)))
    );
}

/// Also by a session that was open before, once another one has replaced the image.
#[test]
fn digests_that_were_damaged_meanwhile_are_refused_by_an_open_session() {
    let folder = Folder::new();
    let path = &folder.file("a");
    build(path, 0..1000).unwrap();
    let (mut one, mut held_by_one) = open(path).unwrap();
    one.release(&mut held_by_one).unwrap();
    let (mut two, mut held_by_two) = open(path).unwrap();
    insert(&mut two, &mut held_by_two, 1000..1010);
    two.finish(&mut held_by_two).unwrap();
    let digests = &folder.file("a.digests");
    let whole = fs::read(digests).unwrap();
    overwrite(digests, 104, &[whole[104] ^ 1]);
    let error = one.ready(&mut held_by_one).unwrap_err();
    assert!(matches!(error, Error::DigestsDamaged { offset: 64, .. }), "{error}");
}

/// A record with right checksums.
fn record(kind: u16, value: u64, bytes: u64, checksum: u64, offset: u64) -> Vec<u8> {
    let mut record = b"\x89mhd".to_vec();
    record.extend(kind.to_le_bytes());
    record.extend([0; 2]);
    record.extend([value, bytes, checksum].map(u64::to_le_bytes).concat());
    let checksum = xxh3_64_with_seed(&record, offset);
    record.extend(checksum.to_le_bytes());
    record
}

#[test]
fn forged_counts_and_lengths_are_believed_only_with_the_bytes_for_them() {
    let folder = Folder::new();
    let (path, digests) = (&folder.file("a"), &folder.file("a.digests"));
    build(path, 0..60).unwrap();
    let header = fs::read(digests).unwrap()[..64].to_vec();
    let image = fs::read(path).unwrap();
    let fingerprint = u64::from_le_bytes(image[4088..4096].try_into().unwrap());
    let codes = vec![0xA5; 4000];
    let counts = [0, 1, 60, 999, 1000, 1 << 20, 1 << 32, 1 << 63, u64::MAX];
    let lengths = [0, 1, 8, 4000, 4001, 1 << 40, 1 << 63, u64::MAX - 104, u64::MAX];
    let mut refused = 0;
    for count in counts {
        for bytes in lengths {
            let mut forged = header.clone();
            let checksum = xxh3_64(&codes[..codes.len().min(bytes as usize)]);
            forged.extend(record(1, count, bytes, checksum, 64));
            forged.extend(&codes[..codes.len().min(bytes as usize)]);
            forged.extend(record(2, fingerprint, 0, 0, forged.len() as u64));
            fs::write(digests, forged).unwrap();
            let kept = KeptDigests::open(path).unwrap().unwrap();
            let has_room = count > 0 && u128::from(count) <= u128::from(bytes) * 8;
            assert!(kept.digests() == 0 || has_room && bytes <= 4000, "{count} in {bytes} bytes");
            refused += usize::from(kept.for_each(|_| Ok::<(), Error>(())).is_err());
        }
    }
    // Invalid codes can have a valid count and length.
    assert!(refused > 0);
}
