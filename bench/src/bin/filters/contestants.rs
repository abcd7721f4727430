//! What is measured: every filter behind one trait, called with whole slices of keys so that the
//! loop over the keys is compiled together with the filter.

use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_bench::keys::BenchKey;

/// The digest of all contestants that do not bring their own hash.
pub(crate) const DIGEST: DigestFunction = DigestFunction::xxh3(0);

/// Buffers that a caller keeps between calls.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The digests of the slice, for contestants that want them.
    pub(crate) digests: Vec<Digest>,
    /// The answers of a batch.
    pub(crate) answers: Bitmap,
}

/// A filter under test. The returned numbers of "yes" answers keep the compiler from leaving the
/// work out, and show that no member is missed.
pub(crate) trait Contestant<K>: Sync {
    /// Bytes of memory of the filter alone.
    fn num_bytes(&self) -> usize;

    /// Forgets every key.
    fn clear(&mut self);

    /// Whether it is given ready digests, made by [`DIGEST`] before the clock starts.
    fn wants_digests(&self) -> bool {
        false
    }

    /// Inserts the keys.
    fn insert(&mut self, keys: &[K], scratch: &mut Scratch) -> u64;

    /// Inserts the keys while other threads do the same.
    fn insert_shared(&self, _keys: &[K], _scratch: &mut Scratch) -> u64 {
        unreachable!("only concurrent contestants have more than one thread")
    }

    /// What is left to do after the last insertion; timed as part of the insertions.
    fn finish(&mut self) {}

    /// Asks for the keys and returns how many are maybe there.
    fn contains(&self, keys: &[K], scratch: &mut Scratch) -> u64;
}

/// How many of the keys are answered with yes, one at a time.
pub(super) fn count<K>(keys: &[K], mut answer: impl FnMut(&K) -> bool) -> u64 {
    keys.iter().map(|key| u64::from(answer(key))).sum()
}

/// From how many keys on only some rows are run, to bound time and memory.
const LARGE: u64 = 50_000_000;
const HUGE: u64 = 500_000_000;

/// The sizes at which a row takes part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Below 50 M keys, and up to 500 M in the cell with u64 keys at the first target rate.
    Most,
    /// Below 500 M keys.
    Large,
    /// Everywhere.
    All,
}

/// One cell of the benchmark: what all of its rows have in common.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) n: u64,
    pub(crate) target_fpp: f64,
    /// Whether this is the first target rate, where contestants without a choice of rate take part.
    pub(crate) is_first_fpp: bool,
}

impl Cell {
    pub(crate) fn includes<K: BenchKey>(&self, scope: Scope) -> bool {
        scope
            >= match self.n {
                HUGE.. => Scope::All,
                LARGE.. if !self.is_first_fpp || K::NAME != "u64" => Scope::Large,
                _ => Scope::Most,
            }
    }

    /// Whether filters are filled once, in as many parts as there are rounds, instead of once per
    /// round.
    pub(crate) fn is_filled_once(&self) -> bool {
        self.n >= LARGE / 5
    }
}

/// One row of the table.
pub(crate) struct Row<K> {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    /// Floors hold no keys: there is nothing to insert and no rate.
    pub(crate) is_floor: bool,
    pub(crate) contestant: Box<dyn Contestant<K>>,
}

/// The rows of a cell, built one by one and only if they take part.
pub(crate) struct Rows<'a, K> {
    pub(crate) cell: Cell,
    /// Parts of names of the only rows that take part; all do if there are none.
    only: &'a [String],
    pub(crate) rows: Vec<Row<K>>,
}

impl<K: BenchKey> Rows<'_, K> {
    fn is_wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }

    /// Adds a filter with one thread.
    pub(crate) fn add<C: Contestant<K> + 'static>(
        &mut self,
        scope: Scope,
        name: &'static str,
        make: impl FnOnce() -> C,
    ) {
        self.add_threads(scope, name, 1, make);
    }

    /// Adds a filter with this many threads.
    pub(crate) fn add_threads<C: Contestant<K> + 'static>(
        &mut self,
        scope: Scope,
        name: &'static str,
        threads: usize,
        make: impl FnOnce() -> C,
    ) {
        if self.cell.includes::<K>(scope) && self.is_wanted(name) {
            let contestant = Box::new(make());
            self.rows.push(Row { name, threads, is_floor: false, contestant });
        }
    }

    /// Adds a floor.
    pub(crate) fn add_floor<C: Contestant<K> + 'static>(&mut self, name: &'static str, floor: C) {
        if !self.is_wanted(name) {
            return;
        }
        let contestant = Box::new(floor);
        self.rows.push(Row { name, threads: 1, is_floor: true, contestant });
    }
}

/// The rows of a cell whose names have one of these parts, or all; empty filters in them.
pub(crate) fn rows<K: BenchKey>(cell: Cell, only: &[String]) -> Vec<Row<K>> {
    let mut rows = Rows { cell, only, rows: Vec::new() };
    crate::floor::add(&mut rows);
    crate::ours::add(&mut rows);
    crate::peers::add(&mut rows);
    rows.rows
}
