//! Files that are served by name, while others truncate, overwrite and replace them.

use super::keyspace::{KEY, keyspace, numbered, turn, with_words};
use mayhap::{AnyFilter, BloomMatrix, DigestFunction, ScalableBloomFilter};
use mayhap_engine::keyspace::{
    FileState, Files, Keyspace, MAX_PROBES, Unreadable, Which, WhichError,
};
use mayhap_formats::{
    ForeignFilter, Format, KeyType, Limits, NewFilter, RedisBloomFilter, RedisBloomOptions,
};
use mayhap_store::FileStamp;
use std::fs::{self, File};
use std::path::Path;

/// A plain filter of `key:FROM` and the 999 keys after it, of two MiB, as a file.
fn plain(from: u64) -> Vec<u8> {
    let builder = AnyFilter::builder().expected_items(1_000_000).target_fpp(1e-4);
    let mut filter = builder.build().unwrap();
    for key in numbered(from..from + 1_000) {
        assert!(filter.insert(&key[..]));
    }
    file_of(|path| mayhap_store::save(path, &filter, "").unwrap())
}

fn growing(from: u64) -> Vec<u8> {
    let mut filter = ScalableBloomFilter::new(2_000, 1e-6, DigestFunction::sip13(KEY)).unwrap();
    for key in numbered(from..from + 1_000) {
        assert!(filter.insert(&key[..]).unwrap());
    }
    file_of(|path| mayhap_store::save(path, &filter, "").unwrap())
}

/// A matrix of 3 sets that have them by turns.
fn matrix(from: u64) -> Vec<u8> {
    let builder = BloomMatrix::builder().num_sets(3).expected_items(1_000).target_fpp(1e-6);
    let mut matrix = builder.digest_function(DigestFunction::sip13(KEY)).build().unwrap();
    matrix.set_names(&["east", "north", "west"]).unwrap();
    for (i, key) in numbered(from..from + 1_000).iter().enumerate() {
        assert!(matrix.insert(i % 3, &key[..]));
    }
    file_of(|path| mayhap_store::save(path, &matrix, "").unwrap())
}

fn foreign(from: u64) -> Vec<u8> {
    let options = RedisBloomOptions::new(1e-6, 2_000);
    let mut filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    for key in numbered(from..from + 1_000) {
        assert!(filter.insert(&key).unwrap());
    }
    filter.encode()
}

fn file_of(save: impl FnOnce(&Path)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    save(&path);
    fs::read(path).unwrap()
}

/// Which of these keys the filter `f` has, at this time.
fn ask(keyspace: &Keyspace, from: u64, now: u64) -> Result<usize, Unreadable> {
    let mut turn = turn();
    turn.now = now;
    let entry = keyspace.get(b"f", now).unwrap();
    let keys = numbered(from..from + 1_000);
    with_words(&keys, |words| entry.contains_many(words, &mut turn));
    entry.check_file().map(|()| turn.answers.count_ones())
}

/// Writes a file as `cp` does; its time differs from the one before.
fn overwrite(path: &Path, bytes: &[u8]) {
    let before = FileStamp::at(path).ok();
    while FileStamp::at(path).ok() == before {
        fs::write(path, bytes).unwrap();
    }
}

/// Replaces a file atomically.
fn replace(path: &Path, bytes: &[u8]) {
    let aside = path.with_file_name(".aside");
    fs::write(&aside, bytes).unwrap();
    fs::rename(aside, path).unwrap();
}

#[test]
fn a_truncated_file_is_an_error_of_its_filter_until_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.mayhap");
    for kept in [0, 5_000, 1 << 20] {
        fs::write(&path, plain(0)).unwrap();
        let keyspace = keyspace();
        Files::serve(&keyspace, &path).unwrap();
        Files::refresh(&keyspace);
        assert_eq!(
            (ask(&keyspace, 0, 1), keyspace.files().count(FileState::Unusable)),
            (Ok(1_000), 0)
        );
        File::options().write(true).open(&path).unwrap().set_len(kept).unwrap();
        // Detected by a query, and by the watching thread.
        let entry = keyspace.get(b"f", 2).unwrap();
        assert!(numbered(0..1_000).iter().any(|key| !entry.contains(key, 2)));
        assert!(entry.check_file_at(2).is_err(), "one at a time");
        let why = ask(&keyspace, 0, 2).unwrap_err().to_string();
        assert!(why.contains("it was cut short") && why.contains("once a complete file"), "{why}");
        for now in 3..6 {
            Files::refresh(&keyspace);
            assert!(ask(&keyspace, 0, now).is_err());
            assert_eq!(keyspace.files().count(FileState::Unusable), 1);
        }
        assert!(keyspace.get(b"f", 1).unwrap().file_problem().is_some());
        overwrite(&path, &plain(5_000));
        Files::refresh(&keyspace);
        assert!(ask(&keyspace, 0, 7).is_err(), "it may still be in the middle of being written");
        Files::refresh(&keyspace);
        assert_eq!((ask(&keyspace, 5_000, 8), ask(&keyspace, 0, 8)), (Ok(1_000), Ok(0)));
        assert_eq!(keyspace.files().count(FileState::Unusable), 0);
        assert_eq!(keyspace.len(), 1);
    }
}

#[test]
fn a_file_that_is_overwritten_in_place_is_served_again_once_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.mayhap");
    let (before, after) = (plain(0), plain(5_000));
    fs::write(&path, &before).unwrap();
    let keyspace = keyspace();
    Files::serve(&keyspace, &path).unwrap();
    assert_eq!(ask(&keyspace, 0, 1), Ok(1_000));
    // Half of another one: its header, its length, and pages of the old one.
    let half = [&after[..1 << 20], &before[1 << 20..]].concat();
    overwrite(&path, &half);
    let why = ask(&keyspace, 0, 2).unwrap_err().to_string();
    assert!(why.contains("it was overwritten"), "{why}");
    for now in 3..8 {
        Files::refresh(&keyspace);
        // Not reopened, or its damaged pages would be the reason.
        let why = ask(&keyspace, 0, now).unwrap_err().to_string();
        assert!(why.contains("it was overwritten"), "half of it is another: {why}");
    }
    overwrite(&path, &after);
    Files::refresh(&keyspace);
    Files::refresh(&keyspace);
    assert_eq!((ask(&keyspace, 5_000, 9), ask(&keyspace, 0, 9)), (Ok(1_000), Ok(0)));
}

/// Each sort of file, replaced by renaming: at no moment there is an error.
#[test]
fn a_file_that_is_replaced_is_served_anew_without_an_error_in_between() {
    type Make = fn(u64) -> Vec<u8>;
    for (name, make) in [
        ("f.mayhap", plain as Make),
        ("f.mayhap", growing as Make),
        ("f.mayhap", matrix as Make),
        ("f.rb", foreign as Make),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, make(0)).unwrap();
        let keyspace = keyspace();
        let old = Files::serve(&keyspace, &path).unwrap();
        let used = keyspace.used_bytes();
        replace(&path, &make(5_000));
        assert_eq!(ask(&keyspace, 0, 1), Ok(1_000), "{name}");
        Files::refresh(&keyspace);
        assert_eq!(ask(&keyspace, 0, 2), Ok(1_000), "{name}");
        Files::refresh(&keyspace);
        assert_eq!((ask(&keyspace, 5_000, 3), ask(&keyspace, 0, 3)), (Ok(1_000), Ok(0)), "{name}");
        // A reader that has the old one continues with it.
        assert!(old.contains(b"key:7", 3) && old.check_file().is_ok());
        drop(old);
        assert_eq!(keyspace.used_bytes(), used, "{name}");
        // Nonsense in its place, and nothing at all: the last sound one continues to be served.
        for _ in 0..3 {
            replace(&path, b"nonsense");
            Files::refresh(&keyspace);
            Files::refresh(&keyspace);
            assert_eq!(ask(&keyspace, 5_000, 4), Ok(1_000), "{name}");
        }
        fs::remove_file(&path).unwrap();
        Files::refresh(&keyspace);
        assert_eq!(
            (ask(&keyspace, 5_000, 5), keyspace.files().count(FileState::Unusable)),
            (Ok(1_000), 0)
        );
        replace(&path, &make(9_000));
        Files::refresh(&keyspace);
        Files::refresh(&keyspace);
        assert_eq!(ask(&keyspace, 9_000, 6), Ok(1_000), "{name}");
    }
}

#[test]
fn an_invalid_file_at_the_start_answers_nothing_until_it_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.mayhap");
    let whole = plain(0);
    fs::write(&path, &whole[..70_000]).unwrap();
    let keyspace = keyspace();
    Files::serve(&keyspace, &path).unwrap_err();
    for now in 1..4 {
        let why = ask(&keyspace, 0, now).unwrap_err().to_string();
        assert!(why.contains("it could not be opened"), "{why}");
        assert!(keyspace.get(b"f", now).unwrap().check_file_at(now).is_err());
        Files::refresh(&keyspace);
        assert_eq!((keyspace.len(), keyspace.files().count(FileState::Unusable)), (1, 1));
    }
    overwrite(&path, &whole);
    Files::refresh(&keyspace);
    Files::refresh(&keyspace);
    assert_eq!((ask(&keyspace, 0, 5), keyspace.files().count(FileState::Unusable)), (Ok(1_000), 0));
    // Its name is taken all the while: otherwise a client would fill another filter, and lose the
    // file's.
    let other = folder.path().join("g.mayhap");
    fs::write(&other, b"").unwrap();
    Files::serve(&keyspace, &other).unwrap_err();
    let spec = mayhap_engine::keyspace::Spec::growing(100, 0.01, 2);
    assert!(keyspace.create(b"g", spec, 1, None).is_err());
    overwrite(&other, &whole);
    Files::refresh(&keyspace);
    Files::refresh(&keyspace);
    assert!(keyspace.get(b"g", 1).unwrap().contains(&numbered(0..1)[0], 1));
}

/// Like a file with a lost sector at the start: the header and the length are right.
fn with_a_lost_page(page: usize) -> Vec<u8> {
    let mut bytes = plain(0);
    bytes[4096 * (page + 1)..4096 * (page + 2)].fill(0);
    // Damage, even if the page was empty.
    bytes[4096 * (page + 1)] = 1;
    bytes
}

#[test]
fn a_file_with_a_damaged_page_answers_nothing_once_a_query_reads_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.mayhap");
    let keys = numbered(0..1_000);
    // A page that has keys.
    fs::write(&path, with_a_lost_page(17)).unwrap();
    let keyspace = keyspace();
    Files::serve(&keyspace, &path).unwrap();
    let entry = keyspace.get(b"f", 1).unwrap();
    for (now, key) in keys.iter().enumerate() {
        let found = entry.contains(key, now as u64);
        assert!(found || entry.check_file_at(now as u64).is_err(), "{now}");
    }
    let why = ask(&keyspace, 0, 1_001).unwrap_err().to_string();
    assert!(why.contains("page 17 of ") && why.contains("once a complete file"), "{why}");
    overwrite(&path, &plain(0));
    Files::refresh(&keyspace);
    Files::refresh(&keyspace);
    assert_eq!(
        (ask(&keyspace, 0, 1_002), keyspace.files().count(FileState::Unusable)),
        (Ok(1_000), 0)
    );
}

#[test]
fn a_file_with_a_damaged_page_is_noticed_before_a_query_reads_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.mayhap");
    fs::write(&path, with_a_lost_page(400)).unwrap();
    let keyspace = keyspace();
    Files::serve(&keyspace, &path).unwrap();
    assert_eq!(keyspace.files().count(FileState::Unusable), 0);
    Files::refresh(&keyspace);
    assert_eq!(keyspace.files().count(FileState::Unusable), 1);
    assert!(ask(&keyspace, 0, 1).unwrap_err().to_string().contains("page 400 of "));
}

#[test]
fn the_sets_of_a_matrix_are_named_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.mayhap");
    fs::write(&path, matrix(0)).unwrap();
    let keyspace = keyspace();
    let entry = Files::serve(&keyspace, &path).unwrap();
    let info = entry.info();
    assert_eq!((info.kind, info.items, info.capacity), ("matrix", 1_000, 3_000));
    assert!(info.read_only && info.num_bytes >= 64 << 10);
    let fill = entry.measure().fill_ratio;
    assert!((0.1..0.4).contains(&fill), "a third of the keys that a set is for: {fill}");
    let spec = mayhap_engine::keyspace::Spec::growing(100, 0.01, 2);
    let plain = keyspace.create(b"plain", spec, 1, None).unwrap();
    let mut turn = turn();
    let keys = numbered(0..5);
    plain.insert(&keys[1], &mut turn).unwrap();
    let names: [&[u8]; 3] = [b"f", b"plain", b"none"];
    let keys = [&keys[..], &[b"nowhere".to_vec()]].concat();
    let sets: Vec<Vec<String>> = with_words(&keys, |words| {
        let found =
            Which::look_up(&keyspace, names.into_iter(), words, &mut turn, |_, _| ()).unwrap();
        let names: Vec<_> = found.names().map(|name| name.escape_ascii().to_string()).collect();
        let of = |key| found.filters_of(key).map(|at| names[at].clone()).collect();
        assert_eq!(found.counts(), [1, 2, 1, 1, 1, 0]);
        (0..keys.len()).map(of).collect()
    });
    let expected: [&[&str]; 6] =
        [&["f/east"], &["f/north", "plain"], &["f/west"], &["f/east"], &["f/north"], &[]];
    assert_eq!(sets, expected);
    // Names times keys are within the limit, but sets times keys are not.
    let keys = numbered(0..(MAX_PROBES / 2) as u64 + 1);
    let mut which = |name: &[u8]| {
        with_words(&keys, |words| {
            Which::look_up(&keyspace, [name].into_iter(), words, &mut turn, |_, _| ()).map(drop)
        })
    };
    assert_eq!((which(b"plain"), which(b"f")), (Ok(()), Err(WhichError::TooMany)));
}

/// A filter of 100 keys of this type, from `key 0` or 0 on, in the format of its system.
fn of_system(format: Format, key_type: KeyType) -> (Vec<u8>, Vec<Vec<u8>>) {
    let new = NewFilter::new(1_000, 1e-4);
    let mut filter = mayhap_formats::create(format, &new, &Limits::default()).unwrap();
    let is_number = matches!(key_type, KeyType::Int | KeyType::Long);
    let text = |i: u64| if is_number { i.to_string() } else { format!("key {i}") };
    let keys: Vec<Vec<u8>> = (0..100).map(|i| text(i).into_bytes()).collect();
    let mut scratch = Vec::new();
    for key in &keys {
        filter.insert(key_type.encode(key, &mut scratch).unwrap()).unwrap();
    }
    (filter.encode(), keys)
}

#[test]
fn foreign_filters_are_queried_for_keys_of_their_type_or_not_served() {
    use KeyType::{Bytes, Int, Long, PickledStr, Utf16};
    let folder = tempfile::tempdir().unwrap();
    let keyspace = keyspace();
    // The name of the file, and whether it is served.
    for (format, key_type, name, is_served) in [
        (Format::BloomFileter, Utf16, "a.obj", true),
        (Format::Dcso, Bytes, "b.bloom", true),
        (Format::RedisBloom, Bytes, "c.dump", true),
        (Format::BitsAndBlooms, Bytes, "d", true),
        (Format::WillfFnv, Bytes, "e.willf-fnv", true),
        (Format::Guava, Bytes, "f.bytes.guava", true),
        (Format::Guava, Long, "g.long.guava", true),
        (Format::Guava, Int, "h.int.guava", true),
        (Format::Spark, Long, "i.long.spark", true),
        (Format::Rbloom, PickledStr, "j.pickled-str.rbloom", true),
        (Format::PyBloomFilterMmap, Long, "k.long.pybloomfiltermmap", true),
        (Format::Guava, Long, "l.bin", false),
        (Format::Guava, Long, "m.guava", false),
        (Format::Spark, Long, "n.spark", false),
        (Format::Rbloom, PickledStr, "o.bin", false),
        (Format::Rbloom, PickledStr, "p.rbloom", false),
        (Format::Dcso, Bytes, "q.long.dcso", false),
        (Format::Dcso, Bytes, "r.guava", false),
    ] {
        let path = folder.path().join(name);
        let (bytes, keys) = of_system(format, key_type);
        fs::write(&path, bytes).unwrap();
        let served = Files::serve(&keyspace, &path);
        let error = served.err().map(|error| error.to_string());
        assert_eq!(error.is_none(), is_served, "{name}: {error:?}");
        if name == "l.bin" {
            let way_out = "name the file NAME.TYPE.guava, as in l.bytes.guava";
            assert!(error.as_ref().is_some_and(|error| error.contains(way_out)), "{error:?}");
        }
        if !is_served {
            continue;
        }
        let entry = keyspace.get(&name.as_bytes()[..1], 0).unwrap();
        let mut turn = turn();
        with_words(&keys, |words| {
            entry.check_keys(words.iter()).unwrap();
            entry.contains_many(words, &mut turn);
        });
        assert_eq!(turn.answers.count_ones(), 100, "{name}");
        let none = entry.check_keys(std::iter::once(&b"\xFFno number"[..]));
        let is_any = key_type == Bytes;
        assert_eq!(none.is_ok(), is_any, "{name}");
        assert!(is_any || entry.contains(b"\xFFno number", 0), "{name}: never surely absent");
    }
}

/// As with too few descriptors: the file has not changed, and can be opened later.
#[test]
fn a_file_that_cannot_be_opened_for_now_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut filter = ScalableBloomFilter::new(50_000, 1e-3, DigestFunction::xxh3(0)).unwrap();
    filter.insert("key").unwrap();
    mayhap_store::save(&folder.path().join("f.mayhap"), &filter, "").unwrap();
    let keyspace = keyspace();
    keyspace.set_max_memory(10_000);
    Files::serve_folder(&keyspace, folder.path()).unwrap();
    let answer = || {
        let entry = keyspace.get(b"f", 1).unwrap();
        let found = entry.contains(b"key", 1);
        entry.check_file().map(|()| found)
    };
    let troubles = keyspace.files().troubles();
    assert_eq!((troubles.len(), troubles[0].state), (1, FileState::Unusable));
    assert!(troubles[0].problem.contains("above the limit of 10000"), "{}", troubles[0].problem);
    Files::refresh(&keyspace);
    assert!(answer().is_err());
    keyspace.set_max_memory(u64::MAX);
    for _ in 0..30 {
        Files::refresh(&keyspace);
    }
    assert_eq!((answer(), keyspace.files().count(FileState::Unusable)), (Ok(true), 0));
}

#[cfg(unix)]
#[test]
fn an_unreadable_folder_is_reported_and_removes_no_filter() {
    let folder = tempfile::tempdir().unwrap();
    let import = folder.path().join("import");
    fs::create_dir(&import).unwrap();
    let mut filter = ScalableBloomFilter::new(100, 1e-3, DigestFunction::xxh3(0)).unwrap();
    filter.insert("key:3").unwrap();
    mayhap_store::save(&import.join("f.mayhap"), &filter, "").unwrap();
    let keyspace = keyspace();
    Files::serve_folder(&keyspace, &import).unwrap();
    // A link to itself in its place: neither readable nor gone.
    fs::rename(&import, folder.path().join("aside")).unwrap();
    std::os::unix::fs::symlink("import", &import).unwrap();
    for _ in 0..4 {
        Files::refresh(&keyspace);
    }
    let troubles = keyspace.files().troubles();
    assert!(troubles.iter().any(|trouble| trouble.name.is_empty()), "{troubles:?}");
    assert!(keyspace.get(b"f", 1).unwrap().contains(b"key:3", 1));
    fs::remove_file(&import).unwrap();
    fs::rename(folder.path().join("aside"), &import).unwrap();
    for _ in 0..4 {
        Files::refresh(&keyspace);
    }
    assert!(keyspace.files().troubles().is_empty(), "{:?}", keyspace.files().troubles());
}
