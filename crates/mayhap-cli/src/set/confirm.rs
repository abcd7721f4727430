//! A sorted file that knows what a filter only may know.

use crate::error::Error;
use mayhap_keys::for_each_expression;
use mayhap_lists::{Batch, SortedFile};

/// The file, and how often it agreed with the filter.
#[derive(Debug)]
pub struct Confirm {
    file: SortedFile,
    /// Lines that the filter may hold and the file does.
    pub confirmed: u64,
    /// Lines that the filter may hold and the file does not.
    pub false_positives: u64,
}

impl Confirm {
    /// By this file.
    pub fn new(file: SortedFile) -> Self {
        Self { file, confirmed: 0, false_positives: 0 }
    }

    /// Clears the bits of those lines of a batch that the file does not hold: their key, or where
    /// that is not all (`by_key`) any of its expressions.
    ///
    /// # Errors
    ///
    /// Those of [`SortedFile::holds`].
    pub fn keep_true(
        &mut self,
        batch: &Batch<'_>,
        by_key: bool,
        any: &mut [u64],
    ) -> Result<(), Error> {
        for (i, wanted) in batch.keys().enumerate() {
            if any[i / 64] >> (i % 64) & 1 == 0 {
                continue;
            }
            let holds =
                if by_key { self.file.holds(wanted)? } else { self.holds_expression(wanted)? };
            if holds {
                self.confirmed += 1;
            } else {
                self.false_positives += 1;
                any[i / 64] &= !(1 << (i % 64));
            }
        }
        Ok(())
    }

    fn holds_expression(&mut self, key: &[u8]) -> Result<bool, Error> {
        let mut all = Vec::new();
        for_each_expression(key, |expression| all.push(expression.to_vec()));
        for expression in all {
            if self.file.holds(&expression)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
