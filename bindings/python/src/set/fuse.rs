//! Sets that never change.

use super::{Set, Stats};
use crate::error::Error;
use mayhap::{BinaryFuse, Bitmap, Digest, Health};

/// Positions of a key in a binary fuse filter.
const FUSE_HASHES: u32 = 3;

fn read_only() -> Error {
    Error::ReadOnly { reason: "a fuse filter never changes; build one from all keys" }
}

impl Set for BinaryFuse {
    fn contains_digest(&self, digest: Digest) -> bool {
        self.contains_digest(digest)
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_into(digests, found);
    }

    fn insert_digest(&mut self, _digest: Digest) -> Result<bool, Box<Error>> {
        Err(read_only().into())
    }

    fn insert_digests_into(&mut self, _: &[Digest], _: &mut Bitmap) -> Result<(), Error> {
        Err(read_only())
    }

    fn inserted_items(&self) -> u64 {
        self.len()
    }

    fn inserted_when_full(&self) -> Option<u64> {
        None
    }

    fn stats(&self) -> Stats {
        Stats {
            kind: "fuse",
            layout: None,
            expected_items: self.len(),
            target_fpp: self.expected_fpp(),
            num_bits: self.num_bits(),
            num_hashes: FUSE_HASHES,
            num_bytes: self.num_bytes(),
            inserted_items: self.len(),
        }
    }

    /// All slots hold a fingerprint.
    fn fill_ratio(&self) -> f64 {
        1.0
    }

    fn estimated_fpp(&self) -> f64 {
        self.expected_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.expected_fpp()
    }

    fn distinct_items(&self) -> f64 {
        self.len() as f64
    }

    /// It has the keys that it was built for.
    fn health(&self) -> Health {
        Health::Ok
    }

    fn union_with(&mut self, _other: &dyn Set) -> Result<(), Error> {
        Err(read_only())
    }

    fn clear(&mut self) -> Result<(), Error> {
        Err(read_only())
    }
}
