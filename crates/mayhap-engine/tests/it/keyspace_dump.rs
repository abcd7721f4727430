//! A dump restores the same filter, as a whole or not at all.

use super::keyspace::{KEY, keyspace, numbered, turn, with_words};
use mayhap::SecretKey;
use mayhap::native::HEADER_BYTES;
use mayhap_engine::durable::Log;
use mayhap_engine::keyspace::{
    CHUNK_BYTES, ChangeError, CreateError, Entry, Files, Hash, InsertError, Keyspace, LoadError,
    Options, Shape, Spec, Upkeep,
};
use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};
use std::sync::Arc;

pub(crate) type Chunks = Vec<(i64, Vec<u8>)>;

/// Like `BF.SCANDUMP` until its end.
pub(crate) fn dump(keyspace: &Keyspace, entry: &Entry) -> Chunks {
    let (mut cursor, mut chunks) = (0, Vec::new());
    loop {
        let (next, bytes) = keyspace.dump(entry, cursor, 1).unwrap();
        if next == 0 {
            assert!(bytes.is_empty());
            return chunks;
        }
        assert!(bytes.len() <= CHUNK_BYTES && !bytes.is_empty());
        chunks.push((next, bytes));
        cursor = next;
    }
}

pub(crate) fn load(
    keyspace: &Keyspace,
    name: &[u8],
    chunks: &Chunks,
) -> Result<Arc<Entry>, LoadError> {
    load_in(keyspace, name, chunks, None)
}

pub(crate) fn load_in(
    keyspace: &Keyspace,
    name: &[u8],
    chunks: &Chunks,
    log: Option<&Log>,
) -> Result<Arc<Entry>, LoadError> {
    for (i, (cursor, bytes)) in chunks.iter().enumerate() {
        let done = keyspace.load_chunk(name, *cursor, bytes, false, 1, log)?;
        let last = i + 1 == chunks.len();
        assert_eq!(done.is_some(), last, "chunk {i}");
        assert_eq!(keyspace.get(name, 1).is_some(), last, "visible half done at chunk {i}");
    }
    Ok(keyspace.get(name, 1).unwrap())
}

/// The chunks of earlier versions: the header of the file, and what follows it.
pub(crate) fn pages(keyspace: &Keyspace, entry: &Entry) -> Chunks {
    let dump = keyspace.begin_dump(entry, 1).unwrap();
    let (header, rest) = dump.bytes().split_at(HEADER_BYTES);
    vec![(1, header.to_vec()), (1 + rest.len().cast_signed() as i64, rest.to_vec())]
}

fn specs() -> Vec<Spec> {
    let plain = |shape| Spec { shape, hash: Hash::Plain { seed: 5 } };
    vec![
        Spec::growing(100, 1e-4, 2),
        Spec::fixed(60_000, 1e-4),
        plain(Shape::Growing { capacity: 70_000, target_fpp: 1e-6, expansion: 2 }),
        plain(Shape::Counting { capacity: 60_000, target_fpp: 1e-4 }),
        plain(Shape::Compact { capacity: 60_000, target_fpp: 1e-4, expansion: 0 }),
        plain(Shape::Compact { capacity: 100, target_fpp: 1e-6, expansion: 1 }),
        plain(Shape::Window { items: 60_000, time_ms: 0, target_fpp: 1e-4, refresh: true }),
    ]
}

#[test]
fn every_kind_is_restored_from_its_dump_and_continues() {
    let (keyspace, mut turn) = (keyspace(), turn());
    for spec in specs() {
        let entry = keyspace.create(b"a", spec, 1, None).unwrap();
        let keys = numbered(0..50_000);
        with_words(&keys, |words| entry.insert_many(words, &mut turn)).unwrap();
        let chunks = dump(&keyspace, &entry);
        assert_eq!((chunks[0].0, chunks[0].1.len()), (1, 4_096));
        let loaded = load(&keyspace, b"b", &chunks).unwrap();
        with_words(&keys, |words| loaded.contains_many(words, &mut turn));
        assert_eq!(turn.answers.count_ones(), keys.len(), "{spec:?}");
        let (left, right) = (entry.info(), loaded.info());
        assert_eq!(
            (left.items, left.num_bytes, left.kind),
            (right.items, right.num_bytes, right.kind)
        );
        assert_eq!(chunks, dump(&keyspace, &loaded), "{spec:?}");
        assert!(loaded.insert(b"another", &mut turn).unwrap());
        assert_eq!(load(&keyspace, b"b", &chunks).unwrap_err(), LoadError::Exists);
        drop((entry, loaded));
        keyspace.clear(None).unwrap();
        assert_eq!(keyspace.used_bytes(), 0, "{spec:?}");
    }
}

#[test]
fn a_filter_of_redisbloom_is_loaded_answers_and_is_dumped_unchanged() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let options = RedisBloomOptions::new(0.001, 200_000);
    let mut theirs = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    let keys = numbered(0..300_000);
    for key in &keys {
        assert!(theirs.insert(key).is_ok());
    }
    assert!(theirs.num_layers() == 2);
    // Chunks as that server cuts them: layer by layer.
    let ours = load(&keyspace, b"a", &theirs.to_chunks()).unwrap();
    with_words(&keys, |words| ours.contains_many(words, &mut turn));
    assert_eq!(turn.answers.count_ones(), keys.len());
    let info = ours.info();
    assert_eq!((info.items, info.layers, info.kind), (theirs.num_items(), 2, "redisbloom"));
    assert!((info.target_fpp - 0.001).abs() < 1e-12 && info.expansion == Some(2) && !info.keyed);
    let chunks = dump(&keyspace, &ours);
    assert!(chunks.len() > 3, "cut into chunks of our size");
    assert_eq!(RedisBloomFilter::from_chunks(&chunks, &Limits::default()).unwrap(), theirs);
    for key in numbered(300_000..301_000) {
        assert_eq!(ours.insert(&key, &mut turn).unwrap(), theirs.insert(&key).unwrap());
    }
    assert_eq!(ours.items(), theirs.num_items());
    let again = load(&keyspace, b"b", &dump(&keyspace, &ours)).unwrap();
    assert_eq!(dump(&keyspace, &again), dump(&keyspace, &ours));
}

#[test]
fn a_filter_of_redisbloom_grows_within_both_limits() {
    let mut turn = turn();
    for (max_filter_bytes, max_memory, setting) in
        [(20_000, 1 << 30, "max_filter_bytes"), (1 << 30, 30_000, "max_memory")]
    {
        let options = Options { max_filter_bytes, max_memory, ..Options::new(KEY) };
        let keyspace = Keyspace::new(options);
        let options = RedisBloomOptions::new(0.01, 1_000);
        let theirs = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
        let entry = load(&keyspace, b"a", &theirs.to_chunks()).unwrap();
        let refused =
            numbered(0..100_000).iter().find_map(|key| entry.insert(key, &mut turn).err());
        let Some(InsertError::TooLarge(limit)) = refused else { panic!("{refused:?}") };
        assert_eq!(limit.setting, setting);
        assert!(limit.requested > limit.limit && keyspace.used_bytes() <= limit.limit, "{limit}");
    }
}

#[test]
fn damaged_and_foreign_dumps_are_refused_and_leave_nothing() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"a", Spec::growing(3_000, 0.01, 2), 1, None).unwrap();
    with_words(&numbered(0..10_000), |words| entry.insert_many(words, &mut turn)).unwrap();
    let used = keyspace.used_bytes();
    let chunks = pages(&keyspace, &entry);
    // Every byte of the header, and some of the body.
    let changes =
        (0..4_096).map(|at| (0, at)).chain((0..chunks[1].1.len()).step_by(97).map(|at| (1, at)));
    for (chunk, at) in changes {
        let mut changed = chunks.clone();
        changed[chunk].1[at] ^= 1 << (at % 8);
        let refused = load(&keyspace, b"b", &changed);
        assert!(matches!(refused, Err(LoadError::Bad(_))), "{chunk} {at}: {refused:?}");
    }
    let options = RedisBloomOptions::new(0.01, 1_000);
    let theirs = RedisBloomFilter::create(&options, &Limits::default()).unwrap().to_chunks();
    for (at, byte) in (0..73).flat_map(|at| [0, 0x7F, 0xFF].map(|byte| (at, byte))) {
        let mut changed = theirs.clone();
        changed[0].1[at] = byte;
        // Some are sound, such as one with another count of keys; none may be visible without its
        // bits.
        let begun = keyspace.load_chunk(b"b", 1, &changed[0].1, false, 1, None);
        assert!(matches!(begun, Ok(None) | Err(LoadError::Bad(_) | LoadError::Create(_))));
    }
    for header in [&b""[..], b"x", &[0; 20], &[0xFF; 73], &chunks[0].1[..4_095]] {
        assert!(matches!(
            keyspace.load_chunk(b"b", 1, header, false, 1, None),
            Err(LoadError::Bad(_))
        ));
    }
    assert_eq!(keyspace.len(), 1);
    assert_eq!(keyspace.used_bytes(), used);
    let other = Keyspace::new(Options::new(SecretKey::new([9; 16])));
    let Err(LoadError::Bad(why)) = other.load_chunk(b"a", 1, &chunks[0].1, false, 1, None) else {
        panic!()
    };
    assert!(why.to_string().contains("wrong secret key"), "{why}");
}

#[test]
fn chunks_are_ordered_limited_and_forgotten_when_idle() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"a", Spec::fixed(2_000_000, 0.01), 1, None).unwrap();
    entry.insert(b"x", &mut turn).unwrap();
    let chunks = dump(&keyspace, &entry);
    let used = keyspace.used_bytes();
    assert!(chunks.len() > 4);
    let take = |cursor, bytes: &[u8]| keyspace.load_chunk(b"b", cursor, bytes, false, 1, None);
    assert_eq!(take(chunks[1].0, &chunks[1].1).unwrap_err(), LoadError::NotFound);
    assert!(take(1, &chunks[0].1).unwrap().is_none());
    let expected = 1 + i64::try_from(chunks[2].1.len()).unwrap();
    assert_eq!(take(chunks[2].0, &chunks[2].1).unwrap_err(), LoadError::Offset { expected });
    for cursor in [0, -1, i64::MIN, i64::MAX] {
        assert_eq!(take(cursor, &chunks[1].1).unwrap_err(), LoadError::Offset { expected });
    }
    assert!(take(chunks[1].0, &chunks[1].1).unwrap().is_none());
    assert_eq!(keyspace.used_bytes(), used + 4_096 + chunks[1].1.len() as u64);
    let too_many = vec![0; 4 << 20];
    let cursor = chunks[1].0 + i64::try_from(too_many.len()).unwrap();
    assert_eq!(take(cursor, &too_many).unwrap_err(), LoadError::TooBig);
    assert_eq!(keyspace.used_bytes(), used);
    assert!(take(1, &chunks[0].1).unwrap().is_none());
    Upkeep::sweep(&keyspace, 0, 10, 60_001, None);
    assert!(take(chunks[1].0, &chunks[1].1).unwrap().is_none());
    Upkeep::sweep(&keyspace, 0, 10, 60_002, None);
    assert_eq!(take(chunks[1].0, &chunks[1].1).unwrap_err(), LoadError::NotFound);
    // 73 bytes that claim 64 GiB, and a dump that is larger than the remaining memory.
    let small = Keyspace::new(Options { max_memory: 1 << 20, ..Options::new(KEY) });
    let refused = small.load_chunk(b"b", 1, &chunks[0].1, false, 1, None);
    assert!(matches!(refused, Err(LoadError::Create(CreateError::TooLarge(_)))), "{refused:?}");
    let begun: Vec<_> = (0..100)
        .map(|i| keyspace.load_chunk(format!("{i}").as_bytes(), 1, &chunks[0].1, false, 1, None))
        .collect();
    assert!(begun.iter().any(Result::is_err) && begun[0].is_ok(), "64 at one time");
}

#[test]
fn an_interrupted_load_blocks_no_other() {
    let keyspace = keyspace();
    let entry = keyspace.create(b"a", Spec::fixed(100_000, 0.01), 1, None).unwrap();
    let chunks = dump(&keyspace, &entry);
    let begin = |name: String, now| {
        keyspace.load_chunk(name.as_bytes(), 1, &chunks[0].1, false, now, None).map(|_| ())
    };
    // Restarted repeatedly under one name, and completed at last.
    for now in 0..100 {
        begin("again".to_owned(), now).unwrap();
    }
    let used = keyspace.used_bytes();
    load(&keyspace, b"again", &chunks).unwrap();
    assert!(keyspace.used_bytes() > used);
    for i in 0..64 {
        begin(format!("{i}"), 1_000 + i).unwrap();
    }
    let used = keyspace.used_bytes();
    assert!(matches!(begin("more".to_owned(), 5_999), Err(LoadError::Bad(_))), "all are busy");
    // An active one stays; the one that has waited the longest makes room.
    keyspace.load_chunk(b"0", chunks[1].0, &chunks[1].1[..10], false, 6_001, None).unwrap_err();
    begin("0".to_owned(), 6_001).unwrap();
    begin("more".to_owned(), 6_001).unwrap();
    assert_eq!(keyspace.used_bytes(), used);
    let go_on =
        |name: &[u8]| keyspace.load_chunk(name, chunks[1].0, &chunks[1].1, false, 6_002, None);
    assert_eq!(go_on(b"1").unwrap_err(), LoadError::NotFound);
    for name in [&b"0"[..], b"2", b"more"] {
        go_on(name).unwrap();
    }
    // A chunk without bytes would keep the others in memory for ever.
    begin("idle".to_owned(), 6_002).unwrap();
    let part = |bytes| keyspace.load_chunk(b"idle", 11, bytes, false, 6_002, None);
    assert!(part(&chunks[1].1[..10]).unwrap().is_none());
    assert!(matches!(part(b""), Err(LoadError::Bad(_))));
    assert_eq!(part(b"").unwrap_err(), LoadError::NotFound);
}

#[test]
fn an_idle_dump_is_forgotten() {
    let keyspace = keyspace();
    let entry = keyspace.create(b"a", Spec::fixed(100_000, 0.01), 1, None).unwrap();
    let used = keyspace.used_bytes();
    assert!(matches!(keyspace.dump(&entry, 1, 1), Err(ChangeError::NoDump)), "none was begun");
    keyspace.dump(&entry, 0, 1).unwrap();
    assert!(keyspace.used_bytes() > used);
    for cursor in [-1, i64::MIN, i64::MAX] {
        keyspace.dump(&entry, 0, 1).unwrap();
        assert_eq!(keyspace.dump(&entry, cursor, 1).unwrap(), (0, Vec::new()));
    }
    keyspace.dump(&entry, 0, 1).unwrap();
    Upkeep::sweep(&keyspace, 0, 10, 60_001, None);
    assert!(keyspace.dump(&entry, 1, 61_000).unwrap().0 > 1);
    Upkeep::sweep(&keyspace, 0, 10, 130_000, None);
    assert_eq!(keyspace.used_bytes(), used);
}

#[test]
fn a_union_holds_the_keys_of_all_and_needs_filters_that_are_alike() {
    let (keyspace, mut turn) = (keyspace(), turn());
    for spec in &specs()[..4] {
        let fill = |name: &[u8], range, turn: &mut mayhap_engine::Work| {
            let entry = keyspace.create(name, *spec, 1, None).unwrap();
            with_words(&numbered(range), |words| entry.insert_many(words, turn)).unwrap();
            entry
        };
        let from = [fill(b"a", 0..20_000, &mut turn), fill(b"b", 15_000..30_000, &mut turn)];
        let union = keyspace.merge(b"c", &from, 0, 1, None).unwrap();
        with_words(&numbered(0..30_000), |words| union.contains_many(words, &mut turn));
        assert_eq!(turn.answers.count_ones(), 30_000);
        assert!(!union.contains(b"absent", 1) && !from[0].contains(b"key:25000", 1));
        assert_eq!(keyspace.merge(b"c", &from, 0, 1, None).unwrap_err(), CreateError::Exists);
        let other = keyspace.create(b"d", Spec::growing(9_999, 0.02, 2), 1, None).unwrap();
        let refused = keyspace.merge(b"e", &[from[0].clone(), other], 0, 1, None).unwrap_err();
        assert!(refused.to_string().contains("differ"), "{refused}");
        drop((from, union));
        keyspace.clear(None).unwrap();
        assert_eq!(keyspace.used_bytes(), 0);
    }
}

#[test]
fn files_are_served_by_name_and_take_no_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (keyspace, mut turn) = (keyspace(), turn());
    let path = |name: &str| folder.path().join(name);
    let mut plain =
        mayhap::AnyFilter::builder().expected_items(100).target_fpp(1e-6).build().unwrap();
    plain.insert("a");
    mayhap_store::save(&path("plain.mayhap"), &plain, "").unwrap();
    let mut chain =
        mayhap::ScalableBloomFilter::new(100, 1e-6, mayhap::DigestFunction::sip13(KEY)).unwrap();
    chain.insert("a").unwrap();
    mayhap_store::save(&path("chain.mayhap"), &chain, "").unwrap();
    let options = RedisBloomOptions::new(1e-6, 1_000);
    let mut theirs = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    theirs.insert(b"a").unwrap();
    let json = br#"{"m":64,"k":1,"b":"AAAAAAAAAEAAAAAAAAAAAg=="}"#;
    std::fs::write(path("go.json"), json).unwrap();
    let go = Files::serve(&keyspace, &path("go.json")).unwrap();
    assert_eq!((go.info().kind, go.info().num_bytes), ("bits-and-blooms", 8));
    std::fs::write(path("theirs.rb"), theirs.encode()).unwrap();
    for (file, kind) in
        [("plain.mayhap", "mapped"), ("chain.mayhap", "scalable"), ("theirs.rb", "redisbloom")]
    {
        let entry = Files::serve(&keyspace, &path(file)).unwrap();
        let name = file.split('.').next().unwrap().as_bytes();
        assert_eq!(keyspace.get(name, 1).unwrap().id, entry.id);
        assert!(entry.contains(b"a", 1) && !entry.contains(b"b", 1));
        assert!(entry.info().read_only && entry.info().kind == kind, "{:?}", entry.info());
        assert_eq!(entry.insert(b"b", &mut turn), Err(InsertError::ReadOnly));
        let refused = with_words(&numbered(0..3), |words| entry.insert_many(words, &mut turn));
        assert_eq!(refused, Err((0, InsertError::ReadOnly)));
        assert_eq!(keyspace.remove(name, 1, None), Err(ChangeError::ReadOnly));
        assert!(
            Files::serve(&keyspace, &path(file))
                .unwrap_err()
                .to_string()
                .contains("rename the file")
        );
    }
    std::fs::write(path("text.txt"), "no filter").unwrap();
    let why = Files::serve(&keyspace, &path("text.txt")).unwrap_err();
    assert!(why.to_string().contains("text.txt: this looks like text"), "{why}");
    let other = Keyspace::new(Options::new(SecretKey::new([9; 16])));
    assert!(
        Files::serve(&other, &path("chain.mayhap"))
            .unwrap_err()
            .to_string()
            .contains("wrong secret key")
    );
    assert!(Files::serve(&other, &path("none")).is_err());
    keyspace.clear(None).unwrap();
    assert_eq!(keyspace.len(), 5, "files stay, including the invalid one");
}
