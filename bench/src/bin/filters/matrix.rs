//! Which of 512 sets may hold a key: the matrix, and one filter for each set.

use crate::contestants::{Contestant, DIGEST, Scratch, Table};
use mayhap::{Bitmap, BlockedBloomFilter, BloomMatrix, Digest, Sets};
use mayhap_bench::keys::{BenchKey, mix};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name of the table.
pub(crate) const TITLE: &str = "Which of 512 sets";
/// The number of sets.
pub(crate) const SETS: u64 = 512;
/// Digests that are handed over together.
const SLICE: u64 = 1 << 10;
/// Members that each collection has to find in their sets.
const CHECKED: u64 = 64 << 10;
/// The rate of one set.
const TARGET_FPP: f64 = 0.01;

/// Sets that are queried all together, with ready digests.
trait Collection: Send + Sync {
    fn num_bytes(&self) -> u64;

    fn insert(&mut self, set: usize, digests: &[Digest], new: &mut Bitmap);

    fn holds(&self, set: usize, digest: Digest) -> bool;

    /// The number of sets that may hold the keys, added up over the keys.
    fn ask(&self, digests: &[Digest]) -> u64;

    /// Like [`Collection::ask`], for many keys at once, where that is a separate call.
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

/// A collection as a row queries it: members count once for each set that may hold them.
struct Asked {
    sets: Arc<dyn Collection>,
    is_batch: bool,
}

impl Contestant<u64> for Asked {
    fn wants_digests(&self) -> bool {
        true
    }

    fn contains(&self, _keys: &[u64], scratch: &mut Scratch) -> u64 {
        if self.is_batch {
            let found = self.sets.ask_batch(&scratch.digests, &mut scratch.answers);
            return found.expect("this collection takes batches");
        }
        self.sets.ask(&scratch.digests)
    }

    fn free(&mut self) -> u64 {
        self.sets.num_bytes()
    }
}

/// The names of the rows of each collection, one at a time and in batches.
const ROWS: [(&str, Option<&str>); 3] = [
    ("mayhap matrix", Some("mayhap matrix, batch")),
    ("512 mayhap blocked", Some("512 mayhap blocked, batch")),
    ("512 fastbloom, xxh3 digest", None),
];

/// The table for sets of `n` keys each, of the rows that are wanted.
pub(crate) fn table(n: u64, is_wanted: impl Fn(&str) -> bool) -> Table<u64> {
    let mut table = Table::new(TITLE, n * SETS, Some(TARGET_FPP));
    (table.sets, table.slice) = (SETS, SLICE);
    for (mut sets, (single, batch)) in empty(n).into_iter().zip(ROWS) {
        if !is_wanted(single) && !batch.is_some_and(&is_wanted) {
            continue;
        }
        let insert_ns = fill(&mut *sets, n);
        for i in 0..CHECKED {
            let id = mix(i) % (n * SETS);
            assert!(sets.holds((id / n) as usize, digest(id)), "a set lost a member");
        }
        let sets: Arc<dyn Collection> = Arc::from(sets);
        table.add_filled(single, insert_ns, Asked { sets: Arc::clone(&sets), is_batch: false });
        if let Some(batch) = batch {
            table.add_filled(batch, insert_ns, Asked { sets, is_batch: true });
        }
    }
    table
}

/// The digest of key number `id`.
fn digest(id: u64) -> Digest {
    DIGEST.digest(&u64::nth(id))
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
            digests.extend(ids.map(digest));
            let start = Instant::now();
            sets.insert(set as usize, black_box(&digests), &mut new);
            time += start.elapsed();
        }
    }
    time.as_secs_f64() * 1e9 / (n * SETS) as f64
}
