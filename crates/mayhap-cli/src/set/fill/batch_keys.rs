//! The keys of a batch, for sets that hash them where they are.

use mayhap_lists::Batch;

/// The keys of a batch, one after another.
#[derive(Debug, Default)]
pub(super) struct BatchKeys {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    first_line: u64,
}

impl BatchKeys {
    /// Keeps those of a batch.
    pub(super) fn keep(&mut self, batch: &Batch<'_>) {
        self.bytes.clear();
        self.ends.clear();
        self.first_line = batch.first_line();
        for key in batch.keys() {
            self.bytes.extend_from_slice(key);
            self.ends.push(self.bytes.len());
        }
    }

    /// The keys from this one on, and the line of the first.
    pub(super) fn from(&self, first: usize) -> (Vec<&[u8]>, Option<u64>) {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let keys = starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end]);
        (keys.skip(first).collect(), Some(self.first_line + first as u64))
    }
}
