//! Pages of mapped files are compared with their checksums before they are read.

use crate::common::{Folder, digest, filter};
use mayhap::native::{HEADER_BYTES, PAGE_BYTES};
use mayhap::{Bitmap, Digest, Layout};
use mayhap_store::{Changed, FileStamp, LiveFilter, open_mapped, open_trusted, save};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Pages of the filters here.
const PAGES: u64 = 40;
const KEYS: u64 = 5_000;
const LAYOUTS: [Layout; 4] =
    [Layout::Standard, Layout::Blocked, Layout::Blocked128, Layout::Blocked64];

/// Saves a filter with the keys below [`KEYS`], and zeroes a page of the file.
fn write(path: &Path, layout: Layout, lost_page: Option<usize>) {
    save(path, &filter(layout, PAGES * 8 * PAGE_BYTES as u64, 0..KEYS), "").unwrap();
    let Some(page) = lost_page else { return };
    let mut bytes = fs::read(path).unwrap();
    bytes[HEADER_BYTES + page * PAGE_BYTES..][..PAGE_BYTES].fill(0);
    fs::write(path, bytes).unwrap();
}

fn digests() -> Vec<Digest> {
    (0..KEYS).map(digest).collect()
}

#[test]
fn a_key_of_a_damaged_page_is_never_answered_absent() {
    let folder = Folder::new();
    let path = &folder.file("a");
    for layout in LAYOUTS {
        for page in [0, 7, 39] {
            write(path, layout, Some(page));
            let expected = Changed::PageDamaged { page: page as u64, num_pages: PAGES };
            let one_by_one = open_mapped(path, None).unwrap();
            for digest in digests() {
                let found = one_by_one.contains_digest(digest);
                assert!(found || one_by_one.changed() == Some(expected), "{layout:?}, {page}");
            }
            assert_eq!(one_by_one.changed_at(1), Some(expected));
            assert_eq!(one_by_one.changed_at(1), Some(expected), "it stays so");
            for at_once in [3, 64, 1_000] {
                let (mapped, mut found) = (open_mapped(path, None).unwrap(), Bitmap::new());
                for digests in digests().chunks(at_once) {
                    mapped.contains_digests_into(digests, &mut found);
                    let all = found.count_ones() == digests.len();
                    assert!(all || mapped.changed() == Some(expected), "{layout:?}, {page}");
                }
                let error = mapped.check().unwrap_err().to_string();
                assert!(
                    error.ends_with(&format!(
                        "page {page} of {PAGES} is damaged (checksum \
                                                  mismatch)"
                    )),
                    "{error}"
                );
            }
            let keys: Vec<u64> = (0..KEYS).collect();
            assert!(open_mapped(path, None).unwrap().contains_batch(&keys).is_err());
            let mapped = open_mapped(path, None).unwrap();
            assert!(mapped.whole().count_ones() > 0 && mapped.changed() == Some(expected));
            // The damage that the check is for.
            let trusted = open_trusted(path, None).unwrap();
            trusted.contains_digests_into(&digests(), &mut Bitmap::new());
            assert!(trusted.contains_batch(&keys).unwrap().count_ones() < keys.len());
        }
    }
}

#[test]
fn pages_that_are_sound_answer_as_the_filter_in_memory_does() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let digests: Vec<Digest> = (0..3 * KEYS).map(digest).collect();
    for layout in LAYOUTS {
        write(path, layout, None);
        let loaded = mayhap_store::load(path, None).unwrap().filter;
        let mut expected = Bitmap::new();
        loaded.contains_digests_into(&digests, &mut expected);
        for at_once in [1, 100, 15_000] {
            let (mapped, mut found) = (open_mapped(path, None).unwrap(), Bitmap::new());
            for (i, chunk) in digests.chunks(at_once).enumerate() {
                mapped.contains_digests_into(chunk, &mut found);
                let first = i * at_once;
                assert!((0..chunk.len()).all(|i| found.get(i) == expected.get(first + i)));
            }
            mapped.check().unwrap();
            assert!(mapped.check_ahead(1), "all pages are known");
        }
        let mapped = open_mapped(path, None).unwrap();
        for _ in 1..PAGES {
            assert!(!mapped.check_ahead(1));
        }
        assert!(mapped.check_ahead(1) && mapped.changed().is_none());
    }
}

#[test]
fn a_damaged_table_of_checksums_is_an_error_of_the_first_query_that_needs_its_entry() {
    let folder = Folder::new();
    let path = &folder.file("a");
    for entry in [0, 17, 39] {
        write(path, Layout::Blocked, None);
        let mut bytes = fs::read(path).unwrap();
        bytes[HEADER_BYTES + PAGES as usize * PAGE_BYTES + entry * 8] ^= 1;
        fs::write(path, bytes).unwrap();
        let mapped = open_mapped(path, None).unwrap();
        mapped.check().unwrap();
        // Pages that have their checksums answer, and none of them wrongly.
        let mut found = Bitmap::new();
        let digests = digests();
        let used = digests.chunks(1).take_while(|digest| {
            mapped.contains_digests_into(digest, &mut found);
            mapped.changed().is_none() && {
                assert!(found.get(0));
                true
            }
        });
        assert!(used.count() < digests.len(), "a key is on each page");
        let error = mapped.check().unwrap_err().to_string();
        assert!(error.contains("checksum table"), "{error}");
        let again = open_mapped(path, None).unwrap();
        assert!(again.check_ahead(PAGES), "all are compared");
        assert!(again.check().unwrap_err().to_string().contains("checksum table"));
    }
}

#[test]
fn threads_that_query_a_damaged_file_at_once_use_no_wrong_answer() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let digests = digests();
    for page in 0..PAGES as usize {
        write(path, Layout::Standard, Some(page));
        let mapped = open_mapped(path, None).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (mapped, digests) = (&mapped, &digests);
                scope.spawn(move || {
                    let mut found = Bitmap::new();
                    for digests in digests[thread * 1_000..].chunks(50) {
                        mapped.contains_digests_into(digests, &mut found);
                        if mapped.changed().is_none() {
                            assert_eq!(found.count_ones(), digests.len());
                        }
                    }
                });
            }
        });
        assert!(mapped.check().is_err());
    }
}

/// The stamp of the file has then changed too, while the header is of the same image.
#[test]
fn a_file_that_is_overwritten_and_marked_for_a_log_between_two_checks_is_an_error() {
    let folder = Folder::new();
    let path = &folder.file("a");
    for overwritten in [false, true] {
        write(path, Layout::Blocked, None);
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        let (mut live, _) = LiveFilter::open(path, None).unwrap();
        let mapped = open_mapped(path, None).unwrap();
        let mut found = Bitmap::new();
        mapped.contains_digests_into(&digests(), &mut found);
        mapped.check().unwrap();
        if overwritten {
            use std::os::unix::fs::FileExt;
            file.write_all_at(&vec![0; 9 * PAGE_BYTES], HEADER_BYTES as u64).unwrap();
        }
        let digest = Digest::new(1);
        live.filter_mut().insert_digest(digest);
        live.record(&[digest]).unwrap();
        assert_ne!(FileStamp::at(path).unwrap(), mapped.stamp());
        let expected = overwritten.then_some(Changed::Overwritten);
        assert_eq!(mapped.changed(), expected);
        drop(live);
        fs::remove_file(mayhap_store::log_path(path).unwrap()).unwrap();
    }
}
