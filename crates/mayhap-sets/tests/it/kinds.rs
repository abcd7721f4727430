//! Each kind does what it says.

use super::{compact, counting, digests, fillable, found, fuse, insert, plain, scalable, window};
use mayhap::set::Repeats;
use mayhap::{Bitmap, CompactFilter, DigestFunction, Health, WindowBloomFilter};
use mayhap_sets::{Error, Held, KeySet, LayoutName, Measurements, OwnSet, Refusal};
use mayhap_store::Memory;
use mayhap_units::window::WindowSize;

#[test]
fn a_set_holds_its_keys_and_says_which_of_them_are_new() {
    for mut set in fillable() {
        let set = &mut *set;
        assert_eq!(insert(set, 0..300), (0..300).collect::<Vec<_>>(), "{}", set.name());
        assert_eq!(insert(set, 200..400), (100..200).collect::<Vec<_>>(), "{}", set.name());
        assert_eq!(found(set, 300..500), (0..100).collect::<Vec<_>>(), "{}", set.name());
        // By their bytes they are the same keys.
        let texts: Vec<_> = (399..401u64).map(u64::to_le_bytes).collect();
        let texts: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
        let mut bits = Bitmap::new();
        set.contains_into(texts[..].into(), &mut bits).unwrap();
        assert_eq!(bits.iter_ones().collect::<Vec<_>>(), [0], "{}", set.name());
        set.insert_into(texts[..].into(), Repeats::Renew, &mut bits).unwrap();
        assert_eq!(bits.iter_ones().collect::<Vec<_>>(), [1], "{}", set.name());
        let Measurements::Own(state) = set.measurements() else { panic!("it is our own") };
        let numbers = set.numbers(Repeats::Renew);
        assert!(state.num_bytes == numbers.num_bytes && state.layout == set.name(), "{state:?}");
        assert_eq!((numbers.target_fpp, state.health), (1e-6, Health::Ok), "{}", set.name());
        assert_eq!((numbers.items, state.items), (set.items(), set.items()), "{}", set.name());
        assert!(set.capabilities().clears, "{}", set.name());
        set.clear().unwrap();
        assert!(found(set, 0..500).is_empty() && set.items() == 0, "{}", set.name());
    }
}

#[test]
fn repeats_are_counted_where_they_can_be_removed_and_removed_as_often() {
    for mut set in [OwnSet::from(counting()), OwnSet::from(compact())] {
        check_copies(&mut set);
    }
    let mut bits = Bitmap::new();
    let removes = |set: &dyn KeySet| ["compact", "counting"].contains(&set.name());
    for mut other in fillable().into_iter().filter(|set| !removes(&**set)) {
        insert(&mut *other, 0..10);
        assert!(!other.capabilities().removes, "{}", other.name());
        assert!(other.remove_into(digests(0..10)[..].into(), &mut bits).is_err());
        assert_eq!(found(&mut *other, 0..10).len(), 10, "{}", other.name());
    }
}

fn check_copies(set: &mut dyn KeySet) {
    insert(set, 0..10);
    insert(set, 0..5);
    assert_eq!((set.items(), set.held()), (15, Held::Counted(15)));
    let mut bits = Bitmap::new();
    set.insert_into(digests(0..20)[..].into(), Repeats::Ignore, &mut bits).unwrap();
    assert_eq!((bits.count_ones(), set.items()), (10, 25));
    assert!(set.capabilities().renews && set.capabilities().removes);
    set.remove_into(digests(3..30)[..].into(), &mut bits).unwrap();
    assert_eq!(bits.iter_ones().collect::<Vec<_>>(), (0..17).collect::<Vec<_>>());
    // 0, 1 and 2 are there twice, 3 and 4 once more, and the others are gone.
    assert_eq!((found(set, 0..30), set.items()), ((0..5).collect(), 8));
}

/// A full one refuses copies, and has room again when it is doubled; one that grows does so itself.
#[test]
fn a_compact_filter_takes_no_more_copies_and_is_doubled() {
    let mut set = OwnSet::from(compact());
    insert(&mut set, 0..1_000);
    assert!(set.numbers(Repeats::Renew).is_hard && !set.capabilities().grows);
    let (mut new, more) = (Bitmap::new(), digests(990..1_010));
    let error = set.insert_into(more[..].into(), Repeats::Renew, &mut new).unwrap_err();
    assert!(matches!(error, mayhap_sets::Error::Filter(mayhap::Error::Full { .. })), "{error}");
    assert_eq!(set.items(), 1_000);
    // Of a dedup the repeats pass.
    set.insert_into(more[..10].into(), Repeats::Ignore, &mut new).unwrap();
    assert_eq!((new.count_ones(), set.items()), (0, 1_000));
    let mut doubled = set.doubled().unwrap();
    let (old, now) = (set.numbers(Repeats::Renew), doubled.numbers(Repeats::Renew));
    assert_eq!((now.capacity, now.items), (Some(2_000), 1_000));
    let rates = now.target_fpp / old.target_fpp;
    assert!((1.5..=2.0).contains(&rates), "{rates}");
    insert(&mut doubled, 1_000..2_000);
    assert_eq!(found(&mut doubled, 0..2_000).len(), 2_000);
    assert!(OwnSet::from(counting()).doubled().is_err());
    let grows = CompactFilter::builder().expected_items(1_000).target_fpp(1e-6).grows(true);
    let mut grows = OwnSet::from(grows.build().unwrap());
    assert!(grows.capabilities().grows && !grows.numbers(Repeats::Renew).is_hard);
    grows.set_max_bytes(grows.numbers(Repeats::Renew).num_bytes * 3);
    insert(&mut grows, 0..1_500);
    let all = digests(1_500..20_000);
    let error = grows.insert_into(all[..].into(), Repeats::Renew, &mut new).unwrap_err();
    assert!(matches!(error, mayhap_sets::Error::Filter(mayhap::Error::TooLarge { .. })), "{error}");
}

/// By hand: 80 % of 1,000 keys; a counting filter that counts repeats is full at as many
/// insertions.
#[test]
fn each_kind_knows_when_it_is_full_and_when_to_warn() {
    let sets = fillable();
    let of = |name: &str| sets.iter().find(|set| set.name() == name).unwrap();
    let plain_full = plain().params().inserted_when_full();
    for (name, capacity, full, full_of_absent, warn) in [
        ("blocked", Some(1_000), Some(plain_full), Some(plain_full), Some(800)),
        ("compact", Some(1_000), Some(1_000), Some(1_000), Some(800)),
        ("counting", Some(1_000), Some(1_000), Some(1_000), Some(800)),
        ("scalable", None, None, None, None),
        ("window", None, None, None, None),
    ] {
        let [any, absent] = [Repeats::Renew, Repeats::Ignore].map(|it| of(name).numbers(it));
        assert_eq!((any.capacity, any.warn_at), (capacity, warn), "{name}");
        assert_eq!((any.full_at, absent.full_at), (full, full_of_absent), "{name}");
    }
    assert_eq!(of("window").numbers(Repeats::Renew).expected_items, 1_000);
    // Of a rate of a tenth, new keys are taken for repeats: full is with fewer counted.
    let lossy = mayhap::CountingBloomFilter::builder().expected_items(1_000).target_fpp(0.1);
    let lossy = OwnSet::from(lossy.build().unwrap());
    let absent = lossy.numbers(Repeats::Ignore).full_at.unwrap();
    assert_eq!(lossy.numbers(Repeats::Renew).full_at, Some(1_000));
    assert!((950..1_000).contains(&absent), "{absent}");
    let lossy = mayhap::AnyFilter::builder().expected_items(1_000).target_fpp(0.1).build().unwrap();
    let lossy = OwnSet::from(lossy);
    let warn_at = lossy.numbers(Repeats::Renew).warn_at.unwrap();
    assert!((750..800).contains(&warn_at), "{warn_at}");
    let full = [false, true].map(|absent| {
        lossy.numbers(if absent { Repeats::Ignore } else { Repeats::Renew }).full_at.unwrap()
    });
    assert!(full[0] == full[1] && (950..1_000).contains(&full[0]), "{full:?}");
}

/// Of a counting filter repeats count, unless none are inserted; others estimate what came.
#[test]
fn the_keys_that_came_are_estimated_from_the_count() {
    for (set, any, absent) in [
        (OwnSet::from(plain()), true, true),
        (OwnSet::from(compact()), true, true),
        (OwnSet::from(counting()), true, true),
        (OwnSet::from(scalable()), true, true),
        (OwnSet::from(window()), false, false),
    ] {
        let came = |repeats| set.numbers(repeats).distinct_items.is_some();
        assert_eq!((came(Repeats::Renew), came(Repeats::Ignore)), (any, absent), "{set:?}");
    }
    let lossy = mayhap::CountingBloomFilter::builder().expected_items(1_000).target_fpp(0.1);
    let mut lossy = OwnSet::from(lossy.build().unwrap());
    insert(&mut lossy, 0..2_000);
    let [any, absent] = [Repeats::Renew, Repeats::Ignore].map(|it| lossy.numbers(it));
    assert_eq!((any.keys(), absent.items), (2_000, 2_000));
    assert!(absent.keys() > 2_100, "{absent:?}");
}

/// The rate of a chain that is never saved is that of its count, and needs no bits.
#[test]
fn a_chain_in_memory_predicts_its_rate() {
    let (mut saved, mut unsaved) = (OwnSet::from(scalable()), OwnSet::unsaved(scalable()));
    insert(&mut saved, 0..900);
    insert(&mut unsaved, 0..900);
    let expected = unsaved.numbers(Repeats::Renew).expected_fpp;
    assert_eq!(unsaved.state().estimated_fpp, expected);
    assert_ne!(saved.state().estimated_fpp, expected);
    assert_eq!(saved.state().fill_ratio, unsaved.state().fill_ratio);
    assert_eq!(saved.state().distinct_items, Some(900));
}

#[test]
fn a_fuse_filter_answers_and_refuses_everything_else() {
    let mut fuse = OwnSet::from(fuse());
    assert_eq!(fuse.layout_name(), Some(LayoutName::Fuse));
    let set: &mut dyn KeySet = &mut fuse;
    assert_eq!(found(set, 900..1_100), (0..100).collect::<Vec<_>>());
    let can = set.capabilities();
    assert!(can.inserts == Err(Refusal::NeverChanges) && !can.removes && !can.clears);
    let one = digests(5_000..5_001);
    assert!(set.insert_into(one[..].into(), Repeats::Renew, &mut Bitmap::new()).is_err());
    assert!(set.clear().is_err() && set.items() == 1_000);
    assert_eq!((set.numbers(Repeats::Renew).target_fpp * 65_536.0).round(), 1.0);
}

#[test]
fn a_chain_grows_within_the_limit_of_a_call_and_keeps_that_of_its_file() {
    let mut filter = scalable();
    let limit = filter.max_bytes();
    let first = filter.num_bytes();
    filter.set_max_bytes(100 * first);
    let mut set = OwnSet::from(filter);
    assert!(100 * first < limit);
    set.set_max_bytes(2 * first);
    let (mut new, keys) = (Bitmap::new(), digests(0..1_000_000));
    let num_bytes = |set: &OwnSet| set.numbers(Repeats::Renew).num_bytes;
    let error = set.insert_into(keys[..50_000].into(), Repeats::Renew, &mut new).unwrap_err();
    assert!(matches!(error, Error::Filter(mayhap::Error::TooLarge { .. })), "{error}");
    assert!(num_bytes(&set) <= 2 * first, "{} {first}", num_bytes(&set));
    // What was inserted before is in it.
    let inserted = set.items();
    assert!(inserted >= 1_000 && found(&mut set, 0..inserted).len() as u64 == inserted);
    // More than the file allows is never allowed, and what is saved is the limit of the file.
    set.set_max_bytes(u64::MAX);
    assert!(set.insert_into(keys[..].into(), Repeats::Renew, &mut new).is_err());
    assert!(num_bytes(&set) > 10 * first && num_bytes(&set) <= 100 * first);
    let header = set.header("");
    set.set_max_bytes(2 * first);
    assert_eq!(set.header(""), header);
    assert_eq!(set.layout_name(), Some(LayoutName::Scalable));
}

#[test]
fn a_window_forgets_its_oldest_keys_and_a_repeat_renews_only_if_it_is_to() {
    for repeats in [Repeats::Renew, Repeats::Ignore] {
        let (mut set, refreshes) = (OwnSet::from(window()), repeats == Repeats::Renew);
        let mut new = Bitmap::new();
        let mut insert = |set: &mut OwnSet, range| {
            set.insert_into(digests(range)[..].into(), repeats, &mut new).unwrap();
            new.count_ones()
        };
        assert!(set.capabilities().renews && set.capabilities().forgets);
        assert_eq!(set.moves_with_repeats(repeats), !refreshes);
        insert(&mut set, 0..10);
        // Twice the window comes, and in between the first five come again.
        let mut again = 0;
        for start in (1_000..5_000).step_by(400) {
            insert(&mut set, start..start + 400);
            again += insert(&mut set, 0..5);
        }
        assert_eq!(found(&mut set, 5..10), Vec::<usize>::new());
        assert_eq!(found(&mut set, 4_600..5_000).len(), 400, "the last window is whole");
        // Each time they were renewed, or they had been forgotten and were new again.
        assert_eq!(again == 0, refreshes, "{again}");
        assert_eq!(set.layout_name(), Some(LayoutName::Window(WindowSize::Items(1_000))));
        let (mut ages, last) = (Vec::new(), digests(4_999..5_000));
        set.ages_into(&[last[0], digests(9_999..10_000)[0]], &mut ages);
        assert!(ages[0].is_some_and(|age| age.at_least <= 5 && age.at_most >= 1), "{ages:?}");
        assert_eq!(ages[1], None);
    }
    let by_time = WindowBloomFilter::builder().window_time(60_000, 1_000).target_fpp(0.01);
    let by_time = || Box::new(by_time.clone().build().unwrap());
    let unknown = OwnSet::new(by_time(), false);
    assert_eq!(unknown.capabilities().inserts, Err(Refusal::ForeignTime));
    let mut known = OwnSet::new(by_time(), true);
    assert!(known.capabilities().inserts.is_ok());
    assert!(!known.moves_with_repeats(Repeats::Ignore));
    assert_eq!(known.layout_name(), Some(LayoutName::Window(WindowSize::Millis(60_000))));
    insert(&mut known, 0..1);
    let mut ages = Vec::new();
    known.ages_into(&digests(0..1), &mut ages);
    let age = ages[0].unwrap();
    assert!(age.at_most < 60_000, "{age:?}");
    // In the words of time, and of keys.
    let text = known.age_text(&mayhap::Age { at_least: 1_000, at_most: 7_200_000, ..age });
    assert!(text.contains('s') && text.ends_with("2 h"), "{text}");
    assert!(known.key_options(mayhap_keys::KeyOptions::default()).unix_ms);
    assert!(!unknown.key_options(mayhap_keys::KeyOptions::default()).unix_ms);
    assert_eq!(known.digest_function(), Some(DigestFunction::default()));
}
