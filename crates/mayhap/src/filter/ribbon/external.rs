//! Where digests and equations are while a filter is built: in memory, or wherever there is room.

use crate::Error;
use alloc::vec::Vec;

/// Distinct digests in ascending order, as numbers, that are read once, from the first to the last:
/// a file of more digests than there is memory for.
///
/// See [`crate::RibbonFilter::build_external`]. `E` is what can go wrong in reading them.
pub trait SortedDigests<E> {
    /// The number of all of them.
    fn count(&self) -> u64;

    /// The number of digests below `limit`. It is requested before anything is read.
    ///
    /// # Errors
    ///
    /// The errors of the implementation.
    fn count_below(&mut self, limit: u64) -> Result<u64, E>;

    /// Appends the next digests, at least one and at most `at_most`. It is not called once all were
    /// read.
    ///
    /// # Errors
    ///
    /// The errors of the implementation.
    fn read(&mut self, digests: &mut Vec<u64>, at_most: usize) -> Result<(), E>;
}

/// Words that are put away and taken back, the last ones first: a file that grows and shrinks.
///
/// See [`crate::RibbonFilter::build_external`]. `E` is what can go wrong.
pub trait Scratch<E> {
    /// Puts words away.
    ///
    /// # Errors
    ///
    /// The errors of the implementation.
    fn put(&mut self, words: &[u64]) -> Result<(), E>;

    /// Takes the last words back: exactly as many as were put away together.
    ///
    /// # Errors
    ///
    /// The errors of the implementation, which must never return other words than were put away.
    fn take(&mut self, words: &mut [u64]) -> Result<(), E>;
}

/// Digests in memory, in order and distinct.
#[derive(Debug)]
pub(super) struct Sorted {
    digests: Vec<u64>,
    read: usize,
}

impl Sorted {
    pub(super) const fn new(digests: Vec<u64>) -> Self {
        Self { digests, read: 0 }
    }
}

impl<E: From<Error>> SortedDigests<E> for Sorted {
    fn count(&self) -> u64 {
        self.digests.len() as u64
    }

    fn count_below(&mut self, limit: u64) -> Result<u64, E> {
        Ok(self.digests.partition_point(|&digest| digest < limit) as u64)
    }

    fn read(&mut self, digests: &mut Vec<u64>, at_most: usize) -> Result<(), E> {
        let next = &self.digests[self.read..];
        let next = &next[..at_most.min(next.len())];
        digests.try_reserve(next.len()).map_err(|_| out_of_memory(digests.len() + next.len()))?;
        digests.extend_from_slice(next);
        self.read += next.len();
        Ok(())
    }
}

/// Words in memory.
#[derive(Debug, Default)]
pub(super) struct InMemory(Vec<Vec<u64>>);

impl<E: From<Error>> Scratch<E> for InMemory {
    fn put(&mut self, words: &[u64]) -> Result<(), E> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(words.len()).map_err(|_| out_of_memory(words.len()))?;
        copy.extend_from_slice(words);
        self.0.push(copy);
        Ok(())
    }

    fn take(&mut self, words: &mut [u64]) -> Result<(), E> {
        let last = self.0.pop().unwrap_or_default();
        Error::check_length("words put away", words.len() as u64, last.len() as u64)?;
        words.copy_from_slice(&last);
        Ok(())
    }
}

/// For this number of words.
pub(super) const fn out_of_memory(words: usize) -> Error {
    Error::OutOfMemory { bytes: words as u64 * 8 }
}
