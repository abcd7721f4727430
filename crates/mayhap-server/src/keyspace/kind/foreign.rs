//! Filters of other systems in files of `import/`, read into memory and read only.

use super::Filter;
use crate::keyspace::{Info, Measured};
use mayhap::{Charge, DigestFunction};
use mayhap_formats::{Error, ForeignFilter, KeyType};

/// A filter of another system; it is queried for texts of the type that it hashes.
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

    fn digest_function(&self) -> Option<DigestFunction> {
        None
    }

    fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        match self.key_type {
            KeyType::Bytes => Ok(()),
            key_type => key_type.encode(key, &mut Vec::new()).map(|_| ()),
        }
    }

    /// What is no key is never surely absent.
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

    fn num_hashes(&self) -> u32 {
        0
    }

    fn measure(&self) -> Measured {
        measure(&*self.filter)
    }
}

/// What the bits of another system's filter say.
pub(super) fn measure(filter: &dyn ForeignFilter) -> Measured {
    let fill_ratio = filter.count_ones() as f64 / filter.num_bits() as f64;
    Measured { fill_ratio, estimated_fpp: filter.estimated_fpp(), fill_alarm: None }
}
