//! Short files: read wherever a file is, and replaced where one is changed.

use crate::common::{Folder, digest, filter, load_live, overwrite, same_bits};
use mayhap::{AnyFilter, CountingBloomFilter, DigestFunction, Layout, SecretKey, native};
use mayhap_store::{
    Error, FilterLock, LiveFilter, LockOptions, MergeOptions, Snapshot, load, open_mapped,
    open_trusted, read_header, save, save_short, verify,
};
use std::fs;
use std::path::Path;

const LAYOUTS: [Layout; 4] =
    [Layout::Standard, Layout::Blocked, Layout::Blocked128, Layout::Blocked64];

/// A short file with these keys at a path, and its filter.
fn short(path: &Path, layout: Layout, num_bits: u64, keys: std::ops::Range<u64>) -> AnyFilter {
    let filter = filter(layout, num_bits, keys);
    save_short(path, &filter, "trim=1\n", true).unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), 72 + 7 + num_bits.div_ceil(8));
    filter
}

fn is_short(path: &Path) -> bool {
    Snapshot::open(path).unwrap().image().is_short()
}

#[test]
fn a_short_file_is_read_wherever_a_file_is() {
    let folder = Folder::new();
    let path = &folder.file("a");
    for layout in LAYOUTS {
        let filter = short(path, layout, 1024, 0..60);
        let loaded = load(path, None).unwrap();
        assert!(same_bits(&loaded.filter, &filter));
        assert_eq!(loaded.header, native::Header::of(&filter, "trim=1\n").sealed(&filter));
        assert_eq!(read_header(path).unwrap(), loaded.header);
        assert_eq!(verify(path).unwrap(), loaded.header);
        assert!(same_bits(&load_live(path, None).unwrap().0.filter, &filter));
        let snapshot = Snapshot::open(path).unwrap();
        assert_eq!(snapshot.image().blocks(1..2).unwrap(), filter.blocks()[1..2]);
        for open in [open_mapped, open_trusted] {
            let mapped = open(path, None).unwrap();
            assert_eq!(mapped.whole().blocks(), filter.blocks());
            assert!((0..60u64).all(|key| mapped.contains(&key).unwrap()));
            mapped.verify().unwrap();
            mapped.check().unwrap();
        }
    }
    let key = SecretKey::new([3; 16]);
    let builder = AnyFilter::builder().expected_items(50).target_fpp(0.01);
    let mut keyed = builder.digest_function(DigestFunction::sip13(key)).build().unwrap();
    keyed.insert("one");
    save_short(path, &keyed, "", true).unwrap();
    assert!(load(path, Some(key)).unwrap().filter.contains("one"));
    assert!(open_mapped(path, Some(key)).unwrap().contains("one").unwrap());
    assert!(load(path, None).is_err() && open_mapped(path, None).is_err());
    verify(path).unwrap();
}

/// The header of a file, which has the checksum of its body.
trait Sealed {
    fn sealed(&self, filter: &AnyFilter) -> Self;
}

impl Sealed for native::Header {
    fn sealed(&self, filter: &AnyFilter) -> Self {
        Self::decode(&native::encode(filter, self.key_options())).unwrap()
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused_by_every_reader() {
    let folder = Folder::new();
    let path = &folder.file("a");
    short(path, Layout::Standard, 600, 0..60);
    let sound = fs::read(path).unwrap();
    let refuse = |bytes: &[u8], what: &str| {
        fs::write(path, bytes).unwrap();
        for error in [
            load(path, None).map(drop).unwrap_err(),
            open_mapped(path, None).map(drop).unwrap_err(),
            open_trusted(path, None).map(drop).unwrap_err(),
            read_header(path).map(drop).unwrap_err(),
            verify(path).map(drop).unwrap_err(),
            LiveFilter::<AnyFilter>::open(path, None).map(drop).unwrap_err(),
        ] {
            let is_named = matches!(error, Error::Format { .. } | Error::Foreign { .. });
            assert!(is_named, "{what}: {error}");
        }
        assert_eq!(fs::read(path).unwrap(), bytes, "{what}");
    };
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        refuse(&bytes, &format!("bit {bit}"));
    }
    for length in 0..sound.len() {
        refuse(&sound[..length], &format!("{length} bytes"));
    }
    for more in [1, 8, 4096, 9000] {
        let mut bytes = sound.clone();
        bytes.resize(sound.len() + more, 0);
        refuse(&bytes, &format!("{more} bytes more"));
    }
}

#[test]
fn what_a_map_answers_is_the_file_as_it_was_opened() {
    let folder = Folder::new();
    let path = &folder.file("a");
    short(path, Layout::Blocked, 1024, 0..60);
    let mapped = open_mapped(path, None).unwrap();
    short(path, Layout::Blocked, 1024, 100..160);
    assert!(mapped.contains(&5u64).unwrap(), "the replaced file");
    let mapped = open_mapped(path, None).unwrap();
    let other = native::encode_short(&filter(Layout::Blocked, 1024, 0..9), "trim=1\n").unwrap();
    overwrite(path, 0, &other);
    assert!(mapped.contains(&105u64).is_err(), "overwritten in place");
    let mapped = open_mapped(path, None).unwrap();
    fs::write(path, "").unwrap();
    assert!(mapped.contains(&5u64).is_err() && mapped.verify().is_err(), "cut short");
}

#[test]
fn short_files_are_merged_with_each_other_and_with_pages() {
    let folder = Folder::new();
    let [a, b, all] = ["a", "b", "all"].map(|name| folder.file(name));
    for layout in LAYOUTS {
        short(&a, layout, 1024, 0..30);
        let other = filter(layout, 1024, 20..60);
        for pages in [false, true] {
            if pages {
                save(&b, &other, "trim=1\n").unwrap();
            } else {
                short(&b, layout, 1024, 20..60);
            }
            let lock = FilterLock::take(&all, &mut LockOptions::new("test")).unwrap();
            let options = MergeOptions { secret_key: None, replace: true, without_log: false };
            lock.merge(&[a.clone(), b.clone()], options, |_, _| {}, |_| true).unwrap();
            drop(lock);
            let expected = filter(layout, 1024, 0..60);
            assert!(same_bits(&load(&all, None).unwrap().filter, &expected), "{layout}");
        }
    }
}

#[test]
fn a_changed_short_file_is_replaced_and_stays_short_unless_it_has_a_log() {
    let folder = Folder::new();
    let path = &folder.file("a");
    short(path, Layout::Standard, 2000, 0..30);
    let insert = |live: &mut LiveFilter, keys: std::ops::Range<u64>, records: bool| {
        let digests: Vec<_> = keys.map(digest).collect();
        for &digest in &digests {
            live.filter_mut().insert_digest(digest);
        }
        if records {
            live.record(&digests).unwrap();
        }
    };
    let mapped = open_mapped(path, None).unwrap();
    let (mut live, _) = LiveFilter::<AnyFilter>::open(path, None).unwrap();
    insert(&mut live, 30..50, true);
    // A log needs the mark in the header of a file with pages.
    assert!(!is_short(path));
    insert(&mut live, 50..60, true);
    drop(live);
    let (loaded, recovery) = load_live(path, None).unwrap();
    assert!(recovery.replayed_digests >= 10);
    assert!(same_bits(&loaded.filter, &filter(Layout::Standard, 2000, 0..60)));
    assert_eq!(loaded.header.key_options(), "trim=1\n");
    assert!(mapped.contains(&29u64).unwrap() && mapped.check().is_ok());
}

#[test]
fn what_has_no_short_form_is_refused_and_the_path_is_unchanged() {
    let folder = Folder::new();
    let path = &folder.file("a");
    fs::write(path, "what was there").unwrap();
    let large = filter(Layout::Blocked, 512 * 63, 0..10);
    let error = save_short(path, &large, "", true).unwrap_err().to_string();
    assert!(error.ends_with("a: short file bytes is 4104, above the limit of 4095"), "{error}");
    let counting = CountingBloomFilter::builder().expected_items(10).target_fpp(0.01);
    let error = save_short(path, &counting.build().unwrap(), "", true).unwrap_err().to_string();
    assert!(error.contains("a counting filter has no operation"), "{error}");
    let small = filter(Layout::Blocked, 512, 0..10);
    assert!(matches!(save_short(path, &small, "", false), Err(Error::Exists { .. })));
    assert_eq!(fs::read(path).unwrap(), b"what was there");
    assert_eq!(folder.names(), ["a"]);
}
