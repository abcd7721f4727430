//! The filters of other crates as [`Kind`]s; they get the digest where they take one.

use crate::contestants::{Kind, digest};
use dsi_progress_logger::no_logging;
use std::collections::hash_map::DefaultHasher;
use sux::dict::VFilter;
use sux::func::VBuilder;

/// Fingerprints of 8 bits, and no choice of rate; hashes with the hasher of the standard library.
pub(crate) struct Cuckoo {
    filter: cuckoofilter::CuckooFilter<DefaultHasher>,
    failures: u64,
}

impl Cuckoo {
    pub(crate) fn new(n: u64) -> Self {
        let filter = cuckoofilter::CuckooFilter::with_capacity(n as usize);
        Self { filter, failures: 0 }
    }
}

impl Kind for Cuckoo {
    fn insert(&mut self, key: u64) -> bool {
        let is_there = self.filter.add(&key).is_ok();
        self.failures += u64::from(!is_there);
        is_there
    }

    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }

    fn remove(&mut self, key: u64) -> bool {
        self.filter.delete(&key)
    }

    fn failures(&self) -> u64 {
        self.failures
    }
}

/// A quotient filter. Keys that may be removed must be counted, so equal fingerprints are kept.
pub(crate) struct Quotient {
    filter: qfilter::Filter,
    keeps_equal: bool,
}

impl Quotient {
    /// One that is removed from.
    pub(crate) fn removable(n: u64, target_fpp: f64) -> Self {
        let filter = qfilter::Filter::new(n, target_fpp).expect("valid numbers");
        Self { filter, keeps_equal: true }
    }

    /// One that grows; it must be told the most it will hold.
    pub(crate) fn growing(first: u64, max: u64, target_fpp: f64) -> Self {
        let filter = qfilter::Filter::new_resizeable(first, max, target_fpp);
        Self { filter: filter.expect("valid numbers"), keeps_equal: false }
    }
}

impl Kind for Quotient {
    fn insert(&mut self, key: u64) -> bool {
        let new = self.filter.insert_fingerprint(self.keeps_equal, digest(key).get());
        new.expect("room for all keys")
    }

    fn contains(&self, key: u64) -> bool {
        self.filter.contains_fingerprint(digest(key).get())
    }

    fn remove(&mut self, key: u64) -> bool {
        self.filter.remove_fingerprint(digest(key).get())
    }
}

/// Hashes by itself. It says nothing of whether an inserted key was new, nor of its memory.
pub(crate) struct Aleph(pub(crate) aleph_filter::AlephFilter);

impl Kind for Aleph {
    fn insert(&mut self, key: u64) -> bool {
        self.0.insert(&key.to_le_bytes());
        true
    }

    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key.to_le_bytes())
    }
}

/// Hashes by itself.
pub(crate) struct Growable(pub(crate) growable_bloom_filter::GrowableBloom);

impl Kind for Growable {
    fn insert(&mut self, key: u64) -> bool {
        self.0.insert(key)
    }

    fn contains(&self, key: u64) -> bool {
        self.0.contains(key)
    }
}

/// The usual hand-made window: two filters for `w` keys and half of the rate each; when one is full
/// it becomes the old one, and the one that was old is emptied.
pub(crate) struct Rotating {
    young: fastbloom::BloomFilter,
    old: fastbloom::BloomFilter,
    room: u64,
    w: u64,
}

impl Rotating {
    pub(crate) fn new(w: u64, target_fpp: f64) -> Self {
        let make =
            || fastbloom::BloomFilter::with_false_pos(target_fpp / 2.0).expected_items(w as usize);
        Self { young: make(), old: make(), room: w, w }
    }
}

impl Kind for Rotating {
    fn insert(&mut self, key: u64) -> bool {
        if self.room == 0 {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.room = self.w;
        }
        self.room -= 1;
        !self.young.insert_hash(digest(key).get())
    }

    fn contains(&self, key: u64) -> bool {
        let hash = digest(key).get();
        self.young.contains_hash(hash) || self.old.contains_hash(hash)
    }
}

/// Static: insertion collects digests, `finish` builds.
pub(crate) struct Static<F> {
    digests: Vec<u64>,
    filter: Option<F>,
}

impl<F> Static<F> {
    pub(crate) fn new(n: u64) -> Self {
        Self { digests: Vec::with_capacity(n as usize), filter: None }
    }
}

impl<F> Kind for Static<F>
where
    F: xorf::Filter<u64> + for<'a> TryFrom<&'a Vec<u64>, Error: std::fmt::Debug>,
{
    fn insert(&mut self, key: u64) -> bool {
        self.digests.push(digest(key).get());
        true
    }

    fn finish(&mut self) {
        let digests = std::mem::take(&mut self.digests);
        self.filter = Some(F::try_from(&digests).expect("distinct digests"));
    }

    fn contains(&self, key: u64) -> bool {
        self.filter.as_ref().expect("built before it is asked").contains(&digest(key).get())
    }
}

/// Static, of 8 bits; hashes by itself. With one thread, as all others.
pub(crate) struct Sux {
    keys: Vec<u64>,
    filter: Option<VFilter<u64, Box<[u8]>>>,
}

impl Sux {
    pub(crate) fn new(n: u64) -> Self {
        Self { keys: Vec::with_capacity(n as usize), filter: None }
    }
}

impl Kind for Sux {
    fn insert(&mut self, key: u64) -> bool {
        self.keys.push(key);
        true
    }

    fn finish(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        let builder = VBuilder::default().max_num_threads(1);
        let filter =
            VFilter::<u64, Box<[u8]>>::try_par_new_with_builder(&keys, builder, no_logging![]);
        self.filter = Some(filter.expect("distinct keys"));
    }

    fn contains(&self, key: u64) -> bool {
        self.filter.as_ref().expect("built before it is asked").contains(key)
    }
}
