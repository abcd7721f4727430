//! Whole files: their contents, and the refusals.

use crate::common::{Folder, filter, overwrite, same_bits};
use mayhap::native::{self, HEADER_BYTES};
use mayhap::{AnyFilter, DigestFunction, Layout, SecretKey};
use mayhap_store::{Error, Snapshot, load, open_mapped, read_header, save, verify};
use rustix::process::Uid;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::thread;

/// A user without rights of its own.
const NOBODY: u32 = 65534;

/// Filters whose files have one page, a part of a page, several pages, and more than one chunk.
fn small_filters() -> Vec<AnyFilter> {
    vec![
        filter(Layout::Standard, 64, 0..3),
        filter(Layout::Standard, 1001, 0..40),
        filter(Layout::Blocked, 4096 * 8, 0..100),
        filter(Layout::Blocked, 3 * 4096 * 8 + 512, 0..200),
        filter(Layout::Standard, 9 * 4096 * 8 + 77, 0..300),
        filter(Layout::Blocked, (256 << 10) * 8 * 2 + 4096 * 8 + 512, 0..2000),
    ]
}

#[test]
fn a_saved_file_is_the_encoded_filter_and_loads_as_it_was() {
    let folder = Folder::new();
    let path = &folder.file("a");
    for filter in small_filters() {
        save(path, &filter, "trim=1\n").unwrap();
        assert_eq!(fs::read(path).unwrap(), native::encode(&filter, "trim=1\n"));
        let mut reports = Vec::new();
        let snapshot = Snapshot::open(path).unwrap();
        let read: AnyFilter =
            snapshot.image().load(None, |done, all| reports.push((done, all))).unwrap();
        assert!(same_bits(&read, &filter));
        let loaded = load(path, None).unwrap();
        assert!(same_bits(&loaded.filter, &filter));
        assert_eq!(loaded.filter.inserted_items(), filter.inserted_items());
        assert_eq!(loaded.filter.params(), filter.params());
        assert_eq!(loaded.header.key_options(), "trim=1\n");
        let all = loaded.header.body_bytes();
        assert_eq!(reports.last(), Some(&(all, all)));
        assert!(reports.is_sorted() && reports.iter().all(|report| report.1 == all));
        assert_eq!(verify(path).unwrap(), loaded.header);
        assert_eq!(read_header(path).unwrap(), loaded.header);
        let mapped = open_mapped(path, None).unwrap();
        assert_eq!(mapped.whole().blocks(), filter.blocks());
        assert_eq!(mapped.header(), &loaded.header);
        mapped.verify().unwrap();
        assert_eq!(folder.names(), ["a"]);
    }
}

#[test]
fn a_file_cut_at_any_byte_is_refused_by_every_way_to_open_it() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let whole = native::encode(&filter(Layout::Standard, 4096 * 8 + 9, 0..50), "");
    fs::write(path, &whole).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    for bytes in (0..whole.len()).rev() {
        file.set_len(bytes as u64).unwrap();
        for error in [
            load(path, None).unwrap_err(),
            open_mapped(path, None).unwrap_err(),
            verify(path).unwrap_err(),
            read_header(path).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains(path.to_str().unwrap()), "{text}");
            match bytes {
                0 => assert!(text.ends_with("looks like an empty file, not a mayhap filter")),
                1..HEADER_BYTES => assert!(text.contains("header is truncated"), "{text}"),
                _ => assert!(text.contains("file is truncated"), "{bytes}: {text}"),
            }
        }
    }
    for extra in [1, 7, 8, 4096] {
        fs::write(path, [&whole[..], &vec![0; extra]].concat()).unwrap();
        let text = load(path, None).unwrap_err().to_string();
        assert!(text.contains("file is too long"), "{text}");
        assert!(open_mapped(path, None).is_err() && verify(path).is_err());
    }
    fs::write(path, &whole).unwrap();
    load(path, None).unwrap();
}

#[test]
fn a_flip_of_any_byte_is_refused_when_loading_and_named_when_verifying_a_map() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let whole = native::encode(&filter(Layout::Standard, 2 * 4096 * 8 + 9, 0..50), "lower=1\n");
    fs::write(path, &whole).unwrap();
    for at in 0..whole.len() {
        overwrite(path, at.saturating_sub(1), &whole[at.saturating_sub(1)..=at]);
        // Every bit of the header, one of each byte of the rest, a different one from byte to byte.
        let bits = if at < HEADER_BYTES { 0..8 } else { at as u32 % 8..at as u32 % 8 + 1 };
        for bit in bits {
            overwrite(path, at, &[whole[at] ^ 1 << bit]);
            let load_error = load(path, None).unwrap_err();
            let found = verify(path).unwrap_err().to_string();
            assert_eq!(load_error.to_string(), found);
            if at < HEADER_BYTES {
                assert_eq!(open_mapped(path, None).unwrap_err().to_string(), found);
                continue;
            }
            let mapped_error = match open_mapped(path, None) {
                Ok(mapped) => {
                    let _ = mapped.whole();
                    assert_eq!(mapped.check().unwrap_err().to_string(), found);
                    mapped.verify().unwrap_err()
                }
                // A bit past the end of the filter is seen at once.
                Err(error) => {
                    assert!(error.to_string().contains("bits past num_bits"));
                    continue;
                }
            };
            assert_eq!(mapped_error.to_string(), found);
            let Error::Format { source, .. } = load_error else { panic!("{found}") };
            let page = (at - HEADER_BYTES) / 4096;
            if page < 3 {
                let (page, num_pages) = (page as u64, 3);
                let damaged_pages = 1;
                let expected = mayhap::Error::PageDamaged { page, damaged_pages, num_pages };
                assert_eq!(source, expected);
            } else {
                assert!(found.contains("checksum table"), "{found}");
            }
        }
    }
}

#[test]
fn foreign_files_are_called_by_their_name() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let cases: [(&[u8], &str); 11] = [
        (b"", "looks like an empty file"),
        (b"\x1F\x8B\x08\0\0\0\0\0", "looks like gzip data"),
        (b"\x28\xB5\x2F\xFD\0\0", "looks like zstd data"),
        (b"PAR1\x15\0\x15", "looks like a Parquet file"),
        (b"\xAC\xED\0\x05sr\0\x10", "looks like a Java object stream"),
        (b"PK\x03\x04\x14\0", "looks like a zip archive"),
        (b"SQLite format 3\0", "looks like an SQLite database"),
        (b"https://example.org/\n", "looks like text"),
        (b"\x89mayhap\r\n\x01\0", "line ends a text-mode copy changed"),
        (b"\x01\0\0\0\0\0\0\0\x02\x03", "not a mayhap filter (wrong magic bytes)"),
        (b"\x89mhplog\n\x01\0", "looks like the log of a mayhap filter"),
    ];
    for (bytes, expected) in cases {
        for padding in [0, 5000] {
            let padding = if bytes.is_empty() { 0 } else { padding };
            let fill = if bytes.starts_with(b"https") { b'x' } else { 0 };
            fs::write(path, [bytes, &vec![fill; padding]].concat()).unwrap();
            for error in [load(path, None).unwrap_err(), open_mapped(path, None).unwrap_err()] {
                assert!(error.to_string().contains(expected), "{error}");
            }
        }
    }
}

#[test]
fn a_newer_version_is_named_even_if_its_header_is_unlike_ours() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut bytes = native::encode(&filter(Layout::Blocked, 512, 0..1), "");
    bytes[8] = 6;
    fs::write(path, &bytes).unwrap();
    let text = load(path, None).unwrap_err().to_string();
    assert!(text.contains("format version is 6, this program reads up to 5"), "{text}");
}

#[test]
fn keyed_filters_require_their_key() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let (key, other) = (SecretKey::new([7; 16]), SecretKey::new([8; 16]));
    let mut filter = AnyFilter::builder()
        .expected_items(100)
        .target_fpp(1e-6)
        .digest_function(DigestFunction::sip13(key))
        .build()
        .unwrap();
    filter.insert("secret");
    save(path, &filter, "").unwrap();
    assert!(load(path, Some(key)).unwrap().filter.contains("secret"));
    assert!(open_mapped(path, Some(key)).unwrap().contains("secret").unwrap());
    for wrong in [None, Some(other)] {
        let id = format!("{:016x}", key.id());
        assert!(load(path, wrong).unwrap_err().to_string().contains(&id));
        assert!(open_mapped(path, wrong).unwrap_err().to_string().contains(&id));
    }
    verify(path).unwrap(); // needs none
}

#[test]
fn key_options_that_do_not_fit_are_an_error() {
    let folder = Folder::new();
    let filter = filter(Layout::Blocked, 512, 0..1);
    save(&folder.file("a"), &filter, &"x".repeat(2048)).unwrap();
    let text = save(&folder.file("b"), &filter, &"x".repeat(2049)).unwrap_err().to_string();
    assert!(text.contains("2049, above the limit of 2048"), "{text}");
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let folder = Folder::new();
    let filter = filter(Layout::Blocked, 512, 0..1);
    let missing = &folder.file("missing");
    assert!(load(missing, None).unwrap_err().to_string().contains("cannot open"));
    let dir = &folder.file("dir");
    fs::create_dir(dir).unwrap();
    let mut cases = vec![(dir.clone(), "is a folder")];
    if cfg!(unix) {
        cases.push(("/dev/null".into(), "is a device"));
        let pipe = folder.file("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|status| status.success()) {
            cases.push((pipe, "is a pipe"));
        } else {
            test_servers::tool(false, "mkfifo (coreutils)");
        }
    }
    for (path, expected) in cases {
        for error in [
            load(&path, None).unwrap_err(),
            open_mapped(&path, None).unwrap_err(),
            verify(&path).unwrap_err(),
            save(&path, &filter, "").unwrap_err(),
        ] {
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
    assert!(save(std::path::Path::new(".."), &filter, "").is_err());
    assert!(save(std::path::Path::new(""), &filter, "").is_err());
}

/// Root may read every file, so a thread that reads as root drops that right first.
#[test]
fn a_file_that_may_not_be_read_says_so() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &filter(Layout::Blocked, 512, 0..1), "").unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
    let reader = || {
        if rustix::process::geteuid().is_root() {
            // Only for this thread, unlike the C library's `setuid`.
            rustix::thread::set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
        }
        load(path, None).unwrap_err().to_string()
    };
    let text = thread::scope(|scope| scope.spawn(reader).join().unwrap());
    assert!(text.contains("ermission denied"), "{text}");
}
