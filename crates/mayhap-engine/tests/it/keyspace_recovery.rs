//! Acknowledged changes are restored after a crash, from the log and images.

use super::keyspace::{KEY, numbered, turn, with_words};
use super::keyspace_dump::{dump, load_in};
use mayhap::{DigestFunction, SecretKey};
use mayhap_engine::Work;
use mayhap_engine::durable::{self, DataFolder, Log};
use mayhap_engine::keyspace::{Hash, Keyspace, Options, Pages, Recovery, Shape, Spec};
use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};
use std::path::Path;
use std::sync::Arc;

/// Opens the folder, as after a crash if it was not closed.
pub(crate) fn open(path: &Path) -> (Keyspace, Arc<Log>) {
    open_with(path, KEY)
}

fn open_with(path: &Path, key: SecretKey) -> (Keyspace, Arc<Log>) {
    open_as(path, key, Options::new(key))
}

fn open_as(path: &Path, key: SecretKey, options: Options) -> (Keyspace, Arc<Log>) {
    let recovery = Recovery::new(options);
    let durable = durable::Options::new(DigestFunction::sip13(key));
    let folder = DataFolder::open(path).unwrap();
    let (log, report) = Log::open(folder, durable, &recovery, &|_| {}).unwrap();
    (recovery.finish(report.next_id).unwrap(), log)
}

pub(crate) fn recording(log: &Arc<Log>) -> Work {
    Work { recorder: Some(log.recorder()), ..turn() }
}

pub(crate) fn commit(turn: &mut Work) {
    turn.recorder.as_mut().unwrap().commit().unwrap();
}

/// A checkpoint that copies filters in the middle of a turn, whose end it waits for.
pub(crate) fn checkpoint_beside(
    log: &Log,
    keyspace: &Keyspace,
    rest: impl FnOnce(),
) -> Result<durable::Saves, durable::Error> {
    std::thread::scope(|scope| {
        let saving = scope.spawn(|| log.checkpoint(keyspace));
        while !log.stats().checkpoint_running && !saving.is_finished() {
            std::thread::yield_now();
        }
        // Usually enough for it to reach the copies.
        std::thread::sleep(std::time::Duration::from_millis(20));
        rest();
        saving.join().unwrap()
    })
}

fn specs() -> Vec<Spec> {
    let plain = |shape| Spec { shape, hash: Hash::Plain { seed: 5 } };
    vec![
        Spec::growing(100, 1e-6, 3),
        Spec::fixed(30_000, 1e-6),
        plain(Shape::Growing { capacity: 5_000, target_fpp: 1e-4, expansion: 2 }),
        plain(Shape::Counting { capacity: 30_000, target_fpp: 1e-6 }),
        plain(Shape::Compact { capacity: 30_000, target_fpp: 1e-6, expansion: 0 }),
        plain(Shape::Compact { capacity: 100, target_fpp: 1e-6, expansion: 3 }),
        plain(Shape::Window { items: 30_000, time_ms: 0, target_fpp: 1e-6, refresh: true }),
        plain(Shape::Window { items: 30_000, time_ms: 60_000, target_fpp: 1e-6, refresh: true }),
        plain(Shape::Window { items: 30_000, time_ms: 60_000, target_fpp: 1e-6, refresh: false }),
        plain(Shape::Clearing { capacity: 30_000, target_fpp: 1e-6, at: 0.5 }),
    ]
}

fn holds(keyspace: &Keyspace, name: &[u8], range: std::ops::Range<u64>) -> bool {
    let entry = keyspace.get(name, 1).unwrap();
    let mut turn = turn();
    let count = (range.end - range.start) as usize;
    with_words(&numbered(range), |words| entry.contains_many(words, &mut turn));
    turn.answers.count_ones() == count
}

#[test]
fn every_kind_comes_back_from_log_and_images_as_it_was() {
    for spec in specs() {
        let folder = tempfile::tempdir().unwrap();
        let mut before = None;
        for round in 0..4 {
            let (keyspace, log) = open(folder.path());
            if let Some(before) = before.take() {
                let info = keyspace.get(b"a", 1).unwrap().info();
                assert_eq!(info, before, "{spec:?} round {round}");
                assert!(holds(&keyspace, b"a", 0..5_000 * round), "{spec:?} round {round}");
            }
            let mut turn = recording(&log);
            let wanted = (spec, Pages::WhenUsed);
            let entry = keyspace.get_or_create(b"a", wanted, 1, turn.recorder.as_mut()).unwrap();
            let keys = numbered(5_000 * round..5_000 * (round + 1));
            let (half, one) = keys.split_at(4_900);
            with_words(half, |words| entry.insert_many(words, &mut turn)).unwrap();
            let mut rest = || {
                for key in one {
                    entry.insert(key, &mut turn).unwrap();
                }
                commit(&mut turn);
            };
            if round % 2 == 1 {
                // An image in the middle of a turn: later records repeat what it has.
                checkpoint_beside(&log, &keyspace, rest).unwrap();
            } else {
                rest();
            }
            before = Some(entry.info());
            assert_eq!(entry.spec, spec);
        }
    }
}

#[test]
fn a_key_answered_not_new_survives_the_turn_that_inserted_it() {
    for spec in &specs()[..2] {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.create(b"a", *spec, 1, Some(&log)).unwrap();
        let (mut first, mut second) = (recording(&log), recording(&log));
        for (i, key) in numbered(0..10).iter().enumerate() {
            assert_eq!(entry.insert(key, &mut first), Ok(true));
            if i % 2 == 0 {
                assert_eq!(entry.insert(key, &mut second), Ok(false));
            } else {
                let keys = [key.clone()];
                with_words(&keys, |words| entry.insert_many(words, &mut second)).unwrap();
                assert_eq!(second.answers.count_ones(), 0);
            }
        }
        // The second turn answers; the first one dies with the process.
        commit(&mut second);
        drop((first, second, entry, keyspace, log));
        let (keyspace, log) = open(folder.path());
        assert!(holds(&keyspace, b"a", 0..10), "an acknowledged duplicate is lost");
        // Safe keys are not recorded again.
        let entry = keyspace.get(b"a", 1).unwrap();
        let mut turn = recording(&log);
        assert_eq!(entry.insert(b"key:3", &mut turn), Ok(false));
        with_words(&numbered(0..10), |words| entry.insert_many(words, &mut turn)).unwrap();
        assert!(turn.recorder.as_ref().unwrap().is_empty());
        assert_eq!(entry.insert(b"new", &mut turn), Ok(true));
        commit(&mut turn);
        assert_eq!(entry.insert(b"new", &mut turn), Ok(false));
        assert!(turn.recorder.as_ref().unwrap().is_empty(), "after the commit it is safe");
    }
}

#[test]
fn names_are_restored_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (keyspace, held) = open(folder.path());
    let log = Some(&*held);
    let spec = Spec::growing(10, 0.01, 2);
    for name in ["a", "b", "c", "d", "e", "f"] {
        keyspace.create(name.as_bytes(), spec, 1, log).unwrap();
    }
    keyspace.remove(b"a", 1, log).unwrap();
    keyspace.rename(b"b", b"c", true, 1, log).unwrap();
    keyspace.rename(b"d", b"a", true, 1, log).unwrap();
    keyspace.expire(b"e", 5_000, 1, log).unwrap();
    keyspace.expire(b"f", 2_000, 1, log).unwrap();
    keyspace.create(b"f", spec, 3_000, log).unwrap();
    keyspace.create(&[0xFF, 0, b'/', b'.', b'.'], spec, 1, log).unwrap();
    let told = |keyspace: &Keyspace| {
        let all = keyspace.all().into_iter();
        let mut all: Vec<_> = all.map(|(name, it)| (name, it.id, it.expires_at())).collect();
        all.sort();
        all
    };
    let before = told(&keyspace);
    assert_eq!(before.len(), 5);
    drop((keyspace, held));
    for checkpoint in [false, true, true] {
        let (keyspace, log) = open(folder.path());
        assert_eq!(told(&keyspace), before);
        assert_eq!(keyspace.len(), 5);
        if checkpoint {
            log.checkpoint(&keyspace).unwrap();
        }
    }
    let (keyspace, log) = open(folder.path());
    let id = keyspace.create(b"new", spec, 1, Some(&log)).unwrap().id;
    assert!(before.iter().all(|&(_, old, _)| old < id), "an id is reused");
    keyspace.clear(Some(&log)).unwrap();
    drop((keyspace, log));
    assert!(open(folder.path()).0.is_empty());
}

/// File names do not contain filter names, so no length is too long for the disk.
#[test]
fn names_up_to_the_configured_limit_are_saved_and_restored() {
    const LONGEST: usize = 64 << 10;
    let folder = tempfile::tempdir().unwrap();
    let open =
        || open_as(folder.path(), KEY, Options { max_name_bytes: LONGEST, ..Options::new(KEY) });
    // Of all bytes: NUL, the slash, invalid UTF-8.
    let name = |bytes: usize| (0..bytes).map(|i| (i % 256) as u8).collect::<Vec<u8>>();
    let lengths = [1, 47, 243, 244, 255, 256, 1_024, 4_096, LONGEST];
    let (keyspace, log) = open();
    let spec = Spec::growing(10, 1e-6, 2);
    for bytes in lengths {
        let entry = keyspace.create(&name(bytes), spec, 1, Some(&log)).unwrap();
        let mut turn = recording(&log);
        entry.insert(&bytes.to_le_bytes(), &mut turn).unwrap();
        commit(&mut turn);
    }
    assert!(keyspace.create(&name(LONGEST + 1), spec, 1, Some(&log)).is_err());
    drop((keyspace, log));
    // From the log, from a list of all filters, from one of a change after it.
    for round in 0..3 {
        let (keyspace, log) = open();
        assert_eq!(keyspace.len(), lengths.len());
        for bytes in lengths {
            let entry = keyspace.get(&name(bytes), 1).unwrap();
            assert!(entry.contains(&bytes.to_le_bytes(), 1), "{bytes} in round {round}");
        }
        let (long, other) = (name(LONGEST), &name(LONGEST)[1..]);
        keyspace.rename(&long, other, true, 1, Some(&log)).unwrap();
        log.checkpoint(&keyspace).unwrap();
        keyspace.rename(other, &long, true, 1, Some(&log)).unwrap();
        log.checkpoint(&keyspace).unwrap();
    }
}

#[test]
fn loaded_and_merged_filters_are_restored_but_not_half_a_dump() {
    let folder = tempfile::tempdir().unwrap();
    let options = RedisBloomOptions::new(0.001, 300_000);
    let mut theirs = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    for key in numbered(0..1_000) {
        assert!(theirs.insert(&key).unwrap());
    }
    let (keyspace, log) = open(folder.path());
    let mut turn = recording(&log);
    let redis = load_in(&keyspace, b"redis", &theirs.to_chunks(), Some(&log)).unwrap();
    for key in numbered(1_000..1_100) {
        redis.insert(&key, &mut turn).unwrap();
    }
    let large = Spec::growing(6_000_000, 0.01, 2);
    let large = keyspace.create(b"large", large, 1, Some(&log)).unwrap();
    with_words(&numbered(0..1_000), |words| large.insert_many(words, &mut turn)).unwrap();
    commit(&mut turn);
    let copy = load_in(&keyspace, b"copy", &dump(&keyspace, &large), Some(&log)).unwrap();
    with_words(&numbered(1_000..2_000), |words| copy.insert_many(words, &mut turn)).unwrap();
    keyspace.merge(b"union", &[large, copy], 0, 1, Some(&log)).unwrap();
    commit(&mut turn);
    keyspace.load_chunk(b"half", 1, &theirs.to_chunks()[0].1, false, 1, Some(&log)).unwrap();
    drop((turn, redis, log, keyspace));
    for checkpoint in [true, false] {
        let (keyspace, log) = open(folder.path());
        assert_eq!(keyspace.len(), 4);
        assert!(holds(&keyspace, b"redis", 0..1_100) && holds(&keyspace, b"union", 0..2_000));
        assert!(holds(&keyspace, b"large", 0..1_000) && holds(&keyspace, b"copy", 0..2_000));
        assert_eq!(keyspace.get(b"redis", 1).unwrap().info().kind, "redisbloom");
        if checkpoint {
            log.checkpoint(&keyspace).unwrap();
        }
    }
}

/// `tests/golden/README.md` describes its contents.
#[test]
fn a_folder_of_version_0_1_opens_and_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/folder-0.1");
    for part in ["", "log", "filters"] {
        std::fs::create_dir_all(folder.path().join(part)).unwrap();
        for entry in std::fs::read_dir(golden.join(part)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                let to = folder.path().join(part).join(entry.file_name());
                std::fs::copy(entry.path(), to).unwrap();
            }
        }
    }
    let key = DataFolder::open(folder.path()).unwrap().secret_key().unwrap();
    let filters = [
        ("growing", 400, 0..400),
        ("fixed", 400, 0..400),
        ("counting", 450, 50..400),
        ("window", 500, 0..400),
        ("union", 400, 0..400),
        ("loaded", 450, 0..450),
        ("moved", 300, 0..300),
        ("redisbloom", 2_003, 0..30),
        ("empty", 0, 0..0),
    ];
    for round in 0..3 {
        let (keyspace, log) = open_with(folder.path(), key);
        assert_eq!(keyspace.len(), filters.len());
        for (name, items, keys) in filters.clone() {
            let entry = keyspace.get(name.as_bytes(), 1).unwrap();
            assert_eq!(entry.items(), items, "{name} in round {round}");
            assert!(holds(&keyspace, name.as_bytes(), keys), "{name} in round {round}");
            // New records follow the old ones, in one segment.
            let mut turn = recording(&log);
            let keys = numbered(0..100);
            if ["growing", "fixed", "union"].contains(&name) {
                with_words(&keys, |words| entry.insert_many(words, &mut turn)).unwrap();
                assert_eq!(turn.answers.count_ones(), 0);
            }
            commit(&mut turn);
        }
        if round == 1 {
            log.checkpoint(&keyspace).unwrap();
        }
    }
    let (keyspace, log) = open_with(folder.path(), key);
    let mut turn = recording(&log);
    for key in numbered(10_000..10_050) {
        keyspace.get(b"growing", 1).unwrap().insert(&key, &mut turn).unwrap();
    }
    commit(&mut turn);
    drop((turn, keyspace, log));
    let (keyspace, _log) = open_with(folder.path(), key);
    assert_eq!(keyspace.get(b"growing", 1).unwrap().items(), 450);
}

#[test]
fn a_removal_is_not_undone_by_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (keyspace, log) = open(folder.path());
    let shape = Shape::Counting { capacity: 1_000, target_fpp: 1e-6 };
    let spec = Spec { shape, hash: Hash::Keyed };
    let entry = keyspace.create(b"a", spec, 1, Some(&log)).unwrap();
    let mut turn = recording(&log);
    with_words(&numbered(0..100), |words| entry.insert_many(words, &mut turn)).unwrap();
    let saved = checkpoint_beside(&log, &keyspace, || {
        // The others are absent: only successful removals are to be replayed.
        let keys = [numbered(0..50), numbered(200..210)].concat();
        with_words(&keys, |words| entry.remove_many(words, &mut turn)).unwrap();
        assert_eq!(turn.answers.iter_ones().collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
        commit(&mut turn);
    });
    saved.unwrap();
    let before = entry.info();
    drop((turn, entry, keyspace, log));
    let (keyspace, _log) = open(folder.path());
    let entry = keyspace.get(b"a", 1).unwrap();
    assert_eq!(entry.info(), before);
    assert!(holds(&keyspace, b"a", 50..100));
    assert!(numbered(0..50).iter().all(|key| !entry.contains(key, 1)));
}
