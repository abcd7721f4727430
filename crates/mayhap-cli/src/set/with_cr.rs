//! Keys with the carriage return that ended their line, as mayhap 0.1 cut them of some lists.
//!
//! A filter that does not record what became of carriage returns may have either, so a line that
//! ends with one is queried by both keys. Other lines have one key.

use crate::error::Error;
use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_keys::{Cutter, KeyOptions};
use mayhap_lists::Batch;
use mayhap_sets::KeySet;
use std::ops::Range;

/// The keys with carriage returns of a batch.
#[derive(Debug)]
pub struct WithCr {
    /// Where a key is not the line itself.
    cutter: Option<Cutter>,
    bytes: Vec<u8>,
    /// Where each key ends, and the line of the batch that has it.
    ends: Vec<usize>,
    lines: Vec<usize>,
    digests: Vec<Digest>,
    found: Bitmap,
}

impl WithCr {
    /// For a filter of these key options, if it may have such keys.
    pub fn of(options: &KeyOptions) -> Option<Self> {
        let kept = options.with_cr_kept()?;
        Some(Self {
            cutter: Cutter::new(&kept),
            bytes: Vec::new(),
            ends: Vec::new(),
            lines: Vec::new(),
            digests: Vec::new(),
            found: Bitmap::new(),
        })
    }

    /// Replaces the contents by the keys of this batch.
    pub fn set(&mut self, batch: &Batch<'_>) {
        self.bytes.clear();
        self.ends.clear();
        self.lines.clear();
        for (i, line) in batch.lines_with_cr() {
            if let Some(cutter) = &mut self.cutter {
                if cutter.cut(line, &mut self.bytes).is_err() {
                    continue;
                }
            } else {
                self.bytes.extend_from_slice(line);
            }
            self.ends.push(self.bytes.len());
            self.lines.push(i);
        }
    }

    /// The lines of the batch that have such a key, in order.
    pub fn lines(&self) -> &[usize] {
        &self.lines
    }

    /// Their digests.
    pub fn digests(&mut self, function: &DigestFunction) -> &[Digest] {
        let mut digests = std::mem::take(&mut self.digests);
        digests.clear();
        digests.extend(self.texts().map(|key| function.digest(key)));
        self.digests = digests;
        &self.digests
    }

    fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// Clears the bits, from 0 on, of those of some `lines` of the batch whose key with its
    /// carriage return may be in a set.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn clear_known(
        &mut self,
        set: &mut dyn KeySet,
        lines: Range<usize>,
        bits: &mut Bitmap,
    ) -> Result<(), Error> {
        for line in self.query(set)?.filter(|line| lines.contains(line)) {
            let (word, bit) = ((line - lines.start) / 64, (line - lines.start) % 64);
            bits.set_word(word, bits.as_words()[word] & !(1 << bit));
        }
        Ok(())
    }

    /// The lines whose key with its carriage return may be in a set.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn query(&mut self, set: &mut dyn KeySet) -> Result<impl Iterator<Item = usize>, Error> {
        let mut found = std::mem::take(&mut self.found);
        found.clear_to(self.lines.len());
        match set.digest_function() {
            _ if self.lines.is_empty() => {}
            Some(function) => set.contains_into(self.digests(&function).into(), &mut found)?,
            None => {
                let texts: Vec<&[u8]> = self.texts().collect();
                set.contains_into(texts[..].into(), &mut found)?;
            }
        }
        self.found = found;
        Ok(self.found.iter_ones().map(|i| self.lines[i]))
    }
}
