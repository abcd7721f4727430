//! Which of 512 sets may hold a key: the matrix, and one filter for each set.

use crate::contestants::{DIGEST, digest};
use crate::report::Record;
use crate::timing::{Plan, random_below, turns};
use mayhap::{Bitmap, BlockedBloomFilter, BloomMatrix, Digest, Sets};
use mayhap_bench::keys::{FIRST_ABSENT, mix};
use mayhap_bench::stats::median;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The name of the table.
pub(crate) const TITLE: &str = "Which of 512 sets";
/// How many sets there are.
const SETS: u64 = 512;
/// Digests that are handed over together.
const SLICE: u64 = 1 << 10;
/// Absent keys to measure the rate with; every one of them is a probe of every set.
const RATE_KEYS: u64 = 64 << 10;
/// The rate of one set.
const TARGET_FPP: f64 = 0.01;

/// Sets that are asked all together, with ready digests.
trait Collection {
    fn num_bytes(&self) -> u64;

    fn insert(&mut self, set: usize, digests: &[Digest], new: &mut Bitmap);

    fn holds(&self, set: usize, digest: Digest) -> bool;

    /// How many sets may hold the keys, added up over the keys.
    fn ask(&self, digests: &[Digest]) -> u64;

    /// [`Collection::ask`] for many keys at once, where that is another call.
    fn ask_batch(&self, _digests: &[Digest], _found: &mut Bitmap) -> Option<u64> {
        None
    }
}

impl Collection for BloomMatrix {
    fn num_bytes(&self) -> u64 {
        BloomMatrix::num_bytes(self)
    }

    fn insert(&mut self, set: usize, digests: &[Digest], new: &mut Bitmap) {
        self.insert_digests_into(set, digests, new);
    }

    fn holds(&self, set: usize, digest: Digest) -> bool {
        let mut sets = Sets::new();
        self.which_digest_into(digest, &mut sets);
        sets.contains(set)
    }

    fn ask(&self, digests: &[Digest]) -> u64 {
        let mut sets = Sets::new();
        let ask = |&digest: &Digest| {
            self.which_digest_into(digest, &mut sets);
            sets.count() as u64
        };
        digests.iter().map(ask).sum()
    }

    fn ask_batch(&self, digests: &[Digest], _found: &mut Bitmap) -> Option<u64> {
        let mut count = 0;
        self.which_digests(digests, |_, sets| count += sets.count() as u64);
        Some(count)
    }
}

impl Collection for Vec<BlockedBloomFilter> {
    fn num_bytes(&self) -> u64 {
        self.iter().map(|set| set.params().num_bytes()).sum()
    }

    fn insert(&mut self, set: usize, digests: &[Digest], new: &mut Bitmap) {
        self[set].insert_digests_into(digests, new);
    }

    fn holds(&self, set: usize, digest: Digest) -> bool {
        self[set].contains_digest(digest)
    }

    fn ask(&self, digests: &[Digest]) -> u64 {
        let ask = |digest| self.iter().map(move |set| u64::from(set.contains_digest(digest)));
        digests.iter().flat_map(|&digest| ask(digest)).sum()
    }

    fn ask_batch(&self, digests: &[Digest], found: &mut Bitmap) -> Option<u64> {
        let ask = |set: &BlockedBloomFilter| {
            set.contains_digests_into(digests, found);
            found.count_ones() as u64
        };
        Some(self.iter().map(ask).sum())
    }
}

impl Collection for Vec<fastbloom::BloomFilter> {
    fn num_bytes(&self) -> u64 {
        self.iter().map(|set| set.num_bits() as u64 / 8).sum()
    }

    fn insert(&mut self, set: usize, digests: &[Digest], _new: &mut Bitmap) {
        for digest in digests {
            self[set].insert_hash(digest.get());
        }
    }

    fn holds(&self, set: usize, digest: Digest) -> bool {
        self[set].contains_hash(digest.get())
    }

    fn ask(&self, digests: &[Digest]) -> u64 {
        let ask = |hash| self.iter().map(move |set| u64::from(set.contains_hash(hash)));
        digests.iter().flat_map(|digest| ask(digest.get())).sum()
    }
}

struct Row {
    name: &'static str,
    is_batch: bool,
    /// Which of the collections it asks.
    collection: usize,
}

const ROWS: [Row; 5] = [
    Row { name: "mayhap matrix", is_batch: false, collection: 0 },
    Row { name: "mayhap matrix, batch", is_batch: true, collection: 0 },
    Row { name: "512 mayhap blocked", is_batch: false, collection: 1 },
    Row { name: "512 mayhap blocked, batch", is_batch: true, collection: 1 },
    Row { name: "512 fastbloom, xxh3 digest", is_batch: false, collection: 2 },
];

/// The table for sets of `n` keys each.
pub(crate) fn run(n: u64, plan: Plan) -> Vec<Record> {
    let mut collections = empty(n);
    let insert_ns: Vec<f64> = collections.iter_mut().map(|sets| fill(&mut **sets, n)).collect();
    for collection in &collections {
        for i in 0..RATE_KEYS {
            let (set, digest) = member(n, 0, i);
            assert!(collection.holds(set, digest), "a set lost a member");
        }
    }
    let mut times = vec![(Vec::new(), Vec::new()); ROWS.len()];
    for round in 0..plan.rounds {
        for i in turns(ROWS.len(), round) {
            let sets = &*collections[ROWS[i].collection];
            let seed = 1 + round as u64;
            times[i].0.push(query(sets, &ROWS[i], plan.budget, true, |i| member(n, seed, i).1));
            times[i].1.push(query(sets, &ROWS[i], plan.budget, false, |i| absent(seed, i)));
        }
    }
    let rates: Vec<f64> = collections.iter().map(|sets| measured_fpr(&**sets)).collect();
    let bytes: Vec<f64> = collections.iter().map(|sets| sets.num_bytes() as f64).collect();
    ROWS.iter()
        .zip(times)
        .map(|(row, (hit, miss))| Record {
            table: TITLE,
            contestant: row.name.to_owned(),
            n: n * SETS,
            target_fpp: Some(TARGET_FPP),
            refused: 0,
            bits_per_key: bytes[row.collection] * 8.0 / (n * SETS) as f64,
            measured_fpr: rates[row.collection],
            insert_ns: insert_ns[row.collection],
            hit_ns: median(hit),
            miss_ns: median(miss),
            remove_ns: None,
        })
        .collect()
}

fn empty(n: u64) -> [Box<dyn Collection>; 3] {
    let matrix = BloomMatrix::builder().num_sets(SETS as usize).expected_items(n);
    let matrix = matrix.target_fpp(TARGET_FPP).digest_function(DIGEST).build();
    let blocked = |_| {
        let builder = BlockedBloomFilter::builder().expected_items(n).target_fpp(TARGET_FPP);
        builder.digest_function(DIGEST).build().expect("enough memory")
    };
    let fast = |_| fastbloom::BloomFilter::with_false_pos(TARGET_FPP).expected_items(n as usize);
    [
        Box::new(matrix.expect("enough memory")),
        Box::new((0..SETS).map(blocked).collect::<Vec<_>>()),
        Box::new((0..SETS).map(fast).collect::<Vec<_>>()),
    ]
}

/// Inserts n keys into every set, set by set; ns per key.
fn fill(sets: &mut dyn Collection, n: u64) -> f64 {
    let (mut time, mut digests, mut new) = (Duration::ZERO, Vec::new(), Bitmap::default());
    for set in 0..SETS {
        for from in (0..n).step_by(16 << 10) {
            digests.clear();
            let ids = set * n + from..set * n + n.min(from + (16 << 10));
            digests.extend(ids.map(|id| digest(mix(id))));
            let start = Instant::now();
            sets.insert(set as usize, black_box(&digests), &mut new);
            time += start.elapsed();
        }
    }
    time.as_secs_f64() * 1e9 / (n * SETS) as f64
}

/// A random member and its set.
fn member(n: u64, seed: u64, i: u64) -> (usize, Digest) {
    let id = random_below(n * SETS, seed, i);
    ((id / n) as usize, digest(mix(id)))
}

fn absent(seed: u64, i: u64) -> Digest {
    digest(mix(FIRST_ABSENT + random_below(FIRST_ABSENT, seed, i)))
}

/// Asks until the budget is spent; ns per key, that is for all sets.
fn query(
    sets: &dyn Collection,
    row: &Row,
    budget: Duration,
    is_hit: bool,
    make: impl Fn(u64) -> Digest,
) -> f64 {
    let (mut time, mut asked, mut found) = (Duration::ZERO, 0, Bitmap::default());
    while time < budget {
        let digests: Vec<Digest> = (asked..asked + SLICE).map(&make).collect();
        let digests = black_box(&digests);
        let start = Instant::now();
        let count = if row.is_batch {
            sets.ask_batch(digests, &mut found).expect("this collection takes batches")
        } else {
            sets.ask(digests)
        };
        time += start.elapsed();
        assert!(!is_hit || black_box(count) >= SLICE, "{} lost a member", row.name);
        asked += SLICE;
    }
    time.as_secs_f64() * 1e9 / asked as f64
}

fn measured_fpr(sets: &dyn Collection) -> f64 {
    let mut found = Bitmap::default();
    let mut count = 0;
    for from in (0..RATE_KEYS).step_by(SLICE as usize) {
        let digest = |i| digest(mix(2 * FIRST_ABSENT + i));
        let digests: Vec<Digest> = (from..from + SLICE).map(digest).collect();
        count += sets.ask_batch(&digests, &mut found).unwrap_or_else(|| sets.ask(&digests));
    }
    count as f64 / (RATE_KEYS * SETS) as f64
}
