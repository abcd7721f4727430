//! The promised rate holds, where other servers miss it by up to 30,000 times.

use super::keyspace::{keyspace, turn};
use mayhap::{Bitmap, Digest};
use mayhap_engine::keyspace::{Entry, Spec};

const ABSENT: u64 = 200_000;

fn digests(entry: &Entry, range: std::ops::Range<u64>) -> Vec<Digest> {
    let function = entry.digest_function().unwrap();
    range.map(|i| function.digest(format!("item:{i}").as_bytes())).collect()
}

/// Fills by single insertions; returns how many absent keys are answered "maybe", and how many
/// insertions "not new".
fn measure(spec: Spec, items: u64) -> (u64, u64) {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"a", spec, 1, None).unwrap();
    let mut swallowed = 0;
    for digest in digests(&entry, 0..items) {
        swallowed += u64::from(!entry.insert_digest(digest, &mut turn).unwrap());
    }
    let mut found = Bitmap::new();
    entry.contains_digests(&digests(&entry, 0..items), 1, &mut found);
    assert_eq!(found.count_ones() as u64, items, "a key is lost");
    assert_eq!(entry.items() + swallowed, items);
    entry.contains_digests(&digests(&entry, 1 << 40..(1 << 40) + ABSENT), 1, &mut found);
    (found.count_ones() as u64, swallowed)
}

fn at_most(found: u64, asked: u64, error: f64) -> bool {
    let expected = asked as f64 * error;
    found as f64 <= expected + 3.0 * (expected * (1.0 - error)).sqrt()
}

#[test]
fn the_promised_rate_holds_for_small_and_grown_filters() {
    for (error, capacity, expansion, items) in [
        (0.01, 1, 1, 500),
        (0.01, 1, 2, 5_000),
        (0.01, 10, 1, 1_000),
        (0.01, 10, 2, 10_000),
        (1e-6, 10, 2, 10_000),
        (1e-6, 1, 2, 1_000),
        (0.01, 100, 2, 100_000),
        (0.001, 100, 2, 100_000),
        (0.01, 1_000, 4, 300_000),
        (0.01, 100_000, 2, 100_000),
        (0.001, 100_000, 2, 100_000),
    ] {
        let (found, swallowed) = measure(Spec::growing(capacity, error, expansion), items);
        println!(
            "growing {error} {capacity} {expansion}, {items} items: {found} of {ABSENT} \
             ({:.2} x the promise), {swallowed} swallowed",
            found as f64 / (ABSENT as f64 * error)
        );
        assert!(at_most(found, ABSENT, error), "{error} {capacity} {expansion} {items}: {found}");
        assert!(at_most(swallowed, items, error), "{swallowed} of {items} swallowed");
    }
}

#[test]
fn the_promised_rate_holds_for_full_filters_of_a_fixed_size() {
    for (error, capacity) in [(0.01, 1), (0.01, 10), (0.001, 300), (0.01, 5_000), (1e-5, 50_000)] {
        let (found, swallowed) = measure(Spec::fixed(capacity, error), capacity);
        println!("fixed {error} {capacity}: {found} of {ABSENT}, {swallowed} swallowed");
        assert!(at_most(found, ABSENT, error), "{error} {capacity}: {found}");
        assert!(at_most(swallowed, capacity, error), "{swallowed} of {capacity} swallowed");
    }
}

/// A chain from 100 keys is full at 816,100; with a million its newest layer is a quarter full.
#[test]
fn a_filter_that_grew_takes_little_more_than_a_reserved_one_and_after_growth_twice_as_much() {
    let (keyspace, mut turn) = (keyspace(), turn());
    for (error, items, most) in
        [(0.01, 810_000, 1.6), (0.001, 810_000, 1.6), (1e-4, 810_000, 1.6), (0.01, 1_000_000, 2.3)]
    {
        let grown = keyspace.create(b"grown", Spec::growing(100, error, 2), 1, None).unwrap();
        for digest in digests(&grown, 0..items) {
            grown.insert_digest(digest, &mut turn).unwrap();
        }
        let spec = Spec::growing(items, error, 2);
        let reserved = keyspace.create(b"reserved", spec, 1, None).unwrap().info().num_bytes;
        let ratio = grown.info().num_bytes as f64 / reserved as f64;
        println!("{error}: grown {} reserved {reserved}: {ratio:.2}", grown.info().num_bytes);
        assert!(ratio <= most, "{error} {items}: {ratio}");
        keyspace.clear(None).unwrap();
    }
}

#[test]
fn the_reported_capacity_is_the_requested_one_until_it_is_exceeded() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"a", Spec::growing(100, 0.01, 2), 1, None).unwrap();
    for digest in digests(&entry, 0..100) {
        entry.insert_digest(digest, &mut turn).unwrap();
    }
    assert_eq!((entry.info().capacity, entry.info().layers), (100, 1));
    for digest in digests(&entry, 100..3_000) {
        entry.insert_digest(digest, &mut turn).unwrap();
    }
    assert_eq!((entry.info().capacity, entry.info().layers), (100 + 3_200, 2));
    let measured = entry.measure();
    assert!(measured.fill_ratio > 0.1 && measured.fill_ratio < 0.5, "{measured:?}");
    assert!((measured.estimated_fpp / entry.info().expected_fpp - 1.0).abs() < 0.3, "{measured:?}");
}
