//! Lines that are queried by many keys: a URL by the hosts and folders above it, too.

use crate::error::Error;
use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_keys::for_each_expression;
use mayhap_lists::Batch;
use mayhap_sets::KeySet;
use std::ops::Range;

/// The expressions of each line of a batch, one after another.
#[derive(Debug, Default)]
pub struct Expressions {
    bytes: Vec<u8>,
    /// Where each expression ends.
    ends: Vec<usize>,
    /// How many expressions there are up to the end of each line.
    line_ends: Vec<usize>,
    digests: Vec<Digest>,
    found: Bitmap,
}

impl Expressions {
    /// Replaces the contents by the expressions of this batch.
    pub fn set(&mut self, batch: &Batch<'_>) {
        self.bytes.clear();
        self.ends.clear();
        self.line_ends.clear();
        for key in batch.keys() {
            for_each_expression(key, |expression| {
                self.bytes.extend_from_slice(expression);
                self.ends.push(self.bytes.len());
            });
            self.line_ends.push(self.ends.len());
        }
    }

    /// The digests of all expressions, in order.
    pub fn digests(&mut self, function: &DigestFunction) -> &[Digest] {
        let mut digests = std::mem::take(&mut self.digests);
        digests.clear();
        digests.extend(self.texts().map(|text| function.digest(text)));
        self.digests = digests;
        &self.digests
    }

    fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// The expressions of each line, as a range of all.
    pub fn lines(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.line_ends.iter().copied());
        starts.zip(&self.line_ends).map(|(start, &end)| start..end)
    }

    /// Queries a set: a line is found if any of its expressions is.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn query(&mut self, set: &mut dyn KeySet, lines: &mut Bitmap) -> Result<(), Error> {
        let mut found = std::mem::take(&mut self.found);
        if let Some(function) = set.digest_function() {
            set.contains_into(self.digests(&function).into(), &mut found)?;
        } else {
            let texts: Vec<&[u8]> = self.texts().collect();
            set.contains_into(texts[..].into(), &mut found)?;
        }
        lines.clear_to(self.line_ends.len());
        for (line, mut all) in self.lines().enumerate() {
            if all.any(|expression| found.get(expression)) {
                lines.set(line);
            }
        }
        self.found = found;
        Ok(())
    }
}
