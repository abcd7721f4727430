//! The filters measured: all behind one trait, and that behind one that takes whole slices of keys,
//! so that the loop over the keys is compiled together with the filter.

use crate::memory::freed_by;
use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_bench::keys::BenchKey;

/// The digest of all contestants that do not bring their own hash.
pub(crate) const DIGEST: DigestFunction = DigestFunction::xxh3(0);

/// A filter, one key at a time and, for ours, in batches.
pub(crate) trait Kind<K>: Sync {
    /// Inserts a key; whether the filter says that it was new.
    fn insert(&mut self, key: &K) -> bool;

    /// Whether the key may be in it.
    fn contains(&self, key: &K) -> bool;

    fn remove(&mut self, _key: &K) -> bool {
        unreachable!("only rows that say so remove keys")
    }

    /// Inserts a key while other threads do the same.
    fn insert_shared(&self, _key: &K) -> bool {
        unreachable!("only concurrent contestants have more than one thread")
    }

    fn insert_batch(&mut self, _keys: &[K], _new: &mut Bitmap) {
        unreachable!("only rows that say so take batches")
    }

    fn insert_batch_shared(&self, _keys: &[K], _new: &mut Bitmap) {
        unreachable!("only concurrent contestants have more than one thread")
    }

    fn contains_batch(&self, _keys: &[K], _found: &mut Bitmap) {
        unreachable!("only rows that say so take batches")
    }

    fn insert_digests(&mut self, _digests: &[Digest], _new: &mut Bitmap) {
        unreachable!("only rows that say so take digests")
    }

    fn contains_digests(&self, _digests: &[Digest], _found: &mut Bitmap) {
        unreachable!("only rows that say so take digests")
    }

    fn remove_digests(&mut self, _digests: &[Digest], _removed: &mut Bitmap) {
        unreachable!("only rows that say so remove keys")
    }

    /// The work that remains after the last insertion; timed as part of the insertions.
    fn finish(&mut self) {}

    /// Forgets every key.
    fn clear(&mut self) {
        unreachable!("a table of new filters clears none")
    }

    /// The bytes of the filter, if it reports them: ours reserve up to 2 MiB of addresses more than
    /// they use, to begin on a huge page.
    fn num_bytes(&self) -> Option<u64> {
        None
    }

    /// Insertions that were refused; such a filter may miss members.
    fn failures(&self) -> u64 {
        0
    }
}

/// The way in which keys are passed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// One at a time.
    Single,
    /// A whole slice.
    Batch,
    /// A whole slice of digests, which are computed on the clock.
    Digests,
    /// A whole slice of digests that were computed before the clock started.
    ReadyDigests,
}

/// Buffers that a caller keeps between calls.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The digests of the slice, for contestants that need them.
    pub(crate) digests: Vec<Digest>,
    /// The answers of a batch.
    pub(crate) answers: Bitmap,
}

impl Scratch {
    /// Computes the digests of a slice.
    pub(crate) fn digest<K: BenchKey>(&mut self, keys: &[K]) {
        self.digests.resize(keys.len(), Digest::default());
        DIGEST.digest_batch(keys, &mut self.digests);
    }
}

/// A filter under test, called with slices of keys. The returned numbers of "yes" answers keep the
/// compiler from eliminating the work, and show that no member is missed.
pub(crate) trait Contestant<K>: Sync {
    /// Starts again with an empty filter, a new one or the old one cleared.
    fn restart(&mut self, _is_new: bool) {}

    /// Whether it gets ready digests.
    fn wants_digests(&self) -> bool {
        false
    }

    fn insert(&mut self, _keys: &[K], _scratch: &mut Scratch) -> u64 {
        unreachable!("it came filled")
    }

    /// Inserts the keys while other threads do the same.
    fn insert_shared(&self, _keys: &[K], _scratch: &mut Scratch) -> u64 {
        unreachable!("it came filled")
    }

    fn finish(&mut self) {}

    fn contains(&self, keys: &[K], scratch: &mut Scratch) -> u64;

    fn remove(&mut self, _keys: &[K], _scratch: &mut Scratch) -> u64 {
        unreachable!("only rows that say so remove keys")
    }

    fn failures(&self) -> u64 {
        0
    }

    /// Drops the filter and returns its memory: as it reports it, or as freed by the drop.
    fn free(&mut self) -> u64;
}

/// Calls a filter as a row says.
struct Runner<F, M> {
    make: M,
    filter: Option<F>,
    calls: Calls,
}

impl<F, M> Runner<F, M> {
    fn filter(&self) -> &F {
        self.filter.as_ref().expect("made before it is queried")
    }

    fn filter_mut(&mut self) -> &mut F {
        self.filter.as_mut().expect("made before it is filled")
    }
}

/// The number of keys with the answer yes, one at a time.
fn count<K>(keys: &[K], mut answer: impl FnMut(&K) -> bool) -> u64 {
    keys.iter().map(|key| u64::from(answer(key))).sum()
}

impl<K: BenchKey, F: Kind<K>, M: Fn() -> F + Sync> Contestant<K> for Runner<F, M> {
    fn restart(&mut self, is_new: bool) {
        if is_new || self.filter.is_none() {
            self.filter = None; // before there is another one
            self.filter = Some((self.make)());
        }
        if !is_new {
            self.filter_mut().clear();
        }
    }

    fn wants_digests(&self) -> bool {
        self.calls == Calls::ReadyDigests
    }

    fn insert(&mut self, keys: &[K], scratch: &mut Scratch) -> u64 {
        let (calls, filter) = (self.calls, self.filter_mut());
        match calls {
            Calls::Single => return count(keys, |key| filter.insert(key)),
            Calls::Batch => filter.insert_batch(keys, &mut scratch.answers),
            Calls::Digests => {
                scratch.digest(keys);
                filter.insert_digests(&scratch.digests, &mut scratch.answers);
            }
            Calls::ReadyDigests => {
                filter.insert_digests(&scratch.digests, &mut scratch.answers);
            }
        }
        scratch.answers.count_ones() as u64
    }

    fn insert_shared(&self, keys: &[K], scratch: &mut Scratch) -> u64 {
        let filter = self.filter();
        if self.calls == Calls::Single {
            return count(keys, |key| filter.insert_shared(key));
        }
        filter.insert_batch_shared(keys, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }

    fn finish(&mut self) {
        self.filter_mut().finish();
    }

    fn contains(&self, keys: &[K], scratch: &mut Scratch) -> u64 {
        let filter = self.filter();
        match self.calls {
            Calls::Single => return count(keys, |key| filter.contains(key)),
            Calls::Batch => filter.contains_batch(keys, &mut scratch.answers),
            Calls::Digests => {
                scratch.digest(keys);
                filter.contains_digests(&scratch.digests, &mut scratch.answers);
            }
            Calls::ReadyDigests => {
                filter.contains_digests(&scratch.digests, &mut scratch.answers);
            }
        }
        scratch.answers.count_ones() as u64
    }

    fn remove(&mut self, keys: &[K], scratch: &mut Scratch) -> u64 {
        let (calls, filter) = (self.calls, self.filter_mut());
        if calls == Calls::Single {
            return count(keys, |key| filter.remove(key));
        }
        scratch.digest(keys);
        filter.remove_digests(&scratch.digests, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }

    fn failures(&self) -> u64 {
        self.filter().failures()
    }

    fn free(&mut self) -> u64 {
        let reported = self.filter().num_bytes();
        let freed = freed_by(self.filter.take()) as u64;
        reported.unwrap_or(freed)
    }
}

/// One row of a table.
pub(crate) struct Row<K> {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    /// Keys that it is fed, in multiples of n; the last n of them are the members.
    pub(crate) fed: u64,
    pub(crate) can_remove: bool,
    /// The time of an insertion into a filter that comes filled; NaN for floors, which hold no
    /// keys.
    pub(crate) filled: Option<f64>,
    pub(crate) contestant: Box<dyn Contestant<K>>,
}

impl<K> Row<K> {
    /// Whether it has neither members nor a rate.
    pub(crate) fn is_floor(&self) -> bool {
        self.filled.is_some_and(f64::is_nan)
    }
}

/// How often the filters of a table are filled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fills {
    /// In each round until the budget is spent, after they were cleared.
    Cleared,
    /// In each round until the budget is spent, new ones each time.
    New,
    /// Once, a part in each round.
    Once,
}

/// One table.
pub(crate) struct Table<K> {
    /// Empty for plain filters.
    pub(crate) title: &'static str,
    /// The number of members, of all sets together.
    pub(crate) n: u64,
    /// Sets that each row has.
    pub(crate) sets: u64,
    /// `None` where there is no choice.
    pub(crate) target_fpp: Option<f64>,
    pub(crate) fills: Fills,
    /// Keys that are made, outside of the clock, and then handed to a contestant together.
    pub(crate) slice: u64,
    /// Whether members and absent keys are also queried in random order.
    pub(crate) mixes: bool,
    pub(crate) rows: Vec<Row<K>>,
}

impl<K: BenchKey> Table<K> {
    /// A table of new filters, without rows.
    pub(crate) fn new(title: &'static str, n: u64, target_fpp: Option<f64>) -> Self {
        // A slice stays in the second-level cache, so that cache misses are the filter's.
        let slice = 16 << 10;
        let (fills, rows) = (Fills::New, Vec::new());
        Self { title, n, sets: 1, target_fpp, fills, slice, mixes: false, rows }
    }

    /// Adds a row, whose filter is made when it is first filled.
    pub(crate) fn add<F: Kind<K> + 'static>(
        &mut self,
        name: &'static str,
        calls: Calls,
        make: impl Fn() -> F + Sync + 'static,
    ) -> &mut Row<K> {
        let contestant = Box::new(Runner { make, filter: None, calls });
        self.rows.push(Row {
            name,
            threads: 1,
            fed: 1,
            can_remove: false,
            filled: None,
            contestant,
        });
        self.rows.last_mut().expect("just pushed")
    }

    /// Adds a row that comes filled, in this time per key.
    pub(crate) fn add_filled(
        &mut self,
        name: &'static str,
        insert_ns: f64,
        contestant: impl Contestant<K> + 'static,
    ) {
        self.rows.push(Row {
            name,
            threads: 1,
            fed: 1,
            can_remove: false,
            filled: Some(insert_ns),
            contestant: Box::new(contestant),
        });
    }
}
