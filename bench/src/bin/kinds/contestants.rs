//! What is measured: every filter behind one trait, and that behind one that takes whole slices, so
//! that the loop over the keys is compiled together with the filter.

use crate::memory::freed_by;
use mayhap::{Bitmap, Digest, DigestFunction};

/// The digest of all contestants that do not bring their own hash.
pub(crate) const DIGEST: DigestFunction = DigestFunction::xxh3(0);

/// [`DIGEST`] of a key.
pub(crate) fn digest(key: u64) -> Digest {
    DIGEST.digest(&key)
}

/// A filter, one key at a time and, for ours, in batches of digests.
pub(crate) trait Kind {
    fn insert(&mut self, key: u64) -> bool;

    fn contains(&self, key: u64) -> bool;

    fn remove(&mut self, _key: u64) -> bool {
        unreachable!("only rows that say so remove keys")
    }

    fn insert_batch(&mut self, _digests: &[Digest], _new: &mut Bitmap) {
        unreachable!("only rows that say so take batches")
    }

    fn contains_batch(&self, _digests: &[Digest], _found: &mut Bitmap) {
        unreachable!("only rows that say so take batches")
    }

    fn remove_batch(&mut self, _digests: &[Digest], _removed: &mut Bitmap) {
        unreachable!("only rows that say so take batches")
    }

    /// What is left to do after the last insertion; timed as part of the insertions.
    fn finish(&mut self) {}

    /// Bytes of the filter, if it says so: ours ask for up to 2 MiB of addresses more than they
    /// use, to begin on a huge page.
    fn num_bytes(&self) -> Option<u64> {
        None
    }

    /// Insertions that were refused; such a filter may miss members.
    fn failures(&self) -> u64 {
        0
    }
}

/// How the keys come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    Single,
    Batch,
}

/// Buffers that a caller keeps between calls.
#[derive(Default)]
pub(crate) struct Scratch {
    digests: Vec<Digest>,
    answers: Bitmap,
}

impl Scratch {
    fn digest(&mut self, keys: &[u64]) {
        self.digests.resize(keys.len(), Digest::default());
        DIGEST.digest_batch(keys, &mut self.digests);
    }
}

/// A filter under test, asked with slices of keys; the answers are counted.
pub(crate) trait Contestant {
    /// Starts again with a new, empty filter.
    fn renew(&mut self);

    fn insert(&mut self, keys: &[u64], scratch: &mut Scratch) -> u64;

    fn finish(&mut self);

    fn contains(&self, keys: &[u64], scratch: &mut Scratch) -> u64;

    fn remove(&mut self, keys: &[u64], scratch: &mut Scratch) -> u64;

    fn failures(&self) -> u64;

    /// Drops the filter and says how much memory it had: in its words, or what that freed.
    fn free(&mut self) -> usize;
}

struct Runner<F, M> {
    make: M,
    filter: Option<F>,
    calls: Calls,
}

impl<F, M> Runner<F, M> {
    fn filter(&self) -> &F {
        self.filter.as_ref().expect("made before it is asked")
    }

    fn filter_mut(&mut self) -> &mut F {
        self.filter.as_mut().expect("made before it is filled")
    }
}

impl<F: Kind, M: Fn() -> F> Contestant for Runner<F, M> {
    fn renew(&mut self) {
        self.filter = None;
        self.filter = Some((self.make)());
    }

    fn insert(&mut self, keys: &[u64], scratch: &mut Scratch) -> u64 {
        if self.calls == Calls::Single {
            let filter = self.filter_mut();
            return keys.iter().map(|&key| u64::from(filter.insert(key))).sum();
        }
        scratch.digest(keys);
        self.filter_mut().insert_batch(&scratch.digests, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }

    fn finish(&mut self) {
        self.filter_mut().finish();
    }

    fn contains(&self, keys: &[u64], scratch: &mut Scratch) -> u64 {
        if self.calls == Calls::Single {
            let filter = self.filter();
            return keys.iter().map(|&key| u64::from(filter.contains(key))).sum();
        }
        scratch.digest(keys);
        self.filter().contains_batch(&scratch.digests, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }

    fn remove(&mut self, keys: &[u64], scratch: &mut Scratch) -> u64 {
        if self.calls == Calls::Single {
            let filter = self.filter_mut();
            return keys.iter().map(|&key| u64::from(filter.remove(key))).sum();
        }
        scratch.digest(keys);
        self.filter_mut().remove_batch(&scratch.digests, &mut scratch.answers);
        scratch.answers.count_ones() as u64
    }

    fn failures(&self) -> u64 {
        self.filter().failures()
    }

    fn free(&mut self) -> usize {
        let said = self.filter().num_bytes();
        let freed = freed_by(self.filter.take());
        said.map_or(freed, |bytes| bytes as usize)
    }
}

/// One row of a table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Keys that it is fed, in multiples of n; the last n of them are the members.
    pub(crate) fed: u64,
    pub(crate) can_remove: bool,
    pub(crate) contestant: Box<dyn Contestant>,
}

/// One table.
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) n: u64,
    /// `None` where nobody has a choice.
    pub(crate) target_fpp: Option<f64>,
    pub(crate) rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(title: &'static str, n: u64, target_fpp: Option<f64>) -> Self {
        Self { title, n, target_fpp, rows: Vec::new() }
    }

    /// Adds a row, to be made again for every fill.
    pub(crate) fn add<F: Kind + 'static>(
        &mut self,
        name: &'static str,
        calls: Calls,
        make: impl Fn() -> F + 'static,
    ) -> &mut Row {
        let contestant = Box::new(Runner { make, filter: None, calls });
        self.rows.push(Row { name, fed: 1, can_remove: false, contestant });
        self.rows.last_mut().expect("just pushed")
    }
}
