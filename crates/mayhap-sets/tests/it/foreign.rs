//! Golden files of Guava, opened by path and queried and filled as sets.

use mayhap::Bitmap;
use mayhap::set::Repeats;
use mayhap_formats::{BloomFileter, BloomFileterOptions, Format, KeyType, Limits, NewFilter};
use mayhap_sets::file::{Error, ForeignFile, ForeignSet, Known, Size};
use mayhap_sets::{Held, KeySet, Keys, NotKeys, Refusal, Room, TakesTexts, Texts, WholeFile};
use mayhap_store::{FilterLock, LockOptions};
use std::path::PathBuf;
use test_data::golden;

fn guava() -> PathBuf {
    golden::root().join("guava/bytes_mitz32.bin")
}

#[test]
fn a_golden_file_is_detected_and_holds_its_keys() {
    let described = golden::Golden::of("guava").json("bytes_mitz32.json");
    let members = described["members_explicit"].as_array().unwrap();
    let keys: Vec<&str> = members.iter().map(|key| key["key"]["hex"].as_str().unwrap()).collect();
    assert!(keys.len() > 5);
    let known = Known { key_type: Some(KeyType::Hex), ..Known::default() };
    let file = ForeignFile::open(&guava(), known, 1 << 20).unwrap().unwrap();
    assert_eq!(file.filter().format(), Format::Guava);
    assert_eq!(file.detected().map(|it| it.format), Some(Format::Guava));
    let mut set = ForeignSet::to_query(file);
    let texts: Vec<&[u8]> =
        keys.iter().copied().chain(["no hex digits"]).map(str::as_bytes).collect();
    let mut found = Bitmap::new();
    // A line that is given twice counts once.
    for _ in 0..2 {
        let given = Keys::Texts(Texts { texts: &texts, first_line: Some(3) });
        set.contains_into(given, &mut found).unwrap();
        assert_eq!((found.len(), found.count_ones()), (texts.len(), keys.len()));
        assert_eq!(set.not_keys(), [keys.len()]);
        let NotKeys { lines, text } = set.all_not_keys().unwrap();
        assert!(lines == 1 && text.contains(&format!("line {}: ", keys.len() + 3)), "{text}");
    }
    assert_eq!(set.capabilities().inserts, Err(Refusal::ReadOnly));
    assert!(set.insert_into(texts[..].into(), Repeats::Renew, &mut found).is_err());
}

#[test]
fn what_cannot_be_used_is_refused_with_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(guava()).unwrap();
    let small = ForeignFile::open(&guava(), Known::default(), 100).unwrap_err();
    let needed = bytes.len() as u64;
    assert!(matches!(small, Error::TooLarge { needed: found, limit: 100 } if found == needed));
    let cut = folder.path().join("cut.bin");
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let known = Known { format: Some(Format::Guava), ..Known::default() };
    let truncated = ForeignFile::open(&cut, known, 1 << 20).unwrap_err();
    assert!(matches!(truncated, Error::Format { .. }), "{truncated}");
    let column = PathBuf::from(format!("{}#id", guava().display()));
    let no_table = ForeignFile::open(&column, Known::default(), 1 << 20).unwrap_err();
    assert!(matches!(&no_table, Error::NoTable { column, .. } if column == "id"), "{no_table}");
}

#[test]
fn a_file_that_was_replaced_is_seen_to_be_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids.guava");
    let bytes = std::fs::read(guava()).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let file = ForeignFile::open(&path, Known::default(), 1 << 20).unwrap().unwrap();
    assert!(file.is_unchanged());
    std::fs::write(folder.path().join("new"), &bytes).unwrap();
    std::fs::rename(folder.path().join("new"), &path).unwrap();
    assert!(!file.is_unchanged());
}

/// A filter of 8 bits a key for 10 keys that clears itself with the ninth.
fn clearing(folder: &std::path::Path) -> ForeignFile {
    let path = folder.join("f");
    let options =
        BloomFileterOptions { auto_clear_rate: Some(0.8), ..BloomFileterOptions::new(10, "F") };
    let empty = BloomFileter::create(&options, &Limits::default()).unwrap();
    std::fs::write(&path, mayhap_formats::ForeignFilter::encode(&empty)).unwrap();
    ForeignFile::open(&path, Known::default(), 1 << 20).unwrap().unwrap()
}

#[test]
fn a_filter_that_would_forget_its_keys_is_full_unless_it_may_be_overfilled() {
    let folder = tempfile::tempdir().unwrap();
    let texts: Vec<String> = (0..20).map(|i: u32| format!("key {i}")).collect();
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let mut new = Bitmap::new();
    let mut set = ForeignSet::to_fill(clearing(folder.path()), false).unwrap();
    set.insert_into(texts[..].into(), Repeats::Renew, &mut new).unwrap();
    let (done, capacity) = (new.len(), set.numbers(Repeats::Renew).capacity.unwrap());
    assert!(done < texts.len() && new.count_ones() as u64 == capacity, "{new:?}");
    assert_eq!(Room::left(set.held(), capacity), Room::Repeats);
    // What is there passes, and forgets nothing.
    set.insert_into(texts[..done].into(), Repeats::Renew, &mut new).unwrap();
    assert_eq!((new.len(), new.count_ones()), (done, 0));
    assert!(!set.warnings().iter().any(|text| text.contains("cleared")));

    let mut set = ForeignSet::to_fill(clearing(folder.path()), true).unwrap();
    set.insert_into(texts[..].into(), Repeats::Renew, &mut new).unwrap();
    assert_eq!(new.len(), texts.len());
    let cleared = set.warnings().iter().filter(|text| text.contains("cleared itself")).count();
    assert!(cleared > 0 && set.warnings().is_empty(), "{cleared}");
    assert!(set.items() < capacity && matches!(set.held(), Held::Estimated(_)));
}

#[test]
fn a_set_is_saved_where_it_was_and_read_again_when_others_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids.guava");
    std::fs::write(&path, std::fs::read(guava()).unwrap()).unwrap();
    let known = Known { key_type: Some(KeyType::Bytes), ..Known::default() };
    let open = || ForeignFile::open(&path, known, 1 << 20).unwrap().unwrap();
    let mut sets = [(); 2].map(|()| ForeignSet::to_fill(open(), false).unwrap());
    let (key, mut answer): ([&[u8]; 1], _) = ([b"one more"], Bitmap::new());
    sets[0].insert_into(key[..].into(), Repeats::Renew, &mut answer).unwrap();
    assert_eq!(answer.count_ones(), 1);
    let lock = FilterLock::take(&path, &mut LockOptions::new("a test")).unwrap();
    sets[0].save(&lock, true).unwrap();
    let is_changed = sets.each_mut().map(|set| set.reload().unwrap());
    assert_eq!(is_changed, [false, true]);
    sets[1].contains_into(key[..].into(), &mut answer).unwrap();
    assert_eq!(answer.count_ones(), 1);
    std::fs::write(&path, std::fs::read(golden::root().join("spark/v1_string.bin")).unwrap())
        .unwrap();
    let error = sets[1].reload().unwrap_err();
    assert!(error.to_string().contains("replaced by a file of another system"), "{error}");
}

#[test]
fn a_created_file_knows_its_numbers_until_it_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids");
    let size = Size::Of(NewFilter::new(100, 0.01));
    let create = |format, max_bytes| ForeignFile::create(&path, format, size, None, max_bytes);
    let mut set = ForeignSet::to_fill(create(Format::Guava, 1 << 20).unwrap(), false).unwrap();
    let numbers = set.numbers(Repeats::Renew);
    assert_eq!((numbers.capacity, numbers.target_fpp), (Some(100), 0.01));
    let texts: Vec<String> = (0..200).map(|i: u32| format!("key {i}")).collect();
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let mut new = Bitmap::new();
    set.insert_into(texts[..110].into(), Repeats::Renew, &mut new).unwrap();
    assert_eq!(Room::left(set.held(), 100), Room::Repeats);
    // Its bits may speak of as many by chance, but not of twice as many.
    assert!(set.file().filter().estimated_items() > Some(100));
    assert_eq!(set.measurements().warning("ids"), None);
    set.insert_into(texts[110..].into(), Repeats::Renew, &mut new).unwrap();
    assert!(set.measurements().warning("ids").is_some());
    let lock = FilterLock::take(&path, &mut LockOptions::new("a test")).unwrap();
    set.save(&lock, false).unwrap();
    assert!(set.file().is_unchanged());
    assert!(set.save(&lock, false).is_err(), "it was replaced");
    let file = ForeignFile::open(&path, Known::default(), 1 << 20).unwrap().unwrap();
    assert_eq!((file.expected_items(), file.target_fpp()), (None, None));
    // A bitmap knows what opening it needs.
    let file = create(Format::Redisson, 1 << 20).unwrap();
    let shape = file.unrecorded_shape().unwrap();
    assert_eq!((shape.num_bits, shape.num_hashes), (958, 7));
    let small = create(Format::Redisson, 119).unwrap_err();
    assert!(matches!(small, Error::TooLarge { needed: 120, limit: 119 }), "{small}");
}
