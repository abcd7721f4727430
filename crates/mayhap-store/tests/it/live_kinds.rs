//! Live filters of every kind: after any crash they equal the recorded state, to the byte.

use crate::common::{Folder, digest, filter, load_live_as};
use mayhap::native::{self, Native};
use mayhap::set::{Repeats, Set};
use mayhap::{
    Bitmap, CountingBloomFilter, DigestFunction, Layout, ScalableBloomFilter, WindowBloomFilter,
};
use mayhap_store::{Error, LiveFilter, LogFound, Recovery, Snapshot, load_as};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fs;
use std::path::Path;

fn counting() -> CountingBloomFilter {
    CountingBloomFilter::builder().expected_items(500).target_fpp(1e-6).build().unwrap()
}

fn growing() -> ScalableBloomFilter {
    ScalableBloomFilter::new(10, 1e-6, DigestFunction::default()).unwrap()
}

fn window() -> WindowBloomFilter {
    WindowBloomFilter::builder().window_items(140).target_fpp(1e-6).build().unwrap()
}

fn of_time() -> WindowBloomFilter {
    WindowBloomFilter::builder().window_time(1400, 100).target_fpp(1e-6).build().unwrap()
}

fn insert<F: Native + Set>(filter: &mut F, keys: &[u64]) {
    let digests: Vec<_> = keys.iter().copied().map(digest).collect();
    filter.insert_into(&digests, Repeats::Renew, &mut Bitmap::new()).unwrap();
}

fn record<F: Native + Set>(live: &mut LiveFilter<F>, keys: &[u64]) {
    live.record(&keys.iter().copied().map(digest).collect::<Vec<_>>()).unwrap();
}

/// The next step of a history.
#[derive(Debug, Clone)]
enum Step {
    /// Inserts these keys and does not record them yet.
    Insert(Vec<u64>),
    /// Records all that was inserted and not recorded.
    Record,
    Checkpoint,
    /// The process dies and starts again.
    Crash,
    /// The process dies in the middle of writing a record, after this many bytes.
    TornCrash(usize),
    /// The process dies after a checkpoint has its place and before the log is removed.
    CrashInCheckpoint,
    Sync,
    /// Another process queries meanwhile.
    Ask,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => prop::collection::vec(0u64..400, 0..60).prop_map(Step::Insert),
        5 => Just(Step::Record),
        1 => Just(Step::Checkpoint),
        2 => Just(Step::Crash),
        1 => (1usize..200).prop_map(Step::TornCrash),
        2 => Just(Step::CrashInCheckpoint),
        1 => Just(Step::Sync),
        1 => Just(Step::Ask),
    ];
    prop::collection::vec(step, 1..40)
}

/// Begins the record that would be the next one.
fn tear(log: &Path, bytes: usize) {
    let mut file = fs::read(log).unwrap();
    let mut record = file[file.len() - 8..].to_vec();
    record.extend([7; 200]);
    record[20..24].copy_from_slice(b"\x89mhr");
    file.extend_from_slice(&record[..bytes]);
    fs::write(log, file).unwrap();
}

/// Whether two filters are alike to the byte.
fn same<F: Native + Set>(left: &F, right: &F) -> bool {
    native::encode(left, "") == native::encode(right, "")
}

fn run<F: Native + Set>(empty: impl Fn() -> F, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let folder = Folder::new();
    let (path, log) = (&folder.file("a"), &folder.file("a.log"));
    let mut live = LiveFilter::create(path, empty(), "").unwrap();
    let (mut inserted, mut recorded): (Vec<u64>, usize) = (Vec::new(), 0);
    // A filter that got these keys in this order.
    let filter_of = |keys: &[u64]| {
        let mut filter = empty();
        insert(&mut filter, keys);
        filter
    };
    for step in steps {
        match step {
            Step::Insert(keys) => {
                insert(live.filter_mut(), &keys);
                inserted.extend(keys);
            }
            Step::Record => {
                record(&mut live, &inserted[recorded..]);
                recorded = inserted.len();
            }
            Step::Checkpoint => {
                live.checkpoint().unwrap();
                recorded = inserted.len();
                prop_assert_eq!(Snapshot::open(path).unwrap().log(), LogFound::None);
                let saved = load_as::<F>(path, None).unwrap().filter;
                prop_assert!(same(&saved, &filter_of(&inserted)));
            }
            Step::Crash | Step::TornCrash(_) | Step::CrashInCheckpoint => {
                let before = fs::read(log).ok();
                if let Step::CrashInCheckpoint = step {
                    live.checkpoint().unwrap();
                    recorded = inserted.len();
                }
                drop(live);
                let mut torn = 0;
                match (step, before) {
                    (Step::CrashInCheckpoint, Some(before)) => fs::write(log, before).unwrap(),
                    (Step::TornCrash(bytes), Some(_)) => {
                        tear(log, bytes);
                        torn = bytes as u64;
                    }
                    _ => {}
                }
                inserted.truncate(recorded);
                let (again, recovery) = LiveFilter::open_as(path, None, |_| {}).unwrap();
                live = again;
                prop_assert_eq!(recovery.dropped_bytes, torn);
            }
            Step::Sync => live.sync().unwrap(),
            Step::Ask => {
                let (asked, _) = load_live_as::<F>(path, None).unwrap();
                prop_assert!(same(&asked.filter, &filter_of(&inserted[..recorded])));
            }
        }
        prop_assert!(same(live.filter(), &filter_of(&inserted)));
    }
    Ok(())
}

fn config(cases: u32, seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(180, 0x006D_6179_6861_7001))]

    #[test]
    fn a_live_plain_filter_has_every_record_and_nothing_else(steps in steps()) {
        run(|| filter(Layout::Standard, 1 << 16, 0..0), steps)?;
    }
}

proptest! {
    #![proptest_config(config(80, 0x006D_6179_6861_7002))]

    #[test]
    fn a_live_counting_filter_counts_every_record_once(steps in steps()) {
        run(counting, steps)?;
    }

    #[test]
    fn a_live_growing_filter_has_every_record(steps in steps()) {
        run(growing, steps)?;
    }

    #[test]
    fn a_live_window_forgets_no_earlier_for_a_crash(steps in steps()) {
        run(window, steps)?;
    }

    #[test]
    fn a_live_window_of_time_has_every_record(steps in steps()) {
        run(of_time, steps)?;
    }
}

#[test]
fn a_log_that_is_in_the_image_is_not_done_again() {
    let folder = Folder::new();
    let (path, log) = (&folder.file("a"), &folder.file("a.log"));
    let mut live = LiveFilter::create(path, window(), "").unwrap();
    let keys: Vec<u64> = (0..100).collect();
    insert(live.filter_mut(), &keys);
    record(&mut live, &keys);
    let before = fs::read(log).unwrap();
    live.checkpoint().unwrap();
    drop(live);
    fs::write(log, before).unwrap();
    let (loaded, recovery) = load_live_as::<WindowBloomFilter>(path, None).unwrap();
    assert_eq!((loaded.filter.inserted_items(), recovery), (100, Recovery::default()));
    let (mut live, recovery) =
        LiveFilter::<WindowBloomFilter>::open_as(path, None, |_| {}).unwrap();
    assert_eq!(recovery, Recovery::default());
    // The log is a new one, which continues after this checkpoint.
    insert(live.filter_mut(), &[1000]);
    record(&mut live, &[1000]);
    drop(live);
    let (live, recovery) = LiveFilter::<WindowBloomFilter>::open_as(path, None, |_| {}).unwrap();
    assert_eq!((recovery.replayed_digests, recovery.new_items), (1, 1));
    assert!(live.filter().contains(&1000u64));
}

#[test]
fn a_beginning_that_was_cut_short_leaves_a_log_that_says_nothing() {
    let folder = Folder::new();
    let (path, log) = (&folder.file("a"), &folder.file("a.log"));
    let mut live = LiveFilter::create(path, window(), "").unwrap();
    let image = fs::read(path).unwrap();
    record(&mut live, &[1]);
    drop(live);
    let header = fs::read(log).unwrap()[..64].to_vec();
    for length in 1..=header.len() {
        // The image is as it was before it was marked.
        fs::write(path, &image).unwrap();
        fs::write(log, &header[..length]).unwrap();
        let (mut live, recovery) =
            LiveFilter::<WindowBloomFilter>::open_as(path, None, |_| {}).unwrap();
        assert_eq!(recovery, Recovery::default(), "{length} bytes");
        record(&mut live, &[2, 3]);
        drop(live);
        let (_, recovery) = load_live_as::<WindowBloomFilter>(path, None).unwrap();
        assert_eq!(recovery.replayed_digests, 2, "{length} bytes");
    }
}

/// Version 0.1 put all of a log into the generation of the next run.
#[test]
fn what_is_replayed_is_as_old_as_it_was() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut live = LiveFilter::create(path, of_time(), "").unwrap();
    for (key, time) in [(1, 1_000), (2, 1_900), (3, 2_300)] {
        live.filter_mut().insert_digest_at(digest(key), time);
        record(&mut live, &[key]);
    }
    let ages =
        |filter: &WindowBloomFilter, time| [1u64, 2, 3].map(|key| filter.contains_at(&key, time));
    let times = [2_400, 2_600, 3_300, 3_500, 3_900];
    let expected = times.map(|time| ages(live.filter(), time));
    assert!(expected.contains(&[false, true, true]) && expected.contains(&[false, false, true]));
    drop(live);
    let later = |filter: &mut WindowBloomFilter| filter.advance(1_000);
    let (live, _) = LiveFilter::open_as(path, None, later).unwrap();
    assert_eq!(times.map(|time| ages(live.filter(), time)), expected);
    let (loaded, _) = load_live_as::<WindowBloomFilter>(path, None).unwrap();
    assert_eq!(times.map(|time| ages(&loaded.filter, time)), expected);
}

#[test]
fn what_was_removed_stays_removed() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut live = LiveFilter::create(path, counting(), "").unwrap();
    insert(live.filter_mut(), &[1, 1, 2, 3]);
    record(&mut live, &[1, 1, 2, 3]);
    for key in [1, 2] {
        assert!(live.filter_mut().remove_digest(digest(key)));
    }
    live.record_removed(&[1, 2].map(digest)).unwrap();
    let saved = native::encode(live.filter(), "");
    drop(live);
    let (live, recovery) = LiveFilter::<CountingBloomFilter>::open_as(path, None, |_| {}).unwrap();
    assert!(native::encode(live.filter(), "") == saved);
    assert_eq!(recovery.replayed_digests, 6);
    assert_eq!([1u64, 2, 3].map(|key| live.filter().contains(&key)), [true, false, true]);
}

#[test]
fn a_replay_into_a_filter_that_may_not_grow_is_an_error_that_loses_nothing() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut live = LiveFilter::create(path, growing(), "").unwrap();
    let keys: Vec<u64> = (0..500).collect();
    insert(live.filter_mut(), &keys);
    record(&mut live, &keys);
    drop(live);
    for _ in 0..2 {
        let small = |filter: &mut ScalableBloomFilter| filter.set_max_bytes(500);
        let error = LiveFilter::open_as(path, None, small).unwrap_err();
        let too_large = matches!(
            error,
            Error::Format { source: mayhap::Error::TooLarge { limit: 500, .. }, .. }
        );
        assert!(too_large, "{error}");
    }
    let (live, _) = LiveFilter::<ScalableBloomFilter>::open_as(path, None, |_| {}).unwrap();
    assert!(keys.iter().all(|key| live.filter().contains(key)));
}
