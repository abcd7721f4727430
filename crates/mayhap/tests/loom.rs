//! Every interleaving of a few concurrent calls on tiny filters, by the model checker loom:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p mayhap --release --test loom
//! ```
//!
//! At most three threads and three preemptions: few bugs need more (Musuvathi &
//! Qadeer 2007), and it is seconds instead of days. Filters are 64 bits with k = 2, and one block.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use mayhap::{
    Blocked, Build, Digest, DigestFunction, Filter, FilterParams, Layout, LayoutKind, OwnedBlocks,
    SharedBlocks, Standard,
};

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
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

/// Two digests of which each has a bit that the other has not, and both share at least one, so that
/// they meet in a word and in a bit.
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
        assert!(mine || other, "a key that was not there is new to someone");
        assert!(filter.contains_digest(digest));
        assert!(!filter.insert_digest(digest), "now it is there");
    });
}

fn two_keys_that_share_bits_lose_none<L: LayoutKind + 'static>() {
    let (first, second) = overlapping::<L>();
    model(move || {
        let filter = shared::<L>();
        let theirs = filter.clone();
        let other = thread::spawn(move || theirs.insert_digest(second));
        let mine = filter.insert_digest(first);
        // Each has a bit of its own, which nobody else can have set.
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
        // And no bit that nobody set.
        let mut both = owned::<L>();
        both.insert_digests(&[first, second]);
        for (found, all) in
            snapshot.storage().as_ref()[0].0.into_iter().zip(both.storage().as_ref()[0].0)
        {
            assert_eq!(found & !all, 0);
        }
    });
}

/// Two threads fill the last places of a layer, so one of them makes the next, and a third copies
/// the chain: the copy holds what came before it, and its counts fit its layers.
#[test]
fn a_snapshot_of_a_chain_that_grows_holds_what_came_before() {
    model(|| {
        let function = DigestFunction::default();
        let chain = mayhap::ScalableBloomFilter::new(2, 0.01, function).unwrap();
        let chain = Arc::new(chain.into_concurrent());
        let [before, mine, other] = [1u64, 2, 3].map(|key| function.digest(&key));
        assert!(chain.insert_digest(before).unwrap());
        let theirs = chain.clone();
        let thread = thread::spawn(move || theirs.insert_digest(other).unwrap());
        assert!(chain.insert_digest(mine).unwrap());
        let copy = chain.snapshot().unwrap();
        assert!(copy.contains_digest(before) && copy.contains_digest(mine));
        assert!(copy.layers().all(|(params, items)| items <= params.expected_items()));
        assert!(thread.join().unwrap());
        assert!(chain.contains_digest(other) && chain.num_layers() == 2);
    });
}
