//! Windows in which repeats renew nothing.

use super::window::seen;
use super::window_kinds::{Kind, of_time, random};
use mayhap::{Bitmap, Digest};

/// Against the same windows given only absent keys, one at a time: the kinds, batches with repeats
/// in them, and tables that do not fit the cache.
#[test]
#[cfg_attr(miri, ignore = "a million keys")]
fn absent_keys_alone_are_inserted_and_age() {
    let kinds = [Kind::Items, Kind::Time, Kind::OldTime];
    for (kind, items) in kinds.map(|kind| (kind, 280)).into_iter().chain([(kinds[0], 1_400_000)]) {
        let (mut one, mut many) = (kind.make(items, items, 0.05), kind.make(items, items, 0.05));
        let digests: Vec<Digest> = (0..6 * items).map(|i| random(i / 3 % (items / 2))).collect();
        let (mut new, mut inserted) = (Bitmap::new(), 0);
        for (step, digests) in digests.chunks(digests.len() / 20).enumerate() {
            one.advance(step as u64 * items / 14);
            many.advance(step as u64 * items / 14);
            many.insert_absent_digests_into(digests, &mut new);
            for (&digest, new) in digests.iter().zip(new.iter()) {
                let is_new = !one.contains_digest(digest);
                assert_eq!((one.insert_absent_digest(digest), new), (is_new, is_new));
            }
            assert_eq!(seen(&one, digests), seen(&many, digests), "{kind:?}");
            inserted += new.count_ones() as u64;
        }
        assert!(inserted >= items / 3 && inserted < 3 * items, "{kind:?}: {inserted} of {items}");
    }
    // A key that recurs all the time is still forgotten, and then new.
    let mut filter = of_time(1_000, 100, 1e-9);
    let new: Vec<u64> =
        (0..5_000).filter(|&now| (filter.advance(now), filter.insert_absent("key")).1).collect();
    assert!((4..=5).contains(&new.len()), "{new:?}");
    for (i, pair) in new.windows(2).enumerate() {
        assert!((1_001..=1_126).contains(&(pair[1] - pair[0])), "{i}: {new:?}");
    }
}
