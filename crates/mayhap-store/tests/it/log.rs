//! The log of a state: torn ends, flips, locks.

use crate::common::{Folder, digest, filter};
use mayhap::{AnyFilter, Digest, DigestFunction, Layout};
use mayhap_store::{Error, LiveFilter, Recovery, Snapshot, log_path, save};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

const HEADER_BYTES: usize = 64;

fn empty() -> AnyFilter {
    filter(Layout::Standard, 1 << 16, 0..0)
}

fn digests(keys: std::ops::Range<u64>) -> Vec<Digest> {
    keys.map(digest).collect()
}

/// All digests in the log of a state, and the result of reading it.
fn replay(path: &Path) -> Result<(Vec<Digest>, Recovery), Error> {
    let mut found = Vec::new();
    let snapshot = Snapshot::open(path)?;
    snapshot.check()?;
    let recovery = snapshot.replay(|record| {
        found.extend_from_slice(record.digests);
        Ok(0)
    })?;
    assert_eq!(found.len() as u64, recovery.replayed_digests);
    Ok((found, recovery))
}

/// A new state with a log of three records of 1, 5 and 3 digests: the path of the log, its contents
/// and the end of each record.
fn three_records(path: &Path) -> (PathBuf, Vec<u8>, [usize; 3]) {
    let _ = fs::remove_file(path);
    let log = log_path(path).unwrap();
    let _ = fs::remove_file(&log);
    let mut live = LiveFilter::create(path, empty(), "").unwrap();
    let ends = [0..1, 1..6, 6..9].map(|keys| {
        live.record(&digests(keys)).unwrap();
        live.log_bytes() as usize
    });
    live.sync().unwrap();
    let bytes = fs::read(&log).unwrap();
    (log, bytes, ends)
}

#[test]
fn digests_come_back_in_order_over_many_openings() {
    let folder = Folder::new();
    let path = &folder.file("a");
    drop(LiveFilter::create(path, empty(), "").unwrap());
    let mut written = Vec::new();
    for round in 0..20u64 {
        let (found, recovery) = replay(path).unwrap();
        assert_eq!(found, written);
        assert_eq!(recovery.dropped_bytes, 0);
        let (mut live, recovery) = LiveFilter::open(path, None).unwrap();
        assert_eq!(recovery.replayed_digests, written.len() as u64);
        let more = digests(round * 1000..round * 1000 + round * round);
        live.record(&more).unwrap();
        written.extend(more);
    }
    let (mut live, _) = LiveFilter::open(path, None).unwrap();
    live.checkpoint().unwrap();
    assert_eq!(live.log_bytes(), 0);
    live.record(&digests(1..3)).unwrap();
    drop(live);
    assert_eq!(replay(path).unwrap().0, digests(1..3));
}

#[test]
fn appends_larger_than_a_record_or_the_reader_s_window_come_back() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let all = digests(0..(1 << 16) * 5 + 17);
    let mut live = LiveFilter::create(path, empty(), "").unwrap();
    // The first record begins the log; all digests at once would save the filter.
    live.record(&all[..7]).unwrap();
    live.record(&[]).unwrap();
    live.record(&all).unwrap();
    drop(live);
    let (found, _) = replay(path).unwrap();
    assert_eq!((&found[..7], &found[7..]), (&all[..7], &all[..]));
}

#[test]
fn a_record_torn_at_any_byte_is_dropped_and_the_ones_before_are_kept() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let (log, bytes, [_, second_end, third_end]) = three_records(path);
    for cut in second_end..=third_end {
        fs::write(&log, &bytes[..cut]).unwrap();
        let (found, recovery) = replay(path).unwrap();
        let (kept, dropped) = if cut == third_end { (9, 0) } else { (6, cut - second_end) };
        assert_eq!(found, digests(0..kept));
        assert_eq!(recovery.dropped_bytes, dropped as u64);
        // The torn end is cut off, and the log can be continued.
        let (mut live, recovery) = LiveFilter::open(path, None).unwrap();
        assert_eq!(recovery.dropped_bytes, dropped as u64);
        live.record(&digests(100..102)).unwrap();
        drop(live);
        let (found, _) = replay(path).unwrap();
        assert_eq!(found[..kept as usize], digests(0..kept));
        assert_eq!(found[kept as usize..], digests(100..102));
    }
}

#[test]
fn a_log_cut_anywhere_holds_a_prefix() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let (log, bytes, ends) = three_records(path);
    for cut in 0..bytes.len() {
        fs::write(&log, &bytes[..cut]).unwrap();
        if cut < HEADER_BYTES {
            // A log that was only begun counts as missing.
            let error = replay(path).unwrap_err();
            assert!(matches!(error, Error::MissingLog { epoch: 1, .. }), "{error}");
            continue;
        }
        let (found, _) = replay(path).unwrap();
        let records = ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(found, digests(0..[0, 1, 6, 9][records]));
    }
}

#[test]
fn zeros_at_the_end_as_a_power_cut_leaves_them_are_dropped() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let (log, bytes, [_, second_end, _]) = three_records(path);
    for (kept, zeros) in [(bytes.len(), 5000), (second_end, 72), (second_end + 20, 40)] {
        fs::write(&log, [&bytes[..kept], &vec![0; zeros]].concat()).unwrap();
        let (found, recovery) = replay(path).unwrap();
        assert_eq!(found, digests(0..if kept == bytes.len() { 9 } else { 6 }));
        assert!(recovery.dropped_bytes > 0);
    }
    // A header that never reached the disk: then the image does not say that a log was begun.
    drop(LiveFilter::create(&folder.file("b"), empty(), "").unwrap());
    fs::write(folder.file("b.log"), vec![0; HEADER_BYTES]).unwrap();
    assert_eq!(replay(&folder.file("b")).unwrap().0, []);
}

#[test]
fn every_flipped_bit_is_an_error_or_at_the_end_a_torn_record() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let (log, bytes, [first_end, second_end, _]) = three_records(path);
    let mut torn = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            fs::write(&log, &flipped).unwrap();
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
                    assert_eq!(fs::read(&log).unwrap(), flipped, "nothing was changed");
                }
                Err(error) => {
                    assert!(at < HEADER_BYTES, "byte {at} bit {bit}: {error}");
                    assert_eq!(fs::read(&log).unwrap(), flipped, "nothing was changed");
                }
            }
        }
    }
    assert_eq!(torn, (bytes.len() - second_end) * 8);
}

#[test]
fn records_that_are_missing_doubled_or_from_another_log_are_damage() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let (log, bytes, [first_end, second_end, third_end]) = three_records(path);
    let (_, other, _) = three_records(&folder.file("other"));
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
        fs::write(&log, parts.concat()).unwrap();
        let error = replay(path).unwrap_err();
        assert!(matches!(error, Error::LogDamaged { .. }), "{error}");
        let refused = LiveFilter::open(path, None).unwrap_err();
        assert!(matches!(refused, Error::LogDamaged { .. }), "{refused}");
        assert_eq!(fs::read(&log).unwrap(), parts.concat());
    }
}

#[test]
fn damage_far_before_the_last_record_is_found() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut live = LiveFilter::create(path, empty(), "").unwrap();
    for _ in 0..2 {
        live.record(&digests(0..(1 << 16) * 3)).unwrap();
    }
    drop(live);
    let log = log_path(path).unwrap();
    let mut bytes = fs::read(&log).unwrap();
    let record_bytes = (bytes.len() - HEADER_BYTES) / 6;
    bytes[HEADER_BYTES + record_bytes / 2] ^= 4;
    fs::write(&log, &bytes).unwrap();
    match replay(path).unwrap_err() {
        Error::LogDamaged { offset, next_sound_offset, .. } => {
            let next = (HEADER_BYTES + record_bytes) as u64;
            assert_eq!((offset, next_sound_offset), (HEADER_BYTES as u64, next));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn what_is_no_log_is_left_alone() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let log = &folder.file("a.log");
    for bytes in [&b""[..], b"mine", &[b'x'; 64], &[b'y'; 500], &[0; 500]] {
        fs::write(log, bytes).unwrap();
        let created = LiveFilter::create(path, empty(), "");
        assert!(matches!(created, Err(Error::NotALog { .. })));
        assert!(!path.exists());
        save(path, &empty(), "").unwrap();
        // It stops only callers that need its name.
        assert_eq!(replay(path).unwrap().0, []);
        assert!(matches!(LiveFilter::open(path, None), Err(Error::NotALog { .. })));
        assert_eq!(fs::read(log).unwrap(), bytes);
        fs::remove_file(path).unwrap();
    }
    fs::remove_file(log).unwrap();
    three_records(path);
    fs::remove_file(path).unwrap();
    let created = LiveFilter::create(path, empty(), "");
    assert!(matches!(created, Err(Error::OrphanLog { .. })));
    assert!(fs::metadata(log).unwrap().len() > 64);
}

#[test]
fn an_operation_that_is_not_known_here_is_no_torn_end() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let (log, mut bytes, [_, second_end, third_end]) = three_records(path);
    bytes[second_end + 24] = 4;
    let checksum = DigestFunction::default().digest(&bytes[second_end..third_end - 8]).get();
    bytes[third_end - 8..].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&log, &bytes).unwrap();
    for error in [replay(path).map(|_| ()), LiveFilter::open(path, None).map(|_| ())] {
        let text = error.unwrap_err().to_string();
        assert!(text.contains("operation is 4"), "{text}");
    }
    assert_eq!(fs::read(&log).unwrap(), bytes);
}

#[test]
fn a_log_is_open_once() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let live = LiveFilter::create(path, empty(), "").unwrap();
    let text = LiveFilter::open(path, None).unwrap_err().to_string();
    let holder = format!("process {} (live filter)", std::process::id());
    assert!(text.contains(&holder) && text.contains(".a.mayhap-lck"), "{text}");
    drop(live);
    LiveFilter::open(path, None).unwrap();
}

#[cfg(unix)]
#[test]
fn a_lock_that_was_given_up_is_free_at_once_while_other_threads_start_programs() {
    // Between the fork and its own program a child has all files of its parent, locks included.
    let folder = Folder::new();
    let path = &folder.file("a");
    let (log, mut bytes, _) = three_records(path);
    bytes[HEADER_BYTES + 30] ^= 1;
    fs::write(&log, &bytes).unwrap();
    thread::scope(|scope| {
        let births = scope.spawn(|| {
            for _ in 0..300 {
                assert!(std::process::Command::new("true").status().unwrap().success());
            }
        });
        while !births.is_finished() {
            let refused = LiveFilter::open(path, None).unwrap_err();
            assert!(matches!(refused, Error::LogDamaged { .. }), "{refused}");
        }
    });
    assert_eq!(folder.names(), ["a", "a.log"]);
}
