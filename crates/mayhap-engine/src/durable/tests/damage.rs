//! Every byte is flipped, every end is cut (T05).

use super::client::{Promise, check};
use super::crash::{is_repeated, is_soak, seeds};
use super::disk::{Files, MemoryDisk};
use super::lists::is_list;
use super::model::Model;
use super::run::{Run, Setting, folder, options};
use crate::durable::{Error, Log, Policy, Report, frame, repair, segment};
use std::sync::Arc;

/// The results of flipped bytes.
#[derive(Debug, Default)]
pub(super) struct Flipped {
    pub(super) flips: usize,
    pub(super) refused: usize,
    pub(super) harmless: usize,
    pub(super) repaired: usize,
    pub(super) bad: Option<String>,
}

fn a_closed_folder(seed: u64) -> Run {
    let policy = Policy::EverySecond;
    let mut run = Run::new(MemoryDisk::default(), Setting { policy, seed, steps: 40 });
    run.go();
    run.close();
    run
}

fn open(disk: &MemoryDisk) -> (Model, Result<Report, Error>) {
    let (model, time) = (Model::default(), Arc::default());
    let opened = Log::open(folder(disk), options(Policy::No, &time), &model, &|_| {});
    (model, opened.map(|(_, report)| report))
}

/// Where the frames of a segment begin.
fn frames(bytes: &[u8], log_id: u64) -> Vec<usize> {
    let (mut starts, mut at) = (Vec::new(), segment::HEADER_BYTES);
    while let Some(frame) = frame::Frame::decode(&bytes[at..], log_id) {
        starts.push(at);
        at += frame.bytes();
    }
    starts
}

fn log_id(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[24 + i]))
}

/// Flips bits of each byte of a folder: it is refused with the name of that file and the offset of
/// that record, or nothing is lost.
pub(super) fn flip_everywhere(seed: u64, bits: u8) -> Flipped {
    let run = a_closed_folder(seed);
    let files = run.disk.files().tidy();
    let mut flipped = Flipped::default();
    for (path, &inode) in &files.names {
        for place in 0..files.contents[&inode].len() {
            for bit in 0..bits {
                let mut files = files.clone();
                let bit = if bits == 1 { place % 8 } else { usize::from(bit) };
                files.contents.get_mut(&inode).unwrap()[place] ^= 1 << bit;
                flipped.flips += 1;
                if let Err(why) = flip(&run, &files, path, place, &mut flipped) {
                    flipped.bad = Some(format!("{path}, byte {place}, bit {bit}: {why}"));
                    return flipped;
                }
            }
        }
    }
    flipped
}

fn flip(
    run: &Run,
    files: &Files,
    path: &str,
    place: usize,
    flipped: &mut Flipped,
) -> Result<(), String> {
    let disk = MemoryDisk::of(files.clone());
    let error = match open(&disk) {
        (_, Ok(_)) => {
            flipped.harmless += 1;
            let client = run.client();
            return check(files.clone(), &run.names, &client, Promise::Kill).map(|_| ());
        }
        (_, Err(error)) => error,
    };
    flipped.refused += 1;
    if !disk.state().events.is_empty() {
        return Err(format!("refused, and changed: {:?}", disk.state().events));
    }
    let Error::Damaged { path: blamed, offset, .. } = &error else {
        return Err(format!("refused as {error}"));
    };
    if blamed.to_str() != Some(path) {
        return Err(format!("blamed on {}", blamed.display()));
    }
    let whole = run.disk.files().read(path);
    if path.starts_with("log/") {
        let starts = frames(&whole, log_id(&whole));
        let wanted = starts.iter().rev().find(|&&start| start <= place).copied().unwrap_or(0);
        if *offset != wanted as u64 {
            return Err(format!("reported at {offset}, not {wanted}"));
        }
    }
    // Without a manifest or a list the set of filters is unknown.
    if path != "manifest" && !is_list(path) {
        flipped.repaired += 1;
        mend(&disk, files, path)?;
    }
    Ok(())
}

/// A repair makes the folder open, and keeps the original files.
fn mend(disk: &MemoryDisk, files: &Files, path: &str) -> Result<(), String> {
    let repaired = repair(&folder(disk)).map_err(|error| format!("repair: {error}"))?;
    let now = disk.files();
    let copies = repaired.copies.iter().map(|copy| now.read(copy.to_str().unwrap()));
    if !copies.into_iter().any(|copy| copy == files.read(path)) {
        return Err("repaired without a copy".to_owned());
    }
    open(disk).1.map(|_| ()).map_err(|error| format!("repaired, and refused: {error}"))
}

/// A record of the last segment is repeated right after another one, or replaces it, or two are
/// swapped: each is sound, and none is where it was written.
fn misplaced(bytes: &[u8], starts: &[usize]) -> Vec<Vec<u8>> {
    let end = |record: usize| starts.get(record + 1).copied().unwrap_or(bytes.len());
    let record = |record: usize| &bytes[starts[record]..end(record)];
    let mut all = Vec::new();
    for (a, b) in (0..starts.len()).flat_map(|a| (0..starts.len()).map(move |b| (a, b))) {
        let again = [&bytes[..end(b)], record(a), &bytes[end(b)..]].concat();
        all.push(again);
        if a != b {
            all.push([&bytes[..starts[b]], record(a), &bytes[end(b)..]].concat());
        }
        if a < b {
            let between = &bytes[end(a)..starts[b]];
            let (before, after) = (&bytes[..starts[a]], &bytes[end(b)..]);
            all.push([before, record(b), between, record(a), after].concat());
        }
    }
    all
}

/// Moves records of a closed folder to other places: that is refused, or it is reported as the
/// unfinished end after a crash and nothing is lost or counted twice.
pub(super) fn misplace_everywhere(seed: u64) -> Flipped {
    let run = a_closed_folder(seed);
    let files = run.disk.files().tidy();
    let client = run.client();
    let mut done = Flipped::default();
    for (path, inode) in files.names.iter().filter(|(path, _)| path.starts_with("log/")) {
        let bytes = &files.contents[inode];
        let starts = frames(bytes, log_id(bytes));
        for (case, changed) in misplaced(bytes, &starts).into_iter().enumerate() {
            let mut files = files.clone();
            files.contents.insert(*inode, changed);
            done.flips += 1;
            match open(&MemoryDisk::of(files.clone())).1 {
                Err(Error::Damaged { .. }) => done.refused += 1,
                Err(error) => done.bad = Some(format!("{path}, case {case}: {error}")),
                // Only records after the last one that declares what was safe may be cut off.
                Ok(Report { dropped: Some(_), .. }) => {
                    done.harmless += 1;
                    let checked = check(files, &run.names, &client, Promise::Kill);
                    done.bad = checked.err().map(|why| format!("{path}, case {case}: {why}"));
                }
                Ok(_) => done.bad = Some(format!("{path}, case {case}: taken for sound")),
            }
            if done.bad.is_some() {
                return done;
            }
        }
    }
    done
}

#[test]
fn a_moved_or_repeated_record_is_refused_or_dropped() {
    let mut all = Flipped::default();
    for seed in seeds() {
        let done = misplace_everywhere(seed);
        assert_eq!(done.bad, None, "seed {seed}");
        all.flips += done.flips;
        all.refused += done.refused;
        all.harmless += done.harmless;
    }
    println!("{} records misplaced: {} refused, {} dropped", all.flips, all.refused, all.harmless);
    assert!(is_repeated() || all.refused > 0 && all.harmless > 0);
}

#[test]
fn every_flipped_byte_is_named_or_does_no_harm() {
    let bits = if is_soak() { 8 } else { 1 };
    let mut all = Flipped::default();
    for seed in seeds() {
        let flipped = flip_everywhere(seed, bits);
        assert_eq!(flipped.bad, None, "seed {seed}");
        all.flips += flipped.flips;
        all.refused += flipped.refused;
        all.harmless += flipped.harmless;
        all.repaired += flipped.repaired;
    }
    println!("{all:?}");
    assert!(is_repeated() || all.refused > 0 && all.repaired > 0);
}

/// The log left by a crash was found sound and is on the disk, and nothing was written since: an
/// empty record declares so all the same, or damage to it would pass for an unfinished end.
#[test]
fn a_log_found_after_a_crash_is_declared_safe_without_later_writes() {
    // A run that ends with a crash, a start and a clean end.
    let found = flip_everywhere(4_946_341_571_229_003_077, 1);
    assert_eq!(found.bad, None);
    assert!(found.refused > 0);
}

#[test]
fn a_last_record_that_is_cut_at_any_byte_is_dropped_and_reported() {
    let mut cuts = 0;
    for seed in seeds() {
        let policy = Policy::EverySecond;
        let mut run = Run::new(MemoryDisk::default(), Setting { policy, seed, steps: 40 });
        run.go();
        let before = run.client();
        let length = run.last_record();
        let files = run.disk.files().tidy();
        let path = files.names.keys().filter(|path| path.starts_with("log/"));
        let path = path.max_by_key(|path| (path.len(), *path)).unwrap();
        let inode = files.names[path];
        let whole = files.contents[&inode].len();
        for cut in 1..length {
            let mut files = files.clone();
            files.contents.get_mut(&inode).unwrap().truncate(whole - cut);
            let report = open(&MemoryDisk::of(files.clone())).1.unwrap();
            let dropped = report.dropped.unwrap();
            assert_eq!(dropped.offset as usize, whole - length, "seed {seed}, {cut} cut off");
            assert_eq!(dropped.bytes as usize, length - cut);
            check(files, &run.names, &before, Promise::Kill).unwrap();
            cuts += 1;
        }
    }
    println!("{cuts} cuts through a last record");
    assert!(is_repeated() || cuts > 300, "{cuts}");
}
