//! Whatever fails and whenever the process dies: a filter with a name is complete, and a refused
//! one has none.

use crate::Work;
use crate::durable::tests::disk::{Event, Failing, Fault, Files, MemoryDisk};
use crate::durable::tests::run::{folder, options};
use crate::durable::{Log, Policy};
use crate::keyspace::{InsertError, Keyspace, Options, Recovery, Spec};
use crate::words::Words;
use mayhap::native::{HEADER_BYTES, encode};
use mayhap::{DigestFunction, RibbonFilter, SecretKey};
use mayhap_formats::{Limits, RedisBloomFilter, RedisBloomOptions};
use std::sync::Arc;

/// Keys of a filter that is loaded; the union of two has twice as many.
const KEYS: u64 = 300;
/// When a filter of this spec has expired.
const LATER: u64 = 1_000;
const OLD: Spec = Spec::growing(50, 0.01, 2);

fn keys(of: u64) -> (Vec<u8>, Vec<(u32, u32)>) {
    let keys = (0..KEYS).flat_map(|key| (of * KEYS + key).to_le_bytes());
    (keys.collect(), (0..KEYS as u32).map(|key| (8 * key, 8 * key + 8)).collect())
}

pub(super) fn open(disk: &MemoryDisk) -> (Keyspace, Arc<Log>) {
    let recovery = Recovery::new(Options::new(SecretKey::new([7; 16])));
    let options = options(Policy::EverySecond, &Arc::default());
    let (log, report) = Log::open(folder(disk), options, &recovery, &|_| {}).unwrap();
    (recovery.finish(report.next_id).unwrap(), log)
}

/// A filter with keys of its own, and its dump.
fn filled(keyspace: &Keyspace, log: &Arc<Log>, name: &[u8], of: u64) -> Vec<(i64, Vec<u8>)> {
    let spec = Spec::growing(20_000, 1e-6, 2);
    let entry = keyspace.create(name, spec, 1, Some(log)).unwrap();
    let mut turn = Work { recorder: Some(log.recorder()), ..Work::default() };
    let (bytes, places) = keys(of);
    entry.insert_many(Words::new(&bytes, &places), &mut turn).unwrap();
    turn.recorder.as_mut().unwrap().commit().unwrap();
    let (mut chunks, mut cursor) = (Vec::new(), 0);
    loop {
        let (next, bytes) = keyspace.dump(&entry, cursor, 1).unwrap();
        if next == 0 {
            return chunks;
        }
        chunks.push((next, bytes));
        cursor = next;
    }
}

/// Loads a filter; returns whether that was acknowledged.
fn load(keyspace: &Keyspace, log: &Log, name: &[u8], chunks: &[(i64, Vec<u8>)], now: u64) -> bool {
    chunks.iter().all(|(cursor, bytes)| {
        keyspace.load_chunk(name, *cursor, bytes, false, now, Some(log)).is_ok()
    })
}

/// How many keys a filter has, or `None` if there is none; it has the keys of none or all of each
/// of its sources.
fn whole(keyspace: &Keyspace, name: &[u8], now: u64) -> Option<u64> {
    let entry = keyspace.get(name, now).filter(|entry| entry.spec != OLD)?;
    let mut turn = Work { now, ..Work::default() };
    let sources = (0..2).filter(|&of| {
        let (bytes, places) = keys(of);
        entry.contains_many(Words::new(&bytes, &places), &mut turn);
        let found = turn.answers.count_ones() as u64;
        assert!(found == 0 || found == KEYS, "{} has a part of its keys", name.escape_ascii());
        found == KEYS
    });
    let found = KEYS * sources.count() as u64;
    // A union estimates its number of keys.
    assert!(entry.items().abs_diff(found) <= found / 50, "{} counts {}", found, entry.items());
    Some(found)
}

/// The dump of a frozen filter with these keys.
fn frozen(of: u64) -> Vec<(i64, Vec<u8>)> {
    let (function, (bytes, places)) = (DigestFunction::default(), keys(of));
    let keys = places.iter().map(|&(from, to)| &bytes[from as usize..to as usize]);
    let digests = keys.map(|key| function.digest(key));
    let filter = RibbonFilter::build_for_target(1e-6, function, digests).unwrap();
    let file = encode(&filter, "");
    let (header, body) = file.split_at(HEADER_BYTES);
    vec![(1, header.into()), (1 + (body.len() as u64).cast_signed(), body.into())]
}

/// The created filters and their number of keys: one loaded, one merged, one replacing an expired
/// one, a frozen one, and an empty one.
const MADE: [(&[u8], u64); 5] =
    [(b"loaded", KEYS), (b"union", 2 * KEYS), (b"expired", KEYS), (b"frozen", KEYS), (b"empty", 0)];

/// A server that creates filters; returns which of them it acknowledged.
fn make(disk: &MemoryDisk, failing: Option<Failing>) -> [bool; 5] {
    let (keyspace, log) = open(disk);
    let chunks = filled(&keyspace, &log, b"a", 0);
    filled(&keyspace, &log, b"b", 1);
    keyspace.create(b"expired", OLD, 1, Some(&log)).unwrap();
    keyspace.expire(b"expired", LATER, 1, Some(&log)).unwrap();
    {
        let mut state = disk.state();
        (state.calls, state.failing) = (0, failing);
    }
    let sources = || [b"a", b"b"].map(|name| keyspace.get(name, 1).unwrap());
    let made = [
        load(&keyspace, &log, b"loaded", &chunks, 1),
        keyspace.merge(b"union", &sources(), 0, 1, Some(&log)).is_ok(),
        load(&keyspace, &log, b"expired", &chunks, LATER),
        load(&keyspace, &log, b"frozen", &frozen(0), 1),
        keyspace.create(b"empty", Spec::growing(100, 0.01, 2), 1, Some(&log)).is_ok(),
    ];
    for ((name, keys), made) in MADE.into_iter().zip(made) {
        let found = whole(&keyspace, name, LATER);
        assert_eq!(found, made.then_some(keys), "{}", name.escape_ascii());
    }
    // The next attempt need not wait.
    disk.state().failing = None;
    log.tick();
    if !made[0] {
        assert!(load(&keyspace, &log, b"loaded", &chunks, 1), "the next attempt");
        assert!(keyspace.remove(b"loaded", 1, Some(&log)).unwrap());
    }
    made
}

/// Opens a folder and checks all named filters; returns which of the created ones exist.
fn look(files: Files) -> [bool; 5] {
    let (keyspace, _log) = open(&MemoryDisk::of(files));
    MADE.map(|(name, keys)| {
        let found = whole(&keyspace, name, LATER);
        assert!(found.is_none_or(|found| found == keys), "{} is empty", name.escape_ascii());
        found.is_some()
    })
}

#[test]
fn a_kill_at_any_moment_leaves_filters_that_are_whole() {
    let disk = MemoryDisk::default();
    assert_eq!(make(&disk, None), [true; 5]);
    let (mut files, mut states, mut seen) = (Files::default(), 0, [0; 5]);
    let events = disk.state().events.clone();
    for event in &events {
        files.apply(event);
        if files.names.contains_key("manifest") {
            let there = look(files.clone());
            states += 1;
            seen.iter_mut().zip(there).for_each(|(seen, there)| *seen += usize::from(there));
        }
    }
    println!("{states} states, the filters in {seen:?} of them");
    // The union has three parts and its creation, so it is absent for four events at least.
    assert!(seen[0] < states && seen[1] + 4 <= seen[0] && seen[2] + 3 <= seen[1], "{seen:?}");
    assert!(0 < seen[3] && seen[3] < seen[2], "{seen:?}");
}

#[test]
fn refused_filters_are_absent_after_a_restart_too() {
    let mut refused = 0;
    for fault in [Fault::NoSpace, Fault::Full, Fault::Io] {
        for (from, all) in (0..40).flat_map(|from| [(from, false), (from, true)]) {
            let disk = MemoryDisk::default();
            let made = make(&disk, Some(Failing { fault, from, all }));
            assert_eq!(look(disk.files()), made, "{fault:?} at call {from}, all {all}");
            refused += made.iter().filter(|&&made| !made).count();
        }
    }
    println!("{refused} refused");
    assert!(refused > 100, "{refused}");
}

/// A write that is cut short, in any record.
#[test]
fn a_log_that_ends_at_any_byte_leaves_filters_that_are_whole() {
    let disk = MemoryDisk::default();
    make(&disk, None);
    let events = disk.state().events.clone();
    let mut files = Files::default();
    for event in &events {
        if let Event::Write { inode, at, bytes } = event
            && files.names.get("log/1.log") == Some(inode)
        {
            for part in 1..8 {
                let bytes = bytes[..bytes.len() * part / 8].to_vec();
                let mut files = files.clone();
                files.apply(&Event::Write { inode: *inode, at: *at, bytes });
                look(files);
            }
        }
        files.apply(event);
    }
}

/// Replaces a filter with the keys of source 1 by one with those of source 0; returns whether that
/// was acknowledged, and the number of events before it began.
fn replace(disk: &MemoryDisk, failing: Option<Failing>, checkpoints: bool) -> (bool, usize) {
    let (keyspace, log) = open(disk);
    let chunks = filled(&keyspace, &log, b"a", 0);
    filled(&keyspace, &log, b"set", 1);
    if checkpoints {
        log.checkpoint(&keyspace).unwrap();
    }
    let before = {
        let mut state = disk.state();
        (state.calls, state.failing) = (0, failing);
        state.events.len()
    };
    let replaced = chunks.iter().all(|(cursor, bytes)| {
        keyspace.load_chunk(b"set", *cursor, bytes, true, 1, Some(&log)).is_ok()
    });
    assert_eq!(source(&keyspace), u64::from(!replaced));
    assert_eq!(keyspace.len(), 2);
    disk.state().failing = None;
    if checkpoints {
        log.tick();
        log.checkpoint(&keyspace).unwrap();
    }
    (replaced, before)
}

/// The source whose keys the filter `set` has: all of one, and none of the other.
fn source(keyspace: &Keyspace) -> u64 {
    assert_eq!(whole(keyspace, b"set", 1), Some(KEYS));
    let (bytes, places) = keys(0);
    let mut turn = Work { now: 1, ..Work::default() };
    let entry = keyspace.get(b"set", 1).unwrap();
    entry.contains_many(Words::new(&bytes, &places), &mut turn);
    u64::from(turn.answers.count_ones() == 0)
}

fn source_after(files: Files) -> u64 {
    let (keyspace, _log) = open(&MemoryDisk::of(files));
    assert_eq!(keyspace.len(), 2);
    source(&keyspace)
}

#[test]
fn a_kill_while_a_filter_is_replaced_leaves_the_old_one_or_the_new_one() {
    for checkpoints in [false, true] {
        let disk = MemoryDisk::default();
        let (replaced, before) = replace(&disk, None, checkpoints);
        assert!(replaced);
        let (mut files, mut seen) = (Files::default(), Vec::new());
        let events = disk.state().events.clone();
        for (at, event) in events.iter().enumerate() {
            files.apply(event);
            if at >= before {
                seen.push(source_after(files.clone()));
            }
        }
        // The old one, then from some event on the new one, and never the old one again.
        let old = seen.iter().filter(|&&source| source == 1).count();
        println!("checkpoints {checkpoints}: {} states, the old one in {old}", seen.len());
        assert!(seen.is_sorted_by(|a, b| a >= b), "{seen:?}");
        assert!(old > 1 && old < seen.len(), "{seen:?}");
    }
}

#[test]
fn a_filter_whose_replacement_the_log_refused_is_the_old_one_after_a_restart_too() {
    let mut refused = 0;
    for fault in [Fault::NoSpace, Fault::Full, Fault::Io] {
        for (from, all) in (0..20).flat_map(|from| [(from, false), (from, true)]) {
            let disk = MemoryDisk::default();
            let (replaced, _) = replace(&disk, Some(Failing { fault, from, all }), false);
            let found = source_after(disk.files());
            assert_eq!(found, u64::from(!replaced), "{fault:?} at call {from}, all {all}");
            refused += usize::from(!replaced);
        }
    }
    println!("{refused} refused");
    assert!(refused > 20, "{refused}");
}

/// The filter had it nevertheless, until a restart.
#[test]
fn a_key_that_no_record_can_hold_is_refused_before_the_filter_has_it() {
    let disk = MemoryDisk::default();
    let (keyspace, log) = open(&disk);
    let options = RedisBloomOptions { error_rate: 1e-6, capacity: 10, growth: Some(2) };
    let filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    assert!(load(&keyspace, &log, b"dumped", &filter.to_chunks(), 1));
    let entry = keyspace.get(b"dumped", 1).unwrap();
    let mut turn = Work { recorder: Some(log.recorder()), ..Work::default() };
    let large = vec![7; 65 << 20];
    for _ in 0..2 {
        let refused = entry.insert(&large, &mut turn);
        assert!(matches!(refused, Err(InsertError::Log(_))), "{refused:?}");
        assert_eq!((entry.contains(&large, 1), entry.items()), (false, 0));
    }
    assert_eq!(entry.insert(b"small", &mut turn), Ok(true));
    turn.commit().unwrap();
    drop((entry, turn, keyspace, log));
    let (keyspace, _log) = open(&disk);
    let entry = keyspace.get(b"dumped", 1).unwrap();
    assert_eq!((entry.contains(b"small", 1), entry.items()), (true, 1));
}
