//! Filters by name: created ones exist, removed ones are gone, limits hold.

use mayhap::SecretKey;
use mayhap_engine::Words;
use mayhap_engine::Work;
use mayhap_engine::keyspace::{
    ChangeError, CreateError, InsertError, Keyspace, Options, Pages, Spec, Upkeep, overhead_bytes,
};

pub(crate) const KEY: SecretKey = SecretKey::new(*b"0123456789abcdef");

pub(crate) fn keyspace() -> Keyspace {
    Keyspace::new(Options::new(KEY))
}

pub(crate) fn turn() -> Work {
    Work { now: 1, ..Work::default() }
}

/// Calls `f` with these keys as the words of a request.
pub(crate) fn with_words<R>(keys: &[Vec<u8>], f: impl FnOnce(Words<'_>) -> R) -> R {
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    for key in keys {
        let start = bytes.len() as u32;
        bytes.extend_from_slice(key);
        places.push((start, bytes.len() as u32));
    }
    f(Words::new(&bytes, &places))
}

pub(crate) fn numbered(range: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    range.map(|i| format!("key:{i}").into_bytes()).collect()
}

#[test]
fn inserted_keys_are_found_one_at_a_time_and_in_batches() {
    let (keyspace, mut turn) = (keyspace(), turn());
    for (name, spec) in
        [("scalable", Spec::growing(100, 1e-6, 2)), ("standard", Spec::fixed(20_000, 1e-6))]
    {
        let entry = keyspace.create(name.as_bytes(), spec, 1, None).unwrap();
        assert!(entry.insert(b"a", &mut turn).unwrap());
        assert!(!entry.insert(b"a", &mut turn).unwrap());
        assert!(entry.contains(b"a", 1) && !entry.contains(b"b", 1));
        let keys = numbered(0..10_000);
        with_words(&keys, |words| entry.insert_many(words, &mut turn)).unwrap();
        assert_eq!(turn.answers.count_ones(), 10_000);
        with_words(&keys, |words| entry.contains_many(words, &mut turn));
        assert_eq!(turn.answers.count_ones(), 10_000);
        with_words(&numbered(20_000..30_000), |words| entry.contains_many(words, &mut turn));
        assert!(turn.answers.count_ones() <= 1);
        assert_eq!(entry.info().items, 10_001);
        assert_eq!(entry.info().kind, name);
    }
}

#[test]
fn a_name_is_created_once_and_removed_once() {
    let keyspace = keyspace();
    let spec = Spec::growing(100, 0.01, 2);
    let id = keyspace.create(b"a", spec, 1, None).unwrap().id;
    assert_eq!(keyspace.create(b"a", spec, 1, None).err(), Some(CreateError::Exists));
    assert_eq!(keyspace.get_or_create(b"a", (spec, Pages::WhenUsed), 1, None).unwrap().id, id);
    assert_eq!(keyspace.len(), 1);
    assert_eq!(keyspace.remove(b"a", 1, None), Ok(true));
    assert_eq!(keyspace.remove(b"a", 1, None), Ok(false));
    assert!(keyspace.get(b"a", 1).is_none() && keyspace.is_empty());
    assert_ne!(keyspace.create(b"a", spec, 1, None).unwrap().id, id);
}

#[test]
fn memory_is_given_back_when_a_filter_is_gone() {
    let keyspace = keyspace();
    for spec in [Spec::growing(1_000_000, 0.01, 2), Spec::fixed(1_000_000, 0.01)] {
        let entry = keyspace.create(b"a", spec, 1, None).unwrap();
        assert_eq!(keyspace.used_bytes(), entry.info().num_bytes + overhead_bytes(1));
        drop(entry);
        keyspace.remove(b"a", 1, None).unwrap();
        assert_eq!(keyspace.used_bytes(), 0);
    }
    let mut turn = turn();
    keyspace.create(b"a", Spec::growing(1, 0.01, 2), 1, None).unwrap();
    keyspace.create(b"b", Spec::growing(1, 0.01, 2), 1, None).unwrap();
    let entry = keyspace.get(b"a", 1).unwrap();
    with_words(&numbered(0..100_000), |words| entry.insert_many(words, &mut turn)).unwrap();
    let other = keyspace.get(b"b", 1).unwrap().info().num_bytes + overhead_bytes(1);
    assert_eq!(keyspace.used_bytes(), entry.info().num_bytes + overhead_bytes(1) + other);
    drop(entry);
    keyspace.rename(b"b", b"a", true, 1, None).unwrap();
    assert_eq!(keyspace.used_bytes(), other);
    keyspace.clear(None).unwrap();
    assert_eq!(keyspace.used_bytes(), 0);
}

#[test]
fn a_full_filter_reports_it_and_the_key() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"a", Spec::fixed(10, 0.001), 1, None).unwrap();
    let full = with_words(&numbered(0..20), |words| entry.insert_many(words, &mut turn));
    assert_eq!(full, Err((10, InsertError::Full)));
    assert_eq!(turn.answers.iter_ones().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    assert_eq!(entry.insert(b"key:9", &mut turn), Ok(false));
    assert_eq!(entry.insert(b"other", &mut turn), Err(InsertError::Full));
    assert_eq!(entry.info().items, 10);
}

#[test]
fn an_expired_filter_is_gone() {
    let keyspace = keyspace();
    let spec = Spec::growing(100, 0.01, 2);
    let old = keyspace.create(b"a", spec, 1, None).unwrap().id;
    keyspace.create(b"b", spec, 1, None).unwrap();
    assert_eq!(keyspace.expire(b"a", 1_000, 1, None), Ok(true));
    assert_eq!(keyspace.expire(b"none", 1_000, 1, None), Ok(false));
    assert!(keyspace.get(b"a", 999).is_some() && keyspace.get(b"a", 1_000).is_none());
    assert!(keyspace.with(b"a", 999, |entry| entry.id) == Some(old));
    assert!(keyspace.with(b"a", 1_000, |_| ()).is_none());
    assert_eq!(keyspace.remove(b"a", 1_000, None), Ok(false));
    assert_ne!(keyspace.create(b"a", spec, 1_000, None).unwrap().id, old);
    assert_eq!(keyspace.len(), 2);
    keyspace.expire(b"a", 2_000, 1_000, None).unwrap();
    assert_eq!(keyspace.scan(0, 10, None, 2_000).unwrap().names, [b"b".as_slice().into()]);
    assert_eq!(Upkeep::sweep(&keyspace, 0, 10, 2_000, None), 0);
    assert_eq!(keyspace.len(), 1);
    keyspace.expire(b"b", 1_500, 2_000, None).unwrap();
    assert!(keyspace.is_empty() && keyspace.used_bytes() == 0);
}

#[test]
fn a_rename_moves_the_filter_and_replaces_only_if_it_may() {
    let keyspace = keyspace();
    let spec = Spec::growing(100, 0.01, 2);
    let id = keyspace.create(b"a", spec, 1, None).unwrap().id;
    keyspace.create(b"b", spec, 1, None).unwrap();
    assert_eq!(keyspace.rename(b"none", b"b", true, 1, None), Err(ChangeError::NotFound));
    assert_eq!(keyspace.rename(b"a", b"b", false, 1, None), Err(ChangeError::Exists));
    keyspace.rename(b"a", b"a", true, 1, None).unwrap();
    keyspace.rename(b"a", b"b", true, 1, None).unwrap();
    assert!(keyspace.get(b"a", 1).is_none());
    assert_eq!(keyspace.get(b"b", 1).unwrap().id, id);
    let names = keyspace.all().into_iter().map(|(name, entry)| (name.to_vec(), entry.id));
    assert_eq!(names.collect::<Vec<_>>(), [(b"b".to_vec(), id)]);
}

#[test]
fn a_scan_lists_every_filter_once_while_others_are_created_and_removed() {
    let keyspace = keyspace();
    let spec = Spec::growing(1, 0.01, 2);
    for i in 0..500 {
        keyspace.create(format!("stays:{i}").as_bytes(), spec, 1, None).unwrap();
        keyspace.create(format!("goes:{i}").as_bytes(), spec, 1, None).unwrap();
    }
    let (mut cursor, mut told, mut step) = (0, Vec::new(), 0);
    loop {
        let page = keyspace.scan(cursor, 7, Some(b"stays:*"), 1).unwrap();
        told.extend(page.names.iter().map(|name| name.to_vec()));
        keyspace.remove(format!("goes:{}", 499 - step).as_bytes(), 1, None).unwrap();
        keyspace.create(format!("more:{step}").as_bytes(), spec, 1, None).unwrap();
        (cursor, step) = (page.cursor, step + 1);
        if cursor == 0 {
            break;
        }
    }
    told.sort();
    let mut expected: Vec<_> = (0..500).map(|i| format!("stays:{i}").into_bytes()).collect();
    expected.sort();
    assert_eq!(told, expected);
    assert!(keyspace.scan(0, 1, Some(&[b'*'; 1_025]), 1).is_err());
}
