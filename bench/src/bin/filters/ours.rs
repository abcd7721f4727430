//! The filters of mayhap: one key at a time, in batches, on ready digests, and from two threads.

use crate::contestants::{Cell, Contestant, DIGEST, Rows, Scope, Scratch, count};
use mayhap::{Blocked, Build, Filter, LayoutKind, OwnedBlocks, SharedBlocks, Standard};
use mayhap_bench::keys::BenchKey;

/// Adds our rows.
pub(crate) fn add<K: BenchKey>(rows: &mut Rows<'_, K>) {
    use Scope::{All, Large, Most};
    let cell = rows.cell;
    let blocked = || build::<Filter<Blocked, OwnedBlocks>>(cell);
    rows.add(All, "mayhap blocked", || One(blocked()));
    rows.add(All, "mayhap blocked, batch", || Batch(blocked()));
    rows.add(All, "mayhap blocked, ready digests", || Ready(blocked()));
    let standard = || build::<Filter<Standard, OwnedBlocks>>(cell);
    rows.add(Large, "mayhap standard", || One(standard()));
    rows.add(Large, "mayhap standard, batch", || Batch(standard()));

    let shared = || build::<Filter<Blocked, SharedBlocks>>(cell);
    rows.add(Most, "mayhap concurrent blocked", || One(shared()));
    rows.add_threads(Most, "mayhap concurrent blocked", 2, || One(shared()));
    rows.add(Most, "mayhap concurrent blocked, batch", || Batch(shared()));
    rows.add_threads(Most, "mayhap concurrent blocked, batch", 2, || Batch(shared()));
    let shared = || build::<Filter<Standard, SharedBlocks>>(cell);
    rows.add(Most, "mayhap concurrent standard", || One(shared()));
    rows.add_threads(Most, "mayhap concurrent standard", 2, || One(shared()));
    rows.add(Most, "mayhap concurrent standard, batch", || Batch(shared()));
    rows.add_threads(Most, "mayhap concurrent standard, batch", 2, || Batch(shared()));
}

fn build<F: Build>(cell: Cell) -> F {
    F::builder()
        .expected_items(cell.n)
        .target_fpp(cell.target_fpp)
        .digest_function(DIGEST)
        .build()
        .expect("a filter of this size and enough memory")
}

/// Asked one key at a time.
struct One<F>(F);
/// Asked in batches of a whole slice.
struct Batch<F>(F);
/// Asked in batches of digests that were made before the clock started.
struct Ready<F>(F);

impl<K: BenchKey, L: LayoutKind> Contestant<K> for One<Filter<L, OwnedBlocks>> {
    fn num_bytes(&self) -> usize {
        self.0.params().num_bytes() as usize
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn insert(&mut self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.insert(key))
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.contains(key))
    }
}

impl<K: BenchKey, L: LayoutKind> Contestant<K> for Batch<Filter<L, OwnedBlocks>> {
    fn num_bytes(&self) -> usize {
        self.0.params().num_bytes() as usize
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn insert(&mut self, keys: &[K], scratch: &mut Scratch) -> u64 {
        self.0.insert_batch_into(keys, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }

    fn contains(&self, keys: &[K], scratch: &mut Scratch) -> u64 {
        self.0.contains_batch_into(keys, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }
}

impl<K: BenchKey, L: LayoutKind> Contestant<K> for Ready<Filter<L, OwnedBlocks>> {
    fn num_bytes(&self) -> usize {
        self.0.params().num_bytes() as usize
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn wants_digests(&self) -> bool {
        true
    }

    fn insert(&mut self, _keys: &[K], scratch: &mut Scratch) -> u64 {
        self.0.insert_digests_into(&scratch.digests, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }

    fn contains(&self, _keys: &[K], scratch: &mut Scratch) -> u64 {
        self.0.contains_digests_into(&scratch.digests, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }
}

impl<K: BenchKey, L: LayoutKind> Contestant<K> for One<Filter<L, SharedBlocks>> {
    fn num_bytes(&self) -> usize {
        self.0.params().num_bytes() as usize
    }

    fn clear(&mut self) {
        clear_shared(&mut self.0);
    }

    fn insert(&mut self, keys: &[K], scratch: &mut Scratch) -> u64 {
        self.insert_shared(keys, scratch)
    }

    fn insert_shared(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.insert(key))
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.contains(key))
    }
}

impl<K: BenchKey, L: LayoutKind> Contestant<K> for Batch<Filter<L, SharedBlocks>> {
    fn num_bytes(&self) -> usize {
        self.0.params().num_bytes() as usize
    }

    fn clear(&mut self) {
        clear_shared(&mut self.0);
    }

    fn insert(&mut self, keys: &[K], scratch: &mut Scratch) -> u64 {
        self.insert_shared(keys, scratch)
    }

    fn insert_shared(&self, keys: &[K], scratch: &mut Scratch) -> u64 {
        self.0.insert_batch_into(keys, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }

    fn contains(&self, keys: &[K], scratch: &mut Scratch) -> u64 {
        self.0.contains_batch_into(keys, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }
}

/// A shared filter is cleared by its owner: a new, empty one takes its place.
fn clear_shared<L: LayoutKind>(filter: &mut Filter<L, SharedBlocks>) {
    *filter =
        <Filter<L, SharedBlocks> as Build>::empty(*filter.params(), *filter.digest_function())
            .expect("enough memory");
}
