//! A sorted list is searched as a set is.

use mayhap_lists::{Error, KeyOptions, NotSearchable, Reading, SortedFile};
use std::collections::BTreeSet;

/// Sorted keys of all lengths up to `longest`, some of them equal.
fn keys(count: usize, longest: usize) -> Vec<Vec<u8>> {
    let mut seed = count as u64;
    let mut keys: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut key = format!("{:05}", (seed >> 33) % 30_000).into_bytes();
            key.resize(key.len() + (seed >> 40) as usize % (longest + 1), b'm');
            key
        })
        .collect();
    keys.sort();
    keys
}

fn open(bytes: &[u8]) -> Result<SortedFile, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sorted");
    std::fs::write(&path, bytes).unwrap();
    SortedFile::open(&path, &KeyOptions::default(), &Reading::default())
}

/// Files of one window, of a few, and of more than the index has keys; every key, and what is just
/// below and just above it.
#[test]
fn a_key_is_found_where_it_is_and_nothing_beside_it() {
    for (count, longest) in
        [(0, 0), (1, 0), (2, 0), (300, 3), (2_000, 10), (2_000, 60), (30_000, 150), (40, 9_000)]
    {
        let keys = keys(count, longest);
        let set: BTreeSet<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (mark, end) in [("", "\n"), ("\u{FEFF}", "\r\n"), ("", "")] {
            let separator = if end.is_empty() { "\n" } else { end };
            let mut bytes = mark.as_bytes().to_vec();
            bytes.extend(keys.join(separator.as_bytes()));
            if count > 0 {
                bytes.extend(end.as_bytes());
            }
            let mut file = open(&bytes).unwrap();
            let mut check = |wanted: &[u8]| {
                let found = file.holds(wanted).unwrap();
                assert_eq!(found, set.contains(wanted), "{} of {count}", wanted.escape_ascii());
            };
            let step = 1 + count / 3_000;
            for key in keys.iter().step_by(step).chain(keys.last()) {
                check(key);
                let mut other = key.clone();
                other.push(b'.');
                check(&other);
                other.truncate(key.len() - 1);
                check(&other);
                other.push(key[key.len() - 1] - 1);
                check(&other);
            }
            check(b"");
            check(b"~");
        }
    }
}

#[test]
fn a_list_that_is_seen_to_be_in_no_order_is_refused_and_not_searched() {
    for (list, place) in [(&b"b\nc\na\n"[..], 4), (b"b\r\nb\n\n", 5)] {
        let Err(Error::NotSearchable { why, .. }) = open(list) else { panic!("{place}") };
        assert!(matches!(why, NotSearchable::NotSorted { at, .. } if at == place), "{why:?}");
    }
    assert!(open(b"a\na\nb\n").is_ok(), "equal keys are in order");
    // Where the first lines are sorted, some all over the file are looked at.
    let half = keys(30_000, 20).join(&b'\n');
    assert!(open(&half).is_ok());
    let twice = [&half[..], b"\n", &half].concat();
    assert!(matches!(open(&twice), Err(Error::NotSearchable { .. })));
}
