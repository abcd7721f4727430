//! Filters of files in `import/`, read only; and the placeholders for those that do not answer.

use super::filter::Filter;
use super::window;
use crate::keyspace::{Info, Measured, Unreadable};
use mayhap::{
    Age, Bitmap, BloomMatrix, Charge, Digest, DigestFunction, Health, Window, WindowBloomFilter,
};
use mayhap_formats::{Error, ForeignFilter, KeyType};
use mayhap_store::MappedFilter;

/// A plain filter of the native format that is mapped. Each page is checked before it is first
/// read.
#[derive(Debug)]
pub(in crate::keyspace) struct Mapped(pub(in crate::keyspace) MappedFilter);

impl Filter for Mapped {
    fn kind(&self) -> &'static str {
        "mapped"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(*self.0.digest_function())
    }

    fn contains(&self, digest: Digest, _now: u64) -> bool {
        self.0.contains_digest(digest)
    }

    fn contains_many(&self, digests: &[Digest], _now: u64, found: &mut Bitmap) {
        self.0.contains_digests_into(digests, found);
    }

    fn info(&self) -> Info {
        let base = Info::plain(self.kind(), self.0.params(), self.items(), self.num_bytes());
        Info { over_capacity: self.is_over_capacity(), ..base }
    }

    fn is_over_capacity(&self) -> bool {
        self.items() > self.0.params().inserted_when_full()
    }

    fn items(&self) -> u64 {
        self.0.inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.0.params().num_bytes()
    }

    fn measure(&self) -> Measured {
        let filter = self.0.whole();
        Measured::new(filter.fill_ratio(), filter.estimated_fpp())
    }

    fn problem(&self, now: Option<u64>) -> Option<Unreadable> {
        let changed = now.map_or_else(|| self.0.changed(), |now| self.0.changed_at(now));
        changed.map(Unreadable::Changed)
    }

    fn check_ahead(&self, most_pages: u64) -> bool {
        self.0.check_ahead(most_pages)
    }

    fn verify(&self) -> Result<(), mayhap_store::Error> {
        self.0.verify().and_then(|()| self.0.check())
    }
}

/// A window in memory that receives no more keys. It is queried for a time and never advanced to
/// it, so no client's clock takes keys from later queries.
#[derive(Debug)]
pub(in crate::keyspace) struct Still {
    pub(in crate::keyspace) filter: WindowBloomFilter,
    pub(in crate::keyspace) charge: Charge,
}

impl Filter for Still {
    fn kind(&self) -> &'static str {
        "window"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(*self.filter.digest_function())
    }

    fn contains(&self, digest: Digest, now: u64) -> bool {
        self.filter.contains_digest_at(digest, now)
    }

    fn contains_many(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.filter.contains_digests_at_into(digests, now, found);
    }

    fn window(&self) -> Option<Window> {
        Some(self.filter.window())
    }

    fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        self.filter.age_of_digest_at(digest, now)
    }

    fn info(&self) -> Info {
        let info = Info {
            capacity: self.filter.expected_items(),
            num_hashes: self.filter.num_hashes(),
            target_fpp: self.filter.target_fpp(),
            over_capacity: self.is_over_capacity(),
            ..Info::new(self.kind(), self.items(), self.num_bytes())
        };
        window::describe(&self.filter, info)
    }

    fn is_over_capacity(&self) -> bool {
        self.filter.health() == Health::OverCapacity
    }

    fn items(&self) -> u64 {
        self.filter.inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn measure(&self) -> Measured {
        Measured::new(self.filter.fill_ratio(), self.filter.estimated_fpp())
    }
}

/// A matrix in memory: many sets, queried all at once. As a filter it is the union of its sets.
#[derive(Debug)]
pub(in crate::keyspace) struct Matrix {
    pub(in crate::keyspace) matrix: BloomMatrix,
    pub(in crate::keyspace) charge: Charge,
}

impl Matrix {
    fn sets(&self) -> std::ops::Range<usize> {
        0..self.matrix.num_sets()
    }
}

impl Filter for Matrix {
    fn kind(&self) -> &'static str {
        "matrix"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(*self.matrix.digest_function())
    }

    fn contains(&self, digest: Digest, now: u64) -> bool {
        let mut found = Bitmap::new();
        self.contains_many(&[digest], now, &mut found);
        found.get(0)
    }

    fn contains_many(&self, digests: &[Digest], _now: u64, found: &mut Bitmap) {
        found.clear_to(digests.len());
        self.matrix.which_digests(digests, |key, sets| {
            if !sets.is_empty() {
                found.set(key);
            }
        });
    }

    fn matrix(&self) -> Option<&BloomMatrix> {
        Some(&self.matrix)
    }

    fn info(&self) -> Info {
        Info {
            capacity: self.matrix.expected_items().saturating_mul(self.sets().len() as u64),
            num_hashes: self.matrix.num_hashes(),
            target_fpp: self.matrix.target_fpp(),
            expected_fpp: self.matrix.expected_wrong_sets().min(1.0),
            ..Info::new(self.kind(), self.items(), self.num_bytes())
        }
    }

    fn items(&self) -> u64 {
        self.sets().map(|set| self.matrix.inserted_items(set)).sum()
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn measure(&self) -> Measured {
        let lanes = self.matrix.panels().flatten().flat_map(|row| row.0);
        let ones: u64 = lanes.map(|lane| u64::from(lane.count_ones())).sum();
        let bits = self.matrix.num_bits().saturating_mul(self.sets().len() as u64);
        Measured::new(ones as f64 / bits as f64, self.matrix.estimated_wrong_sets().min(1.0))
    }
}

/// A foreign filter in memory; it is queried for texts of the type that it hashes.
#[derive(Debug)]
pub(in crate::keyspace) struct Foreign {
    pub(in crate::keyspace) filter: Box<dyn ForeignFilter>,
    pub(in crate::keyspace) key_type: KeyType,
    pub(in crate::keyspace) charge: Charge,
}

impl Filter for Foreign {
    fn kind(&self) -> &'static str {
        self.filter.format().name()
    }

    fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        match self.key_type {
            KeyType::Bytes => Ok(()),
            key_type => key_type.encode(key, &mut Vec::new()).map(|_| ()),
        }
    }

    /// A text that is not a key is never surely absent.
    fn contains_key(&self, key: &[u8]) -> bool {
        let mut scratch = Vec::new();
        let encoded = self.key_type.encode(key, &mut scratch);
        encoded.map_or(true, |key| self.filter.contains(key))
    }

    fn info(&self) -> Info {
        let (items, fpp) = (self.items(), self.filter.estimated_fpp());
        let base = Info::new(self.kind(), items, self.num_bytes());
        Info { capacity: items, target_fpp: fpp, expected_fpp: fpp, ..base }
    }

    fn items(&self) -> u64 {
        self.filter.estimated_items().unwrap_or(0)
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn measure(&self) -> Measured {
        measure(&*self.filter)
    }
}

/// Measurements of the bits of a foreign filter.
pub(super) fn measure(filter: &dyn ForeignFilter) -> Measured {
    Measured::new(filter.count_ones() as f64 / filter.num_bits() as f64, filter.estimated_fpp())
}

/// The placeholder for a filter that does not answer, for this reason: its name is taken, and every
/// command is an error.
#[derive(Debug)]
pub(in crate::keyspace) struct Placeholder(pub(in crate::keyspace) Unreadable);

impl Filter for Placeholder {
    fn kind(&self) -> &'static str {
        match self.0 {
            Unreadable::Quarantined(_) => "quarantined",
            _ => "unreadable",
        }
    }

    fn info(&self) -> Info {
        Info::new(self.kind(), 0, 0)
    }

    fn items(&self) -> u64 {
        0
    }

    fn num_bytes(&self) -> u64 {
        0
    }

    fn measure(&self) -> Measured {
        Measured::new(0.0, 0.0)
    }

    fn problem(&self, _now: Option<u64>) -> Option<Unreadable> {
        Some(self.0.clone())
    }
}
