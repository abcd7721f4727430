//! Digests and equations come back from files as they were written, and damage is reported.

use super::sorted::SortedFileWriter;
use super::*;
use mayhap::{Digest, DigestFunction, Scratch, SortedDigests};
use std::os::unix::fs::FileExt;
use std::path::Path;

fn digests(keys: impl IntoIterator<Item = u64>) -> Vec<Digest> {
    let function = DigestFunction::xxh3(1);
    keys.into_iter().map(|key| function.digest(&key)).collect()
}

fn read(mut sorted: SortedFile, piece: usize) -> Result<Vec<u64>, Error> {
    let mut all = Vec::new();
    while (all.len() as u64) < sorted.count() {
        let known = all.len();
        SortedDigests::<Error>::read(&mut sorted, &mut all, piece)?;
        assert!((1..=piece).contains(&(all.len() - known)));
    }
    Ok(all)
}

#[test]
fn sorted_digests_are_all_that_were_added_and_once_each() {
    let folder = tempfile::tempdir().unwrap();
    for (items, in_memory) in [(0, 10), (1, 10), (10, 10), (11, 10), (50_000, 3_001), (9, 0)] {
        let mut sorter = DigestSorter::new(folder.path(), in_memory);
        for first in (0..items).step_by(777) {
            // Each number twice, and some once more.
            let keys = (first..(first + 777).min(items)).chain(0..first.min(40));
            let all = digests(keys.flat_map(|key| [key, key]));
            sorter.extend(&all).unwrap();
            assert!(sorter.in_memory() <= in_memory.max(1));
        }
        assert!(sorter.has_runs() || items <= in_memory as u64, "{items}");
        let sorted = sorter.finish().unwrap();
        let mut expected: Vec<u64> = digests(0..items).into_iter().map(Digest::get).collect();
        expected.sort_unstable();
        assert_eq!(sorted.count(), items);
        for limit in [0, 1, 1 << 63, u64::MAX].into_iter().chain(expected.iter().copied().take(5)) {
            let below = expected.iter().filter(|&&digest| digest < limit).count() as u64;
            assert_eq!(sorted.find(limit).unwrap(), below);
        }
        assert!(read(sorted, 1_000).unwrap() == expected, "{items}");
    }
    // Nothing has a name, at any time.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A list that is one line again and again.
#[test]
fn repeats_alone_need_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut sorter = DigestSorter::new(folder.path(), 100);
    for _ in 0..1_000 {
        sorter.extend(&digests(0..49)).unwrap();
    }
    assert!(!sorter.has_runs());
    let mut all = sorter.into_digests();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 49);
}

#[test]
#[should_panic(expected = "digests in order")]
fn digests_out_of_order_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = SortedFileWriter::new(folder.path()).unwrap();
    writer.extend(&[Digest::new(2), Digest::new(2)]).unwrap();
}

/// A sorter of 20,000 digests, most of them in runs.
fn with_runs(folder: &Path) -> DigestSorter {
    let mut sorter = DigestSorter::new(folder, 5_000);
    sorter.extend(&digests(0..20_000)).unwrap();
    sorter
}

/// The error of a watcher.
#[derive(Debug)]
struct Stopped;
impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        panic!("{error}")
    }
}

#[test]
fn merging_is_watched_and_ends_with_an_error_of_the_watcher() {
    let folder = tempfile::tempdir().unwrap();
    let sorter = || with_runs(folder.path());
    let mut seen = vec![0];
    let watched = sorter().finish_watched(|merged| {
        seen.push(merged);
        Ok::<(), Error>(())
    });
    assert_eq!(watched.unwrap().count(), 20_000);
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1] && pair[1] <= pair[0] + 1_024));
    assert_eq!(seen.last(), Some(&20_000));

    let mut calls = 0;
    let ended = sorter().finish_watched(|_| {
        calls += 1;
        if calls == 3 { Err(Stopped) } else { Ok(()) }
    });
    assert!(ended.is_err() && calls == 3);
}

#[test]
fn a_changed_bit_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let sorter = || with_runs(folder.path());
    let flip = |file: &File, at: u64| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 4], at).unwrap();
    };
    for at in [0, 7, 80_000, 159_999] {
        let sorted = sorter().finish().unwrap();
        flip(&sorted.file, at);
        let error = read(sorted, 4_096).unwrap_err().to_string();
        assert!(error.contains("no longer has what was written to it"), "{at}: {error}");
    }
    // Of a run.
    let damaged = sorter();
    flip(damaged.runs_file().unwrap(), 20_000);
    assert!(damaged.finish().unwrap_err().to_string().contains("no longer"));
    // Of what is put away.
    let mut scratch = ScratchFile::new(folder.path()).unwrap();
    let (put, mut taken) = (vec![3u64; 1_000], vec![0u64; 1_000]);
    let call = |result: Result<(), Error>| result.map_err(|error| error.to_string());
    for _ in 0..2 {
        call(scratch.put(&put)).unwrap();
    }
    flip(&scratch.file, 15_000);
    assert!(call(scratch.take(&mut taken)).unwrap_err().contains("no longer"));
    call(scratch.take(&mut taken)).unwrap();
    assert_eq!(taken, put);
    // More than there is.
    assert!(call(scratch.take(&mut taken)).unwrap_err().contains("no longer"));
    call(scratch.put(&put[1..])).unwrap();
    assert!(call(scratch.take(&mut taken)).unwrap_err().contains("no longer"));
}
