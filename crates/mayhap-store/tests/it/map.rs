//! Maps: opened without reading, and what happens when the file changes (T12).

use crate::common::{Folder, child, child_role, filter};
use mayhap::{Digest, Layout};
use mayhap_store::{load, open_mapped, save};
use std::fs::{self, File};
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
        assert!(!mapped.filter().contains("key"));
        assert_eq!(mapped.filter().params().num_bits(), num_bits);
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
                mapped.filter().contains_digests_into(&digests, &mut found);
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
    assert_eq!(mapped.filter().blocks(), first.blocks());
}

#[test]
fn a_read_only_file_can_be_mapped_and_loaded() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &filter(Layout::Blocked, 1 << 15, 0..9), "").unwrap();
    let mut permissions = fs::metadata(path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path, permissions).unwrap();
    assert!(open_mapped(path, None).unwrap().filter().contains(&3u64));
    assert!(load(path, None).unwrap().filter.contains(&3u64));
}

/// Two MiB of filter, all keys in the part that is going to be cut off too.
fn large() -> mayhap::AnyFilter {
    filter(Layout::Blocked, 1 << 24, 0..20_000)
}

#[cfg(target_os = "linux")]
#[test]
fn truncation_under_a_map_kills_the_process_and_gives_no_wrong_answer() {
    const SIGBUS: i32 = 7;
    if let Some((role, path)) = child_role() {
        let mapped = open_mapped(&path, None).unwrap();
        let kept: u64 = role.parse().unwrap();
        File::options().write(true).open(&path).unwrap().set_len(kept).unwrap();
        // Exit 3 is a wrong answer; a signal, from here on, is the documented end.
        let all = (0..20_000u64).all(|key| mapped.filter().contains(&key));
        std::process::exit(if all { 0 } else { 3 });
    }
    let folder = Folder::new();
    let path = &folder.file("a");
    let test = "map::truncation_under_a_map_kills_the_process_and_gives_no_wrong_answer";
    let mut deaths = 0;
    for kept in [0, 4096, 1 << 20, (1 << 21) + 4096] {
        save(path, &large(), "").unwrap();
        let status = child(&[], test, &kept.to_string(), path).status().unwrap();
        match std::os::unix::process::ExitStatusExt::signal(&status) {
            Some(signal) => {
                assert_eq!(signal, SIGBUS);
                deaths += 1;
            }
            None => assert_eq!(status.code(), Some(0), "kept {kept}"),
        }
    }
    // Cutting off only the table loses no page of the body.
    assert_eq!(deaths, 3);
}

#[test]
fn a_file_cut_while_it_is_mapped_fails_verification_with_an_error() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &large(), "").unwrap();
    let mapped = open_mapped(path, None).unwrap();
    File::options().write(true).open(path).unwrap().set_len(1 << 20).unwrap();
    let text = mapped.verify().unwrap_err().to_string();
    assert!(text.contains("it became shorter meanwhile"), "{text}");
}
