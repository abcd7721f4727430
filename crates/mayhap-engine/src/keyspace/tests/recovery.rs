//! Restoring at start.

use super::whole::open;
use crate::durable::tests::disk::MemoryDisk;
use crate::durable::tests::run::Random;
use crate::durable::{Answered, Filters, Replay, Saved};
use crate::keyspace::{Hash, Keyspace, Options, Recovery, Shape, Spec, Unreadable};
use mayhap::{Digest, SecretKey};
use mayhap_formats::{Limits, RedisBloomFilter, RedisBloomOptions};

#[test]
fn filters_that_are_made_and_removed_again_and_again_are_sized_once() {
    let recovery = Recovery::new(Options::new(SecretKey::new([7; 16])));
    let spec = Spec::growing(10_000, 0.001, 2).encode();
    for id in 1..=1000 {
        recovery.create(id, b"scratch", &spec, 0).unwrap();
        recovery.insert(id, &[Digest::new(id)], Answered::New).unwrap();
        if id < 1000 {
            recovery.remove(id);
        }
    }
    assert_eq!(recovery.resources.sizes.known(), 1);
    let keyspace = recovery.finish(1001).unwrap();
    let entry = keyspace.get(b"scratch", 1).unwrap();
    assert_eq!((entry.id, keyspace.resources.sizes.known()), (1000, 1));
}

fn listed(names: &[&str]) -> Recovery {
    let recovery = Recovery::new(Options::new(SecretKey::new([7; 16])));
    let spec = Spec::growing(10_000, 0.001, 2).encode();
    let filters: Vec<Saved> = (1..)
        .zip(names)
        .map(|(id, name)| Saved {
            id,
            name: name.as_bytes().into(),
            spec: spec.as_slice().into(),
            expires_at: 0,
        })
        .collect();
    recovery.create_all(&mut filters.iter()).unwrap();
    recovery
}

fn ids(recovery: Recovery, names: &[&str]) -> (Vec<Option<u64>>, Vec<u64>) {
    let keyspace = recovery.finish(0).unwrap();
    let id = |name: &&str| keyspace.get(name.as_bytes(), 1).map(|entry| entry.id);
    (names.iter().map(id).collect(), keyspace.all().iter().map(|(_, it)| it.id).collect())
}

#[test]
fn the_log_changes_names_of_filters_that_the_manifest_lists() {
    let recovery = listed(&["a", "b", "c", "d"]);
    recovery.rename(1, b"b");
    recovery.create(9, b"c", &Spec::growing(10, 0.1, 2).encode(), 0).unwrap();
    recovery.remove(4);
    let names = ["a", "b", "c", "d"];
    assert_eq!(ids(recovery, &names), (vec![None, Some(1), Some(9), None], vec![1, 9]));
}

#[test]
fn of_filters_of_one_name_the_last_one_stays() {
    let found = (vec![Some(3), Some(2)], vec![2, 3]);
    assert_eq!(ids(listed(&["a", "b", "a"]), &["a", "b"]), found);
    let changed = listed(&["a", "b", "a"]);
    changed.rename(9, b"there is none of this id");
    assert_eq!(ids(changed, &["a", "b"]), found);
}

/// Loads a filter of `RedisBloom` with room for ten keys, which does not grow.
fn with_full_redisbloom(disk: &MemoryDisk, growth: Option<u32>) {
    let (keyspace, log) = open(disk);
    let options = RedisBloomOptions { error_rate: 1e-6, capacity: 10, growth };
    let filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    for (cursor, chunk) in filter.to_chunks() {
        keyspace.load_chunk(b"full", cursor, &chunk, false, 1, Some(&log)).unwrap();
    }
    keyspace.create(b"other", Spec::growing(10, 0.1, 2), 1, Some(&log)).unwrap();
    let entry = keyspace.get(b"full", 1).unwrap();
    // As if they had been acknowledged in another order: keys answered "there" come first.
    let keys: Vec<[u8; 8]> = (0..50u64).map(u64::to_le_bytes).collect();
    let mut recorder = log.recorder();
    recorder.keys(entry.tally(), entry.id, keys.iter().map(<[u8; 8]>::as_slice)).unwrap();
    recorder.commit().unwrap();
}

/// "cannot replay the record at byte 799: ERR non scaling filter is full": no filter was served.
#[test]
fn a_full_filter_of_redisbloom_is_restored_with_all_keys_of_the_log() {
    for growth in [None, Some(2)] {
        let disk = MemoryDisk::default();
        with_full_redisbloom(&disk, growth);
        let (keyspace, _log) = open(&disk);
        let entry = keyspace.get(b"full", 1).unwrap();
        entry.check_file().unwrap();
        assert!((0..50u64).all(|key| entry.contains(&key.to_le_bytes(), 1)));
        // It is so overfull that some count as repeats.
        assert!((10..=50).contains(&entry.items()), "{}", entry.items());
        assert!(keyspace.get(b"other", 1).is_some());
    }
}

/// Digests for a filter that takes none: a bug of ours, or a disk that returns wrong data.
#[test]
fn a_filter_that_cannot_be_recovered_is_quarantined_and_all_others_are_served() {
    let disk = MemoryDisk::default();
    {
        let (keyspace, log) = open(&disk);
        for name in [b"bad".as_slice(), b"good"] {
            keyspace.create(name, Spec::growing(100, 0.01, 2), 1, Some(&log)).unwrap();
        }
        let [bad, good] = [b"bad".as_slice(), b"good"].map(|name| keyspace.get(name, 1).unwrap());
        let mut recorder = log.recorder();
        recorder.insert(good.tally(), good.id, &[Digest::new(7)]);
        recorder.keys(bad.tally(), bad.id, [b"key".as_slice()].into_iter()).unwrap();
        recorder.commit().unwrap();
    }
    for _ in 0..2 {
        let (keyspace, log) = open(&disk);
        let bad = keyspace.get(b"bad", 1).unwrap();
        assert!(bad.is_quarantined());
        let problem = bad.check_file().unwrap_err();
        assert!(matches!(&problem, Unreadable::Quarantined(_)), "{problem}");
        assert_eq!(bad.check_file_at(1), Err(problem));
        let mut turn = crate::Work::default();
        assert!(bad.insert(b"x", &mut turn).is_err());
        assert!(bad.remove_many(crate::words::Words::new(&[], &[]), &mut turn).is_err());
        assert!(keyspace.get(b"good", 1).unwrap().contains_digest(Digest::new(7), 1));
        // Its records stay until it is deleted.
        let why = log.checkpoint(&keyspace).unwrap_err().to_string();
        assert!(why.contains("bad is quarantined"), "{why}");
    }
    let (keyspace, log) = open(&disk);
    assert!(keyspace.remove(b"bad", 1, Some(&log)).unwrap());
    log.checkpoint(&keyspace).unwrap();
    let (keyspace, _log) = open(&disk);
    assert!(keyspace.get(b"bad", 1).is_none());
    assert!(keyspace.get(b"good", 1).unwrap().contains_digest(Digest::new(7), 1));
}

/// Whatever records a crash leaves, in whatever order.
#[test]
fn any_records_in_any_order_are_recovered_for_every_kind() {
    let keyed = |shape| Spec { shape, hash: Hash::Keyed };
    let window = |time_ms| Shape::Window { items: 20, time_ms, target_fpp: 0.01, refresh: true };
    let specs = [
        Spec::growing(4, 0.01, 2),
        Spec::fixed(4, 0.01),
        keyed(Shape::Counting { capacity: 4, target_fpp: 0.01 }),
        keyed(Shape::Compact { capacity: 4, target_fpp: 0.01, expansion: 0 }),
        keyed(Shape::Compact { capacity: 4, target_fpp: 0.01, expansion: 1 }),
        keyed(window(0)),
        keyed(window(100)),
        keyed(Shape::Clearing { capacity: 4, target_fpp: 0.01, at: 0.3 }),
    ];
    let mut random = Random(1);
    for round in 0..2000u64 {
        let spec = specs[round as usize % specs.len()];
        let recovery = Recovery::new(Options::new(SecretKey::new([7; 16])));
        recovery.create(1, b"a", &spec.encode(), 0).unwrap();
        let is_ordered = !matches!(spec.shape, Shape::Growing { .. } | Shape::Fixed { .. });
        for _ in 0..random.below(40) {
            let digests: Vec<Digest> =
                (0..=random.below(30)).map(|_| Digest::new(random.below(50))).collect();
            let answered = [Answered::New, Answered::There, Answered::Unknown];
            let whats = [0, u64::MAX, u64::MAX - 1, random.next() >> 20];
            let what = whats[random.below(4) as usize];
            let done = if is_ordered {
                let removes = matches!(spec.shape, Shape::Counting { .. } | Shape::Compact { .. });
                let what = if removes { what } else { what & (u64::MAX >> 1) };
                recovery.ordered(1, random.below(200), what, &digests)
            } else {
                recovery.insert(1, &digests, answered[random.below(3) as usize])
            };
            done.unwrap();
        }
        let keyspace = recovery.finish(2).unwrap();
        let entry = keyspace.get(b"a", 1).unwrap();
        assert!(!entry.is_quarantined(), "{spec:?}: {:?}", entry.file_problem());
    }
}

/// It was renamed before its write was refused.
#[test]
fn a_filter_that_is_put_back_keeps_its_place_in_scans() {
    let keyspace = Keyspace::new(Options::new(SecretKey::new([7; 16])));
    for name in [b"a", b"b"] {
        keyspace.create(name, Spec::growing(100, 0.01, 2), 1, None).unwrap();
    }
    keyspace.rename(b"a", b"c", false, 1, None).unwrap();
    let id = keyspace.get(b"c", 1).unwrap().id;
    let read_back = |listed: Vec<Saved>, replay: &dyn Replay| {
        for Saved { id, name, spec, expires_at } in listed {
            replay.create(id, &name, &spec, expires_at).unwrap();
        }
        Ok(())
    };
    keyspace.put_back(&[id], &read_back).unwrap();
    let names = keyspace.scan(0, 10, None, 1).unwrap().names;
    assert_eq!(names, [b"b".as_slice().into(), b"c".as_slice().into()]);
}
