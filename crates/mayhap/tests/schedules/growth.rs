//! Insertions while layers are added, copied and dropped.

use super::{chain, digest};
use crate::checker::{Arc, AtomicUsize, Ordering, spawn};
use mayhap::{Budget, ConcurrentScalableBloomFilter, ScalableBloomFilter};

/// All threads but one insert keys of their own into a chain whose first layer is full, and
/// announce it. The other finds each announced key, in whichever layer.
pub(crate) fn an_announced_key_is_found_while_a_layer_is_added(threads: usize) {
    let filter = Arc::new(chain());
    filter.insert_digest(digest(0)).unwrap();
    let said: Arc<Vec<AtomicUsize>> = Arc::new((0..threads).map(|_| AtomicUsize::new(0)).collect());
    let insert = |i: usize| {
        let (filter, said) = (filter.clone(), said.clone());
        move || {
            assert!(filter.insert_digest(digest(i)).unwrap(), "no other inserts this key");
            said[i].store(1, Ordering::Release);
        }
    };
    let others: Vec<_> = (1..threads).map(|i| spawn(insert(i))).collect();
    for i in 1..threads {
        if said[i].load(Ordering::Acquire) == 1 {
            assert!(filter.contains_digest(digest(i)), "an announced key");
        }
    }
    others.into_iter().for_each(|other| other.join().unwrap());
    check(&filter, threads);
}

/// Each inserts a key of its own into a chain whose first layer is for one key.
pub(crate) fn no_key_is_lost_while_a_layer_is_added(threads: usize) {
    let filter = Arc::new(chain());
    let insert = |i: usize| {
        let filter = filter.clone();
        move || assert!(filter.insert_digest(digest(i)).unwrap(), "no other inserts this key")
    };
    let others: Vec<_> = (1..threads).map(|i| spawn(insert(i))).collect();
    insert(0)();
    others.into_iter().for_each(|other| other.join().unwrap());
    let filter = Arc::try_unwrap(filter).ok().expect("the others have ended");
    check(&filter, threads);
    let filter = filter.into_exclusive();
    assert_eq!(filter.inserted_items(), threads as u64);
    assert!((0..threads).all(|i| filter.contains_digest(digest(i))));
    assert!(filter.layers().all(|(params, items)| items <= params.expected_items()));
}

fn check(filter: &ConcurrentScalableBloomFilter, threads: usize) {
    assert!((0..threads).all(|i| filter.contains_digest(digest(i))));
    assert_eq!(filter.inserted_items(), threads as u64);
    assert!(filter.num_layers() <= layers_for(threads), "{} layers", filter.num_layers());
}

/// The number of layers for 1, 2, 4, … keys that hold `keys`.
fn layers_for(keys: usize) -> usize {
    (keys + 1).next_power_of_two().ilog2() as usize
}

/// A budget is charged once for each layer of the filter, and nothing after it is dropped.
fn is_charged_once(budget: &Budget, filter: Arc<ConcurrentScalableBloomFilter>) {
    assert_eq!(budget.used(), filter.num_bytes());
    drop(filter);
    assert_eq!(budget.used(), 0);
}

/// One makes the next layer ahead while the others fill the newest: it is made once, charged once,
/// and no key is lost.
pub(crate) fn a_layer_that_is_made_ahead_is_made_once(threads: usize) {
    let mut filter = chain();
    let first = filter.num_bytes();
    let budget = Budget::new(1 << 20);
    filter.set_charge(budget.charge(first).unwrap());
    filter.insert_digest(digest(100)).unwrap();
    let filter = Arc::new(filter);
    let ahead = filter.clone();
    let ahead = spawn(move || {
        if ahead.growth_is_due() {
            ahead.grow_ahead(|| true);
        }
    });
    let others: Vec<_> = (2..threads)
        .map(|i| {
            let filter = filter.clone();
            spawn(move || assert!(filter.insert_digest(digest(i)).unwrap()))
        })
        .collect();
    assert!(filter.insert_digest(digest(1)).unwrap());
    assert!(filter.contains_digest(digest(1)) && filter.contains_digest(digest(100)));
    others.into_iter().for_each(|other| other.join().unwrap());
    ahead.join().unwrap();
    assert!((1..threads).all(|i| filter.contains_digest(digest(i))));
    is_charged_once(&budget, filter);
}

/// All insert one key into a full layer: at least one gets "new".
pub(crate) fn one_of_all_inserters_of_a_key_during_growth_gets_new(threads: usize) {
    let filter = Arc::new(chain());
    filter.insert_digest(digest(100)).unwrap();
    let insert = || {
        let filter = filter.clone();
        move || filter.insert_digest(digest(0)).unwrap()
    };
    let others: Vec<_> = (1..threads).map(|_| spawn(insert())).collect();
    let mine = insert()();
    let told = others.into_iter().map(|other| other.join().unwrap());
    let new = told.fold(usize::from(mine), |new, told| new + usize::from(told));
    assert!(new >= 1, "an absent key is new to some thread");
    assert!(filter.contains_digest(digest(0)) && filter.contains_digest(digest(100)));
    // Places that are reserved for a moment may fill a layer before its keys do.
    assert!((2..=layers_for(threads + 1)).contains(&filter.num_layers()));
}

/// Memory for one more layer and not two: no thread is refused because another makes the same
/// layer, and it is charged once.
pub(crate) fn a_layer_is_charged_once_however_many_need_it(threads: usize) {
    // The number of keys that fills all layers before the one that has room for all.
    let full = threads.next_power_of_two() as u64 - 1;
    let fill = |filter: &ConcurrentScalableBloomFilter, keys| {
        let missing = |_: &usize| filter.inserted_items() < keys;
        (100..).take_while(missing).for_each(|i| assert!(filter.insert_digest(digest(i)).is_ok()));
    };
    let larger = chain();
    fill(&larger, full + 1);
    let mut filter = chain();
    fill(&filter, full);
    let budget = Budget::new(larger.num_bytes());
    filter.set_charge(budget.charge(filter.num_bytes()).unwrap());
    let filter = Arc::new(filter);
    let insert = |i: usize| {
        let filter = filter.clone();
        move || {
            filter.insert_digest(digest(i)).expect("there is room for the layer");
        }
    };
    let others: Vec<_> = (1..threads).map(|i| spawn(insert(i))).collect();
    insert(0)();
    others.into_iter().for_each(|other| other.join().unwrap());
    is_charged_once(&budget, filter);
}

/// One copies the chain while the others insert: earlier keys are in the copy, and each of its
/// layers is sound.
pub(crate) fn a_copy_while_a_layer_is_added_holds_what_came_before(threads: usize) {
    let filter = Arc::new(chain());
    filter.insert_digest(digest(100)).unwrap();
    let others: Vec<_> = (1..threads)
        .map(|i| {
            let filter = filter.clone();
            spawn(move || filter.insert_digest(digest(i)).map(|_| ()).unwrap())
        })
        .collect();
    let copy = filter.snapshot().unwrap();
    assert!(copy.contains_digest(digest(100)));
    assert!(copy.layers().all(|(params, items)| items <= params.expected_items()));
    others.into_iter().for_each(|other| other.join().unwrap());
    let copy = filter.snapshot().unwrap();
    assert!((1..threads).all(|i| copy.contains_digest(digest(i))));
}

/// One unites a copy with another chain while others insert into
/// the chain that was copied: both lose nothing.
pub(crate) fn a_union_with_a_copy_while_others_insert_loses_nothing(threads: usize) {
    let filter = Arc::new(chain());
    filter.insert_digest(digest(100)).unwrap();
    let others: Vec<_> = (1..threads)
        .map(|i| {
            let filter = filter.clone();
            spawn(move || filter.insert_digest(digest(i)).map(|_| ()).unwrap())
        })
        .collect();
    let mut union: ScalableBloomFilter = chain().into_exclusive();
    union.insert_digest(digest(200)).unwrap();
    union.union_with(&filter.snapshot().unwrap()).unwrap();
    assert!(union.contains_digest(digest(100)) && union.contains_digest(digest(200)));
    others.into_iter().for_each(|other| other.join().unwrap());
    union.union_with(&filter.snapshot().unwrap()).unwrap();
    assert!((1..threads).all(|i| union.contains_digest(digest(i))));
}

/// A filter is removed by name while others query and fill it: they keep it to their end, and the
/// last one frees its memory.
pub(crate) fn a_dropped_filter_lives_until_the_last_query_ends(threads: usize) {
    let budget = Budget::new(1 << 20);
    let mut filter = chain();
    filter.set_charge(budget.charge(filter.num_bytes()).unwrap());
    filter.insert_digest(digest(100)).unwrap();
    let filter = Arc::new(filter);
    let others: Vec<_> = (1..threads)
        .map(|i| {
            let filter = filter.clone();
            spawn(move || {
                filter.insert_digest(digest(i)).unwrap();
                assert!(filter.contains_digest(digest(i)) && filter.contains_digest(digest(100)));
            })
        })
        .collect();
    drop(filter);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(budget.used(), 0, "the last one has given it back");
}
