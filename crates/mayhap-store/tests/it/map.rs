//! Maps: opened without reading, and the effects of a change of the file.

use crate::common::{Folder, filter};
use mayhap::{Digest, Layout};
use mayhap_store::{Changed, FileStamp, LiveFilter, MappedFilter, load, open_mapped, save};
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A number of `/proc/thread-self/io`.
#[cfg(target_os = "linux")]
fn bytes_read_by_this_thread() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn opening_a_map_reads_as_little_of_a_terabyte_as_of_a_megabyte() {
    let folder = Folder::new();
    let read_to_open = |name: &str, num_bits: u64| {
        let path = &folder.file(name);
        if let Err(error) = crate::headers::sparse_file(path, num_bits) {
            let why = format!("a sparse file of {num_bits} bits cannot be made here: {error}");
            test_servers::skipped(&why);
            return None;
        }
        let before = bytes_read_by_this_thread();
        let mapped = open_mapped(path, None).unwrap();
        let after = bytes_read_by_this_thread();
        assert_eq!(mapped.params().num_bits(), num_bits);
        Some(after - before)
    };
    let small = read_to_open("small", 1 << 23).unwrap();
    // The header, and the text of the counter itself.
    assert!((4096..8192).contains(&small), "{small}");
    for (name, num_bits) in [("gigabyte", 1 << 33), ("terabyte", 1 << 43)] {
        if let Some(large) = read_to_open(name, num_bits) {
            assert!(large.abs_diff(small) < 64, "{large} against {small}");
        }
    }
}

#[test]
fn four_readers_of_a_map_see_the_old_file_while_it_is_replaced() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let first = filter(Layout::Blocked, 1 << 20, 0..3000);
    let second = filter(Layout::Blocked, 1 << 20, 5000..8000);
    let digests: Vec<Digest> = (0..8000).map(crate::common::digest).collect();
    let expected: Vec<bool> = digests.iter().map(|&d| first.contains_digest(d)).collect();
    save(path, &first, "").unwrap();
    let mapped = open_mapped(path, None).unwrap();
    let done = AtomicBool::new(false);
    let checks: u64 = std::thread::scope(|scope| {
        let read = || {
            let mut checks = 0;
            loop {
                let last = done.load(Ordering::Acquire);
                let mut found = mayhap::Bitmap::new();
                mapped.contains_digests_into(&digests, &mut found);
                assert!(found.iter().eq(expected.iter().copied()));
                checks += 1;
                if last {
                    return checks;
                }
            }
        };
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
        for _ in 0..25 {
            save(path, &second, "").unwrap();
            save(path, &first, "").unwrap();
        }
        save(path, &second, "").unwrap();
        done.store(true, Ordering::Release);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert!(checks >= 4);
    mapped.verify().unwrap();
    fs::remove_file(path).unwrap();
    mapped.verify().unwrap();
    assert_eq!(mapped.whole().blocks(), first.blocks());
}

#[test]
fn a_read_only_file_can_be_mapped_and_loaded() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &filter(Layout::Blocked, 1 << 15, 0..9), "").unwrap();
    let mut permissions = fs::metadata(path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path, permissions).unwrap();
    assert!(open_mapped(path, None).unwrap().contains(&3u64).unwrap());
    assert!(load(path, None).unwrap().filter.contains(&3u64));
}

/// Two MiB of filter, all keys in the part that is going to be cut off too.
fn large() -> mayhap::AnyFilter {
    filter(Layout::Blocked, 1 << 24, 0..20_000)
}

/// Queries the keys in batches, each followed by a check: `Err` with the first change, else the
/// number of keys found.
fn ask(mapped: &MappedFilter) -> Result<usize, Changed> {
    let digests: Vec<Digest> = (0..20_000).map(crate::common::digest).collect();
    let (mut found, mut there) = (mayhap::Bitmap::new(), 0);
    for digests in digests.chunks(500) {
        mapped.contains_digests_into(digests, &mut found);
        mapped.changed().map_or(Ok(()), Err)?;
        there += found.count_ones();
    }
    Ok(there)
}

fn cut(path: &Path, bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_file_that_is_cut_short_while_it_is_mapped_is_an_error_and_gives_no_wrong_answer() {
    let folder = Folder::new();
    let path = &folder.file("a");
    for kept in [0, 1, 4096, 4097, 1 << 20, (1 << 21) + 4096] {
        save(path, &large(), "").unwrap();
        let mapped = open_mapped(path, None).unwrap();
        assert_eq!(ask(&mapped), Ok(20_000));
        mapped.check().unwrap();
        cut(path, kept);
        // Cutting off only the table loses no page of the body, but is a change.
        assert_eq!(ask(&mapped), Err(Changed::Shortened), "{kept}");
        let error = mapped.check().unwrap_err().to_string();
        assert!(error.contains("it was cut short while it was in use"), "{error}");
        assert!(error.starts_with(&path.display().to_string()), "{error}");
        // All of it is read, and once more, which no fault ends.
        assert!(mapped.whole().fill_ratio() <= 1.0 && mapped.whole().fill_ratio() <= 1.0);
        assert_eq!(mapped.changed_at(1), Some(Changed::Shortened));
        // Whole again, but lost pages stay lost.
        if kept <= 4096 {
            cut(path, 1 << 22);
            assert!(mapped.check().is_err());
        }
        drop(mapped);
        save(path, &large(), "").unwrap();
        assert_eq!(ask(&open_mapped(path, None).unwrap()), Ok(20_000));
    }
}

#[test]
fn a_file_that_is_overwritten_in_place_while_it_is_mapped_is_an_error() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &large(), "").unwrap();
    let mapped = open_mapped(path, None).unwrap();
    assert_eq!((ask(&mapped), mapped.changed_at(5)), (Ok(20_000), None));
    // Like `cp`, with a filter of the same size and other keys: short for a moment.
    let other = folder.file("b");
    save(&other, &filter(Layout::Blocked, 1 << 24, 50_000..60_000), "").unwrap();
    let bytes = fs::read(&other).unwrap();
    // Until the time differs from that of the file, however coarse its clock is.
    let later = FileStamp::at(path).unwrap();
    while FileStamp::at(path).unwrap() == later {
        fs::write(path, &bytes).unwrap();
    }
    assert_eq!(ask(&mapped), Err(Changed::Overwritten));
    assert_eq!(mapped.changed_at(5), None, "looked at in this moment already");
    assert_eq!(mapped.changed_at(6), Some(Changed::Overwritten));
    assert_eq!(mapped.changed_at(6), Some(Changed::Overwritten));
    let anew = open_mapped(path, None).unwrap();
    anew.verify().unwrap();
    assert!(anew.contains_digest(crate::common::digest(50_000)));
    anew.check().unwrap();
}

#[test]
fn a_file_that_is_marked_for_a_log_while_it_is_mapped_keeps_its_filter() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &large(), "").unwrap();
    // Long ago, so that the mark is at another time however coarse the clock of files is.
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1)).unwrap();
    let mapped = open_mapped(path, None).unwrap();
    let before = mapped.stamp();
    let (mut live, _) = LiveFilter::open(path, None).unwrap();
    let digest = Digest::new(1);
    live.filter_mut().insert_digest(digest);
    live.record(&[digest]).unwrap();
    assert_ne!(mapped.header().identity(), mayhap_store::read_header(path).unwrap().identity());
    assert_eq!(ask(&mapped), Ok(20_000));
    mapped.check().unwrap();
    assert_ne!(mapped.stamp(), before);
    drop(live);
    // Any other write is a change, marked or not.
    let bytes = fs::read(path).unwrap();
    let marked = mapped.stamp();
    while FileStamp::at(path).unwrap() == marked {
        fs::write(path, &bytes).unwrap();
    }
    assert_eq!(mapped.changed(), Some(Changed::Overwritten));
}

#[test]
fn a_file_that_is_renamed_linked_or_removed_is_still_the_one_that_was_mapped() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &large(), "").unwrap();
    let mapped = open_mapped(path, None).unwrap();
    let moved = &folder.file("moved");
    fs::rename(path, moved).unwrap();
    fs::hard_link(moved, path).unwrap();
    let mut permissions = fs::metadata(path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path, permissions).unwrap();
    mapped.check().unwrap();
    fs::remove_file(moved).unwrap();
    fs::remove_file(path).unwrap();
    assert_eq!(ask(&mapped), Ok(20_000));
}

/// Threads that read while the file is cut: their answers are right, or are reported as unreliable.
#[test]
fn threads_that_read_a_file_that_is_cut_use_no_wrong_answer() {
    let folder = Folder::new();
    for round in 0..20 {
        let path = &folder.file(&format!("{round}"));
        save(path, &large(), "").unwrap();
        let mapped = open_mapped(path, None).unwrap();
        std::thread::scope(|scope| {
            let read = || loop {
                match ask(&mapped) {
                    Ok(there) => assert_eq!(there, 20_000),
                    Err(changed) => return changed,
                }
            };
            let readers: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
            cut(path, 4096 * round);
            for reader in readers {
                assert_eq!(reader.join().unwrap(), Changed::Shortened);
            }
        });
    }
}

/// More maps than the table has room for at first, some of them released.
#[test]
fn many_maps_are_guarded_at_once() {
    let folder = Folder::new();
    let paths: Vec<_> = (0..300).map(|i| folder.file(&format!("{i}"))).collect();
    let mut maps = Vec::new();
    for (i, path) in paths.iter().enumerate() {
        save(path, &filter(Layout::Blocked, 1 << 16, 0..9), "").unwrap();
        maps.push(open_mapped(path, None).unwrap());
        if i % 3 == 0 {
            maps.remove(i / 2);
            maps.push(open_mapped(path, None).unwrap());
        }
    }
    for path in &paths {
        cut(path, 0);
    }
    for mapped in maps {
        assert!(!mapped.contains_digest(crate::common::digest(1)));
        assert_eq!(mapped.changed(), Some(Changed::Shortened));
    }
}

#[test]
fn a_file_cut_while_it_is_mapped_fails_verification_with_an_error() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &large(), "").unwrap();
    let mapped = open_mapped(path, None).unwrap();
    cut(path, 1 << 20);
    let text = mapped.verify().unwrap_err().to_string();
    assert!(text.contains("it became shorter meanwhile"), "{text}");
}
