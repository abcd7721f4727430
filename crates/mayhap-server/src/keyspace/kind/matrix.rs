//! Matrices of files in `import/`, read into memory and read only: many sets, queried all at once.

use super::Filter;
use crate::keyspace::{Info, Measured};
use mayhap::{Bitmap, BloomMatrix, Charge, Digest, DigestFunction};

/// A matrix. As a filter it has what any of its sets has.
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

    fn num_hashes(&self) -> u32 {
        self.matrix.num_hashes()
    }

    fn measure(&self) -> Measured {
        let lanes = self.matrix.panels().flatten().flat_map(|row| row.0);
        let ones: u64 = lanes.map(|lane| u64::from(lane.count_ones())).sum();
        let bits = self.matrix.num_bits().saturating_mul(self.sets().len() as u64);
        let fill_ratio = ones as f64 / bits as f64;
        let estimated_fpp = self.matrix.estimated_wrong_sets().min(1.0);
        Measured { fill_ratio, estimated_fpp, fill_alarm: None }
    }
}
