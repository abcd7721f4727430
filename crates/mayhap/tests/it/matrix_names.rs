//! Names of a matrix's sets: in memory, in files, and in files that are wrong.

use mayhap::native::{self, HEADER_BYTES, Native};
use mayhap::{BloomMatrix, DigestFunction, Error};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const ANSWERS: &str = include_str!("../golden/native/answers_matrix.txt");

const FILES: [(&str, &[u8]); 3] = [
    ("v3-matrix", include_bytes!("../golden/native/v3-matrix.mayhap")),
    ("v3-matrix-names", include_bytes!("../golden/native/v3-matrix-names.mayhap")),
    ("v3-matrix-names-520", include_bytes!("../golden/native/v3-matrix-names-520.mayhap")),
];

/// The names of a golden file, by `tests/golden/native/README.md`.
fn names_of(file: &str) -> Option<Vec<String>> {
    match file {
        "v3-matrix" => None,
        "v3-matrix-names" => Some(["east", "wést\n", ""].map(Into::into).to_vec()),
        _ => Some((0..520).map(|i| format!("shard-{i}")).collect()),
    }
}

fn names(matrix: &BloomMatrix) -> Vec<Option<&str>> {
    (0..matrix.num_sets()).map(|set| matrix.name(set)).collect()
}

#[test]
fn golden_matrices_open_answer_and_are_written_back_byte_for_byte() {
    assert_eq!(ANSWERS.lines().count(), FILES.len());
    for ((file, bytes), line) in FILES.into_iter().zip(ANSWERS.lines()) {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some(file));
        let count: usize = words.next().unwrap().parse().unwrap();
        let (matrix, header) = native::decode_as::<BloomMatrix>(bytes, None).unwrap();
        match names_of(file) {
            None => assert!(names(&matrix).iter().all(Option::is_none)),
            Some(expected) => {
                assert!(names(&matrix).into_iter().eq(expected.iter().map(|n| Some(&**n))));
            }
        }
        for i in 0..count {
            let key = format!("member-{i}");
            assert!(matrix.contains(i % matrix.num_sets(), &key), "{file}: {key}");
        }
        let absent = (0..100).filter_map(|i| {
            let which = matrix.which(&format!("absent-{i}"));
            let sets: Vec<String> = which.iter().map(|set| set.to_string()).collect();
            (!sets.is_empty()).then(|| format!("{i}:{}", sets.join(",")))
        });
        let absent: Vec<String> = absent.collect();
        assert_eq!(absent, words.collect::<Vec<_>>(), "{file}");
        assert_eq!(header.version(), native::VERSION);
        assert!(native::encode(&matrix, "") == bytes, "{file}: other bytes");
    }
}

fn matrix(num_sets: usize) -> BloomMatrix {
    let builder = BloomMatrix::builder().num_sets(num_sets).expected_items(20).target_fpp(0.05);
    builder.build().unwrap()
}

#[test]
fn names_need_one_for_each_set_and_no_zero_byte() {
    let mut caches = matrix(2);
    caches.set_names(&["east", "west"]).unwrap();
    let before = native::encode(&caches, "");
    for wrong in [&["east"][..], &["a", "b", "c"]] {
        assert!(matches!(caches.set_names(wrong), Err(Error::OutOfRange { found, .. })
            if found == wrong.len() as u64));
    }
    assert!(matches!(caches.set_names(&["a", "b\0"]), Err(Error::BadField { found: 1, .. })));
    let long = "x".repeat(BloomMatrix::MAX_NAME_BYTES + 1);
    assert!(matches!(caches.set_names(&["a", &long]), Err(Error::OutOfRange { found: 4097, .. })));
    assert_eq!(native::encode(&caches, ""), before, "changed by a refusal");
    caches.set_names(&[&long[1..], ""]).unwrap();
    assert_eq!(names(&caches), [Some(&long[1..]), Some("")]);
    // Sets that are added have no name yet, and one that is emptied keeps its own.
    caches.add_sets(600).unwrap();
    assert_eq!((caches.name(1), caches.name(601)), (Some(""), Some("")));
    caches.remove_set(0);
    assert_eq!(caches.name(0), Some(&long[1..]));
    caches.set_names::<&str>(&[]).unwrap();
    assert_eq!(caches.name(0), None);
    assert!(native::encode(&caches, "") == native::encode(&matrix(602), ""), "traces of names");
}

/// The file with another body and another count of name bytes, its checksums right.
fn forged(bytes: &[u8], name_bytes: u64, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let sum = |bytes: &[u8]| DigestFunction::xxh3(0).digest(bytes).get().to_le_bytes();
    let pages = (bytes.len() - HEADER_BYTES) / 4104;
    let mut file = bytes[..HEADER_BYTES + pages * 4096].to_vec();
    change(&mut file[HEADER_BYTES..]);
    let table: Vec<u8> = file[HEADER_BYTES..].chunks(4096).flat_map(sum).collect();
    file[64..72].copy_from_slice(&sum(&table));
    file[80..88].copy_from_slice(&name_bytes.to_le_bytes());
    let header = sum(&file[..4088]);
    file[4088..4096].copy_from_slice(&header);
    file.extend(table);
    file
}

#[test]
fn names_that_no_writer_writes_are_refused() {
    let (_, bytes) = FILES[1];
    let name_page = 6 * 4096; // after five pages of rows and one of counts
    let length = "east\0wést\n\0\0".len() as u64;
    assert!(forged(bytes, length, |_| {}) == bytes, "the forger is at fault");
    let refused = |name_bytes, change: &dyn Fn(&mut [u8])| {
        let file = forged(bytes, name_bytes, change);
        let result = native::decode_as::<BloomMatrix>(&file, None);
        assert!(result.is_err(), "{name_bytes}: {:?}", result.map(|(matrix, _)| matrix));
    };
    refused(length, &|body| body[name_page] = 0xFF); // not UTF-8
    refused(length, &|body| body[name_page + 1] = 0); // four names
    refused(length, &|body| body[name_page + 4] = b'x'); // two names
    refused(length, &|body| body[name_page + length as usize - 1] = b'x'); // the last has no end
    refused(length, &|body| body[name_page + 63] = 1); // bytes past the names
    refused(length - 1, &|_| {});
    refused(2, &|_| {}); // less than a byte for each set
    refused(3 * 4097 + 1, &|_| {});
    refused(u64::MAX, &|_| {});
    // One page more than in the header.
    refused(0, &|_| {});
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(18),
        failure_persistence: None,
        cases: 64,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_names_are_read_back(
        list in proptest::collection::vec("[^\0]{0,70}", 1..12), more in 0usize..3,
    ) {
        let mut one = matrix(list.len());
        one.set_names(&list).unwrap();
        one.insert(0, "key");
        one.add_sets(more).unwrap();
        let bytes = native::encode(&one, "lower=true\n");
        let (two, header) = native::decode_as::<BloomMatrix>(&bytes, None).unwrap();
        prop_assert_eq!(names(&one), names(&two));
        let named = list.iter().map(|name| Some(&**name));
        prop_assert!(named.eq(names(&two).into_iter().take(list.len())));
        prop_assert_eq!(header.fields(), &one.fields());
        prop_assert!(native::encode(&two, "lower=true\n") == bytes);
        prop_assert!(two.contains(0, "key"));
    }
}
