//! Segments of one filter, and the file of the whole.

use crate::common::{Folder, child, child_role};
use crate::faults::{LIMITED, have_strace, strike};
use mayhap::native::{self, HEADER_BYTES, Kind, PAGE_BYTES};
use mayhap::{
    AnyFilter, DigestFunction, FilterParams, Layout, SecretKey, Segment, Segments, sizing,
};
use mayhap_store::{
    Assembled, Error, FilterLock, LockOptions, MergeOptions, load, load_as, save, verify,
};
use std::fs;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const OPTIONS: &str = "trim=yes\n";

fn params() -> FilterParams {
    sizing::for_items(Layout::Blocked, 30_000, 0.01).unwrap()
}

/// The segment with these pages and all keys below `keys` that belong to it.
fn segment(params: FilterParams, function: DigestFunction, pages: [u64; 2], keys: u64) -> Segment {
    let mut segment = Segment::new(params, function, pages[0]..pages[1]).unwrap();
    let digests = (0..keys).map(|key| function.digest(&key));
    let ours: Vec<_> = digests.filter(|digest| segment.digests().contains(digest)).collect();
    segment.insert_digests(&ours).unwrap();
    segment
}

/// The whole filter as a file.
fn whole(params: FilterParams, function: DigestFunction, keys: u64) -> Vec<u8> {
    let blocks = mayhap::OwnedBlocks::zeroed(params.num_blocks()).unwrap();
    let mut filter = AnyFilter::from_parts(params, function, blocks, 0).unwrap();
    for key in 0..keys {
        filter.insert_digest(function.digest(&key));
    }
    filter.settle_inserted_items();
    native::encode(&filter, OPTIONS)
}

/// The filter of [`params`] in `count` files.
fn files(folder: &Folder, function: DigestFunction, count: u64) -> Vec<PathBuf> {
    let cut = Segments::new(&params(), count).unwrap();
    let save_one = |i| {
        let pages = cut.pages(i).unwrap();
        let path = folder.file(&format!("part-{i}"));
        let part = segment(params(), function, [pages.start, pages.end], 30_000);
        save(&path, &part, OPTIONS).unwrap();
        path
    };
    (0..count).map(save_one).collect()
}

fn lock(path: &Path) -> FilterLock {
    FilterLock::take(path, &mut LockOptions::new("assemble")).unwrap()
}

fn assemble(
    paths: &[PathBuf],
    output: &Path,
    replace: bool,
    progress: impl FnMut(u64, u64),
) -> Result<Assembled, Error> {
    mayhap_store::assemble(&lock(output), paths, replace, progress)
}

fn quietly(paths: &[PathBuf], output: &Path) -> Result<Assembled, Error> {
    assemble(paths, output, true, |_, _| {})
}

#[test]
fn any_number_of_segments_gives_the_file_that_is_built_at_once() {
    for function in [DigestFunction::xxh3(5), DigestFunction::sip13(SecretKey::new([7; 16]))] {
        let expected = whole(params(), function, 30_000);
        let pages = params().num_blocks().div_ceil(64);
        for count in [1, 2, 3, 7, pages] {
            let folder = Folder::new();
            let mut paths = files(&folder, function, count);
            // In any order.
            paths.rotate_left(count as usize / 2);
            let all = &folder.file("all");
            let (mut last, mut total) = (0, 0);
            let assembled = assemble(&paths, all, false, |done, of| {
                assert!(done > last && done <= of);
                (last, total) = (done, of);
            })
            .unwrap();
            assert_eq!(last, total);
            assert!(fs::read(all).unwrap() == expected, "{count}");
            let is_keyed = mayhap_store::read_header(all).unwrap().is_keyed();
            let key = is_keyed.then(|| SecretKey::new([7; 16]));
            let filter = load(all, key).unwrap().filter;
            assert_eq!(assembled.estimated_items, filter.estimated_items());
            assert_eq!(assembled.fill_ratio, filter.fill_ratio());
            let fpp = filter.estimated_fpp();
            assert!((assembled.estimated_fpp - fpp).abs() <= 1e-12 * fpp);
            assert_eq!(assembled.header.table_checksum(), verify(all).unwrap().table_checksum());
            let again = assemble(&paths, all, false, |_, _| {}).unwrap_err();
            assert!(matches!(again, Error::Exists { .. }), "{again}");
            quietly(&paths, all).unwrap();
        }
    }
}

/// Several chunks of 256 KiB in each segment, and a last page that is not full.
#[test]
fn large_segments_are_copied_whole() {
    let params = FilterParams::new(Layout::Blocked, 3 * (9 << 20) + 512, 8, 1000, 0.01).unwrap();
    let folder = Folder::new();
    let pages = params.num_blocks().div_ceil(64);
    let cuts = [[0, 300], [300, 301], [301, pages]];
    let paths = cuts.map(|pages| {
        let path = folder.file(&pages[0].to_string());
        let part = segment(params, DigestFunction::default(), pages, 5_000);
        save(&path, &part, OPTIONS).unwrap();
        path
    });
    quietly(&paths, &folder.file("all")).unwrap();
    let expected = whole(params, DigestFunction::default(), 5_000);
    assert!(fs::read(folder.file("all")).unwrap() == expected);
}

#[test]
fn a_segment_is_opened_by_itself_and_by_nothing_else() {
    let folder = Folder::new();
    let paths = files(&folder, DigestFunction::default(), 2);
    let loaded = load_as::<Segment>(&paths[1], None).unwrap();
    assert_eq!(loaded.header.kind(), Kind::Segment);
    assert_eq!(loaded.filter.count_ones(), loaded.header.segment().unwrap().ones);
    let error = load(&paths[1], None).unwrap_err().to_string();
    assert!(error.ends_with("this is one segment of a filter, not a bloom filter"), "{error}");
    let options = MergeOptions { secret_key: None, replace: true, without_log: false };
    let merged = lock(&folder.file("all")).merge(&paths, options, |_, _| {}, |_| true);
    let error = merged.unwrap_err();
    assert!(error.to_string().contains("one segment of a filter"), "{error}");
    quietly(&paths, &folder.file("all")).unwrap();
    let error = quietly(&[folder.file("all")], &folder.file("b")).unwrap_err().to_string();
    assert!(error.ends_with("this is a bloom filter, not a segment of one"), "{error}");
}

#[test]
fn segments_that_are_missing_or_doubled_are_named() {
    let folder = Folder::new();
    let paths = files(&folder, DigestFunction::default(), 4);
    let all = &folder.file("all");
    let error = |paths: &[&PathBuf]| {
        let paths: Vec<PathBuf> = paths.iter().map(|&path| path.clone()).collect();
        quietly(&paths, all).unwrap_err().to_string()
    };
    let [a, b, c, d] = [&paths[0], &paths[1], &paths[2], &paths[3]];
    let text = error(&[a, b, d]);
    assert!(text.contains("pages 5 to 6 of the 10 of the filter of"), "{text}");
    let text = error(&[c]);
    assert!(text.contains("pages 0 to 4 of the 10"), "{text}");
    assert!(text.contains("are missing, and 1 more range of pages; nothing"), "{text}");
    let text = error(&[a, b, c]);
    assert!(text.contains("pages 7 to 9 of the 10"), "{text}");
    let text = error(&[a, b, c, b, d]);
    let name = b.display();
    assert!(text.contains(&format!("{name} and {name} both have pages 2 to 4;")), "{text}");
    // A segment of another cut.
    let other = &folder.file("other");
    save(other, &segment(params(), DigestFunction::default(), [4, 6], 9), OPTIONS).unwrap();
    let text = error(&[a, b, c, d, other]);
    assert!(text.contains(&format!("{} and {name} both have pages 4 to 4;", other.display())));
    assert!(!all.exists());
}

#[test]
fn segments_of_other_filters_are_refused_and_the_difference_named() {
    let folder = Folder::new();
    let function = DigestFunction::default();
    let paths = files(&folder, function, 2);
    let other = &folder.file("other");
    let numbers = |m, n, p| FilterParams::new(Layout::Blocked, m, 8, n, p).unwrap();
    let (m, n) = (params().num_bits(), 30_000);
    for (params, function, options, word) in [
        (numbers(m - 512, n, 0.01), function, OPTIONS, "size"),
        (numbers(m, n + 1, 0.01), function, OPTIONS, "capacity: 30001 at a rate of 0.01"),
        (numbers(m, n, 0.02), function, OPTIONS, "capacity"),
        (params(), DigestFunction::xxh3(1), OPTIONS, "digest seed"),
        (params(), DigestFunction::sip13(SecretKey::new([1; 16])), OPTIONS, "digest function"),
        (params(), function, "", "key options"),
    ] {
        save(other, &segment(params, function, [5, 10], 9), options).unwrap();
        let error = quietly(&[paths[0].clone(), other.clone()], &folder.file("all")).unwrap_err();
        assert!(matches!(error, Error::SegmentsUnlike { .. }), "{error}");
        assert!(error.to_string().contains(&format!("they differ in {word}")), "{error}");
    }
    assert!(!folder.file("all").exists());
}

/// Every byte is checked, and so is the number of bits under checksums that are right.
#[test]
fn damaged_truncated_and_forged_segments_are_refused_and_nothing_is_written() {
    let folder = Folder::new();
    let paths = files(&folder, DigestFunction::default(), 2);
    let sound = fs::read(&paths[1]).unwrap();
    let refused = |bytes: &[u8], wanted: &str| {
        fs::write(&paths[1], bytes).unwrap();
        let error = quietly(&paths, &folder.file("all")).unwrap_err().to_string();
        assert!(error.contains(wanted), "{wanted}: {error}");
        assert_eq!(folder.names(), ["part-0", "part-1"]);
    };
    let changed = |offset: usize| {
        let mut bytes = sound.clone();
        bytes[offset] ^= 1;
        bytes
    };
    refused(&changed(100), "header is damaged");
    refused(&changed(HEADER_BYTES + 5), "page 0 of 5 is damaged");
    refused(&changed(sound.len() - 1), "checksum table");
    refused(&sound[..sound.len() - 1], "truncated");
    refused(&[&sound[..], b"x"].concat(), "too long");
    refused(&sound[..2000], "truncated");
    refused(b"words\n", "looks like text");
    // A bit more, with sums that are right.
    let mut forged = changed(HEADER_BYTES + 5);
    let pages = (forged.len() - HEADER_BYTES) / (PAGE_BYTES + 8);
    let table = HEADER_BYTES + pages * PAGE_BYTES;
    let sum = xxh3_64(&forged[HEADER_BYTES..][..PAGE_BYTES]);
    forged[table..table + 8].copy_from_slice(&sum.to_le_bytes());
    let sum = xxh3_64(&forged[table..]);
    forged[64..72].copy_from_slice(&sum.to_le_bytes());
    let sum = xxh3_64(&forged[..HEADER_BYTES - 8]);
    forged[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    refused(&forged, "header field ones is");
    let error = load_as::<Segment>(&paths[1], None).unwrap_err().to_string();
    assert!(error.contains("header field ones is"), "{error}");
    refused(&[], "an empty file");
}

/// Killed at any system call: the old file or the new one, and the next run succeeds.
#[test]
fn a_crash_leaves_the_old_file_or_the_new_one() {
    let test = "segments::a_crash_leaves_the_old_file_or_the_new_one";
    let parts = |path: &Path| ["part-0", "part-1"].map(|name| path.with_file_name(name));
    if let Some((_, path)) = child_role() {
        quietly(&parts(&path), &path).unwrap();
        return;
    }
    if !have_strace() {
        return;
    }
    let new = whole(params(), DigestFunction::default(), 30_000);
    let old = whole(params(), DigestFunction::default(), 3);
    let folder = Folder::new();
    let made = files(&folder, DigestFunction::default(), 2);
    let prepare = |path: &Path| {
        for (from, to) in made.iter().zip(parts(path)) {
            fs::copy(from, to).unwrap();
        }
        fs::write(path, &old).unwrap();
    };
    let struck = strike(test, "assemble", &prepare, &|path, done| {
        let found = fs::read(path).unwrap();
        assert!(found == new || !done && found == old);
        quietly(&parts(path), path).unwrap();
        assert!(fs::read(path).unwrap() == new);
    });
    println!("{struck} faults while segments are put together");
    assert!(struck > 20, "{struck}");
}

#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    if let Some((_, path)) = child_role() {
        let parts = ["0", "1"].map(|name| path.with_file_name(name));
        let error = quietly(&parts, &path).unwrap_err();
        assert!(matches!(error, Error::NoSpace { .. }), "{error}");
        return;
    }
    let folder = Folder::new();
    let params = FilterParams::new(Layout::Blocked, 1 << 20, 8, 1000, 0.01).unwrap();
    for (name, pages) in [("0", [0, 16]), ("1", [16, 32])] {
        let part = segment(params, DigestFunction::default(), pages, 9);
        save(&folder.file(name), &part, "").unwrap();
    }
    let test = "segments::a_full_disk_is_an_error_and_leaves_nothing";
    let status = child(&LIMITED, test, "full", &folder.file("all")).status().unwrap();
    assert!(status.success());
    assert_eq!(folder.names(), ["0", "1"]);
}
