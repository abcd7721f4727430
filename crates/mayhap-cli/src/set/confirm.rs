//! A sorted file that knows what a filter only may know.

use crate::error::Error;
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

    /// Clears the bits of those lines of a batch that the file does not hold.
    ///
    /// # Errors
    ///
    /// Those of [`SortedFile::holds`].
    pub fn keep_true(&mut self, batch: &Batch<'_>, any: &mut [u64]) -> Result<(), Error> {
        for (i, wanted) in batch.keys().enumerate() {
            if any[i / 64] >> (i % 64) & 1 == 0 {
                continue;
            }
            if self.file.holds(wanted)? {
                self.confirmed += 1;
            } else {
                self.false_positives += 1;
                any[i / 64] &= !(1 << (i % 64));
            }
        }
        Ok(())
    }
}
