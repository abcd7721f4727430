//! A set and the answers of its filter, which is a double here.

use super::*;
use crate::error::Refusal;
use crate::keys::Texts;
use mayhap::Digest;
use mayhap_redis::{Inserted, RemoteFilter};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// A set of keys in the place of a filter on a server.
#[derive(Debug, Clone)]
struct Double(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    keys: BTreeSet<Vec<u8>>,
    /// The reply to the next insertion is lost, and it is sent again.
    loses_reply: bool,
    info: FilterInfo,
    looks: u64,
    by_digest: bool,
}

impl Double {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn add(&self, keys: impl IntoIterator<Item = Vec<u8>>) -> InsertedBatch {
        let (mut state, mut batch) = (self.state(), InsertedBatch::default());
        let news: Vec<bool> = keys.into_iter().map(|key| state.keys.insert(key)).collect();
        batch.new.clear_to(news.len());
        batch.unsure.clear_to(news.len());
        let is_lost = std::mem::take(&mut state.loses_reply);
        for (i, new) in news.into_iter().enumerate() {
            if is_lost {
                batch.unsure.set(i);
            } else if new {
                batch.new.set(i);
            }
        }
        batch
    }

    fn ask(&self, keys: impl IntoIterator<Item = Vec<u8>>) -> Bitmap {
        let (state, mut found) = (self.state(), Bitmap::new());
        let all: Vec<bool> = keys.into_iter().map(|key| state.keys.contains(&key)).collect();
        found.clear_to(all.len());
        (0..all.len()).filter(|&i| all[i]).for_each(|i| found.set(i));
        found
    }
}

fn owned(keys: &[&[u8]]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| key.to_vec()).collect()
}

fn of_digests(digests: &[Digest]) -> Vec<Vec<u8>> {
    digests.iter().map(|digest| digest.get().to_le_bytes().to_vec()).collect()
}

impl RemoteFilter for Double {
    fn name(&self) -> &'static str {
        "double"
    }

    async fn insert(&self, _: &[u8]) -> Result<Inserted, RedisError> {
        unreachable!("keys go in batches")
    }

    async fn insert_batch(&self, keys: &[&[u8]]) -> Result<InsertedBatch, RedisError> {
        Ok(self.add(owned(keys)))
    }

    async fn contains(&self, _: &[u8]) -> Result<bool, RedisError> {
        unreachable!("keys go in batches")
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, RedisError> {
        Ok(self.ask(owned(keys)))
    }

    async fn info(&self) -> Result<FilterInfo, RedisError> {
        let mut state = self.state();
        state.looks += 1;
        Ok(state.info.clone())
    }

    async fn expire(&self, after: Option<Duration>) -> Result<(), RedisError> {
        self.state().info.ttl_ms = after.map(|after| after.as_millis() as u64);
        Ok(())
    }

    async fn clear(&self) -> Result<(), RedisError> {
        let mut state = self.state();
        state.keys.clear();
        state.info.estimated_items = Some(0.0);
        Ok(())
    }

    async fn delete(&self) -> Result<bool, RedisError> {
        Ok(!std::mem::take(&mut self.state().keys).is_empty())
    }
}

impl Scheme for Double {
    const NAME: &'static str = "double";
    const KEY_TYPES: &'static [KeyType] = &[KeyType::Bytes, KeyType::Int];

    fn digest_function(&self, _: Option<mayhap::SecretKey>) -> Option<DigestFunction> {
        self.state().by_digest.then(DigestFunction::default)
    }

    async fn insert_digests(&self, digests: &[Digest]) -> Result<InsertedBatch, RedisError> {
        Ok(self.add(of_digests(digests)))
    }

    async fn contains_digests(&self, digests: &[Digest]) -> Result<Bitmap, RedisError> {
        Ok(self.ask(of_digests(digests)))
    }

    async fn remove_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, RedisError> {
        let found = self.ask(owned(keys));
        self.state().keys.retain(|key| !keys.contains(&&**key));
        Ok(found)
    }
}

/// Of 1,000 bits, for 500 keys at 1 %, of which 100 are there.
fn info() -> FilterInfo {
    FilterInfo {
        layout: "double",
        num_bits: 1_000,
        num_hashes: 7,
        expected_items: Some(500),
        grows: false,
        target_fpp: Some(0.01),
        count_ones: 250,
        estimated_items: Some(99.6),
        estimated_fpp: 0.002,
        num_shards: 1,
        num_bytes: 125,
        ttl_ms: None,
    }
}

fn double(key_type: KeyType, info: FilterInfo) -> (Double, OtherSet<Double>) {
    let keys = BTreeSet::new();
    let state = State { keys, loses_reply: false, info: info.clone(), looks: 0, by_digest: false };
    let filter = Double(Arc::new(Mutex::new(state)));
    let set = OtherSet {
        name: "redis://h/f".into(),
        filter: filter.clone(),
        by_digest: None,
        key_types: KeyChoice::among(Double::NAME, Double::KEY_TYPES, Some(key_type)).unwrap(),
        seen: info,
        new_since: 0,
        unsure: 0,
        round_trip: Duration::ZERO,
        keys: KeyBytes::default(),
    };
    (filter, set)
}

fn ones(bits: &Bitmap) -> Vec<usize> {
    bits.iter_ones().collect()
}

#[test]
fn lines_that_are_no_keys_are_left_out_and_named_by_their_numbers() {
    let (filter, mut set) = double(KeyType::Int, info());
    let texts: [&[u8]; 6] = [b"7", b"x", b"-1", b"", b"7", b"8"];
    let keys = Keys::Texts(Texts { texts: &texts, first_line: Some(10) });
    let (mut new, mut found) = (Bitmap::new(), Bitmap::new());
    set.insert_into(keys, Repeats::Renew, &mut new).unwrap();
    assert_eq!((new.len(), ones(&new)), (6, vec![0, 2, 5]));
    assert_eq!(set.not_keys(), [1, 3]);
    let bytes: Vec<Vec<u8>> = [7, 8, -1i32].iter().map(|n| n.to_le_bytes().to_vec()).collect();
    assert!(filter.state().keys.iter().eq(&bytes));
    let bad = set.all_not_keys().unwrap();
    assert_eq!(bad.lines, 2);
    assert!(bad.text.contains("2 lines are no key for redis://h/f (first: line 11: "), "{bad:?}");
    set.contains_into(keys, &mut found).unwrap();
    assert_eq!((found.len(), ones(&found)), (6, vec![0, 2, 4, 5]));
    assert_eq!(set.all_not_keys().unwrap().lines, 2, "the same lines again");
    let texts: [&[u8]; 2] = [b"9", b"y"];
    set.contains_into(Keys::Texts(Texts { texts: &texts, first_line: Some(16) }), &mut found)
        .unwrap();
    assert_eq!((found.len(), ones(&found), set.not_keys()), (2, vec![], &[1][..]));
    let bad = set.all_not_keys().unwrap();
    assert_eq!(bad.lines, 3);
    assert!(bad.text.contains("first: line 11: "), "{bad:?}");
    // Texts alone would not be found again in its system, and it would remove others.
    let mut removed = Bitmap::new();
    assert!(!set.capabilities().removes && set.remove_into(keys, &mut removed).is_err());
    assert_eq!((removed.len(), filter.state().keys.len()), (0, 3));
}

#[test]
fn bytes_go_as_they_are() {
    let (filter, mut set) = double(KeyType::Bytes, info());
    let texts: [&[u8]; 3] = [b"7", b"\xff\0", b"7"];
    let keys = Keys::Texts(Texts { texts: &texts, first_line: Some(1) });
    let (mut new, mut found, mut removed) = (Bitmap::new(), Bitmap::new(), Bitmap::new());
    set.insert_into(keys, Repeats::Renew, &mut new).unwrap();
    assert_eq!((new.len(), ones(&new)), (3, vec![0, 1]));
    let texts: [&[u8]; 3] = [b"8", b"7", b"\xff\0"];
    set.contains_into(Keys::from(&texts[..]), &mut found).unwrap();
    assert_eq!((found.len(), ones(&found)), (3, vec![1, 2]));
    assert!(set.capabilities().removes);
    set.remove_into(Keys::from(&texts[..2]), &mut removed).unwrap();
    assert_eq!((removed.len(), ones(&removed)), (2, vec![1]));
    assert!(filter.state().keys.iter().eq([b"\xff\0"]));
    assert!(set.all_not_keys().is_none() && set.not_keys().is_empty());
}

#[test]
fn keys_whose_reply_was_lost_count_as_new_and_are_counted() {
    for key_type in [KeyType::Bytes, KeyType::Int] {
        let (filter, mut set) = double(key_type, info());
        let texts: [&[u8]; 3] = [b"1", b"2", b"3"];
        let mut new = Bitmap::new();
        set.insert_into(Keys::from(&texts[..1]), Repeats::Renew, &mut new).unwrap();
        assert_eq!((set.unsure, set.items()), (0, 101));
        filter.state().loses_reply = true;
        set.insert_into(Keys::from(&texts[..]), Repeats::Renew, &mut new).unwrap();
        assert_eq!((ones(&new), set.unsure, set.items()), (vec![0, 1, 2], 3, 104));
        filter.state().loses_reply = true;
        set.insert_into(Keys::from(&texts[..2]), Repeats::Renew, &mut new).unwrap();
        assert_eq!((ones(&new), set.unsure), (vec![0, 1], 5));
    }
}

/// A hundredth of the keys that it was made for, and 16,384 at least.
#[test]
fn all_bits_are_looked_at_again_after_so_many_new_keys() {
    for (expected_items, step) in [(None, 16_384), (Some(500), 16_384), (Some(5_000_000), 50_000)] {
        let (filter, mut set) = double(KeyType::Bytes, FilterInfo { expected_items, ..info() });
        filter.state().info.estimated_items = Some(7.0);
        let mut insert = |range: std::ops::Range<u64>| {
            let texts: Vec<_> = range.map(u64::to_le_bytes).collect();
            let texts: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
            set.insert_into(Keys::from(&texts[..]), Repeats::Renew, &mut Bitmap::new()).unwrap();
            (filter.state().looks, set.items())
        };
        assert_eq!(insert(0..step - 1), (0, 100 + step - 1));
        // None of these is new.
        assert_eq!(insert(0..step - 1), (0, 100 + step - 1));
        assert_eq!(insert(step - 1..step), (1, 7), "of {expected_items:?}");
        assert_eq!(insert(step..step + 2), (1, 9));
    }
}

#[test]
fn digests_are_taken_where_the_server_takes_them_and_nowhere_else() {
    let digests: Vec<Digest> = [3, 1, 3].map(Digest::new).to_vec();
    let (filter, mut set) = double(KeyType::Bytes, info());
    let mut bits = Bitmap::new();
    assert!(set.digest_function().is_none());
    let is_refused = |result: Result<(), Error>| {
        matches!(result, Err(Error::Refused { why: Refusal::TakesKeys, .. }))
    };
    assert!(is_refused(set.insert_into(digests[..].into(), Repeats::Renew, &mut bits)));
    assert!(is_refused(set.contains_into(digests[..].into(), &mut bits)));
    assert!(filter.state().keys.is_empty());
    set.by_digest = Some(DigestFunction::default());
    assert!(set.digest_function().is_some());
    set.insert_into(digests[..].into(), Repeats::Renew, &mut bits).unwrap();
    assert_eq!((bits.len(), ones(&bits), set.items()), (3, vec![0, 1], 102));
    filter.state().loses_reply = true;
    set.insert_into(digests[..1].into(), Repeats::Renew, &mut bits).unwrap();
    assert_eq!((ones(&bits), set.unsure), (vec![0], 1));
    set.contains_into([2, 3].map(Digest::new)[..].into(), &mut bits).unwrap();
    assert_eq!((bits.len(), ones(&bits)), (2, vec![1]));
}

#[test]
fn clearing_takes_the_count_back_too() {
    let (filter, mut set) = double(KeyType::Bytes, info());
    let texts: [&[u8]; 2] = [b"1", b"2"];
    set.insert_into(Keys::from(&texts[..]), Repeats::Renew, &mut Bitmap::new()).unwrap();
    assert_eq!(set.items(), 102);
    set.clear().unwrap();
    assert_eq!((set.items(), filter.state().keys.len()), (0, 0));
    assert!(!set.delete().unwrap());
    set.expire(Some(Duration::from_millis(70))).unwrap();
    assert_eq!(filter.state().info.ttl_ms, Some(70));
}

/// By hand: of 1,000 bits and k = 7 a full filter of the best k has 1 − 2^(−7/6) = 55.5 % set, and
/// four standard deviations are 4 · √(0.25 / 1000) = 6.3 % more.
#[test]
fn numbers_are_those_that_the_server_reports_and_what_they_say() {
    let of = |info: FilterInfo| double(KeyType::Bytes, info).1;
    let set = of(info());
    let state = set.state();
    assert_eq!((state.items, state.num_bytes, state.expected_items), (100, 125, Some(500)));
    assert_eq!((state.fill_ratio, state.estimated_fpp, state.target_fpp), (0.25, 0.002, 0.01));
    assert_eq!((state.health, set.held()), (Health::Ok, Held::Estimated(100)));
    let numbers = set.numbers(Repeats::Renew);
    assert_eq!((numbers.rate_step, numbers.capacity), (7, Some(500)));
    let more = of(FilterInfo { estimated_items: Some(600.0), ..info() });
    assert_eq!(more.state().health, Health::OverCapacity);
    // It does not say for how many keys it is, or goes on with more.
    for made_for in [None, Some(0)] {
        assert_eq!(of(FilterInfo { expected_items: made_for, ..info() }).capacity(), None);
    }
    let grows = of(FilterInfo { grows: true, ..info() });
    assert_eq!((grows.capacity(), grows.state().expected_items), (None, None));
    assert_eq!(grows.state().health, Health::Ok);
    let over = of(FilterInfo { grows: true, estimated_fpp: 0.011, ..info() });
    assert_eq!(over.state().health, Health::OverCapacity);
    for (count_ones, is_over) in [(617, false), (619, true), (1_000, true)] {
        let set = of(FilterInfo { count_ones, ..info() });
        assert_eq!(set.overfilled().is_some(), is_over, "{count_ones}");
    }
    // Its bits are not reported, or all of them are set.
    let silent = of(FilterInfo { num_hashes: 0, count_ones: 0, ..info() });
    assert!(silent.state().fill_ratio.is_nan() && silent.overfilled().is_none());
    assert_eq!(of(FilterInfo { estimated_items: None, ..info() }).items(), 1_000);
    assert!(of(FilterInfo { target_fpp: None, ..info() }).target_fpp().is_nan());
}

#[test]
fn only_what_is_more_than_a_millisecond_away_is_far() {
    let (_, mut set) = double(KeyType::Bytes, info());
    assert!(!set.remote().unwrap().is_far);
    set.round_trip = Duration::from_millis(1);
    assert!(!set.remote().unwrap().is_far);
    set.round_trip = Duration::from_micros(1_001);
    assert!(set.remote().unwrap().is_far);
}
