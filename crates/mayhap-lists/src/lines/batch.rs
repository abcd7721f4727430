//! Lines as the verbs get them.

use super::chunk::Chunk;
use mayhap::{Digest, DigestFunction};
use std::ops::Range;

/// Lines that are adjacent in memory, each with its separator.
#[derive(Debug)]
pub struct Batch<'a> {
    chunk: &'a Chunk,
    lines: Range<usize>,
    keys: Keys,
    function: Option<DigestFunction>,
    first_line: u64,
}

/// The form of the keys of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// The lines.
    Lines,
    /// The keys cut out of the lines.
    Cut,
    /// No keys.
    None,
}

impl<'a> Batch<'a> {
    /// These lines of a chunk, whose digests, if present, are by this function; the first one has
    /// this number in the whole input, from 1.
    pub(super) fn new(
        chunk: &'a Chunk,
        lines: Range<usize>,
        keys: Keys,
        function: Option<DigestFunction>,
        first_line: u64,
    ) -> Self {
        Self { chunk, lines, keys, function, first_line }
    }

    /// The number of its first line in the whole input, from 1.
    pub fn first_line(&self) -> u64 {
        self.first_line
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Never: a batch has at least one line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of some lines with their separators.
    pub fn lines(&self, range: Range<usize>) -> &[u8] {
        let (start, bounds) = (self.lines.start, &self.chunk.bounds);
        &self.chunk.buffer[bounds[start + range.start]..bounds[start + range.end]]
    }

    /// Whether none of its lines has a key; else all have one.
    pub fn is_keyless(&self) -> bool {
        self.keys == Keys::None
    }

    /// The key of each line; none if the batch is keyless.
    pub fn keys(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (chunk, keys) = (self.chunk, self.keys);
        let lines = if self.is_keyless() { 0..0 } else { self.lines.clone() };
        lines.map(move |i| match keys {
            Keys::Cut => chunk.table.key(i),
            Keys::Lines | Keys::None => chunk.key_line(i),
        })
    }

    /// The lines of [`Batch::keys`] whose key lacks the carriage return at their end: their places
    /// in the batch, and each line with it and without its separator.
    pub fn lines_with_cr(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let (chunk, start) = (self.chunk, self.lines.start);
        let has_any = chunk.cr_lines > 0 && !self.is_keyless();
        let lines = if has_any { self.lines.clone() } else { 0..0 };
        let lines = lines.filter(|&i| chunk.ends_with_cr(i));
        lines.map(move |i| (i - start, chunk.line(i)))
    }

    /// Replaces the contents of `digests` with the digest of each line's key; with nothing if the
    /// batch is keyless. Only copies them if the function is the one given to the reader.
    pub fn digest_into(&self, function: &DigestFunction, digests: &mut Vec<Digest>) {
        digests.clear();
        if self.is_keyless() {
            return;
        }
        if self.function.as_ref() == Some(function) {
            digests.extend_from_slice(&self.chunk.digests[self.lines.clone()]);
        } else {
            digests.extend(self.keys().map(|key| function.digest(key)));
        }
    }
}
