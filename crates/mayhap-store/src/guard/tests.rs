//! Faults in our ranges and elsewhere. A page that fails without any change of its file is one that
//! is mapped from the empty end of another file: the kernel raises the same signal.

use super::*;
use crate::{Changed, MappedFilter, open_mapped, save};
use mayhap::AnyFilter;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

const PAGE: usize = 4096;

/// A filter of some pages in a file, mapped.
fn mapped() -> (tempfile::TempDir, MappedFilter) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let builder = AnyFilter::builder().expected_items(100_000).target_fpp(0.001);
    let mut filter = builder.build().unwrap();
    (0..1000u64).for_each(|key| assert!(filter.insert(&key) || key > 0));
    save(&path, &filter, "").unwrap();
    let mapped = open_mapped(&path, None).unwrap();
    (folder, mapped)
}

/// Maps only pages that cannot be read.
fn bad_pages(at: Option<usize>, bytes: usize) -> usize {
    let empty: File = tempfile::tempfile().unwrap();
    let fixed = at.map_or(0, |_| libc::MAP_FIXED);
    let (at, flags) = (at.unwrap_or(0) as *mut _, libc::MAP_SHARED | fixed);
    // SAFETY: without an address a new map; with one, a map replacing pages of a map of this test,
    // which are only read as numbers.
    let map = unsafe { libc::mmap(at, bytes, libc::PROT_READ, flags, empty.as_raw_fd(), 0) };
    assert_ne!(map, libc::MAP_FAILED);
    map as usize
}

#[test]
fn a_page_that_the_disk_fails_to_read_is_an_error_of_that_filter_alone() {
    let ((_a, failing), (_b, sound)) = (mapped(), mapped());
    let blocks = failing.whole().blocks();
    let (start, bytes) = (blocks.as_ptr() as usize, size_of_val(blocks));
    assert_eq!((failing.changed(), sound.changed()), (None, None));
    for page in [0, bytes / PAGE / 2, bytes / PAGE - 1] {
        bad_pages(Some(start + page * PAGE), PAGE);
    }
    assert_eq!(failing.changed(), None, "nothing of it was read");
    assert!(
        (0..1000u64)
            .filter(|key| failing.contains_digest(failing.digest_function().digest(key)))
            .count()
            < 1000
    );
    assert_eq!(failing.changed(), Some(Changed::Unreadable));
    let error = failing.check().unwrap_err().to_string();
    assert!(error.contains("a part of it could not be read from the disk"), "{error}");
    assert!((0..1000u64).all(|key| sound.contains(&key).unwrap()));
    sound.check().unwrap();
}

#[test]
fn entries_are_used_again_and_a_range_that_was_given_back_is_guarded_no_more() {
    let slot = free_slot();
    assert!(slot.take(0x1000, 0x3000) && !slot.take(0x5000, 0x6000));
    assert_eq!(
        [0xFFF, 0x1000, 0x2FFF, 0x3000].map(|at| slot.range_of(at).is_some()),
        [false, true, true, false]
    );
    slot.lost.store(true, Ordering::Relaxed);
    slot.free();
    assert_eq!(slot.range_of(0x1000), None);
    assert!(slot.take(0x8000, 0x9000) && !slot.lost.load(Ordering::Relaxed));
    assert_eq!((slot.range_of(0x1000), slot.range_of(0x8000)), (None, Some((0x8000, 0x9000))));
    // No address is in it while there is no range.
    slot.free();
    assert_eq!(slot.range_of(0), None);
}

extern "C" fn exit_42(_: libc::c_int) {
    // SAFETY: ends the process at once, as a handler may.
    unsafe { libc::_exit(42) };
}

extern "C" fn exit_43(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: as above; the kernel's `siginfo_t`.
    unsafe { libc::_exit(if (*info).si_addr().is_null() { 1 } else { 43 }) };
}

/// Installs a handler in a child process, before there is a map.
fn install_own(how: &str) {
    // SAFETY: plain data, and functions that live forever.
    unsafe {
        let mut own: libc::sigaction = MaybeUninit::zeroed().assume_init();
        match how {
            "handler" => own.sa_sigaction = exit_42 as extern "C" fn(libc::c_int) as usize,
            "siginfo" => {
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    exit_43;
                (own.sa_sigaction, own.sa_flags) = (handler as usize, libc::SA_SIGINFO);
            }
            "ignored" => own.sa_sigaction = libc::SIG_IGN,
            _ => return,
        }
        assert_eq!(libc::sigaction(libc::SIGBUS, &raw const own, ptr::null_mut()), 0);
    }
}

/// Faults outside our maps behave as without our handler: each in a process of its own.
#[test]
fn faults_elsewhere_go_to_the_handler_before_ours_or_end_the_process() {
    const ROLE: &str = "MAYHAP_GUARD_TEST";
    if let Ok(how) = std::env::var(ROLE) {
        install_own(&how);
        let (_folder, mapped) = mapped();
        if how == "ignored" {
            // SAFETY: sends this process a signal that it ignores.
            unsafe { libc::raise(libc::SIGBUS) };
        }
        mapped.check().unwrap();
        let elsewhere = bad_pages(None, PAGE) as *const u8;
        // SAFETY: mapped for reading; the test is about the missing page.
        let byte = unsafe { elsewhere.read_volatile() };
        std::process::exit(i32::from(byte));
    }
    let test = "guard::tests::faults_elsewhere_go_to_the_handler_before_ours_or_end_the_process";
    for (how, code, signal) in [
        ("default", None, Some(libc::SIGBUS)),
        ("handler", Some(42), None),
        ("siginfo", Some(43), None),
        ("ignored", None, Some(libc::SIGBUS)),
    ] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let status = child.args(["--exact", test]).env(ROLE, how).output().unwrap().status;
        assert_eq!((status.code(), status.signal()), (code, signal), "{how}");
    }
}
