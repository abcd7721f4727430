//! The filters of other crates, called as their documentation says, and the exact set.

use crate::contestants::{Cell, Contestant, DIGEST, Rows, Scope, Scratch, count};
use mayhap_bench::keys::BenchKey;
use std::collections::HashSet;
use xorf::Filter as _;

/// Adds the peers.
pub(crate) fn add<K: BenchKey>(rows: &mut Rows<'_, K>) {
    use Scope::{All, Most};
    let cell @ Cell { n, target_fpp, is_first_fpp } = rows.cell;
    let items = n as usize;
    let fast = || fastbloom::BloomFilter::with_false_pos(target_fpp).expected_items(items);
    rows.add(All, "fastbloom", || Fast(fast()));
    rows.add(Most, "fastbloom, xxh3 digest", || FastDigest(fast()));
    let atomic = || fastbloom::AtomicBloomFilter::with_false_pos(target_fpp).expected_items(items);
    rows.add(Most, "fastbloom atomic", || FastAtomic(atomic()));
    rows.add_threads(Most, "fastbloom atomic", 2, || FastAtomic(atomic()));
    rows.add(All, "sbbf-rs-safe, xxh3 digest", || {
        Sbbf(sbbf_rs_safe::Filter::new(sbbf_bits_per_key(cell), items))
    });
    rows.add(Most, "bloomfilter", || {
        Classic(bloomfilter::Bloom::new_for_fp_rate(items, target_fpp).expect("valid numbers"))
    });
    if is_first_fpp {
        rows.add(Most, "xorf BinaryFuse8, xxh3 digest", || Fuse { digests: vec![], filter: None });
        rows.add(Most, "std HashSet (exact)", || Exact(HashSet::with_capacity(items)));
    }
}

/// Whole bits per key at which this layout (256-bit blocks, 8 bits per key) keeps the rate: its API
/// takes no fraction.
fn sbbf_bits_per_key(cell: Cell) -> usize {
    match cell.target_fpp {
        0.01.. => 11,
        0.001.. => 17,
        _ => 28,
    }
}

struct Fast(fastbloom::BloomFilter);

impl<K: BenchKey> Contestant<K> for Fast {
    fn num_bytes(&self) -> usize {
        self.0.num_bits() / 8
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

struct FastDigest(fastbloom::BloomFilter);

impl<K: BenchKey> Contestant<K> for FastDigest {
    fn num_bytes(&self) -> usize {
        self.0.num_bits() / 8
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn insert(&mut self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.insert_hash(DIGEST.digest(key).get()))
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.contains_hash(DIGEST.digest(key).get()))
    }
}

struct FastAtomic(fastbloom::AtomicBloomFilter);

impl<K: BenchKey> Contestant<K> for FastAtomic {
    fn num_bytes(&self) -> usize {
        self.0.num_bits() / 8
    }

    fn clear(&mut self) {
        self.0.clear();
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

struct Sbbf(sbbf_rs_safe::Filter);

impl<K: BenchKey> Contestant<K> for Sbbf {
    fn num_bytes(&self) -> usize {
        self.0.as_bytes().len()
    }

    fn clear(&mut self) {
        self.0.reset();
    }

    fn insert(&mut self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.insert_hash(DIGEST.digest(key).get()))
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.contains_hash(DIGEST.digest(key).get()))
    }
}

struct Classic<K>(bloomfilter::Bloom<K>);

impl<K: BenchKey> Contestant<K> for Classic<K> {
    fn num_bytes(&self) -> usize {
        self.0.len() as usize / 8
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn insert(&mut self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        for key in keys {
            self.0.set(key);
        }
        0
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.check(key))
    }
}

/// Static: insertion collects digests, `finish` builds.
struct Fuse {
    digests: Vec<u64>,
    filter: Option<xorf::BinaryFuse8>,
}

impl<K: BenchKey> Contestant<K> for Fuse {
    fn num_bytes(&self) -> usize {
        self.filter.as_ref().map_or(0, |filter| filter.fingerprints.len())
    }

    fn clear(&mut self) {
        self.digests.clear();
        self.filter = None;
    }

    fn insert(&mut self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        self.digests.extend(keys.iter().map(|key| DIGEST.digest(key).get()));
        0
    }

    fn finish(&mut self) {
        let filter = xorf::BinaryFuse8::try_from(&self.digests).expect("distinct digests");
        self.filter = Some(filter);
        self.digests = Vec::new(); // 8 bytes a key that the filter does not need
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        let filter = self.filter.as_ref().expect("built before it is asked");
        count(keys, |key| filter.contains(&DIGEST.digest(key).get()))
    }
}

struct Exact<K>(HashSet<K>);

impl<K: BenchKey> Contestant<K> for Exact<K> {
    /// Slots and one control byte each; the table has a power of two of them, at most 7/8 full.
    fn num_bytes(&self) -> usize {
        (self.0.capacity() * 8 / 7).next_power_of_two() * (size_of::<K>() + 1)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn insert(&mut self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |&key| self.0.insert(key))
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        count(keys, |key| self.0.contains(key))
    }
}
