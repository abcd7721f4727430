//! The keys of many lines.

use super::cutter::Cutter;
use super::keyless::NoKey;
use std::ops::Range;

/// The keys of lines one after another, in memory that is used again.
#[derive(Debug, Default)]
pub struct KeyTable {
    keys: Vec<u8>,
    /// Where the key of line `i` begins; one more than there are lines.
    bounds: Vec<usize>,
    /// The reason why line `i` has no key, if it has none.
    keyless: Vec<Option<NoKey>>,
}

impl KeyTable {
    /// Replaces the contents by the keys of these lines.
    pub fn cut<'a>(&mut self, cutter: &mut Cutter, lines: impl Iterator<Item = &'a [u8]>) {
        self.keys.clear();
        self.keyless.clear();
        self.bounds.clear();
        self.bounds.push(0);
        for line in lines {
            self.keyless.push(cutter.cut(line, &mut self.keys).err());
            self.bounds.push(self.keys.len());
        }
    }

    /// Appends the keys of more lines.
    pub fn append(&mut self, more: &Self) {
        let start = self.keys.len();
        self.keys.extend_from_slice(&more.keys);
        self.bounds.extend(more.bounds.iter().skip(1).map(|bound| start + bound));
        self.keyless.extend_from_slice(&more.keyless);
    }

    /// The longest run of lines from the first of `lines` on that all have a key or all have none,
    /// and why its first line has none.
    pub fn run_from(&self, lines: Range<usize>) -> (Range<usize>, Option<NoKey>) {
        let rest = &self.keyless[lines.clone()];
        let first = rest.first().copied().flatten();
        let alike = |why: &&Option<NoKey>| why.is_some() == first.is_some();
        (lines.start..lines.start + rest.iter().take_while(alike).count(), first)
    }

    /// The keys of a run of lines that have one.
    pub fn keys(&self, run: Range<usize>) -> impl Iterator<Item = &[u8]> {
        self.bounds[run.start..=run.end].windows(2).map(|bounds| &self.keys[bounds[0]..bounds[1]])
    }

    /// The key of a line that has one.
    #[inline]
    pub fn key(&self, line: usize) -> &[u8] {
        &self.keys[self.bounds[line]..self.bounds[line + 1]]
    }
}
