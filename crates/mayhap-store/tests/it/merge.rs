//! Many files as one.

use crate::common::{Folder, child, child_role, digest, filter, overwrite, same_bits};
use crate::faults::{LIMITED, have_strace, strike};
use mayhap::native::{self, HEADER_BYTES, PAGE_BYTES};
use mayhap::{AnyFilter, DigestFunction, Layout, ScalableBloomFilter, SecretKey};
use mayhap_store::{
    Assembled, Error, FilterLock, LiveFilter, LockOptions, MergeOptions, load, save, verify,
};
use std::fs;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const LAYOUTS: [Layout; 4] =
    [Layout::Standard, Layout::Blocked, Layout::Blocked128, Layout::Blocked64];

/// One filter for each range of keys, saved as `0`, `1`, … in the folder.
fn shards(
    folder: &Folder,
    layout: Layout,
    num_bits: u64,
    keys: &[std::ops::Range<u64>],
) -> (Vec<PathBuf>, Vec<AnyFilter>) {
    let save_one = |(i, keys): (usize, &std::ops::Range<u64>)| {
        let filter = filter(layout, num_bits, keys.clone());
        let path = folder.file(&i.to_string());
        save(&path, &filter, "trim=1\n").unwrap();
        (path, filter)
    };
    keys.iter().enumerate().map(save_one).unzip()
}

/// Merges everything; the facts of the new file, and the insertions that each input counted.
fn merge(
    inputs: &[PathBuf],
    output: &Path,
    replace: bool,
    progress: impl FnMut(u64, u64),
) -> Result<(Assembled, Vec<u64>), Error> {
    let options = MergeOptions { secret_key: None, replace, without_log: false };
    let lock = FilterLock::take(output, &mut LockOptions::new("merge"))?;
    lock.merge(inputs, options, progress, |_| true)
}

fn quietly(inputs: &[PathBuf], output: &Path) -> Result<Assembled, Error> {
    merge(inputs, output, true, |_, _| {}).map(|(merged, _)| merged)
}

fn union_of(mut filters: Vec<AnyFilter>) -> AnyFilter {
    let mut union = filters.remove(0);
    for filter in &filters {
        union.union_with(filter).unwrap();
    }
    union
}

#[test]
fn a_merged_file_is_the_or_of_all_to_the_bit_and_its_numbers_are_those_of_its_bits() {
    // A chunk is 2^21 bits: up to one, at its edges, and several.
    for layout in LAYOUTS {
        for bits in [512, 1 << 15, (1 << 21) - 512, 1 << 21, (1 << 21) + 512, 5 << 20] {
            // The others have whole blocks.
            let bits = if layout == Layout::Standard { bits + 10 } else { bits };
            let folder = Folder::new();
            let keys = [0..40, 30..60, 0..0, 1000..1000 + bits / 100];
            let (paths, filters) = shards(&folder, layout, bits, &keys);
            let all = &folder.file("all");
            let (mut last, mut total) = (0, 0);
            let (merged, _) = merge(&paths, all, true, |done, of| {
                assert!(done > last && done <= of);
                (last, total) = (done, of);
            })
            .unwrap();
            assert_eq!(last, total);
            let loaded = load(all, None).unwrap();
            let union = union_of(filters);
            assert!(same_bits(&loaded.filter, &union), "{layout:?} {bits}");
            assert_eq!(loaded.header, merged.header);
            assert_eq!(loaded.header.key_options(), "trim=1\n");
            assert_eq!(merged.estimated_items, union.estimated_items());
            assert_eq!(merged.fill_ratio, union.fill_ratio());
            let fpp = union.estimated_fpp();
            assert!((merged.estimated_fpp - fpp).abs() <= 1e-12 * fpp, "{layout:?} {bits}");
            // Except for the count, a saved file is the same to the byte.
            let start = merged.header.encode(loaded.header.table_checksum());
            let saved = native::encode(&union, "trim=1\n");
            let written = fs::read(all).unwrap();
            assert!(written[..HEADER_BYTES] == start);
            assert!(written[HEADER_BYTES..] == saved[HEADER_BYTES..]);
        }
    }
}

#[test]
fn the_count_is_what_the_counters_say_where_the_bits_allow_it() {
    let folder = Folder::new();
    let count = |keys: &[std::ops::Range<u64>]| {
        let (paths, _) = shards(&folder, Layout::Blocked, 1 << 16, keys);
        quietly(&paths, &folder.file("all")).unwrap().header.inserted_items()
    };
    assert_eq!(count(std::slice::from_ref(&(0..1000))), 1000);
    assert_eq!(count(&[0..1000, 0..1000, 0..10]), 1000);
    let both = count(&[0..1000, 1000..2000]);
    assert!((1950..=2000).contains(&both), "{both}");
    // The counters of these two are useless.
    let (paths, filters) = shards(&folder, Layout::Blocked, 1 << 16, &[0..1000, 1000..2000]);
    for (path, filter) in paths.iter().zip(filters) {
        let AnyFilter::Blocked(filter) = filter else { panic!("another layout") };
        let (params, function) = (*filter.params(), *filter.digest_function());
        let blocks = filter.storage().as_ref();
        let mut own = mayhap::OwnedBlocks::zeroed(blocks.len() as u64).unwrap();
        own.as_mut().copy_from_slice(blocks);
        let filter = AnyFilter::from_parts(params, function, own, 0).unwrap();
        save(path, &filter, "trim=1\n").unwrap();
    }
    let merged = quietly(&paths, &folder.file("all")).unwrap();
    assert_eq!(merged.header.inserted_items(), merged.estimated_items.rounded());
    assert!((1900..2100).contains(&merged.header.inserted_items()));
}

#[test]
fn unlike_filters_are_refused_with_the_parameter_both_files_and_both_values() {
    let build = |layout, bits, function| {
        let builder = AnyFilter::builder().layout(layout).num_bits(bits).expected_items(100);
        builder.digest_function(function).build().unwrap()
    };
    let xxh3 = DigestFunction::xxh3;
    let keyed = |byte| DigestFunction::sip13(SecretKey::new([byte; 16]));
    let hashes = |k| {
        let params = mayhap::FilterParams::new(Layout::Blocked, 4096, k, 100, 0.1).unwrap();
        let blocks = mayhap::OwnedBlocks::zeroed(8).unwrap();
        AnyFilter::from_parts(params, xxh3(0), blocks, 0).unwrap()
    };
    let plain = || build(Layout::Blocked, 4096, xxh3(0));
    let id = |byte| format!("{:#x}", SecretKey::new([byte; 16]).id());
    for (left, right, options, words) in [
        (plain(), build(Layout::Standard, 4096, xxh3(0)), "", ["layout", "standard", "blocked"]),
        (plain(), build(Layout::Blocked, 5120, xxh3(0)), "", ["size", "5120 bits", "4096 bits"]),
        (hashes(8), hashes(16), "", ["bits per key", "16 (capacity", "8 (capacity"]),
        (plain(), build(Layout::Blocked, 4096, keyed(1)), "", ["function", "sip13", "xxh3"]),
        (plain(), build(Layout::Blocked, 4096, xxh3(7)), "", ["seed", "0x7", "0x0"]),
        (
            build(Layout::Blocked, 4096, keyed(1)),
            build(Layout::Blocked, 4096, keyed(2)),
            "",
            ["digest seed or key", &id(2), &id(1)],
        ),
        (plain(), plain(), "trim=1\n", ["key options", "trim=1", r#"against """#]),
    ] {
        let folder = Folder::new();
        let [a, b, c, all] = ["a", "b", "c", "all"].map(|name| folder.file(name));
        save(&a, &left, "").unwrap();
        save(&b, &left, "").unwrap();
        save(&c, &right, options).unwrap();
        let error = quietly(&[a, b, c], &all).unwrap_err();
        assert!(matches!(error, Error::Unlike { .. }), "{error}");
        let text = error.to_string();
        let (found, expected) = (text.find(words[1]).unwrap(), text.find(words[2]).unwrap());
        assert!(text.contains(words[0]) && found < expected, "{text}");
        assert!(text.contains("/c and ") && text.contains("/a cannot be merged"), "{text}");
        assert_eq!(folder.names(), ["a", "b", "c"]);
    }
}

#[test]
fn n_and_p_may_differ_and_are_those_of_the_first() {
    let folder = Folder::new();
    let (paths, _) = shards(&folder, Layout::Blocked, 1 << 16, std::slice::from_ref(&(0..10)));
    let builder = AnyFilter::builder().layout(Layout::Blocked).num_bits(1 << 16);
    let other = builder.expected_items(50).build().unwrap();
    let path = folder.file("other");
    save(&path, &other, "trim=1\n").unwrap();
    let merged = quietly(&[paths[0].clone(), path.clone()], &folder.file("all")).unwrap();
    assert_eq!(merged.header.fields().expected_items, 100);
    let merged = quietly(&[path, paths[0].clone()], &folder.file("all")).unwrap();
    assert_eq!(merged.header.fields().expected_items, 50);
}

#[test]
fn other_kinds_and_other_files_are_refused() {
    let folder = Folder::new();
    let (mut paths, _) = shards(&folder, Layout::Blocked, 1 << 12, std::slice::from_ref(&(0..10)));
    let scalable = ScalableBloomFilter::new(100, 0.01, DigestFunction::default()).unwrap();
    let other = folder.file("other");
    paths.push(other.clone());
    save(&other, &scalable, "").unwrap();
    let text = quietly(&paths, &folder.file("all")).unwrap_err().to_string();
    assert!(text.ends_with("other: this is a scalable filter, not a bloom filter"), "{text}");
    fs::write(&other, "text\n").unwrap();
    assert!(quietly(&paths, &folder.file("all")).unwrap_err().to_string().contains("like text"));
    fs::remove_file(&other).unwrap();
    assert!(matches!(quietly(&paths, &folder.file("all")).unwrap_err(), Error::Io { .. }));
    assert_eq!(folder.names(), ["0"]);
}

#[test]
fn damage_anywhere_in_any_input_is_an_error_that_names_it_and_nothing_is_written() {
    let folder = Folder::new();
    // Three chunks, the last one with a page that is not full.
    let num_bits = (1 << 22) + 512 * 7;
    let keys = [0..100, 100..200, 200..300];
    let (paths, _) = shards(&folder, Layout::Blocked, num_bits, &keys);
    let pages = verify(&paths[0]).unwrap().num_pages() as usize;
    let table = HEADER_BYTES + pages * PAGE_BYTES;
    let in_page = |page: usize, at: usize| (HEADER_BYTES + page * PAGE_BYTES + at, Some(page));
    let places = [
        in_page(0, 0),
        in_page(0, 4095),
        in_page(63, 77),
        in_page(64, 0),
        in_page(pages - 1, 0),
        in_page(pages - 1, 447),
        in_page(pages - 1, 448), // padding
        in_page(pages - 1, 4095),
        (table, None),
        (table + pages * 8 - 1, None),
        (30, None),
    ];
    for (path, (at, page)) in paths.iter().flat_map(|path| places.map(|place| (path, place))) {
        let whole = fs::read(path).unwrap();
        overwrite(path, at, &[whole[at] ^ 4]);
        let error = quietly(&paths, &folder.file("all")).unwrap_err();
        assert!(error.to_string().starts_with(&*path.to_string_lossy()), "{error}");
        if let Some(page) = page {
            let words = format!("page {page} of {pages} is damaged (checksum mismatch)");
            let text = error.to_string();
            assert!(text.ends_with(&words), "{text}");
        }
        assert_eq!(folder.names(), ["0", "1", "2"], "byte {at}");
        overwrite(path, at, &[whole[at]]);
    }
    quietly(&paths, &folder.file("all")).unwrap();
}

#[test]
fn bits_past_the_end_are_refused_even_under_right_checksums() {
    let folder = Folder::new();
    let (paths, _) = shards(&folder, Layout::Standard, 1000, &[0..10, 10..20]);
    let mut bytes = fs::read(&paths[1]).unwrap();
    bytes[HEADER_BYTES + 127] |= 0x80; // bit 1023
    let checksum = xxh3_64(&bytes[HEADER_BYTES..HEADER_BYTES + PAGE_BYTES]).to_le_bytes();
    let table = HEADER_BYTES + PAGE_BYTES;
    bytes[table..].copy_from_slice(&checksum);
    bytes[64..72].copy_from_slice(&xxh3_64(&checksum).to_le_bytes());
    let header = xxh3_64(&bytes[..HEADER_BYTES - 8]).to_le_bytes();
    bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&header);
    fs::write(&paths[1], bytes).unwrap();
    let error = quietly(&paths, &folder.file("all")).unwrap_err();
    assert!(error.to_string().contains("bits past num_bits"), "{error}");
    assert!(error.to_string().starts_with(&*paths[1].to_string_lossy()), "{error}");
    assert_eq!(folder.names(), ["0", "1"]);
}

#[test]
fn what_is_in_the_log_of_an_input_counts() {
    let folder = Folder::new();
    let (mut paths, _) = shards(&folder, Layout::Blocked, 1 << 16, std::slice::from_ref(&(0..100)));
    let state = folder.file("state");
    let empty = filter(Layout::Blocked, 1 << 16, 100..150);
    let mut live = LiveFilter::create(&state, empty, "trim=1\n").unwrap();
    let digests: Vec<_> = (150..200).map(digest).collect();
    live.record(&digests).unwrap();
    paths.push(state.clone());
    for order in [[0, 1], [1, 0]] {
        let inputs = order.map(|i| paths[i].clone());
        let (_, inserted) = merge(&inputs, &folder.file("all"), true, |_, _| {}).unwrap();
        let loaded = load(&folder.file("all"), None).unwrap().filter;
        assert!(same_bits(&loaded, &filter(Layout::Blocked, 1 << 16, 0..200)));
        assert_eq!(inserted, [[100, 100], [100, 100]][order[0]]);
    }
    // The state is in use; then it is replaced by a file that includes its log.
    let error = quietly(&paths, &state).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop(live);
    quietly(&paths, &state).unwrap();
    assert!(!folder.file("state.log").exists());
    let loaded = load(&state, None).unwrap();
    assert_eq!(loaded.header.identity(), None);
    assert!((0..200u64).all(|key| loaded.filter.contains(&key)));
}

#[test]
fn larger_filters_are_folded_to_the_smallest_whatever_the_order() {
    for layout in LAYOUTS {
        let folder = Folder::new();
        let size = 1 << 16;
        let save_one = |name: &str, num_bits, keys| {
            let path = folder.file(name);
            save(&path, &filter(layout, num_bits, keys), "trim=1\n").unwrap();
            path
        };
        let small = save_one("small", size, 0..100);
        let (triple, large) = (save_one("triple", 3 * size, 50..200), folder.file("large"));
        // One of them is a state with a log.
        let empty = filter(layout, 12 * size, 200..250);
        let mut live = LiveFilter::create(&large, empty, "trim=1\n").unwrap();
        live.record(&(250..300).map(digest).collect::<Vec<_>>()).unwrap();
        let expected = filter(layout, size, 0..300);
        for paths in [[&small, &triple, &large], [&large, &triple, &small]] {
            let inputs = paths.map(Clone::clone);
            let all = &folder.file("all");
            let (merged, inserted) = merge(&inputs, all, true, |_, _| {}).unwrap();
            let loaded = load(all, None).unwrap().filter;
            assert!(same_bits(&loaded, &expected), "{layout}");
            let params = *load(&small, None).unwrap().filter.params();
            assert_eq!(loaded.params(), &params, "the promise of the smallest");
            // As many as each counted at its own size.
            let own = |path: &PathBuf| load(path, None).map(|it| it.filter.inserted_items());
            assert_eq!(inserted.iter().max(), Some(&150));
            assert_eq!(inserted[1], own(&triple).unwrap());
            assert!(merged.header.inserted_items().abs_diff(300) < 10, "{layout}");
        }
        // No multiple, and nothing is written.
        let odd = save_one("odd", size / 512 * 513 / 64 * 512, 0..10);
        let error = quietly(&[small, odd], &folder.file("none")).unwrap_err();
        assert!(matches!(error, Error::Unlike { parameter: "size", .. }), "{error}");
        assert!(!folder.file("none").exists());
    }
}

#[test]
fn an_input_can_be_the_output_and_without_replace_nothing_is_replaced() {
    let folder = Folder::new();
    let (paths, filters) = shards(&folder, Layout::Standard, 1 << 16, &[0..100, 100..200]);
    let error = merge(&paths, &paths[1], false, |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert!(same_bits(&load(&paths[1], None).unwrap().filter, &filters[1]));
    quietly(&paths, &paths[1]).unwrap();
    assert!(same_bits(&load(&paths[1], None).unwrap().filter, &union_of(filters)));
    assert_eq!(folder.names(), ["0", "1"]);
}

#[test]
fn keyed_filters_merge_without_their_key_into_a_private_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let key = SecretKey::new([9; 16]);
    let paths = ["a", "b"].map(|name| folder.file(name));
    for (i, path) in paths.iter().enumerate() {
        // The second is folded.
        let size = 1024 << i;
        let builder = AnyFilter::builder().expected_items(20).num_bytes(size).num_hashes(8);
        let mut keyed = builder.digest_function(DigestFunction::sip13(key)).build().unwrap();
        keyed.insert(&(i as u64));
        save(path, &keyed, "").unwrap();
    }
    let all = &folder.file("all");
    quietly(&paths, all).unwrap();
    assert_eq!(fs::metadata(all).unwrap().permissions().mode() & 0o777, 0o600);
    let filter = load(all, Some(key)).unwrap().filter;
    assert!(filter.contains(&0u64) && filter.contains(&1u64) && !filter.contains(&2u64));
}

#[test]
fn a_merge_struck_at_any_call_leaves_the_old_or_the_new_file() {
    let inputs = |path: &std::path::Path| ["in-0", "in-1"].map(|name| path.with_file_name(name));
    if let Some((_, path)) = child_role() {
        quietly(&inputs(&path), &path).unwrap();
        return;
    }
    if !have_strace() {
        return;
    }
    let keys = [0..50, 50..100, 1000..1100];
    let [left, right, old] = keys.map(|keys| filter(Layout::Blocked, 1 << 22, keys));
    let new = filter(Layout::Blocked, 1 << 22, 0..100);
    let test = "merge::a_merge_struck_at_any_call_leaves_the_old_or_the_new_file";
    let prepare = |path: &std::path::Path| {
        for (path, filter) in inputs(path).iter().zip([&left, &right]) {
            save(path, filter, "").unwrap();
        }
        save(path, &old, "").unwrap();
    };
    let struck = strike(test, "merge", &prepare, &|path, done| {
        let found = load(path, None).unwrap().filter;
        assert!(same_bits(&found, &new) || !done && same_bits(&found, &old));
        quietly(&inputs(path), path).unwrap(); // whatever is left, merging goes on
        assert!(same_bits(&load(path, None).unwrap().filter, &new));
    });
    println!("{struck} faults in a merge");
    assert!(struck > 20, "{struck}");
}

#[test]
fn a_merge_onto_a_full_disk_is_an_error_and_leaves_nothing() {
    if let Some((_, path)) = child_role() {
        let inputs = ["0", "1"].map(|name| path.with_file_name(name));
        let error = quietly(&inputs, &path).unwrap_err();
        assert!(matches!(error, Error::NoSpace { .. }), "{error}");
        assert!(error.to_string().contains("needs 135424 bytes free"), "{error}");
        return;
    }
    let folder = Folder::new();
    shards(&folder, Layout::Blocked, 1 << 20, &[0..10, 10..20]);
    let test = "merge::a_merge_onto_a_full_disk_is_an_error_and_leaves_nothing";
    let status = child(&LIMITED, test, "full", &folder.file("all")).status().unwrap();
    assert!(status.success());
    assert_eq!(folder.names(), ["0", "1"]);
}
