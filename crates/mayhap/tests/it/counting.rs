//! Counting filters: random histories against a multiset and against counters by the specification,
//! and the documented effects of removal.

use super::cases;
use mayhap::{
    Bitmap, CounterBits, CountingBloomFilter, Digest, DigestFunction, Error, FilterParams, Layout,
    SecretKey, native,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;

pub(crate) const BOTH: [CounterBits; 2] = [CounterBits::Four, CounterBits::Eight];

/// A filter of this many blocks, for 100 keys at 1 %.
pub(crate) fn with_blocks(bits: CounterBits, num_blocks: u64) -> CountingBloomFilter {
    let (layout, counters) = match bits {
        CounterBits::Four => (Layout::Blocked128, num_blocks * 128),
        CounterBits::Eight => (Layout::Blocked64, num_blocks * 64),
    };
    let params = FilterParams::new(layout, counters, 8, 100, 0.01).unwrap();
    CountingBloomFilter::empty(params, DigestFunction::xxh3(3)).unwrap()
}

/// The counters by `crates/mayhap/NATIVE-FORMAT.md`, one by one.
pub(crate) struct Reference {
    bits: u32,
    num_blocks: u64,
    counters: Vec<u32>,
}

impl Reference {
    pub(crate) fn new(bits: CounterBits, num_blocks: u64) -> Self {
        let counters = vec![0; (num_blocks * 512) as usize / bits.bits() as usize];
        Self { bits: bits.bits(), num_blocks, counters }
    }

    pub(crate) fn positions(&self, digest: Digest) -> [usize; 8] {
        let block = (u128::from(digest.get()) * u128::from(self.num_blocks)) >> 64;
        let product = digest.get().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (slots, slot_bits) = if self.bits == 4 { (16, 4) } else { (8, 3) };
        std::array::from_fn(|lane| {
            let slot = product >> (64 - slot_bits * (lane as u32 + 1)) & (slots - 1);
            block as usize * 8 * slots as usize + lane * slots as usize + slot as usize
        })
    }

    fn max(&self) -> u32 {
        (1 << self.bits) - 1
    }

    fn insert(&mut self, digest: Digest) -> bool {
        let positions = self.positions(digest);
        let new = positions.iter().any(|&i| self.counters[i] == 0);
        for i in positions {
            self.counters[i] = (self.counters[i] + 1).min(self.max());
        }
        new
    }

    fn remove(&mut self, digest: Digest) -> bool {
        let positions = self.positions(digest);
        if positions.iter().any(|&i| self.counters[i] == 0) {
            return false;
        }
        let mut lowered = false;
        for i in positions {
            let lowers = self.counters[i] != self.max();
            self.counters[i] -= u32::from(lowers);
            lowered |= lowers;
        }
        lowered
    }

    fn bytes(&self) -> Vec<u8> {
        match self.bits {
            4 => self.counters.chunks(2).map(|pair| (pair[0] | pair[1] << 4) as u8).collect(),
            _ => self.counters.iter().map(|&counter| counter as u8).collect(),
        }
    }
}

fn bytes(filter: &CountingBloomFilter) -> Vec<u8> {
    filter.blocks().iter().flat_map(|block| block.0).flat_map(u64::to_le_bytes).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u8),
    InsertBatch(Vec<u8>),
    InsertOften(u8, u16),
    Remove(u8),
    RemoveBatch(Vec<u8>),
    Union(Vec<u8>),
    Reopen,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let keys = || vec(0..40u8, 0..30);
    let step = prop_oneof![
        8 => (0..40u8).prop_map(Step::Insert),
        4 => keys().prop_map(Step::InsertBatch),
        2 => (0..40u8, prop_oneof![1..20u16, 200..300u16])
            .prop_map(|(key, times)| Step::InsertOften(key, times)),
        8 => (0..40u8).prop_map(Step::Remove),
        4 => keys().prop_map(Step::RemoveBatch),
        1 => keys().prop_map(Step::Union),
        2 => Just(Step::Reopen),
        1 => Just(Step::Clear),
    ];
    vec(step, 0..60)
}

struct Run {
    filter: CountingBloomFilter,
    reference: Reference,
    inside: HashMap<u8, u32>,
}

impl Run {
    fn insert(&mut self, key: u8) -> bool {
        *self.inside.entry(key).or_default() += 1;
        self.reference.insert(self.filter.digest(&u64::from(key)))
    }

    /// The required answer to the removal of a key that is inside or surely absent; `None` for a
    /// removal that callers must not make.
    fn remove(&mut self, key: u8) -> Option<bool> {
        let digest = self.filter.digest(&u64::from(key));
        let count = self.inside.entry(key).or_default();
        let absent =
            self.reference.positions(digest).iter().any(|&i| self.reference.counters[i] == 0);
        if *count == 0 && !absent {
            return None;
        }
        let removed = self.reference.remove(digest);
        *count -= u32::from(removed);
        Some(removed)
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Insert(key) => {
                let expected = self.insert(key);
                prop_assert_eq!(self.filter.insert(&u64::from(key)), expected);
            }
            Step::InsertOften(key, times) => {
                for _ in 0..times {
                    let expected = self.insert(key);
                    prop_assert_eq!(self.filter.insert(&u64::from(key)), expected);
                }
            }
            Step::InsertBatch(keys) => {
                let expected: Vec<bool> = keys.iter().map(|&key| self.insert(key)).collect();
                let keys: Vec<u64> = keys.into_iter().map(u64::from).collect();
                prop_assert!(self.filter.insert_batch(&keys).iter().eq(expected));
            }
            Step::Remove(key) => {
                if let Some(expected) = self.remove(key) {
                    prop_assert_eq!(self.filter.remove(&u64::from(key)), expected);
                }
            }
            Step::RemoveBatch(keys) => {
                let asked: Vec<(u64, bool)> = keys
                    .into_iter()
                    .filter_map(|key| Some((u64::from(key), self.remove(key)?)))
                    .collect();
                let (keys, expected): (Vec<u64>, Vec<bool>) = asked.into_iter().unzip();
                prop_assert!(self.filter.remove_batch(&keys).iter().eq(expected));
            }
            Step::Union(keys) => {
                let mut other = self.filter.try_clone().unwrap();
                other.clear();
                for key in keys {
                    other.insert(&u64::from(key));
                    self.insert(key);
                }
                self.filter.union_with(&other).unwrap();
            }
            Step::Reopen => {
                let bytes = native::encode(&self.filter, "lower=true\n");
                let (copy, header) = native::decode_as(&bytes, None).unwrap();
                prop_assert!(native::encode(&copy, header.key_options()) == bytes);
                self.filter = copy;
            }
            Step::Clear => {
                self.filter.clear();
                self.reference.counters.fill(0);
                self.inside.clear();
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert!(bytes(&self.filter) == self.reference.bytes(), "other counters");
        let max = self.filter.counter_bits().max();
        let plain = self.filter.to_blocked().unwrap();
        for key in 0..=255u8 {
            let count = self.inside.get(&key).copied().unwrap_or(0);
            let key = u64::from(key);
            let estimate = self.filter.estimated_count(&key);
            prop_assert!(estimate >= count.min(max), "{key}: {estimate} of {count}");
            prop_assert_eq!(self.filter.contains(&key), estimate != 0);
            prop_assert_eq!(plain.contains(&key), estimate != 0);
        }
        let occupied = self.reference.counters.iter().filter(|&&c| c != 0).count() as u64;
        let full = self.reference.counters.iter().filter(|&&c| c == max).count() as u64;
        let counters = self.filter.num_counters();
        prop_assert_eq!(self.filter.fill_ratio(), occupied as f64 / counters as f64);
        prop_assert_eq!(self.filter.saturated_counters(), full);
        prop_assert_eq!(plain.fill_ratio(), self.filter.fill_ratio());
        prop_assert_eq!(plain.estimated_fpp(), self.filter.estimated_fpp());
        prop_assert_eq!(plain.estimated_items(), self.filter.estimated_items());
        let inside: u64 = self.inside.values().map(|&count| u64::from(count)).sum();
        prop_assert_eq!(self.filter.inserted_items(), inside);
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn no_history_of_due_removals_loses_a_key(
        eight in any::<bool>(), num_blocks in 1u64..12, steps in steps(),
    ) {
        let bits = BOTH[usize::from(eight)];
        let filter = with_blocks(bits, num_blocks);
        let reference = Reference::new(bits, num_blocks);
        let mut run = Run { filter, reference, inside: HashMap::new() };
        for step in steps {
            run.step(step)?;
        }
        run.check()?;
    }

    /// The counters follow the specification even for removals that callers must not make.
    #[test]
    fn any_insertions_and_removals_do_what_the_specification_says(
        eight in any::<bool>(), num_blocks in 1u64..6,
        calls in vec((any::<bool>(), 0..60u64), 0..400),
    ) {
        let bits = BOTH[usize::from(eight)];
        let mut filter = with_blocks(bits, num_blocks);
        let mut batches = with_blocks(bits, num_blocks);
        let mut reference = Reference::new(bits, num_blocks);
        let mut answers = Bitmap::new();
        for chunk in calls.chunk_by(|left, right| left.0 == right.0) {
            let digests: Vec<Digest> = chunk.iter().map(|(_, key)| filter.digest(key)).collect();
            let expected: Vec<bool> = digests.iter().map(|&digest| {
                let (found, due) = if chunk[0].0 {
                    (filter.insert_digest(digest), reference.insert(digest))
                } else {
                    (filter.remove_digest(digest), reference.remove(digest))
                };
                assert_eq!(found, due);
                due
            }).collect();
            if chunk[0].0 {
                batches.insert_digests_into(&digests, &mut answers);
            } else {
                batches.remove_digests_into(&digests, &mut answers);
            }
            prop_assert!(answers.iter().eq(expected));
        }
        prop_assert!(bytes(&filter) == reference.bytes());
        prop_assert!(bytes(&batches) == reference.bytes());
        prop_assert_eq!(filter.inserted_items(), batches.inserted_items());
    }
}

#[test]
fn a_saturated_counter_neither_wraps_nor_comes_down() {
    for bits in BOTH {
        let mut filter = with_blocks(bits, 1000);
        let max = bits.max();
        for count in 1..max {
            assert_eq!(filter.insert("often"), count == 1);
            assert_eq!(filter.estimated_count("often"), count);
        }
        assert_eq!(filter.saturated_counters(), 0);
        // One below the maximum everything can still be taken back.
        assert!(filter.remove("often") && filter.estimated_count("often") == max - 2);
        for _ in 0..3 * max {
            filter.insert("often");
        }
        assert_eq!((filter.estimated_count("often"), filter.saturated_counters()), (max, 8));
        let inside = filter.inserted_items();
        for _ in 0..5 * max {
            assert!(!filter.remove("often") && filter.contains("often"), "it stays");
        }
        assert_eq!(filter.remove_batch(&["often"; 70]).count_ones(), 0);
        assert_eq!(filter.inserted_items(), inside, "its copies go on counting");
        assert_eq!((filter.estimated_count("often"), filter.saturated_counters()), (max, 8));
        assert_eq!(filter.fill_ratio(), 8.0 / filter.num_counters() as f64);
        filter.clear();
        assert_eq!((filter.contains("often"), filter.saturated_counters()), (false, 0));
    }
}

#[test]
fn removing_what_is_surely_absent_is_refused_and_changes_nothing() {
    for bits in BOTH {
        let mut filter = with_blocks(bits, 200);
        filter.insert_batch(&(0..300u64).collect::<Vec<_>>());
        let before = bytes(&filter);
        let absent: Vec<u64> = (1000..3000u64).filter(|key| !filter.contains(key)).collect();
        assert!(absent.len() > 1500);
        assert!(absent.iter().all(|key| !filter.remove(key)));
        assert_eq!(filter.remove_batch(&absent).count_ones(), 0);
        assert!(bytes(&filter) == before && filter.inserted_items() == 300);
    }
}

/// The documented damage, and no more: a lost key shares a counter with a key that was removed
/// while absent.
#[test]
fn an_undue_removal_loses_only_keys_that_share_its_counters() {
    for bits in BOTH {
        let num_blocks = 20;
        let mut filter = with_blocks(bits, num_blocks);
        let reference = Reference::new(bits, num_blocks);
        let keys: Vec<u64> = (0..200).collect();
        filter.insert_batch(&keys);
        assert_eq!(filter.contains_batch(&keys).count_ones(), keys.len());
        let mut taken = vec![];
        for key in 1000..3000u64 {
            if filter.contains(&key) && taken.len() < 80 {
                assert!(filter.remove(&key), "a \"maybe\" is removed like a present key");
                taken.extend(reference.positions(filter.digest(&key)));
            }
        }
        let lost: Vec<u64> = keys.into_iter().filter(|key| !filter.contains(key)).collect();
        assert!(!lost.is_empty(), "{bits:?}: the documentation says that keys may be lost");
        for key in lost {
            let positions = reference.positions(filter.digest(&key));
            assert!(
                positions.iter().any(|i| taken.contains(i)),
                "{bits:?}: {key} lost without cause"
            );
        }
    }
}

/// Removing one key repeatedly stops at the first refusal: it cannot take more counts than there
/// are on the smallest of its counters.
#[test]
fn removing_a_key_too_often_is_refused_once_a_counter_is_zero() {
    for bits in BOTH {
        let mut filter = with_blocks(bits, 1000);
        let keys: Vec<u64> = (0..2000).collect();
        filter.insert_batch(&keys);
        let alone: Vec<u64> =
            keys.iter().copied().filter(|key| filter.estimated_count(key) == 1).collect();
        assert!(alone.len() > 1900, "{}", alone.len());
        let mut others = filter.try_clone().unwrap();
        for key in &alone[..100] {
            assert!(filter.remove(key) && others.remove(key));
            for _ in 0..50 {
                assert!(!filter.remove(key), "{bits:?} {key}");
            }
        }
        assert!(bytes(&filter) == bytes(&others), "49 more removals changed nothing");
        assert_eq!(filter.contains_batch(&alone[100..]).count_ones(), alone.len() - 100);
    }
}

#[test]
fn a_union_adds_counters_and_unlike_filters_are_refused() {
    for bits in BOTH {
        let (mut left, mut right) = (with_blocks(bits, 100), with_blocks(bits, 100));
        left.insert("both");
        right.insert_batch(&["both", "right", "right"]);
        assert!(!left.contains("right"));
        left.union_with(&right).unwrap();
        assert_eq!((left.estimated_count("both"), left.estimated_count("right")), (2, 2));
        assert_eq!(left.inserted_items(), 4);
        assert!(left.remove("both") && left.contains("both"));
        assert!(left.remove("both") && !left.contains("both"));
        (0..300).for_each(|_| {
            right.insert("right");
        });
        left.union_with(&right).unwrap();
        assert_eq!(left.estimated_count("right"), bits.max(), "saturates");
    }
    let four = || with_blocks(CounterBits::Four, 100);
    let keyed = |byte| {
        let function = DigestFunction::sip13(SecretKey::new([byte; 16]));
        CountingBloomFilter::empty(*four().params(), function).unwrap()
    };
    for (mut left, right, parameter) in [
        (four(), with_blocks(CounterBits::Eight, 100), "layout"),
        (four(), with_blocks(CounterBits::Four, 101), "num_bits"),
        (four(), keyed(1), "digest function"),
        (keyed(1), keyed(2), "digest seed or key"),
    ] {
        left.insert("left");
        let before = bytes(&left);
        let refused = left.union_with(&right).unwrap_err();
        assert!(
            matches!(refused, Error::Incompatible { parameter: found, .. } if found == parameter),
            "{refused}"
        );
        assert!(bytes(&left) == before);
    }
}

/// The path with prefetching: a filter larger than the caches.
#[test]
#[cfg(not(miri))]
fn batches_in_large_filters_say_what_single_calls_say() {
    for bits in BOTH {
        let make = || {
            let builder = CountingBloomFilter::builder().num_bytes(4 << 20).target_fpp(0.05);
            builder.counter_bits(bits).build().unwrap()
        };
        let (mut single, mut batch) = (make(), make());
        let keys: Vec<u64> = (0..300_000).map(|i| i % 200_000).collect();
        let expected: Vec<bool> = keys.iter().map(|key| single.insert(key)).collect();
        assert!(batch.insert_batch(&keys).iter().eq(expected));
        let expected: Vec<bool> = keys.iter().rev().map(|key| single.remove(key)).collect();
        let reversed: Vec<u64> = keys.iter().rev().copied().collect();
        assert!(batch.remove_batch(&reversed).iter().eq(expected));
        assert!(bytes(&single) == bytes(&batch));
        assert_eq!(single.fill_ratio(), 0.0, "all that was inserted was removed");
        batch.insert_batch(&keys);
        let asked: Vec<u64> = (150_000..350_000).collect();
        let expected: Vec<bool> = asked.iter().map(|key| batch.contains(key)).collect();
        assert!(batch.contains_batch(&asked).iter().eq(expected));
        let plain = batch.to_blocked().unwrap();
        assert!(plain.contains_batch(&asked) == batch.contains_batch(&asked));
    }
}
