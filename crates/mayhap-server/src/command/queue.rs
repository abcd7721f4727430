//! The requests since `MULTI`.

use crate::resp::WordList;
use mayhap_engine::Words;

/// The requests since `MULTI`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(super) words: WordList,
    /// Where the words of each request end.
    pub(super) ends: Vec<usize>,
    /// A request was refused: nothing is executed.
    pub(crate) failed: bool,
    /// Approximate nanoseconds of all requests together.
    pub(super) work: u64,
}

impl Queue {
    /// Memory of the queue in bytes.
    pub(crate) const fn footprint(&self) -> usize {
        self.words.footprint() + self.ends.capacity() * size_of::<usize>()
    }

    pub(super) fn push(&mut self, words: Words<'_>) {
        self.words.extend(words.iter());
        self.ends.push(self.words.len());
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = Words<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| self.words.part(start..end))
    }
}
