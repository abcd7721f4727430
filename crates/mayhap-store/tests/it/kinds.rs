//! Every kind is saved, loaded and verified through the same code, and damage is refused.

use crate::common::Folder;
use mayhap::native::{self, Kind, Native};
use mayhap::{
    AnyFilter, BinaryFuse, BloomMatrix, CompactFilter, CountingBloomFilter, DigestFunction,
    FuseWidth, ScalableBloomFilter, WindowBloomFilter,
};
use mayhap_store::{load, load_as, open_mapped, read_header, save, verify};
use std::fs;

const ITEMS: u64 = 3000;

/// Saves `filter`; the loaded one answers "maybe" for every key as before and is the same filter to
/// the byte, and no damaged or shortened file is taken for it.
fn check<F: Native>(filter: &F, holds: impl Fn(&F, u64) -> bool) {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, filter, "trim=1\n").unwrap();
    let whole = native::encode(filter, "trim=1\n");
    assert!(fs::read(path).unwrap() == whole);
    assert_eq!(read_header(path).unwrap().kind(), F::KIND);
    assert_eq!(verify(path).unwrap().key_options(), "trim=1\n");

    let copy = load_as::<F>(path, None).unwrap().filter;
    for key in 0..2 * ITEMS {
        assert_eq!(holds(&copy, key), holds(filter, key), "key {key}");
    }
    assert!((0..ITEMS).all(|key| holds(&copy, key)), "{} lost a key", F::KIND.name());
    assert!(native::encode(&copy, "trim=1\n") == whole);

    let is_bloom = F::KIND == Kind::Bloom;
    for refused in [load(path, None).map(|_| ()), open_mapped(path, None).map(|_| ())] {
        assert_eq!(refused.is_ok(), is_bloom);
        if let Err(error) = refused {
            let expected = format!("this is a {} filter, not a bloom filter", F::KIND.name());
            assert!(error.to_string().ends_with(&expected), "{error}");
        }
    }
    refuses_damage::<F>(path, &whole);
}

fn refuses_damage<F: Native>(path: &std::path::Path, whole: &[u8]) {
    // A byte of every page, of the header's fields and of the checksum table.
    let mut flips: Vec<usize> = (0..whole.len()).step_by(1021).collect();
    flips.extend((0..128).chain(2176..2240).chain([4064, 4095, whole.len() - 1]));
    for offset in flips {
        let mut damaged = whole.to_vec();
        damaged[offset] ^= 0x10;
        fs::write(path, &damaged).unwrap();
        assert!(load_as::<F>(path, None).is_err(), "byte {offset} flipped");
        assert!(verify(path).is_err(), "byte {offset} flipped");
    }
    for length in (0..whole.len()).step_by(1499).chain([whole.len() - 1]) {
        fs::write(path, &whole[..length]).unwrap();
        assert!(load_as::<F>(path, None).is_err(), "cut after {length} bytes");
        assert!(verify(path).is_err(), "cut after {length} bytes");
    }
}

#[test]
fn plain_filters() {
    let mut filter = AnyFilter::builder().expected_items(ITEMS).target_fpp(0.01).build().unwrap();
    for key in 0..ITEMS {
        filter.insert(&key);
    }
    check(&filter, |filter, key| filter.contains(&key));
}

#[test]
fn compact_filters() {
    let builder = CompactFilter::builder().expected_items(ITEMS).target_fpp(0.01);
    let mut filter = builder.build().unwrap();
    for key in 0..ITEMS {
        filter.insert(&key).unwrap();
    }
    check(&filter, |filter, key| filter.contains(&key));
}

#[test]
fn counting_filters_and_what_they_become() {
    let mut filter =
        CountingBloomFilter::builder().expected_items(ITEMS).target_fpp(0.01).build().unwrap();
    for key in 0..ITEMS {
        filter.insert(&key);
    }
    check(&filter, |filter, key| filter.contains(&key));
    check(&filter.to_blocked().unwrap(), |filter, key| filter.contains(&key));
}

#[test]
fn growing_filters() {
    let mut filter = ScalableBloomFilter::new(10, 0.01, DigestFunction::xxh3(1)).unwrap();
    for key in 0..ITEMS {
        filter.insert(&key).unwrap();
    }
    assert!(filter.num_layers() >= 3);
    check(&filter, |filter, key| filter.contains(&key));
}

#[test]
fn windows() {
    let builder = WindowBloomFilter::builder().window_items(ITEMS).target_fpp(0.01);
    let mut filter = builder.build().unwrap();
    for key in (10_000..20_000u64).chain(0..ITEMS) {
        filter.insert(&key);
    }
    check(&filter, |filter, key| filter.contains(&key));
}

#[test]
fn matrices() {
    let builder = BloomMatrix::builder().num_sets(3).expected_items(ITEMS).target_fpp(0.01);
    let mut filter = builder.build().unwrap();
    for key in 0..ITEMS {
        filter.insert((key % 3) as usize, &key);
    }
    check(&filter, |filter, key| filter.contains((key % 3) as usize, &key));
}

#[test]
fn frozen_sets() {
    let filter =
        BinaryFuse::from_keys(FuseWidth::BITS_8, DigestFunction::xxh3(1), 0..ITEMS).unwrap();
    check(&filter, |filter, key| filter.contains(&key));
}
