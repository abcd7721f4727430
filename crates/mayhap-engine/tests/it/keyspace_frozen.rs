//! Fuse and ribbon filters are served as they were built: they take no keys, and are kept like any
//! other filter.

use super::keyspace::{KEY, keyspace, numbered, turn, with_words};
use super::keyspace_dump::{Chunks, dump, load_in};
use super::keyspace_recovery::{open, recording};
use mayhap::native::{HEADER_BYTES, encode, paged};
use mayhap::sizing::Shrink;
use mayhap::{BinaryFuse, Bitmap, Digest, DigestFunction, FuseWidth, RibbonFilter, set};
use mayhap_engine::durable::{Log, back_up};
use mayhap_engine::keyspace::{
    ChangeError, CreateError, Entry, Files, InsertError, Keyspace, Spec, WrongKind,
};
use std::path::Path;

const KEYS: u64 = 20_000;
/// 1 in 256.
const WIDTH: FuseWidth = FuseWidth::BITS_8;

fn digests(function: DigestFunction, keys: std::ops::Range<u64>) -> Vec<Digest> {
    numbered(keys).iter().map(|key| function.digest(&key[..])).collect()
}

/// A file of each kind with the first keys, under both hashes.
fn files(keys: u64) -> Vec<(&'static str, Vec<u8>)> {
    let functions = [DigestFunction::sip13(KEY), DigestFunction::default()];
    let files = functions.into_iter().flat_map(|function| {
        let fuse = BinaryFuse::build(WIDTH, function, digests(function, 0..keys)).unwrap();
        let ribbon = RibbonFilter::build(WIDTH, function, digests(function, 0..keys)).unwrap();
        [("fuse", encode(&fuse, "")), ("ribbon", encode(&ribbon, ""))]
    });
    files.collect()
}

fn chunks(file: &[u8]) -> Chunks {
    let (header, body) = file.split_at(HEADER_BYTES);
    vec![(1, header.into()), (1 + (body.len() as u64).cast_signed(), body.into())]
}

fn load(keyspace: &Keyspace, name: &[u8], file: &[u8], log: Option<&Log>) {
    load_in(keyspace, name, &chunks(file), log).unwrap();
}

/// Asserts that it answers as the file does, for its keys and others, one at a time and in batches.
fn assert_answers(entry: &Entry, file: &[u8]) {
    let (set, _) = set::decode(file, Some(KEY).filter(|_| entry.info().keyed)).unwrap();
    let (keys, mut expected, mut turn) = (numbered(0..2 * KEYS), Bitmap::new(), turn());
    set.contains_into(&digests(*set.digest_function(), 0..2 * KEYS), 0, &mut expected);
    with_words(&keys, |words| entry.contains_many(words, &mut turn));
    assert!(turn.answers.iter().eq(expected.iter()));
    assert!(keys.iter().zip(expected.iter()).all(|(key, is_in)| entry.contains(key, 1) == is_in));
    let wrong = expected.count_ones() as u64 - KEYS;
    // 78 of 20,000 are expected, within four deviations.
    assert!(wrong.abs_diff(KEYS / 256) < 36, "{wrong}");
}

#[test]
fn a_frozen_filter_answers_as_its_file_and_takes_nothing() {
    let (keyspace, mut turn) = (keyspace(), turn());
    keyspace.create(b"other", Spec::fixed(100, 0.01), 1, None).unwrap();
    let other = keyspace.get(b"other", 1).unwrap();
    for (kind, file) in files(KEYS) {
        load(&keyspace, b"a", &file, None);
        let entry = keyspace.get(b"a", 1).unwrap();
        assert_answers(&entry, &file);
        let info = entry.info();
        assert_eq!((info.kind, info.capacity, info.items), (kind, KEYS, KEYS));
        assert!(info.read_only && !info.over_capacity && !entry.is_read_only());
        assert!((info.expected_fpp * 256.0 - 1.0).abs() < 1e-6, "{info:?}");
        assert!((entry.measure().estimated_fpp * 256.0 - 1.0).abs() < 1e-6);
        let refused = InsertError::Frozen(kind);
        assert!(
            refused.to_string().starts_with(&format!("this filter is {kind}, which was built"))
        );
        // Also a key that it has.
        assert_eq!(entry.insert(b"key:0", &mut turn), Err(refused.clone()));
        let words = numbered(0..3);
        let inserted = with_words(&words, |words| entry.insert_many(words, &mut turn));
        assert_eq!(inserted, Err((0, refused.clone())));
        let inserted = with_words(&words, |words| entry.insert_absent(words, &mut turn));
        assert_eq!(inserted, Err((0, refused)));
        let removed = with_words(&words, |words| entry.remove_many(words, &mut turn));
        assert_eq!(removed, Err(WrongKind::NotCounting(kind)));
        let shrunk = keyspace.shrink(b"a", Shrink::default(), 1, None).map(|it| it.factor);
        assert_eq!(shrunk, Err(ChangeError::NoFold(kind)));
        for from in [[entry.clone(), entry.clone()], [other.clone(), entry.clone()]] {
            let merged = keyspace.merge(b"b", &from, 0, 1, None).map(|it| it.id);
            assert_eq!(merged, Err(CreateError::OfFrozen(kind)));
        }
        // Nothing of that changed it, and its dump stands for its file.
        assert!(dump(&keyspace, &entry).file_bytes() == file, "{kind}");
        assert!(keyspace.rename(b"a", b"b", false, 1, None).is_ok());
        assert!(keyspace.expire(b"b", 9, 1, None).unwrap());
        assert!(keyspace.get(b"b", 8).is_some() && keyspace.get(b"b", 9).is_none());
        assert!(keyspace.remove(b"b", 1, None).unwrap());
    }
    drop(other);
    keyspace.clear(None).unwrap();
    assert_eq!(keyspace.used_bytes(), 0);
}

trait FileBytes {
    fn file_bytes(self) -> Vec<u8>;
}

impl FileBytes for Chunks {
    fn file_bytes(self) -> Vec<u8> {
        let bytes: Vec<u8> = self.into_iter().flat_map(|(_, bytes)| bytes).collect();
        paged(&bytes).unwrap().into_owned()
    }
}

#[test]
fn one_that_was_built_from_no_keys_has_none() {
    let keyspace = keyspace();
    for (kind, file) in files(0) {
        load(&keyspace, kind.as_bytes(), &file, None);
        let entry = keyspace.get(kind.as_bytes(), 1).unwrap();
        assert!(!entry.contains(b"key:0", 1) && entry.items() == 0);
        assert!(keyspace.remove(kind.as_bytes(), 1, None).unwrap());
    }
}

#[test]
fn a_damaged_or_unknown_one_is_refused_and_leaves_nothing() {
    let keyspace = keyspace();
    for (_, file) in files(1_000) {
        for at in [100, HEADER_BYTES + 9, file.len() - 1] {
            let mut bad = file.clone();
            bad[at] ^= 1;
            let chunks = chunks(&bad);
            let done = chunks.iter().try_for_each(|(cursor, bytes)| {
                keyspace.load_chunk(b"a", *cursor, bytes, false, 1, None).map(|_| ())
            });
            assert!(done.is_err(), "{at}");
        }
        assert!(keyspace.get(b"a", 1).is_none());
    }
    assert_eq!(keyspace.used_bytes(), 0);
}

#[test]
fn files_of_both_kinds_are_served_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let (keyspace, mut turn) = (keyspace(), turn());
    for (at, (kind, file)) in files(KEYS).into_iter().enumerate() {
        let path = folder.path().join(format!("{kind}{at}.mayhap"));
        std::fs::write(&path, &file).unwrap();
        let entry = Files::serve(&keyspace, &path).unwrap();
        assert_answers(&entry, &file);
        let info = entry.info();
        assert!(info.read_only && info.kind == kind && info.items == KEYS, "{info:?}");
        assert_eq!(entry.insert(b"x", &mut turn), Err(InsertError::ReadOnly));
        assert!(dump(&keyspace, &entry).file_bytes() == file, "{kind}");
        let name = path.file_stem().unwrap().as_encoded_bytes();
        assert_eq!(keyspace.remove(name, 1, None), Err(ChangeError::ReadOnly));
    }
}

/// All filters of a folder, which have to be those of the files.
fn assert_kept(folder: &Path, checkpoint: bool) {
    let (keyspace, log) = open(folder);
    assert_eq!(keyspace.len(), 5);
    for (at, (kind, file)) in files(KEYS).into_iter().enumerate() {
        let name = format!("{kind}{at}");
        let entry = keyspace.get(name.as_bytes(), 1).unwrap();
        assert_answers(&entry, &file);
        assert_eq!(entry.expires_at(), 1_000 + at as u64);
        assert_eq!(entry.insert(b"x", &mut recording(&log)), Err(InsertError::Frozen(kind)));
        assert!(dump(&keyspace, &entry).file_bytes() == file, "{kind}");
    }
    // One that replaced another.
    let entry = keyspace.get(b"replaced", 1).unwrap();
    assert_answers(&entry, &files(KEYS)[1].1);
    if checkpoint {
        log.checkpoint(&keyspace).unwrap();
    }
}

#[test]
fn they_survive_restarts_and_are_in_backups() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    {
        let (keyspace, log) = open(&data);
        for (at, (kind, file)) in files(KEYS).into_iter().enumerate() {
            let name = format!("{kind}{at}");
            load(&keyspace, name.as_bytes(), &file, Some(&log));
            let expires_at = 1_000 + at as u64;
            assert!(keyspace.expire(name.as_bytes(), expires_at, 1, Some(&log)).unwrap());
        }
        let both = files(KEYS);
        load(&keyspace, b"gone", &both[0].1, Some(&log));
        assert!(keyspace.remove(b"gone", 1, Some(&log)).unwrap());
        load(&keyspace, b"replaced", &both[0].1, Some(&log));
        for (cursor, bytes) in chunks(&both[1].1) {
            keyspace.load_chunk(b"replaced", cursor, &bytes, true, 1, Some(&log)).unwrap();
        }
    }
    // From the log, and then from images.
    for (round, checkpoint) in [true, false].into_iter().enumerate() {
        let copy = place.path().join(format!("backup{round}"));
        assert_eq!(back_up(&data, &copy, true).unwrap().filters, 5);
        assert_kept(&data, checkpoint);
        assert_kept(&copy, false);
    }
}
