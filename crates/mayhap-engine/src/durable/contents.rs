//! Contents that are written before the filter that they belong to.

use super::journal::Journal;
use super::{Operation, Refused};
use crate::sync::MutexGuard;

/// The contents of a filter that is created with some: they are written to the log part by part,
/// and belong to no filter until [`Operation::Create`] names it, which has to be written while this
/// lives. A restart that finds parts without that creates no such filter.
///
/// No checkpoint begins meanwhile: it would let go of the parts that it finds without a filter.
/// Insertions and other operations continue, other contents wait.
#[derive(Debug)]
pub struct Contents<'a> {
    journal: &'a Journal,
    id: u64,
    pub(super) parts: u64,
    _turn: MutexGuard<'a, ()>,
}

impl<'a> Contents<'a> {
    pub(super) fn begin(journal: &'a Journal, id: u64) -> Self {
        Self { journal, id, parts: 0, _turn: journal.contents() }
    }

    /// Writes the next part, of at most 64 MiB.
    ///
    /// # Errors
    ///
    /// [`Refused`]: the filter must not be created.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let (id, part) = (self.id, self.parts);
        drop(self.journal.now(&Operation::Load { id, part, bytes }, None)?);
        self.parts += 1;
        Ok(())
    }
}
