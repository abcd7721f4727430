//! Each kind behind its face does what the kind itself does.

use super::{Repeats, Set, decode, encode};
use crate::native::Kind;
use crate::sizing::Shrink;
use crate::{
    AnyFilter, BinaryFuse, Bitmap, BlockedBloomFilter, CompactFilter, CountingBloomFilter, Digest,
    DigestFunction, Error, FuseWidth, Layout, RibbonFilter, ScalableBloomFilter, WindowBloomFilter,
};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

fn digests(keys: core::ops::Range<u64>) -> Vec<Digest> {
    keys.map(|key| DigestFunction::default().digest(&key)).collect()
}

fn kinds() -> Vec<Box<dyn Set>> {
    let function = DigestFunction::default();
    let bloom = AnyFilter::builder().expected_items(1_000).target_fpp(1e-6);
    let clearing = BlockedBloomFilter::builder().expected_items(1_000).target_fpp(1e-6);
    let compact = CompactFilter::builder().expected_items(1_000).target_fpp(1e-6);
    let counting = CountingBloomFilter::builder().expected_items(1_000).target_fpp(1e-6);
    let items = WindowBloomFilter::builder().window_items(1_400).target_fpp(1e-6);
    let time = WindowBloomFilter::builder().window_time(64_000, 1_000).target_fpp(1e-6);
    let fuse = BinaryFuse::build(FuseWidth::BITS_16, function, digests(0..300));
    let ribbon = RibbonFilter::build(FuseWidth::BITS_16, function, digests(0..300));
    vec![
        Box::new(bloom.build().unwrap()),
        Box::new(compact.build().unwrap()),
        Box::new(counting.build().unwrap()),
        Box::new(ScalableBloomFilter::new(100, 1e-6, function).unwrap()),
        Box::new(items.build().unwrap()),
        Box::new(time.build().unwrap()),
        Box::new(fuse.unwrap()),
        Box::new(ribbon.unwrap()),
        Box::new(clearing.build().unwrap().clear_at_fill_ratio(0.9).unwrap()),
    ]
}

/// A capability is true exactly if the operation works.
#[test]
fn what_a_kind_can_do_it_does_and_nothing_else() {
    for mut set in kinds() {
        let (can, name) = (set.capabilities(), set.name());
        let (keys, mut bits) = (digests(0..300), Bitmap::new());
        let is_refused = |result: Result<(), Error>, operation| match result {
            Ok(()) => false,
            Err(Error::NotOfKind { operation: found, kind }) => {
                assert_eq!((found, kind), (operation, set_kind(name)), "{name}");
                true
            }
            Err(error) => panic!("{name}: {operation}: {error}"),
        };
        let inserted = set.insert_into(&keys, Repeats::Renew, &mut bits);
        assert_eq!(is_refused(inserted, "insert"), !can.inserts, "{name}");
        assert_eq!(set.inserted_items(), set.numbers().inserted_items, "{name}");
        assert_eq!(set.inserted_items(), 300, "{name}");
        set.contains_into(&keys, set.now(), &mut bits);
        assert_eq!(bits.count_ones(), 300, "{name}");
        set.contains_into(&digests(300..600), set.now(), &mut bits);
        assert!(bits.count_ones() <= 1, "{name}");
        let copy = set.copy().unwrap();
        assert!(copy.same(&*set), "{name}");
        assert_eq!(is_refused(set.union_with(&*copy), "union"), !can.unites, "{name}");
        assert_eq!(set.age(keys[299], set.now()).is_some(), can.forgets, "{name}");
        assert_eq!(is_refused(set.remove_into(&keys[..1], &mut bits), "remove"), !can.removes);
        assert_eq!(is_refused(set.clear(), "clear"), !can.clears, "{name}");
        assert_eq!(set.contains_digest(keys[299], set.now()), !can.clears, "{name}");
        assert_eq!(set.numbers().capacity.is_none(), can.grows || can.forgets, "{name}");
        assert_eq!(set.inserted_items(), set.numbers().inserted_items, "{name}");
    }
}

fn set_kind(name: &'static str) -> &'static str {
    if matches!(name, "blocked" | "standard") { "bloom" } else { name }
}

/// A log of all keys is needed exactly by kinds that a repeat changes.
#[test]
fn a_repeat_changes_what_renews_unless_it_is_ignored() {
    for mut set in kinds().into_iter().filter(|set| set.capabilities().inserts) {
        let (renews, name, mut bits) = (set.capabilities().renews, set.name(), Bitmap::new());
        let keys = digests(0..300);
        set.insert_into(&keys, Repeats::Renew, &mut bits).unwrap();
        // Later keys, so that a key that becomes young again is in another generation.
        set.advance(20_000);
        set.insert_into(&digests(1_000..1_200), Repeats::Renew, &mut bits).unwrap();
        let mut ignoring = set.copy().unwrap();
        ignoring.insert_into(&keys, Repeats::Ignore, &mut bits).unwrap();
        assert_eq!(bits.count_ones(), 0, "{name}");
        assert_eq!(ignoring.segments(), set.segments(), "{name}");
        assert!(!ignoring.insert_digest(keys[0], Repeats::Ignore).unwrap(), "{name}");
        assert_eq!(ignoring.segments(), set.segments(), "{name}");
        let mut renewed = set.copy().unwrap();
        renewed.insert_into(&keys[..1], Repeats::Renew, &mut bits).unwrap();
        assert_eq!(renewed.segments() != set.segments(), renews, "{name}");
        let mut one = set.copy().unwrap();
        assert!(!one.insert_digest(keys[0], Repeats::Renew).unwrap(), "{name}");
        assert_eq!(one.segments(), renewed.segments(), "{name}");
    }
}

/// Insertions repeated with their moment give the same bytes.
#[test]
fn a_moment_resumes_what_was_inserted_at_it() {
    for mut set in kinds().into_iter().filter(|set| set.capabilities().inserts) {
        let (mut again, name) = (set.copy().unwrap(), set.name());
        let mut bits = Bitmap::new();
        for (at, keys) in [(10, 0..50), (9_000, 50..80), (90_000, 20..100)] {
            let keys = digests(keys);
            set.advance(at);
            set.insert_into(&keys, Repeats::Renew, &mut bits).unwrap();
            again.resume(set.moment_of_last(keys.len()));
            again.insert_into(&keys, Repeats::Renew, &mut bits).unwrap();
        }
        assert!(again.same(&*set) && again.now() == set.now(), "{name}");
    }
}

#[test]
fn the_bytes_of_every_kind_are_read_as_a_set() {
    for set in kinds() {
        let bytes = encode(&*set, "crlf=keep");
        let (read, header) = decode(&bytes, None).unwrap();
        assert!(read.same(&*set) && read.numbers() == set.numbers(), "{}", set.name());
        assert_eq!((header.kind(), header.key_options()), (set.kind(), "crlf=keep"));
        assert_eq!(read.by_bits(), set.by_bits());
    }
}

#[test]
fn unlike_kinds_have_no_union() {
    let mut sets = kinds();
    let counting = sets.remove(2);
    let error = sets[0].union_with(&*counting).unwrap_err();
    let (left, right) = (u64::from(Kind::Bloom.id()), u64::from(Kind::Counting.id()));
    assert_eq!(error, Error::Incompatible { parameter: "kind", left, right });
    assert!(!sets[0].same(&*counting));
}

/// The smaller set of a plain filter and of a chain is the one of the kind itself.
#[test]
fn what_folds_shrinks_and_nothing_else() {
    let to = |target_fpp| Shrink::To { items: None, target_fpp: Some(target_fpp) };
    let (keys, mut bits) = (digests(0..60), Bitmap::new());
    let mut shrank = Vec::new();
    for mut set in kinds() {
        if set.capabilities().inserts {
            set.insert_into(&keys, Repeats::Renew, &mut bits).unwrap();
        }
        match set.shrunk(to(0.01)) {
            Ok(small) => {
                let (small, name) = (small.unwrap(), set.name());
                assert!(small.numbers().num_bytes < set.numbers().num_bytes, "{name}");
                assert_eq!(small.inserted_items(), set.inserted_items(), "{name}");
                small.contains_into(&keys, 0, &mut bits);
                assert_eq!(bits.count_ones(), 60, "{name}");
                assert!(small.by_bits().estimated_fpp < 0.012, "{name}");
                // A smaller one of that size does not get smaller.
                assert!(small.shrunk(Shrink::default()).unwrap().is_none(), "{name}");
                assert!(set.shrunk(Shrink::By(0)).is_err(), "{name}");
                shrank.push(name);
            }
            Err(error) => {
                let expected = Error::NotOfKind { operation: "shrink", kind: set.kind().name() };
                assert_eq!(error, expected);
            }
        }
    }
    assert_eq!(shrank, ["standard", "scalable"]);
}

/// A prime number of blocks does not fold; the promise is changed all the same, or refused.
#[test]
fn a_filter_that_does_not_fold_is_copied_with_the_requested_promise() {
    let size = AnyFilter::builder().num_bits(607 * 512).expected_items(20_000);
    let mut filter = size.layout(Layout::Blocked).build().unwrap();
    filter.insert_digests_into(&digests(0..1_000), &mut Bitmap::new());
    let promised = filter.params().target_fpp();
    let to = |items, target_fpp| Set::shrunk(&filter, Shrink::To { items, target_fpp });
    for (items, fpp) in [(Some(5_000), None), (None, Some(1e-6)), (Some(2_000), Some(1e-8))] {
        let copy = to(items, fpp).unwrap().unwrap().numbers();
        assert_eq!(copy.num_bits, 607 * 512);
        assert_eq!(copy.expected_items, items.unwrap_or(copy.expected_items));
        assert!((copy.target_fpp / fpp.unwrap_or(promised) - 1.0).abs() < 1e-9);
    }
    assert!(to(None, None).unwrap().is_none());
    let refused = to(Some(999), None).unwrap_err();
    assert_eq!(refused, Error::FoldOverfull { factor: 1, items: 1_000, expected_items: 999 });
}
