//! Lines as the verbs get them.

use super::chunk::Chunk;
use mayhap::{Digest, DigestFunction};
use std::ops::Range;

/// Lines that stand one after another in memory, each with its separator.
#[derive(Debug)]
pub struct Batch<'a> {
    chunk: &'a Chunk,
    lines: Range<usize>,
    keys: Keys,
    function: Option<DigestFunction>,
}

/// What the keys of a batch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// The lines.
    Lines,
    /// The lines, without a carriage return.
    StrippedLines,
    /// What was cut of them.
    Cut,
    /// There are none.
    None,
}

impl<'a> Batch<'a> {
    /// These lines of a chunk, whose digests are by this function if they are there.
    pub(super) fn new(
        chunk: &'a Chunk,
        lines: Range<usize>,
        keys: Keys,
        function: Option<DigestFunction>,
    ) -> Self {
        Self { chunk, lines, keys, function }
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
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let lines = if self.is_keyless() { 0..0 } else { self.lines.clone() };
        lines.map(|i| {
            if self.keys == Keys::Cut {
                return self.chunk.table.key(i);
            }
            let line = self.chunk.line(i);
            let strip = self.keys == Keys::StrippedLines;
            if strip { line.strip_suffix(b"\r").unwrap_or(line) } else { line }
        })
    }

    /// Replaces the contents of `digests` with the digest of each line's key; with nothing if the
    /// batch is keyless. Only copies them if the function is the one that the reader was told.
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
