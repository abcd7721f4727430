//! The filters of other crates, called as documented, and the exact set; they get the digest where
//! they take one and their row says so.

use crate::contestants::{DIGEST, Kind};
use dsi_progress_logger::no_logging;
use mayhap_bench::keys::BenchKey;
use ribbon_filter::{Mode, Params, RibbonBuilder};
use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;
use sux::dict::VFilter;
use sux::func::VBuilder;

/// The digest as a number.
fn digest<K: BenchKey>(key: &K) -> u64 {
    DIGEST.digest(key).get()
}

impl<K: BenchKey> Kind<K> for fastbloom::BloomFilter {
    fn insert(&mut self, key: &K) -> bool {
        self.insert(key)
    }

    fn contains(&self, key: &K) -> bool {
        self.contains(key)
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn num_bytes(&self) -> Option<u64> {
        Some(self.num_bits() as u64 / 8)
    }
}

/// The same, given a digest.
pub(crate) struct FastDigest(pub(crate) fastbloom::BloomFilter);

impl<K: BenchKey> Kind<K> for FastDigest {
    fn insert(&mut self, key: &K) -> bool {
        self.0.insert_hash(digest(key))
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains_hash(digest(key))
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn num_bytes(&self) -> Option<u64> {
        Some(self.0.num_bits() as u64 / 8)
    }
}

/// The same, for several threads.
pub(crate) struct FastAtomic(pub(crate) fastbloom::AtomicBloomFilter);

impl<K: BenchKey> Kind<K> for FastAtomic {
    fn insert(&mut self, key: &K) -> bool {
        self.0.insert(key)
    }

    fn insert_shared(&self, key: &K) -> bool {
        self.0.insert(key)
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn num_bytes(&self) -> Option<u64> {
        Some(self.0.num_bits() as u64 / 8)
    }
}

/// A split block filter, which takes digests.
pub(crate) struct Sbbf(sbbf_rs_safe::Filter);

impl Sbbf {
    /// A filter with whole bits per key, since its API takes no fraction: those at which this
    /// layout (256-bit blocks, 8 bits per key) keeps the rate.
    pub(crate) fn new(n: u64, target_fpp: f64) -> Self {
        let bits_per_key = match target_fpp {
            0.01.. => 11,
            0.001.. => 17,
            _ => 28,
        };
        Self(sbbf_rs_safe::Filter::new(bits_per_key, n as usize))
    }
}

impl<K: BenchKey> Kind<K> for Sbbf {
    fn insert(&mut self, key: &K) -> bool {
        self.0.insert_hash(digest(key))
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains_hash(digest(key))
    }

    fn clear(&mut self) {
        self.0.reset();
    }

    fn num_bytes(&self) -> Option<u64> {
        Some(self.0.as_bytes().len() as u64)
    }
}

/// It does not report whether an inserted key was new.
pub(crate) struct Classic<K>(pub(crate) bloomfilter::Bloom<K>);

impl<K: BenchKey> Kind<K> for Classic<K> {
    fn insert(&mut self, key: &K) -> bool {
        self.0.set(key);
        false
    }

    fn contains(&self, key: &K) -> bool {
        self.0.check(key)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn num_bytes(&self) -> Option<u64> {
        Some(self.0.len() / 8)
    }
}

impl<K: BenchKey> Kind<K> for HashSet<K> {
    fn insert(&mut self, key: &K) -> bool {
        self.insert(*key)
    }

    fn contains(&self, key: &K) -> bool {
        self.contains(key)
    }

    fn clear(&mut self) {
        self.clear();
    }

    /// Slots and one control byte each; the table has a power of two of them, at most 7/8 full.
    fn num_bytes(&self) -> Option<u64> {
        let slots = (self.capacity() * 8 / 7).next_power_of_two();
        Some((slots * (size_of::<K>() + 1)) as u64)
    }
}

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

impl<K: BenchKey> Kind<K> for Cuckoo {
    fn insert(&mut self, key: &K) -> bool {
        let is_there = self.filter.add(key).is_ok();
        self.failures += u64::from(!is_there);
        is_there
    }

    fn contains(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    fn remove(&mut self, key: &K) -> bool {
        self.filter.delete(key)
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
    /// A filter with removals.
    pub(crate) fn removable(n: u64, target_fpp: f64) -> Self {
        let filter = qfilter::Filter::new(n, target_fpp).expect("valid numbers");
        Self { filter, keeps_equal: true }
    }

    /// A filter that grows; it needs to know the largest number of keys.
    pub(crate) fn growing(first: u64, max: u64, target_fpp: f64) -> Self {
        let filter = qfilter::Filter::new_resizeable(first, max, target_fpp);
        Self { filter: filter.expect("valid numbers"), keeps_equal: false }
    }
}

impl<K: BenchKey> Kind<K> for Quotient {
    fn insert(&mut self, key: &K) -> bool {
        let new = self.filter.insert_fingerprint(self.keeps_equal, digest(key));
        new.expect("room for all keys")
    }

    fn contains(&self, key: &K) -> bool {
        self.filter.contains_fingerprint(digest(key))
    }

    fn remove(&mut self, key: &K) -> bool {
        self.filter.remove_fingerprint(digest(key))
    }
}

/// Hashes keys itself. It reports neither whether an inserted key was new, nor its memory.
pub(crate) struct Aleph(pub(crate) aleph_filter::AlephFilter);

impl Kind<u64> for Aleph {
    fn insert(&mut self, key: &u64) -> bool {
        self.0.insert(&key.to_le_bytes());
        true
    }

    fn contains(&self, key: &u64) -> bool {
        self.0.contains(&key.to_le_bytes())
    }
}

/// Hashes keys itself.
pub(crate) struct Growable(pub(crate) growable_bloom_filter::GrowableBloom);

impl<K: BenchKey> Kind<K> for Growable {
    fn insert(&mut self, key: &K) -> bool {
        self.0.insert(key)
    }

    fn contains(&self, key: &K) -> bool {
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

impl<K: BenchKey> Kind<K> for Rotating {
    fn insert(&mut self, key: &K) -> bool {
        if self.room == 0 {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.room = self.w;
        }
        self.room -= 1;
        !self.young.insert_hash(digest(key))
    }

    fn contains(&self, key: &K) -> bool {
        let hash = digest(key);
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

impl<K: BenchKey, F> Kind<K> for Static<F>
where
    F: xorf::Filter<u64> + for<'a> TryFrom<&'a Vec<u64>, Error: std::fmt::Debug> + Sync,
{
    fn insert(&mut self, key: &K) -> bool {
        self.digests.push(digest(key));
        true
    }

    fn contains(&self, key: &K) -> bool {
        self.filter.as_ref().expect("built before it is queried").contains(&digest(key))
    }

    fn finish(&mut self) {
        // Dropped afterwards: 8 bytes a key that the filter does not need.
        let digests = std::mem::take(&mut self.digests);
        self.filter = Some(F::try_from(&digests).expect("distinct digests"));
    }

    fn clear(&mut self) {
        self.digests.clear();
        self.filter = None;
    }
}

/// Static, with 8 bits; hashes keys itself. With one thread, like all others.
pub(crate) struct Sux {
    keys: Vec<u64>,
    filter: Option<VFilter<u64, Box<[u8]>>>,
}

impl Sux {
    pub(crate) fn new(n: u64) -> Self {
        Self { keys: Vec::with_capacity(n as usize), filter: None }
    }
}

impl Kind<u64> for Sux {
    fn insert(&mut self, key: &u64) -> bool {
        self.keys.push(*key);
        true
    }

    fn contains(&self, key: &u64) -> bool {
        self.filter.as_ref().expect("built before it is queried").contains(*key)
    }

    fn finish(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        let builder = VBuilder::default().max_num_threads(1);
        let filter =
            VFilter::<u64, Box<[u8]>>::try_par_new_with_builder(&keys, builder, no_logging![]);
        self.filter = Some(filter.expect("distinct keys"));
    }
}

/// A ribbon filter without bumping, of 64 neighbouring slots and fingerprints of 8 bits; hashes
/// with the hasher of the standard library, as its documentation does.
pub(crate) struct OtherRibbon {
    keys: Vec<u64>,
    filter: Option<ribbon_filter::RibbonFilter<BuildHasherDefault<DefaultHasher>>>,
}

impl OtherRibbon {
    pub(crate) fn new(n: u64) -> Self {
        Self { keys: Vec::with_capacity(n as usize), filter: None }
    }

    /// More slots until the equations have a solution: by a twentieth of the keys.
    fn build(keys: &[u64]) -> ribbon_filter::RibbonFilter<BuildHasherDefault<DefaultHasher>> {
        let with = |overhead| {
            let params =
                Params::from_expected_items(keys.len(), overhead, 64, 8, Mode::Standard).ok()?;
            RibbonBuilder::new(params, BuildHasherDefault::default()).ok()?.build(keys).ok()
        };
        (1..=20).find_map(|step| with(f64::from(step) / 20.0)).expect("distinct keys")
    }
}

impl Kind<u64> for OtherRibbon {
    fn insert(&mut self, key: &u64) -> bool {
        self.keys.push(*key);
        true
    }

    fn contains(&self, key: &u64) -> bool {
        self.filter.as_ref().expect("built before it is queried").contains(key)
    }

    fn finish(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        self.filter = Some(Self::build(&keys));
    }
}
