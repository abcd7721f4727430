//! The digest log by itself: torn ends, flips, locks.

use crate::common::{Folder, digest};
use mayhap::{Digest, DigestFunction};
use mayhap_store::{DigestLog, Error, LogRecovery};
use std::fs;
use std::path::Path;
use std::thread;

const HEADER_BYTES: usize = 64;

fn function() -> DigestFunction {
    DigestFunction::default()
}

fn digests(keys: std::ops::Range<u64>) -> Vec<Digest> {
    keys.map(digest).collect()
}

/// All digests in the log, and what opening it found.
fn replay(path: &Path) -> Result<(Vec<Digest>, LogRecovery), Error> {
    let mut found = Vec::new();
    let (_, recovery) =
        DigestLog::open(path, &function(), "", |more| found.extend_from_slice(more))?;
    assert_eq!(found.len() as u64, recovery.replayed_digests);
    Ok((found, recovery))
}

/// A log of three records of 1, 5 and 3 digests; with it, where each record ends.
fn three_records(path: &Path) -> (Vec<u8>, [usize; 3]) {
    let _ = fs::remove_file(path);
    let mut log = DigestLog::create(path, &function(), "").unwrap();
    let ends = [0..1, 1..6, 6..9].map(|keys| {
        log.append(&digests(keys)).unwrap();
        log.bytes() as usize
    });
    log.sync().unwrap();
    (fs::read(path).unwrap(), ends)
}

#[test]
fn digests_come_back_in_order_over_many_openings() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let mut written = Vec::new();
    for round in 0..20u64 {
        let mut found = Vec::new();
        let (mut log, recovery) =
            DigestLog::open(path, &function(), "", |more| found.extend_from_slice(more)).unwrap();
        assert_eq!(found, written);
        assert_eq!(recovery.dropped_bytes, 0);
        let more = digests(round * 1000..round * 1000 + round * round);
        log.append(&more).unwrap();
        written.extend(more);
    }
    let (mut log, _) = DigestLog::open(path, &function(), "", |_| {}).unwrap();
    log.clear().unwrap();
    log.append(&digests(1..3)).unwrap();
    drop(log);
    assert_eq!(replay(path).unwrap().0, digests(1..3));
}

#[test]
fn appends_larger_than_a_record_or_the_reader_s_window_come_back() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let all = digests(0..(1 << 16) * 5 + 17);
    let mut log = DigestLog::create(path, &function(), "").unwrap();
    log.append(&all).unwrap();
    log.append(&[]).unwrap();
    log.append(&all[..7]).unwrap();
    drop(log);
    let (found, _) = replay(path).unwrap();
    assert_eq!((&found[..all.len()], &found[all.len()..]), (&all[..], &all[..7]));
}

#[test]
fn a_record_torn_at_any_byte_is_dropped_and_the_ones_before_are_kept() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let (bytes, [_, second_end, third_end]) = three_records(path);
    for cut in second_end..=third_end {
        fs::write(path, &bytes[..cut]).unwrap();
        let (found, recovery) = replay(path).unwrap();
        let (kept, dropped) = if cut == third_end { (9, 0) } else { (6, cut - second_end) };
        assert_eq!(found, digests(0..kept));
        assert_eq!(recovery.dropped_bytes, dropped as u64);
        // The torn end is gone, and the log can be gone on with.
        let (mut log, recovery) = DigestLog::open(path, &function(), "", |_| {}).unwrap();
        assert_eq!(recovery.dropped_bytes, 0);
        log.append(&digests(100..102)).unwrap();
        drop(log);
        let (found, _) = replay(path).unwrap();
        assert_eq!(found[..kept as usize], digests(0..kept));
        assert_eq!(found[kept as usize..], digests(100..102));
    }
}

#[test]
fn a_log_cut_anywhere_holds_a_prefix() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let (bytes, ends) = three_records(path);
    for cut in 0..bytes.len() {
        fs::write(path, &bytes[..cut]).unwrap();
        let (found, _) = replay(path).unwrap();
        let records = ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(found, digests(0..[0, 1, 6, 9][records]));
    }
}

#[test]
fn zeros_at_the_end_as_a_power_cut_leaves_them_are_dropped() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let (bytes, [_, second_end, _]) = three_records(path);
    for (kept, zeros) in [(bytes.len(), 5000), (second_end, 72), (second_end + 20, 40)] {
        fs::write(path, [&bytes[..kept], &vec![0; zeros]].concat()).unwrap();
        let (found, recovery) = replay(path).unwrap();
        assert_eq!(found, digests(0..if kept == bytes.len() { 9 } else { 6 }));
        assert!(recovery.dropped_bytes > 0);
    }
    fs::write(path, vec![0; HEADER_BYTES]).unwrap(); // a header that never reached the disk
    assert_eq!(replay(path).unwrap().0, []);
}

#[test]
fn every_flipped_bit_is_an_error_or_at_the_end_a_torn_record() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let (bytes, [first_end, second_end, _]) = three_records(path);
    let mut torn = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            fs::write(path, &flipped).unwrap();
            match replay(path) {
                Ok((found, recovery)) => {
                    assert!(at >= second_end, "byte {at} bit {bit} went unseen");
                    assert_eq!(found, digests(0..6));
                    assert_eq!(recovery.dropped_bytes, (bytes.len() - second_end) as u64);
                    torn += 1;
                }
                Err(Error::LogDamaged { offset, next_sound_offset, .. }) => {
                    let start = if at < first_end { HEADER_BYTES } else { first_end };
                    assert!(at >= HEADER_BYTES && offset == start as u64);
                    assert!(next_sound_offset > offset);
                    assert_eq!(fs::read(path).unwrap(), flipped, "nothing was changed");
                }
                Err(error) => {
                    assert!(at < HEADER_BYTES, "byte {at} bit {bit}: {error}");
                    assert_eq!(fs::read(path).unwrap(), flipped, "nothing was changed");
                }
            }
        }
    }
    assert_eq!(torn, (bytes.len() - second_end) * 8);
}

#[test]
fn records_that_are_missing_doubled_or_from_another_log_are_damage() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let (bytes, [first_end, second_end, third_end]) = three_records(path);
    let (other, _) = three_records(&folder.file("other"));
    let (first, second) = (&bytes[HEADER_BYTES..first_end], &bytes[first_end..second_end]);
    let third = &bytes[second_end..third_end];
    let header = &bytes[..HEADER_BYTES];
    for parts in [
        [header, second, third],
        [header, first, third],
        [header, first, first],
        [header, second, first],
        [header, first, &other[first_end..second_end]],
        // A byte lost or too many: the records after it start at other places.
        [header, &first[1..], second],
        [header, first, &[&[0][..], second].concat()],
    ] {
        fs::write(path, parts.concat()).unwrap();
        let error = replay(path).unwrap_err();
        assert!(matches!(error, Error::LogDamaged { .. }), "{error}");
        assert_eq!(fs::read(path).unwrap(), parts.concat());
    }
}

#[test]
fn damage_far_before_the_last_record_is_found() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let mut log = DigestLog::create(path, &function(), "").unwrap();
    log.append(&digests(0..(1 << 16) * 6)).unwrap();
    drop(log);
    let mut bytes = fs::read(path).unwrap();
    let record_bytes = (bytes.len() - HEADER_BYTES) / 6;
    bytes[HEADER_BYTES + record_bytes / 2] ^= 4;
    fs::write(path, &bytes).unwrap();
    match replay(path).unwrap_err() {
        Error::LogDamaged { offset, next_sound_offset, .. } => {
            let next = (HEADER_BYTES + record_bytes) as u64;
            assert_eq!((offset, next_sound_offset), (HEADER_BYTES as u64, next));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn a_log_belongs_to_one_meaning_of_digests() {
    let folder = Folder::new();
    let path = &folder.file("log");
    three_records(path);
    let open = |function: &DigestFunction, options: &str| {
        DigestLog::open(path, function, options, |_| {}).unwrap_err().to_string()
    };
    assert!(open(&DigestFunction::xxh3(1), "").contains("seed or key is 0x0 in the log and 0x1"));
    assert!(open(&function(), "trim=1\n").contains("key options"));
    let keyed = DigestFunction::sip13(mayhap::SecretKey::new([3; 16]));
    assert!(open(&keyed, "").contains("digest function is 0x1 in the log and 0x2"));
}

#[test]
fn what_is_no_log_is_left_alone() {
    let folder = Folder::new();
    let path = &folder.file("log");
    for bytes in [&b"mine"[..], &[b'x'; 64], &[b'y'; 500], &[0; 500]] {
        fs::write(path, bytes).unwrap();
        assert!(matches!(replay(path), Err(Error::NotALog { .. })));
        let created = DigestLog::create(path, &function(), "");
        assert!(matches!(created, Err(Error::NotALog { .. })));
        assert_eq!(fs::read(path).unwrap(), bytes);
    }
    three_records(path);
    let created = DigestLog::create(path, &function(), "");
    assert!(matches!(created, Err(Error::OrphanLog { .. })));
    assert_eq!(replay(path).unwrap().0.len(), 9);
}

#[test]
fn a_log_is_open_once() {
    let folder = Folder::new();
    let path = &folder.file("log");
    let log = DigestLog::create(path, &function(), "").unwrap();
    let text = replay(path).unwrap_err().to_string();
    assert!(text.contains("in use by another process"), "{text}");
    drop(log);
    replay(path).unwrap();
}

#[cfg(unix)]
#[test]
fn a_log_that_was_refused_is_free_at_once_while_other_threads_start_programs() {
    // Between its birth and its own program a child has all files of its parent, locks included.
    let folder = Folder::new();
    let path = &folder.file("log");
    let (mut bytes, _) = three_records(path);
    bytes[HEADER_BYTES + 30] ^= 1;
    fs::write(path, &bytes).unwrap();
    thread::scope(|scope| {
        let births = scope.spawn(|| {
            for _ in 0..300 {
                assert!(std::process::Command::new("true").status().unwrap().success());
            }
        });
        while !births.is_finished() {
            let refused = replay(path).unwrap_err();
            assert!(matches!(refused, Error::LogDamaged { .. }), "{refused}");
        }
    });
}
