//! The dump of a small filter is one chunk, in a shorter form than its file.

use super::keyspace::{keyspace, numbered, turn, with_words};
use super::keyspace_dump::{dump, load, pages};
use mayhap::native::{self, PACKED_MAGIC, is_short};
use mayhap_engine::keyspace::{Hash, LoadError, SMALL_FILE_BYTES, Shape, Spec};

/// Filters of each kind for 100 keys at 1 %.
fn specs() -> Vec<Spec> {
    let (capacity, target_fpp) = (100, 0.01);
    let mut all = vec![Spec::growing(100, 0.01, 2), Spec::fixed(100, 0.01)];
    let shapes = [
        Shape::Growing { capacity, target_fpp, expansion: 2 },
        Shape::Fixed { capacity, target_fpp, layout: None },
        Shape::Counting { capacity, target_fpp },
        Shape::Compact { capacity, target_fpp, expansion: 1 },
        Shape::Window { items: 100, time_ms: 0, target_fpp, refresh: true },
        Shape::Clearing { capacity, target_fpp, at: 0.5 },
    ];
    all.extend(shapes.map(|shape| Spec { shape, hash: Hash::Plain { seed: 5 } }));
    all
}

#[test]
fn a_small_filter_of_any_kind_is_one_chunk_and_loaded_from_it_as_from_pages() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let keys = numbered(0..100);
    for spec in specs() {
        let entry = keyspace.create(b"a", spec, 1, None).unwrap();
        with_words(&keys, |words| entry.insert_many(words, &mut turn)).unwrap();
        let (chunks, pages) = (dump(&keyspace, &entry), pages(&keyspace, &entry));
        let [(1, bytes)] = &*chunks else { panic!("{spec:?}: {} chunks", chunks.len()) };
        let file: Vec<u8> = pages.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        assert!(bytes.len() < file.len() - 4_000, "{spec:?}: {} {}", bytes.len(), file.len());
        assert!(native::paged(bytes).unwrap() == file, "{spec:?}");
        let used = keyspace.used_bytes();
        for form in [&chunks, &pages] {
            let loaded = load(&keyspace, b"b", form).unwrap();
            with_words(&keys, |words| loaded.contains_many(words, &mut turn));
            assert_eq!(turn.answers.count_ones(), keys.len(), "{spec:?}");
            assert_eq!(loaded.items(), entry.items(), "{spec:?}");
            assert!(dump(&keyspace, &loaded) == chunks, "{spec:?}");
            assert_eq!(load(&keyspace, b"b", form).unwrap_err(), LoadError::Exists);
            drop(loaded);
            assert_eq!(keyspace.remove(b"b", 1, None), Ok(true));
            assert_eq!(keyspace.used_bytes(), used, "{spec:?}");
        }
        drop(entry);
        keyspace.clear(None).unwrap();
        assert_eq!(keyspace.used_bytes(), 0, "{spec:?}");
    }
}

/// 100 keys at 1 % are 960 bits.
#[test]
fn a_dump_of_a_hundred_keys_has_few_bytes() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"a", Spec::growing(100, 0.01, 2), 1, None).unwrap();
    with_words(&numbered(0..100), |words| entry.insert_many(words, &mut turn)).unwrap();
    let chunks = dump(&keyspace, &entry);
    assert!(chunks[0].1.starts_with(&PACKED_MAGIC) && chunks[0].1.len() < 450);
    // With half of its bits set there are no zeros to leave out.
    let fixed = keyspace.create(b"b", Spec::fixed(3_000, 0.01), 1, None).unwrap();
    with_words(&numbered(0..3_000), |words| fixed.insert_many(words, &mut turn)).unwrap();
    let chunks = dump(&keyspace, &fixed);
    assert!(is_short(&chunks[0].1));
    assert_eq!(chunks[0].1.len() as u64, 72 + fixed.num_bytes());
}

#[test]
fn a_larger_filter_is_dumped_in_pages() {
    let keyspace = keyspace();
    let mut both = [0, 0];
    for capacity in (10_000..100_000).step_by(5_000) {
        let entry = keyspace.create(b"a", Spec::fixed(capacity, 0.01), 1, None).unwrap();
        let (chunks, pages) = (dump(&keyspace, &entry), pages(&keyspace, &entry));
        let file_bytes: usize = pages.iter().map(|(_, bytes)| bytes.len()).sum();
        let is_small = file_bytes <= SMALL_FILE_BYTES;
        assert_eq!(chunks.len(), if is_small { 1 } else { 2 }, "{file_bytes}");
        assert!(is_small || chunks == pages, "{file_bytes}");
        both[usize::from(is_small)] += 1;
        keyspace.clear(None).unwrap();
    }
    assert!(both.iter().all(|&number| number > 2), "{both:?}");
}

#[test]
fn a_small_dump_with_any_bit_changed_is_refused_and_leaves_nothing() {
    let (keyspace, mut turn) = (keyspace(), turn());
    for spec in [Spec::growing(100, 0.01, 2), Spec::fixed(100, 0.01)] {
        let entry = keyspace.create(b"a", spec, 1, None).unwrap();
        with_words(&numbered(0..90), |words| entry.insert_many(words, &mut turn)).unwrap();
        let used = keyspace.used_bytes();
        let bytes = dump(&keyspace, &entry).remove(0).1;
        let take = |bytes: &[u8]| keyspace.load_chunk(b"b", 1, bytes, false, 1, None);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(take(&changed), Err(LoadError::Bad(_))), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(matches!(take(&bytes[..length]), Err(LoadError::Bad(_))), "{length} bytes");
        }
        assert_eq!((keyspace.len(), keyspace.used_bytes()), (1, used));
        // It begins a load, and has no part that continues one.
        let late =
            keyspace.load_chunk(b"b", i64::try_from(bytes.len()).unwrap(), &bytes, false, 1, None);
        assert_eq!(late.unwrap_err(), LoadError::NotFound);
        keyspace.clear(None).unwrap();
    }
}

/// Packed bytes are taken for no more than they may be: the file of one segment, or of zeros.
#[test]
fn packed_bytes_that_are_no_filter_are_refused() {
    let keyspace = keyspace();
    for file in [vec![], vec![0; 1 << 20], vec![1; 5_000], native::pack(&[0; 9_000]).unwrap()] {
        let packed = native::pack(&file).unwrap();
        let refused = keyspace.load_chunk(b"a", 1, &packed, false, 1, None);
        assert!(matches!(refused, Err(LoadError::Bad(_) | LoadError::Create(_))), "{refused:?}");
        assert_eq!((keyspace.len(), keyspace.used_bytes()), (0, 0));
    }
}
