//! Windows of the last keys against a list of the arrivals: with and without refresh, saved, loaded
//! and replayed from a log in between.

use super::{Random, is_whole};
use crate::window_kinds::{of_items, random};
use mayhap::native::{self};
use mayhap::{Bitmap, Digest, WindowBloomFilter};

/// A window, the keys that it must have and the keys that it must have forgotten.
struct Model {
    window: WindowBloomFilter,
    refresh: bool,
    /// The keys that arrived.
    arrived: u64,
    /// When each key last arrived and was written, and the same by the log.
    written: Vec<Option<(u64, u64)>>,
    /// The last image, and the keys written since.
    image: Vec<u8>,
    log: Vec<(u64, Vec<Digest>)>,
    /// The log ends here: later keys were no news.
    logged: u64,
}

impl Model {
    fn new(items: u64, keys: u64, refresh: bool) -> Self {
        let window = of_items(items, 1e-9);
        let image = native::encode(&window, "");
        let written = vec![None; keys as usize];
        Self { window, refresh, arrived: 0, written, image, log: Vec::new(), logged: 0 }
    }

    fn must_have(&self, key: u64) -> bool {
        let items = self.window.expected_items();
        self.written[key as usize].is_some_and(|(first, _)| self.arrived - first < items)
    }

    fn may_have(&self, key: u64) -> bool {
        let max_age = self.window.max_age();
        self.written[key as usize]
            .is_some_and(|(_, last)| self.arrived - last.min(self.arrived) < max_age)
    }

    fn check(&self, key: u64) {
        let found = self.window.contains_digest(random(key));
        let (now, written) = (self.arrived, self.written[key as usize]);
        assert!(found || !self.must_have(key), "{key} of {written:?} is forgotten at {now}");
        assert!(!found || self.may_have(key), "{key} of {written:?} is still there at {now}");
        if let Some(age) = self.window.age_of_digest_at(random(key), 0)
            && let Some((first, last)) = written
            && first == last
        {
            assert!((age.at_least..=age.at_most).contains(&(now - first)), "{age:?} {written:?}");
        }
    }

    /// Inserts keys together; the log records the written ones as if they had arrived last.
    fn arrive(&mut self, keys: &[u64]) {
        let digests: Vec<Digest> = keys.iter().map(|&key| random(key)).collect();
        let mut new = Bitmap::new();
        if self.refresh {
            self.window.insert_digests_into(&digests, &mut new);
        } else {
            self.window.insert_absent_digests_into(&digests, &mut new);
        }
        let mut logged = Vec::new();
        for (i, &key) in keys.iter().enumerate() {
            assert!(!new.get(i) || !self.must_have(key), "{key} is new at {}", self.arrived);
            assert!(new.get(i) || self.may_have(key), "{key} is no news at {}", self.arrived);
            self.arrived += 1;
            if self.refresh || new.get(i) {
                self.written[key as usize] = Some((self.arrived, self.arrived));
                logged.push(key);
            }
        }
        assert_eq!(self.window.moment(), self.arrived);
        if !logged.is_empty() {
            let moment = self.arrived - logged.len() as u64;
            self.log.push((moment, logged.iter().map(|&key| random(key)).collect()));
            self.logged = self.arrived;
        }
    }

    fn save_and_load(&mut self) {
        self.image = native::encode(&self.window, "");
        self.log.clear();
        self.window = native::decode_as(&self.image, None).unwrap().0;
        assert!(native::encode(&self.window, "") == self.image);
        self.logged = self.arrived;
    }

    /// The process was killed: the unwritten part is lost, which is when the last keys arrived.
    fn crash(&mut self) {
        self.window = native::decode_as(&self.image, None).unwrap().0;
        let mut new = Bitmap::new();
        for (moment, digests) in &self.log {
            self.window.resume(*moment);
            self.window.insert_digests_into(digests, &mut new);
        }
        assert_eq!(self.window.moment(), self.logged);
        self.arrived = self.logged;
        // By the log, each key is at most as old as in reality.
        for (moment, digests) in self.log.drain(..) {
            for (at, digest) in (moment + 1..).zip(digests) {
                let keys = 0..self.written.len() as u64;
                let key = keys.into_iter().find(|&key| random(key) == digest).unwrap();
                if let Some((_, last)) = &mut self.written[key as usize] {
                    *last = (*last).max(at);
                }
            }
        }
        self.image = native::encode(&self.window, "");
    }
}

fn run(seed: u64, steps: u64) -> u64 {
    let mut random = Random(seed);
    let items = [1, 2, 5, 14, 15, 50, 200, 1_000][random.below(8) as usize];
    let keys = [1, items / 10, items / 2, items, 3 * items][random.below(5) as usize].max(1);
    let mut model = Model::new(items, keys, seed.is_multiple_of(2));
    let mut done = 0;
    while done < steps {
        let most = if random.once_in(50) { 3 * items } else { 1 + items / 20 };
        let batch: Vec<u64> = (0..=random.below(most)).map(|_| random.below(keys)).collect();
        model.arrive(&batch);
        done += batch.len() as u64;
        for _ in 0..4 {
            model.check(random.below(keys));
        }
        if random.once_in(20) {
            model.save_and_load();
        }
        if random.once_in(20) {
            model.crash();
            (0..keys).for_each(|key| model.check(key));
        }
    }
    done
}

#[test]
fn a_window_of_keys_moves_with_all_that_arrives() {
    let (runs, steps) = if is_whole() { (400, 5_000) } else { (24, 2_000) };
    let done: u64 = (0..runs).map(|seed| run(seed, steps)).sum();
    assert!(!is_whole() || done >= 1_000_000, "{done} steps");
}

/// A stream of fewer keys than the window has: each is new again, as often as the window passes.
#[test]
fn few_keys_that_come_all_the_time_are_new_once_in_each_window() {
    let mut window = of_items(1_000, 1e-9);
    let new = (0..100_000u64).filter(|i| window.insert_absent_digest(random(i % 10))).count();
    // 100 windows of 1,000 to 1,080 keys, 10 keys in each.
    assert!((920..=1_000).contains(&new), "{new} of 100,000 were new");
    // With refresh, earlier keys are forgotten like any others.
    let mut window = of_items(1_000, 1e-9);
    window.insert("once");
    (0..1_080u64).for_each(|i| assert!(window.insert_digest(random(i % 10)) || i >= 10));
    assert!(window.insert("once"), "1,080 later keys");
}
