//! A guard answers correctly, queries the database as little as promised, and fails as configured.

mod crawler;
mod doubles;
mod live;

use doubles::{Flaw, TestCache, TestFilter, TestLoader, WAIT, turn};
use mayhap_redis::guard::{Failing, Guard, GuardError, GuardOptions};
use std::time::Duration;
use tokio::task::JoinSet;

type TestGuard = Guard<TestFilter, TestCache, TestLoader>;

fn guard_with(options: GuardOptions) -> (TestGuard, TestFilter, TestCache, TestLoader) {
    let (filter, cache, loader) =
        (TestFilter::default(), TestCache::default(), TestLoader::default());
    let guard = Guard::new(filter.clone(), cache.clone(), loader.clone(), options);
    guard.warmed();
    (guard, filter, cache, loader)
}

fn guard() -> (TestGuard, TestFilter, TestCache, TestLoader) {
    guard_with(GuardOptions::default())
}

fn failing(failing: Failing) -> GuardOptions {
    GuardOptions { failing, ..GuardOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn what_the_filter_denies_touches_neither_cache_nor_loader() {
    let (guard, _, cache, loader) = guard();
    loader.put("there, but not in the filter", "value");
    assert_eq!(guard.get(b"there, but not in the filter").await.unwrap(), None);
    assert_eq!((cache.calls(), loader.calls()), (0, 0));
    assert_eq!((guard.counts().requests, guard.counts().stopped), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_value_is_loaded_once_in_its_time_to_live() {
    let value_ttl = Duration::from_secs(60);
    let (guard, filter, _, loader) =
        guard_with(GuardOptions { value_ttl, ..GuardOptions::default() });
    for (key, value) in [("full", "value"), ("empty", "")] {
        filter.add(key);
        loader.put(key, value);
        for _ in 0..3 {
            assert_eq!(guard.get(key.as_bytes()).await.unwrap().unwrap(), value.as_bytes());
        }
    }
    assert_eq!((guard.counts().loads, guard.counts().cache_hits), (2, 4));
    tokio::time::advance(value_ttl).await;
    assert_eq!(guard.get(b"empty").await.unwrap(), Some(Vec::new()));
    assert_eq!(guard.counts().loads, 3);
}

#[tokio::test(start_paused = true)]
async fn an_absence_that_the_loader_confirms_is_remembered_for_a_short_time() {
    let absent_ttl = Duration::from_secs(5);
    let (guard, filter, _, loader) =
        guard_with(GuardOptions { absent_ttl, ..GuardOptions::default() });
    filter.add("false positive");
    for _ in 0..10 {
        assert_eq!(guard.get(b"false positive").await.unwrap(), None);
    }
    let counts = guard.counts();
    assert_eq!((counts.loads, counts.false_positives, counts.absent_confirmed), (1, 1, 9));
    tokio::time::advance(absent_ttl).await;
    assert_eq!(guard.get(b"false positive").await.unwrap(), None);
    assert_eq!(loader.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn times_of_zero_keep_nothing() {
    let (value_ttl, absent_ttl) = (Duration::ZERO, Duration::ZERO);
    let (guard, filter, cache, loader) =
        guard_with(GuardOptions { value_ttl, absent_ttl, ..GuardOptions::default() });
    filter.add("value");
    filter.add("false positive");
    loader.put("value", "1");
    for _ in 0..2 {
        assert!(guard.get(b"value").await.unwrap().is_some());
        assert!(guard.get(b"false positive").await.unwrap().is_none());
    }
    assert_eq!((loader.calls(), cache.len()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_entry_of_ours_in_the_cache_is_not_believed() {
    let (guard, filter, cache, loader) = guard();
    for (key, entry) in [("a", &b""[..]), ("b", b"foreign")] {
        filter.add(key);
        loader.put(key, "ours");
        cache.put(key, entry);
        assert_eq!(guard.get(key.as_bytes()).await.unwrap().unwrap(), b"ours");
        assert_eq!(cache.entry(key).unwrap(), b"+ours");
    }
}

#[tokio::test(start_paused = true)]
async fn gets_of_one_key_at_once_share_one_load() {
    let (guard, filter, _, loader) = guard();
    filter.add("hot");
    loader.put("hot", "value");
    let hold = loader.hold();
    let mut gets = JoinSet::new();
    for _ in 0..100 {
        let guard = guard.clone();
        gets.spawn(async move { guard.get(b"hot").await.unwrap() });
    }
    turn(|| guard.counts().joined == 99 && loader.calls() == 1).await;
    drop(hold);
    assert!(gets.join_all().await.iter().all(|value| value.as_deref() == Some(b"value")));
    assert_eq!((guard.counts().loads, guard.counts().joined), (1, 99));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_does_not_stop_the_load() {
    let (guard, filter, cache, loader) = guard();
    filter.add("slow");
    loader.put("slow", "value");
    let hold = loader.hold();
    let get = |guard: TestGuard| tokio::spawn(async move { guard.get(b"slow").await.unwrap() });
    let first = get(guard.clone());
    turn(|| loader.calls() == 1).await;
    let second = get(guard.clone());
    turn(|| guard.counts().joined == 1).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    drop(hold);
    assert_eq!(second.await.unwrap().unwrap(), b"value");
    // No caller waits for this one any more, and it still fills the cache.
    guard.invalidate(b"slow").await.unwrap();
    let hold = loader.hold();
    let alone = get(guard.clone());
    turn(|| loader.calls() == 2).await;
    alone.abort();
    drop(hold);
    turn(|| cache.entry("slow").is_some()).await;
    assert_eq!(loader.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_load_is_not_remembered() {
    let (guard, filter, cache, loader) = guard();
    filter.add("key");
    loader.put("key", "value");
    loader.fail(Flaw::Error);
    let error = guard.get(b"key").await.unwrap_err();
    assert!(matches!(error, GuardError::Load(_)), "{error}");
    loader.fail(Flaw::Panic);
    let error = guard.get(b"key").await.unwrap_err();
    assert!(matches!(error, GuardError::NoAnswer), "{error}");
    assert_eq!(cache.len(), 0);
    loader.fail(Flaw::None);
    assert_eq!(guard.get(b"key").await.unwrap().unwrap(), b"value");
    assert_eq!((guard.counts().loads, guard.counts().load_errors), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failing_filter_lets_pass_or_refuses_as_configured() {
    for flaw in [Flaw::Error, Flaw::Silence] {
        let (guard, filter, cache, loader) = guard_with(failing(Failing::Open));
        loader.put("key", "value");
        filter.fail(flaw);
        assert_eq!(guard.get(b"key").await.unwrap().unwrap(), b"value");
        assert_eq!(guard.get(b"absent").await.unwrap(), None);
        let counts = guard.counts();
        // An absence without an answer from the filter is not cached.
        assert_eq!((counts.filter_errors, counts.loads, counts.false_positives), (2, 2, 0));
        assert_eq!((cache.len(), cache.entry("absent")), (1, None));

        let (guard, filter, cache, loader) = guard_with(failing(Failing::Closed));
        filter.fail(flaw);
        let error = guard.get(b"key").await.unwrap_err();
        assert!(matches!(error, GuardError::Filter(_)), "{error}");
        assert_eq!((cache.calls(), loader.calls()), (0, 0));
        assert_eq!((guard.counts().filter_errors, guard.counts().refused), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_cache_is_passed_by_or_refuses_as_configured() {
    for flaw in [Flaw::Error, Flaw::Silence] {
        let (guard, filter, cache, loader) = guard_with(failing(Failing::Open));
        filter.add("key");
        loader.put("key", "value");
        cache.fail(flaw);
        assert_eq!(guard.get(b"key").await.unwrap().unwrap(), b"value");
        assert_eq!(guard.get(b"absent").await.unwrap(), None);
        // One for the lookup and one for the entry that could not be stored.
        assert_eq!((guard.counts().cache_errors, guard.counts().loads), (2, 1));

        let (guard, filter, cache, loader) = guard_with(failing(Failing::Closed));
        filter.add("key");
        cache.fail(flaw);
        let error = guard.get(b"key").await.unwrap_err();
        assert!(matches!(error, GuardError::Cache(_)), "{error}");
        assert_eq!(guard.get(b"absent").await.unwrap(), None);
        assert_eq!((guard.counts().cache_errors, loader.calls()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_failed_eight_times_rests_and_is_then_tried_by_one_request() {
    let options = GuardOptions::default();
    let (timeout, rest) = (options.timeout, options.retry_after);
    let (guard, filter, _, loader) = guard_with(options);
    filter.fail(Flaw::Silence);
    for i in 0..20 {
        guard.get(format!("absent {i}").as_bytes()).await.unwrap();
    }
    assert_eq!((filter.calls(), guard.counts().filter_errors), (8, 20));
    tokio::time::advance(rest).await;
    let mut gets = JoinSet::new();
    for i in 0..20 {
        let guard = guard.clone();
        gets.spawn(async move { guard.get(format!("absent {i}").as_bytes()).await.unwrap() });
    }
    gets.join_all().await;
    assert_eq!(filter.calls(), 9);
    filter.fail(Flaw::None);
    tokio::time::advance(rest + timeout).await;
    let loads = loader.calls();
    for i in 0..20 {
        guard.get(format!("absent {i}").as_bytes()).await.unwrap();
    }
    assert_eq!((filter.calls(), loader.calls()), (29, loads));
}

#[tokio::test(start_paused = true)]
async fn until_the_filter_is_complete_the_loader_gets_the_keys_that_it_denies() {
    let (filter, cache, loader) =
        (TestFilter::default(), TestCache::default(), TestLoader::default());
    let guard = Guard::new(filter.clone(), cache.clone(), loader.clone(), GuardOptions::default());
    loader.put("old", "value");
    assert_eq!(guard.get(b"old").await.unwrap().unwrap(), b"value");
    assert!(filter.has("old"));
    assert_eq!(guard.get(b"absent").await.unwrap(), None);
    // The filter is right, so this was no false positive, and there is nothing to cache.
    assert_eq!((guard.counts().loads, guard.counts().false_positives, cache.len()), (2, 0, 1));
    guard.warmed();
    assert_eq!(guard.get(b"absent").await.unwrap(), None);
    assert_eq!((guard.counts().loads, guard.counts().stopped), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_becomes_complete_while_the_filter_answers_is_not_denied() {
    let (filter, cache, loader) =
        (TestFilter::default(), TestCache::default(), TestLoader::default());
    let guard = Guard::new(filter.clone(), cache, loader.clone(), GuardOptions::default());
    loader.put("late", "value");
    let hold = filter.hold();
    let get = tokio::spawn({
        let guard = guard.clone();
        async move { guard.get(b"late").await.unwrap() }
    });
    // It has read the bits, and its answer is on the way.
    turn(|| filter.calls() == 1).await;
    filter.add("late");
    guard.warmed();
    drop(hold);
    assert_eq!(get.await.unwrap().unwrap(), b"value");
}

#[tokio::test(start_paused = true)]
async fn a_created_key_is_not_hidden_by_a_remembered_absence() {
    let (guard, filter, _, loader) = guard();
    filter.add("new");
    assert_eq!(guard.get(b"new").await.unwrap(), None);
    loader.put("new", "value");
    guard.insert(b"new").await.unwrap();
    assert_eq!(guard.get(b"new").await.unwrap().unwrap(), b"value");
    guard.insert(b"other").await.unwrap();
    assert!(filter.has("other"));
    filter.fail(Flaw::Error);
    let error = guard.insert(b"unheard").await.unwrap_err();
    assert!(matches!(error, GuardError::Filter(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_load_that_an_invalidation_overtakes_neither_fills_the_cache_nor_serves_later_calls() {
    let (guard, filter, cache, loader) = guard();
    filter.add("key");
    loader.put("key", "old");
    let first_hold = loader.hold();
    let get = |guard: TestGuard| tokio::spawn(async move { guard.get(b"key").await.unwrap() });
    let before = get(guard.clone());
    turn(|| loader.calls() == 1).await;
    loader.put("key", "new");
    guard.invalidate(b"key").await.unwrap();
    let second_hold = loader.hold();
    let after = get(guard.clone());
    turn(|| loader.calls() == 2).await;
    drop(first_hold);
    assert_eq!(before.await.unwrap().unwrap(), b"old");
    assert_eq!((guard.counts().joined, cache.writes()), (0, 0));
    // The end of the first load does not end the second: others still join it.
    let joins = get(guard.clone());
    turn(|| guard.counts().joined == 1).await;
    drop(second_hold);
    assert_eq!(after.await.unwrap().unwrap(), b"new");
    assert_eq!(joins.await.unwrap().unwrap(), b"new");
    assert_eq!(cache.entry("key").unwrap(), b"+new");
    assert_eq!((loader.calls(), cache.writes()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_written_while_its_key_is_invalidated_does_not_stay() {
    let (guard, filter, cache, loader) = guard();
    filter.add("key");
    loader.put("key", "old");
    let hold = cache.hold_writes();
    let get = tokio::spawn({
        let guard = guard.clone();
        async move { guard.get(b"key").await.unwrap() }
    });
    turn(|| cache.writes() == 1).await;
    guard.invalidate(b"key").await.unwrap();
    drop(hold);
    get.await.unwrap();
    assert_eq!(cache.entry("key"), None);
}

#[tokio::test(start_paused = true)]
async fn each_request_is_counted_once() {
    for (mode, seed) in [(Failing::Open, 1), (Failing::Closed, 2)] {
        let (guard, filter, cache, loader) = guard_with(failing(mode));
        for i in (0..50).filter(|i| i % 3 != 0) {
            filter.add(&i.to_string());
            loader.put(&i.to_string(), if i % 3 == 1 { "value" } else { "" });
        }
        let mut state: u64 = seed;
        let mut gets = JoinSet::new();
        for step in 0..2_000 {
            // A step of Knuth's MMIX generator.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (guard, key) = (guard.clone(), (state >> 33) % 60);
            gets.spawn(async move { guard.get(key.to_string().as_bytes()).await.is_ok() });
            if step % 100 == 0 {
                filter.fail(if step % 300 == 0 { Flaw::Error } else { Flaw::None });
                cache.fail(if step % 700 == 0 { Flaw::Silence } else { Flaw::None });
                tokio::time::sleep(WAIT).await;
            }
        }
        let answered = gets.join_all().await.into_iter().filter(|&ok| ok).count() as u64;
        let c = guard.counts();
        assert_eq!(c.requests, 2_000);
        let sum = c.stopped + c.joined + c.cache_hits + c.absent_confirmed + c.loads + c.refused;
        assert_eq!(sum, c.requests, "{c:?}");
        assert!(c.stopped > 0 && c.cache_hits > 0 && c.loads > 0 && c.filter_errors > 0, "{c:?}");
        assert_eq!(mode == Failing::Open, answered == 2_000, "{c:?}");
    }
}
