//! Live filters of every kind: after any crash they are, to the byte, what was recorded.

use crate::common::{Folder, digest};
use mayhap::native;
use mayhap::{Bitmap, CountingBloomFilter, DigestFunction, ScalableBloomFilter, WindowBloomFilter};
use mayhap_store::{
    Error, Insert, LiveFilter, LiveLog, Recovery, load_as, load_live_as, pending_log_bytes,
};
use proptest::prelude::*;
use std::fs;

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

fn insert<F: Insert>(filter: &mut F, keys: &[u64]) {
    let digests: Vec<_> = keys.iter().copied().map(digest).collect();
    filter.insert_digests_into(&digests, &mut Bitmap::new()).unwrap();
}

fn record<F: Insert>(live: &mut LiveFilter<F>, keys: &[u64]) {
    live.record(&keys.iter().copied().map(digest).collect::<Vec<_>>()).unwrap();
}

/// What a history does next.
#[derive(Debug, Clone)]
enum Step {
    Insert(Vec<u64>),
    Record,
    Checkpoint,
    /// The process dies and starts again.
    Crash,
    /// The process dies after a checkpoint has its place and before the log is emptied.
    CrashInCheckpoint,
    /// Another process asks meanwhile.
    Ask,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => prop::collection::vec(0u64..300, 0..60).prop_map(Step::Insert),
        5 => Just(Step::Record),
        1 => Just(Step::Checkpoint),
        2 => Just(Step::Crash),
        2 => Just(Step::CrashInCheckpoint),
        1 => Just(Step::Ask),
    ];
    prop::collection::vec(step, 1..40)
}

/// The bytes of a filter that got these keys in this order.
fn bytes_of<F: Insert>(mut filter: F, keys: &[u64]) -> Vec<u8> {
    insert(&mut filter, keys);
    native::encode(&filter, "")
}

fn run<F: Insert>(empty: impl Fn() -> F, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let folder = Folder::new();
    let (path, log) = (&folder.file("a"), &folder.file("a.log"));
    let mut live = LiveFilter::create(path, empty(), "").unwrap();
    let (mut inserted, mut recorded): (Vec<u64>, usize) = (Vec::new(), 0);
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
                prop_assert_eq!(pending_log_bytes(path).unwrap(), 0);
            }
            Step::Crash | Step::CrashInCheckpoint => {
                if let Step::CrashInCheckpoint = step {
                    let before = fs::read(log).unwrap();
                    live.checkpoint().unwrap();
                    recorded = inserted.len();
                    drop(live);
                    fs::write(log, before).unwrap();
                } else {
                    drop(live);
                }
                inserted.truncate(recorded);
                live = LiveFilter::open_as(path, None, |_| {}).unwrap().0;
                let expected = bytes_of(empty(), &inserted);
                prop_assert!(native::encode(live.filter(), "") == expected);
            }
            Step::Ask => {
                let (asked, _) = load_live_as::<F>(path, None, |_| {}).unwrap();
                let expected = bytes_of(empty(), &inserted[..recorded]);
                prop_assert!(native::encode(&asked.filter, "") == expected);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x006D_6179_6861_7002),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

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
fn a_crash_in_a_checkpoint_is_told_by_what_was_left_out() {
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
    let stale = Recovery { stale_digests: 100, ..Recovery::default() };
    assert_eq!(load_live_as::<WindowBloomFilter>(path, None, |_| {}).unwrap().1, stale);
    assert_eq!(LiveFilter::<WindowBloomFilter>::open_as(path, None, |_| {}).unwrap().1, stale);
    // The log is a new one, which goes on after this checkpoint.
    let (mut live, recovery) =
        LiveFilter::<WindowBloomFilter>::open_as(path, None, |_| {}).unwrap();
    assert_eq!(recovery, Recovery::default());
    insert(live.filter_mut(), &[1000]);
    record(&mut live, &[1000]);
    drop(live);
    let (live, recovery) = LiveFilter::<WindowBloomFilter>::open_as(path, None, |_| {}).unwrap();
    assert_eq!((recovery.replayed_digests, recovery.new_items), (1, 1));
    assert!(live.filter().contains(&1000u64));
}

#[test]
fn a_restart_that_was_cut_short_leaves_an_empty_log() {
    let folder = Folder::new();
    let (path, log) = (&folder.file("a"), &folder.file("a.log"));
    let live = LiveFilter::create(path, window(), "").unwrap();
    drop(live);
    let whole = fs::read(log).unwrap();
    for length in 0..whole.len() {
        fs::write(log, &whole[..length]).unwrap();
        let (live, recovery) =
            LiveFilter::<WindowBloomFilter>::open_as(path, None, |_| {}).unwrap();
        assert_eq!(recovery, Recovery::default(), "{length} bytes");
        assert_eq!(live.log_bytes(), 64);
    }
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

#[test]
fn a_first_checkpoint_replaces_nothing_that_appeared_meanwhile() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let filter = counting();
    let mut log = LiveLog::create(path, filter.digest_function(), "").unwrap();
    fs::write(path, "another's").unwrap();
    assert!(matches!(log.checkpoint(&filter), Err(Error::Exists { .. })));
    assert_eq!(fs::read(path).unwrap(), b"another's");
    fs::remove_file(path).unwrap();
    log.checkpoint(&filter).unwrap();
    log.checkpoint(&filter).unwrap();
    load_as::<CountingBloomFilter>(path, None).unwrap();
}
