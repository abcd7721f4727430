//! Lists of keys, a line each: unpacked, judged and cut by the rules of the command, in pieces of
//! any size.

use crate::filter::Filter;
use crate::keys::{Answers, Keys, Texts};
use crate::{Fault, contents::Contents, gunzip::Gunzip};
use mayhap::DigestFunction;
use mayhap_lists::{Compression, NotAList, Sample, sniff};
use wasm_bindgen::prelude::wasm_bindgen;

/// The longest line, as of the command.
const MAX_LINE: usize = 64 << 20;

/// Digests that are kept to count distinct keys: 64 MiB.
const MAX_DIGESTS: usize = 8 << 20;

/// A list that is read from beginning to end, as often as it is needed.
///
/// A line ends with a line feed, or with the list; one carriage return at its end is no part of its
/// key. The bytes of a key are those of the list.
#[wasm_bindgen]
#[derive(Default)]
pub struct List {
    /// Bytes of a mark that are still to come.
    mark_bytes: usize,
    /// The line that the last piece began.
    rest: Vec<u8>,
    /// The keys of a piece, one behind the other, and the length of each.
    keys: Vec<u8>,
    lengths: Vec<u32>,
    answers: Answers,
    digests: Vec<u64>,
    file: Vec<u8>,
    lines: u64,
    cr_lines: u64,
}

#[wasm_bindgen]
impl List {
    /// A list at its beginning.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of the compression of a file that begins with these bytes; empty if there is none.
    pub fn compression(start: &[u8]) -> String {
        Compression::of(start).map_or_else(String::new, |found| found.name().into())
    }

    /// Judges the first bytes of a list, after decompression, and goes back to its beginning.
    /// `total_bytes` is NaN where it is not known.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for bytes that are no list.
    pub fn begin(&mut self, bytes: &[u8], is_whole: bool, total_bytes: f64) -> Result<(), Fault> {
        let total_bytes = (!total_bytes.is_nan()).then_some(total_bytes as u64);
        let judged = sniff(&Sample { bytes, is_whole, total_bytes, separator: b'\n' });
        self.mark_bytes = judged.map_err(|what| match what {
            NotAList::Filter { system, .. } => Fault::new("ListIsFilter", system),
            NotAList::Archive { what, .. } | NotAList::Data { what } => {
                Fault::new("ListIsData", what)
            }
            NotAList::Text { encoding } => Fault::new("ListIsText", encoding),
        })?;
        (self.lines, self.cr_lines) = (0, 0);
        self.rest.clear();
        Ok(())
    }

    /// The number of lines so far.
    pub fn lines(&self) -> f64 {
        self.lines as f64
    }

    /// The number of lines with a carriage return at their end, which is no part of their keys.
    pub fn cr_lines(&self) -> f64 {
        self.cr_lines as f64
    }

    /// Counts the lines of a piece, and keeps their digests as long as there is room for those of
    /// all.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for a line that is too long.
    pub fn count(&mut self, piece: &[u8], is_last: bool) -> Result<(), Fault> {
        self.cut(piece, is_last)?;
        if self.lines > MAX_DIGESTS as u64 {
            self.digests = Vec::new();
        } else {
            // Of memory that is never written no page is taken, and none is copied as it grows.
            let room = MAX_DIGESTS - self.digests.len();
            let refused = |_| mayhap::Error::OutOfMemory { bytes: 8 * room as u64 };
            self.digests.try_reserve_exact(room).map_err(refused)?;
            let function = DigestFunction::xxh3(0);
            let texts = Texts { bytes: &self.keys, lengths: &self.lengths };
            let digests = &mut self.answers.digests;
            Keys::Texts(texts).digest(&function, digests);
            self.digests.extend(digests.iter().copied().map(mayhap::Digest::get));
        }
        Ok(())
    }

    /// The number of distinct keys that were counted; NaN for more lines than are distinguished.
    pub fn distinct(&mut self) -> f64 {
        let mut digests = core::mem::take(&mut self.digests);
        if self.lines > MAX_DIGESTS as u64 {
            return f64::NAN;
        }
        digests.sort_unstable();
        digests.dedup();
        digests.len() as f64
    }

    /// Inserts the keys of a piece; returns how many were new.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for a line that is too long, and for a filter that refuses keys.
    pub fn insert(
        &mut self,
        piece: &[u8],
        is_last: bool,
        filter: &mut Filter,
    ) -> Result<f64, Fault> {
        self.cut(piece, is_last)?;
        let texts = Texts { bytes: &self.keys, lengths: &self.lengths };
        filter.contents.insert(&Keys::Texts(texts), &mut self.answers)?;
        Ok(self.ones())
    }

    /// Looks up the keys of a piece; returns how many may be in the filter.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for a line that is too long.
    pub fn find(&mut self, piece: &[u8], is_last: bool, filter: &Filter) -> Result<f64, Fault> {
        self.cut(piece, is_last)?;
        let texts = Texts { bytes: &self.keys, lengths: &self.lengths };
        let contents: &dyn Contents = filter.contents.as_ref();
        contents.answer(&Keys::Texts(texts), &mut self.answers);
        Ok(self.ones())
    }

    /// Writes the filter's file into the memory of this module; returns where.
    ///
    /// # Errors
    ///
    /// The same as of [`Filter::encode`].
    pub fn write(&mut self, filter: &Filter, key_options: &str) -> Result<*const u8, Fault> {
        self.file = filter.encode(key_options)?;
        Ok(self.file.as_ptr())
    }

    /// The number of bytes that [`List::write`] wrote.
    pub fn written(&self) -> usize {
        self.file.len()
    }
}

/// A gzipped list, unpacked as it is wanted.
#[wasm_bindgen]
pub struct Packed(Gunzip);

#[wasm_bindgen]
impl Packed {
    /// A list at its beginning.
    #[wasm_bindgen(constructor)]
    #[expect(clippy::new_without_default, reason = "JavaScript calls it")]
    pub fn new() -> Self {
        Self(Gunzip::new())
    }

    /// Adds a piece of the file; after the last one it is complete.
    pub fn push(&mut self, piece: &[u8], is_last: bool) {
        self.0.push(piece, is_last);
    }

    /// Unpacks some bytes; returns their number, 0 at the end, and NaN if another piece is needed.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for data that are cut short, damaged or followed by others.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<f64, Fault> {
        match self.0.read(buffer) {
            Ok(length) => Ok(length.map_or(f64::NAN, |length| length as f64)),
            Err(code) => Err(Fault::new(code, "gzip")),
        }
    }
}

impl List {
    fn ones(&self) -> f64 {
        self.answers.bytes.iter().map(|&answer| f64::from(answer)).sum()
    }

    /// Cuts the keys of a piece; with the last one, also that of a line without an end.
    fn cut(&mut self, piece: &[u8], is_last: bool) -> Result<(), Fault> {
        self.keys.clear();
        self.lengths.clear();
        let piece = &piece[self.mark_bytes.min(piece.len())..];
        self.mark_bytes = 0;
        let mut lines = piece.split(|&byte| byte == b'\n');
        let rest = lines.next_back().unwrap_or_default();
        for line in lines {
            self.take(line)?;
        }
        if self.rest.len().saturating_add(rest.len()) > MAX_LINE {
            return Err(Fault::too_large("line", MAX_LINE));
        }
        self.rest.extend_from_slice(rest);
        if is_last && !self.rest.is_empty() {
            self.take(&[])?;
        }
        self.answers.bytes.clear();
        self.answers.bytes.resize(self.lengths.len(), 0);
        Ok(())
    }

    /// Takes the key of a line that begins with the rest of the piece before.
    fn take(&mut self, line: &[u8]) -> Result<(), Fault> {
        let start = self.keys.len();
        self.keys.append(&mut self.rest);
        self.keys.extend_from_slice(line);
        if self.keys.last() == Some(&b'\r') && self.keys.len() > start {
            self.keys.pop();
            self.cr_lines += 1;
        }
        let length = self.keys.len() - start;
        if length > MAX_LINE {
            return Err(Fault::too_large("line", MAX_LINE));
        }
        self.lengths.push(length as u32);
        self.lines += 1;
        Ok(())
    }
}
