//! Sets read back from a file and its log.

use super::{compact, counting, digests, found, fuse, insert, plain, scalable, window};
use mayhap::native::Native;
use mayhap::set::{Repeats, Set};
use mayhap::{AnyFilter, Bitmap};
use mayhap_sets::{KeySet, MappedSet, Measurements, OwnSet, load};
use mayhap_store::{LockOptions, Memory, Operation, Session, SessionOptions, Snapshot};
use std::path::Path;

fn saved(path: &Path, filter: &impl Native) -> OwnSet {
    mayhap_store::save(path, filter, "").unwrap();
    load(Snapshot::open(path).unwrap().image(), None).unwrap()
}

fn take_over(set: &mut OwnSet, path: &Path) {
    let snapshot = Snapshot::open(path).unwrap();
    set.load(snapshot.image()).unwrap();
}

/// A set from a file of each kind gives the answers and the numbers of the kind itself.
#[test]
fn every_kind_is_loaded_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("f");
    let all = digests(0..1_000);
    let check = |mut filter: Box<dyn Set>, mut set: OwnSet, details: &[&str]| {
        let (name, (mut bits, mut expected)) = (filter.name(), Default::default());
        assert_eq!((set.name(), set.items()), (name, 1_000));
        assert_eq!(found(&mut set, 500..2_000), (0..500).collect::<Vec<_>>(), "{name}");
        let (numbers, ours) = (filter.numbers(), set.numbers(Repeats::Ignore));
        assert_eq!(
            (ours.num_bytes, ours.expected_items, ours.capacity, ours.full_at, ours.items),
            (
                numbers.num_bytes,
                numbers.expected_items,
                numbers.capacity,
                filter.inserted_when_full(),
                1_000
            ),
            "{name}"
        );
        let fpps = (numbers.target_fpp, numbers.expected_fpp);
        assert_eq!((ours.target_fpp, ours.expected_fpp), fpps, "{name}");
        let (by_bits, state) = (filter.by_bits(), set.state());
        assert_eq!(
            (state.estimated_fpp, state.fill_ratio, state.health),
            (by_bits.estimated_fpp, by_bits.fill_ratio, by_bits.health),
            "{name}"
        );
        let (can, kind) = (set.capabilities(), filter.capabilities());
        assert_eq!(
            (can.inserts.is_ok(), can.removes, can.clears, can.renews, can.grows, can.forgets),
            (kind.inserts, kind.removes, kind.clears, kind.renews, kind.grows, kind.forgets),
            "{name}"
        );
        let keys: Vec<_> = KeySet::details(&set).iter().map(|it| it.key).collect();
        assert_eq!(keys, details, "{name}");
        assert_eq!(set.remove_into(all[..1].into(), &mut bits).is_ok(), kind.removes, "{name}");
        assert_eq!(filter.remove_into(&all[..1], &mut expected).is_ok(), kind.removes, "{name}");
        assert_eq!((bits, set.items()), (expected, filter.inserted_items()), "{name}");
        assert_eq!(set.clear().is_ok(), kind.clears, "{name}");
    };
    let (mut plain, mut counting, mut scalable, mut window) =
        (plain(), counting(), scalable(), window());
    let mut compact = compact();
    let mut bits = Bitmap::new();
    plain.insert_digests_into(&all, &mut bits);
    compact.insert_digests_into(&all, &mut bits).unwrap();
    counting.insert_digests_into(&all, &mut bits);
    scalable.insert_digests_into(&all, &mut bits).unwrap();
    window.insert_digests_into(&all, &mut bits);
    check(plain.copy().unwrap(), saved(path, &plain), &[]);
    let rows = ["copies", "distinct_fingerprints", "stuck_fingerprints", "grows", "bits_per_copy"];
    check(compact.copy().unwrap(), saved(path, &compact), &rows);
    let rows = ["num_counters", "counter_bits", "saturated_counters"];
    check(counting.copy().unwrap(), saved(path, &counting), &rows);
    check(scalable.copy().unwrap(), saved(path, &scalable), &["layers", "promised_fpp"]);
    let rows = ["window_items", "num_generations", "generation_size", "num_rows"];
    check(window.copy().unwrap(), saved(path, &window), &rows);
    check(Box::new(fuse()), saved(path, &fuse()), &["fingerprint_bits"]);
}

/// A filter that lies in its file, and what a log has added to it since.
#[test]
fn a_filter_with_a_log_holds_the_keys_of_both_and_counts_each_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("f");
    let mut filter = plain();
    let mut bits = Bitmap::new();
    filter.insert_digests_into(&digests(0..300), &mut bits);
    let mut live = OwnSet::from(filter);
    let options = SessionOptions::new(LockOptions::new("test")).needs_log();
    let mut session = Session::create(path, options, &mut live, "").unwrap();
    for range in [300..400, 350..450] {
        let digests = digests(range);
        live.insert_into(digests[..].into(), Repeats::Renew, &mut bits).unwrap();
        session.note(Operation::Insert, 0, digests);
        session.record(&mut live).unwrap();
    }
    let (mut set, recovery) = MappedSet::open(Snapshot::open(path).unwrap(), None, false).unwrap();
    assert_eq!((recovery.new_items, recovery.replayed_digests), (150, 200));
    assert_eq!(found(&mut set, 250..500), (0..200).collect::<Vec<_>>());
    let numbers = set.numbers(Repeats::Renew);
    assert_eq!((set.items(), numbers.capacity), (450, Some(1_000)));
    let Measurements::Own(state) = set.measurements() else { panic!("it is our own") };
    let (estimate, _) = state.estimated_items.unwrap();
    assert!((estimate.items - 450.0).abs() < 5.0, "{estimate:?}");
    let whole: AnyFilter =
        mayhap_store::Snapshot::open(path).unwrap().load(None, |_| {}).unwrap().0.filter;
    assert_eq!(state.fill_ratio, whole.count_ones() as f64 / whole.params().num_bits() as f64);
    assert_eq!(numbers.expected_fpp, whole.expected_fpp(whole.params().distinct_items(450)));
    set.check_unchanged().unwrap();
    assert!(set.capabilities().inserts.is_err() && set.mapped().is_none());
    let one = digests(0..1);
    assert!(set.insert_into(one[..].into(), Repeats::Renew, &mut bits).is_err());
}

/// A process takes over what another one has saved.
#[test]
fn contents_take_over_an_image_in_place_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("f");
    let mut filled = counting();
    let mut bits = Bitmap::new();
    filled.insert_digests_into(&digests(0..50), &mut bits);
    mayhap_store::save(path, &filled, "").unwrap();
    let mut set = OwnSet::from(counting());
    insert(&mut set, 100..110);
    take_over(&mut set, path);
    assert_eq!((found(&mut set, 0..200).len(), set.items()), (50, 50));
    // Of another kind there is none to take over.
    let mut set = OwnSet::from(plain());
    let error = set.load(Snapshot::open(path).unwrap().image()).unwrap_err();
    assert!(matches!(error, mayhap_store::Error::Format { .. }), "{error}");
    let mut chain = scalable();
    chain.insert_digests_into(&digests(0..50), &mut bits).unwrap();
    mayhap_store::save(path, &chain, "").unwrap();
    let mut set = OwnSet::from(scalable());
    // The limit of this run stays.
    set.set_max_bytes(1);
    take_over(&mut set, path);
    assert_eq!(found(&mut set, 0..100).len(), 50);
    let more = digests(1_000..9_000);
    assert!(set.insert_into(more[..].into(), Repeats::Renew, &mut bits).is_err());
    let mut forgets = window();
    forgets.insert_digests_into(&digests(0..50), &mut bits);
    mayhap_store::save(path, &forgets, "").unwrap();
    let mut set = OwnSet::from(window());
    take_over(&mut set, path);
    assert_eq!(found(&mut set, 0..100).len(), 50);
}
