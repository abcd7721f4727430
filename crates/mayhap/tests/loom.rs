//! Every interleaving of a few concurrent calls on tiny filters, by the model checker loom:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p mayhap --test loom
//! ```
//!
//! At most three threads and three preemptions: few bugs need more (Musuvathi &
//! Qadeer 2007), and it is seconds instead of days. Filters are 64 bits with k = 2, and one block.
#![cfg(loom)]

mod schedules;

/// The primitives that the scenarios use.
mod checker {
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
    pub(crate) use loom::thread::spawn;
}

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use mayhap::{
    Blocked, Build, ConcurrentCompactFilter, Digest, DigestFunction, Error, Filter, FilterParams,
    Layout, LayoutKind, OwnedBlocks, SharedBlocks, Standard,
};

fn model(check: impl Fn() + Sync + Send + 'static) {
    with_preemptions(3, check);
}

fn with_preemptions(most: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = std::env::var("PREEMPTIONS").map(|text| text.parse().expect("a number"));
    builder.preemption_bound = Some(bound.unwrap_or(most));
    builder.check(check);
}

fn owned<L: LayoutKind>() -> Filter<L, OwnedBlocks> {
    let (num_bits, num_hashes) = match L::LAYOUT {
        Layout::Standard => (64, 2),
        _ => (512, 8),
    };
    let params = FilterParams::new(L::LAYOUT, num_bits, num_hashes, 10, 0.1).unwrap();
    Build::empty(params, DigestFunction::default()).unwrap()
}

fn shared<L: LayoutKind>() -> Arc<Filter<L, SharedBlocks>> {
    Arc::new(owned().into_concurrent())
}

/// Two digests that each have a bit that the other lacks, and share at least one, so that they meet
/// in a word and in a bit.
fn overlapping<L: LayoutKind>() -> (Digest, Digest) {
    let bits = |digest| {
        let mut filter = owned::<L>();
        filter.insert_digest(digest);
        filter.storage().as_ref()[0].0
    };
    let spread = |i: u64| Digest::new(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let first = spread(1);
    let second = (2..10_000)
        .map(spread)
        .find(|&second| {
            let lanes = || bits(first).into_iter().zip(bits(second));
            lanes().any(|(a, b)| a & b != 0)
                && lanes().any(|(a, b)| a & !b != 0)
                && lanes().any(|(a, b)| b & !a != 0)
        })
        .unwrap();
    (first, second)
}

macro_rules! for_both_layouts {
    ($($name:ident),* $(,)?) => {
        mod standard {
            $(#[test] fn $name() { super::$name::<super::Standard>(); })*
        }
        mod blocked {
            $(#[test] fn $name() { super::$name::<super::Blocked>(); })*
        }
    };
}

for_both_layouts!(
    of_two_inserts_of_one_key_at_least_one_is_new,
    exactly_one_of_two_inserters_of_a_key_gets_new,
    two_keys_that_share_bits_lose_none,
    a_published_insert_is_seen_whole,
    a_union_while_inserting_loses_nothing,
    a_snapshot_while_inserting_holds_what_came_before,
);

fn of_two_inserts_of_one_key_at_least_one_is_new<L: LayoutKind + 'static>() {
    let (digest, _) = overlapping::<L>();
    model(move || {
        let filter = shared::<L>();
        let theirs = filter.clone();
        let other = thread::spawn(move || theirs.insert_digest(digest));
        let mine = filter.insert_digest(digest);
        let other = other.join().unwrap();
        assert!(mine || other, "an absent key is new to some thread");
        assert!(filter.contains_digest(digest));
        assert!(!filter.insert_digest(digest), "now it is present");
    });
}

/// Next to another key that shares bits with it, and may set one of them before either.
fn exactly_one_of_two_inserters_of_a_key_gets_new<L: LayoutKind + 'static>() {
    let (digest, sharing) = overlapping::<L>();
    model(move || {
        let filter = Arc::new(owned::<L>().into_concurrent().insert_once());
        let theirs = filter.clone();
        let other = thread::spawn(move || {
            let new = theirs.insert_digest(digest);
            theirs.insert_digest(sharing);
            new
        });
        let mine = filter.insert_digest(digest);
        assert!(mine != other.join().unwrap(), "one of them and not both");
        assert!(filter.contains_digest(digest) && !filter.insert_digest(digest));
    });
}

fn two_keys_that_share_bits_lose_none<L: LayoutKind + 'static>() {
    let (first, second) = overlapping::<L>();
    model(move || {
        let filter = shared::<L>();
        let theirs = filter.clone();
        let other = thread::spawn(move || theirs.insert_digest(second));
        let mine = filter.insert_digest(first);
        // Each has a bit of its own, which no other thread can have set.
        assert!(other.join().unwrap() && mine);
        let filter = Arc::try_unwrap(filter).expect("the other thread has ended").into_exclusive();
        let mut one = owned::<L>();
        one.insert_digests(&[first, second]);
        assert!(filter.storage().as_ref() == one.storage().as_ref());
    });
}

/// The promise of `insert`: found once the insertion *happened before*. The bits are Relaxed; the
/// flag's Release and Acquire order them.
fn a_published_insert_is_seen_whole<L: LayoutKind + 'static>() {
    let (first, second) = overlapping::<L>();
    model(move || {
        let filter = shared::<L>();
        let published = Arc::new(AtomicBool::new(false));
        let (theirs, flag) = (filter.clone(), published.clone());
        let writer = thread::spawn(move || {
            theirs.insert_digest(first);
            flag.store(true, Ordering::Release);
            theirs.insert_digest(second);
        });
        if published.load(Ordering::Acquire) {
            assert!(filter.contains_digest(first), "a false negative");
        }
        writer.join().unwrap();
        assert!(filter.contains_digest(first) && filter.contains_digest(second));
    });
}

fn a_union_while_inserting_loses_nothing<L: LayoutKind + 'static>() {
    let (first, second) = overlapping::<L>();
    model(move || {
        let filter = shared::<L>();
        let theirs = filter.clone();
        let other = thread::spawn(move || {
            let mut right = owned::<L>();
            right.insert_digest(second);
            theirs.union_with(&right).unwrap();
        });
        assert!(filter.insert_digest(first));
        other.join().unwrap();
        assert!(filter.contains_digest(first) && filter.contains_digest(second));
    });
}

fn a_snapshot_while_inserting_holds_what_came_before<L: LayoutKind + 'static>() {
    let (first, second) = overlapping::<L>();
    model(move || {
        let filter = shared::<L>();
        filter.insert_digest(first);
        let theirs = filter.clone();
        let other = thread::spawn(move || theirs.insert_digest(second));
        let snapshot = filter.snapshot().unwrap();
        assert!(snapshot.contains_digest(first));
        assert!(other.join().unwrap());
        // And no bit that no thread set.
        let mut both = owned::<L>();
        both.insert_digests(&[first, second]);
        for (found, all) in
            snapshot.storage().as_ref()[0].0.into_iter().zip(both.storage().as_ref()[0].0)
        {
            assert_eq!(found & !all, 0);
        }
    });
}

/// The chain that grows.
mod scenarios {
    use super::schedules::growth;
    use super::{model, with_preemptions};

    #[test]
    fn an_announced_key_is_found_while_a_layer_is_added() {
        model(|| growth::an_announced_key_is_found_while_a_layer_is_added(2));
    }

    #[test]
    fn no_key_is_lost_while_a_layer_is_added() {
        with_preemptions(1, || growth::no_key_is_lost_while_a_layer_is_added(2));
    }

    /// Both read all bits of both layers: too many schedules to try, so only the first of them.
    #[test]
    fn one_of_all_inserters_of_a_key_during_growth_gets_new() {
        let mut builder = loom::model::Builder::new();
        (builder.preemption_bound, builder.max_permutations) = (Some(1), Some(5_000));
        builder.check(|| {
            growth::one_of_all_inserters_of_a_key_during_growth_gets_new(2);
        });
    }

    #[test]
    fn a_layer_is_charged_once_however_many_need_it() {
        with_preemptions(1, || growth::a_layer_is_charged_once_however_many_need_it(2));
    }

    #[test]
    fn a_layer_that_is_made_ahead_is_made_once() {
        model(|| growth::a_layer_that_is_made_ahead_is_made_once(2));
    }

    #[test]
    fn a_copy_while_a_layer_is_added_holds_what_came_before() {
        model(|| growth::a_copy_while_a_layer_is_added_holds_what_came_before(2));
    }

    #[test]
    fn a_union_with_a_copy_while_others_insert_loses_nothing() {
        model(|| growth::a_union_with_a_copy_while_others_insert_loses_nothing(2));
    }

    #[test]
    fn a_dropped_filter_lives_until_the_last_query_ends() {
        model(|| growth::a_dropped_filter_lives_until_the_last_query_ends(2));
    }
}

/// Room for one copy: of two threads that insert one gets it, and after its removal another.
#[test]
fn compact_filters_take_no_copy_too_many_and_lose_none() {
    model(|| {
        let filter = ConcurrentCompactFilter::new(1, 0.05, DigestFunction::default()).unwrap();
        let filter = Arc::new(filter);
        let digests = [1u64 << 62, 3 << 62].map(Digest::new);
        let other = thread::spawn({
            let filter = Arc::clone(&filter);
            move || {
                let inserted = filter.insert_digest(digests[0]).is_ok();
                // Nobody else removes it.
                assert_eq!(filter.contains_digest(digests[0]), inserted);
                assert_eq!(filter.remove_digest(digests[0]), inserted);
            }
        });
        let result = filter.insert_digest(digests[1]);
        other.join().unwrap();
        assert_eq!(filter.contains_digest(digests[1]), result.is_ok());
        assert_eq!(filter.inserted_items(), u64::from(result.is_ok()));
        assert!(matches!(result, Ok(true) | Err(Error::Full { .. })));
        if result.is_err() {
            assert_eq!(filter.insert_digest(digests[1]), Ok(true));
        }
        assert!(matches!(filter.insert_digest(digests[0]), Err(Error::Full { .. })));
    });
}
