//! Golden files of Guava, opened by path and queried by the lines of a list.

use mayhap::Bitmap;
use mayhap_foreign::{Error, ForeignFile, Known};
use mayhap_formats::{Format, KeyType};
use mayhap_lists::{Error as ListError, KeyOptions, LineReader, Reading, Source};
use std::path::{Path, PathBuf};
use test_data::golden;

fn guava() -> PathBuf {
    golden::root().join("guava/bytes_mitz32.bin")
}

/// How many lines the filter may hold, of how many, and how many are no keys.
fn query(file: &mut ForeignFile, list: &Path) -> (usize, usize, u64) {
    let sources = Source::from_paths(&[list.to_owned()]);
    let mut lines =
        LineReader::new(sources, &KeyOptions::default(), Reading::default(), None).unwrap();
    let (mut found, mut hits, mut all) = (Bitmap::new(), 0, 0);
    while let Some(batch) = lines.next_batch(|| Ok::<(), ListError>(())).unwrap() {
        file.query(&batch, &mut found);
        assert_eq!(found.len(), batch.len());
        hits += found.count_ones();
        all += batch.len();
    }
    (hits, all, file.all_not_keys().lines())
}

#[test]
fn a_golden_file_is_detected_and_holds_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("keys.txt");
    let described = golden::Golden::of("guava").json("bytes_mitz32.json");
    let members = described["members_explicit"].as_array().unwrap();
    let keys: Vec<&str> = members.iter().map(|key| key["key"]["hex"].as_str().unwrap()).collect();
    assert!(keys.len() > 5);
    std::fs::write(&list, keys.join("\n") + "\nno hex digits\n").unwrap();
    let known = Known { key_type: Some(KeyType::Hex), ..Known::default() };
    let mut file = ForeignFile::open(&guava(), known, 1 << 20).unwrap().unwrap();
    assert_eq!(file.filter().format(), Format::Guava);
    assert_eq!(file.detected().map(|it| it.format), Some(Format::Guava));
    assert_eq!(query(&mut file, &list), (keys.len(), keys.len() + 1, 1));
    assert_eq!(file.not_keys(), [keys.len()]);
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
