//! From sources to chunks of lines: the work of the reading thread.

use super::chunk::Chunk;
use crate::input::{Error, Input, Note, Reading, Source, Stop};
use mayhap::{Digest, DigestFunction};
use mayhap_keys::{CsvRecords, Cutter, KeyOptions};
use std::collections::VecDeque;
use std::sync::Arc;
use wide::u8x16;

/// Reads sources one after another and cuts them into lines, keys and digests.
pub(crate) struct LineCutter {
    sources: VecDeque<Source>,
    input: Option<Input>,
    stop: Option<Arc<Stop>>,
    separator: u8,
    /// Finds the ends of lines that may hold separators between quotes.
    csv: Option<CsvRecords>,
    /// Whether a carriage return at the end of a line is no part of its key.
    strips_cr: bool,
    /// Whether it may pause.
    is_stream: bool,
    /// The bytes before the first key of the current input, until it is cut.
    mark_bytes: usize,
    /// The notes about the current input, until they are handed over.
    notes: Vec<Note>,
    /// Cuts keys that are not the lines themselves.
    cutter: Option<Cutter>,
    function: Option<DigestFunction>,
    reading: Reading,
    /// The bytes after the last line of a chunk, which begin the next one.
    rest: Vec<u8>,
    lines: u64,
    raw_bytes_before: u64,
}

impl LineCutter {
    /// At the beginning.
    pub(crate) fn new(
        sources: Vec<Source>,
        options: &KeyOptions,
        reading: Reading,
        stop: Option<Arc<Stop>>,
    ) -> Self {
        Self {
            sources: sources.into(),
            input: None,
            stop,
            separator: options.separator(),
            csv: options.csv.then(|| CsvRecords::new(options.delim(), options.separator())),
            strips_cr: options.strips_cr(),
            is_stream: false,
            mark_bytes: 0,
            notes: Vec::new(),
            cutter: Cutter::new(options),
            function: None,
            reading,
            rest: Vec::new(),
            lines: 0,
            raw_bytes_before: 0,
        }
    }

    /// Digests by this function, too.
    pub(super) fn digest_by(&mut self, function: DigestFunction) {
        self.function = Some(function);
    }

    /// The notes that remain after the last line.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Replaces the contents of `chunk` by the next lines; `false` at the end.
    ///
    /// A last line without separator is a line, and gets one.
    pub(crate) fn next(&mut self, chunk: &mut Chunk) -> Result<bool, Error> {
        chunk.begin(&self.rest);
        let mut scanned = 0;
        loop {
            self.find_ends(chunk, scanned);
            scanned = chunk.end;
            if chunk.len() > 0 {
                break;
            }
            if chunk.end > self.reading.max_line {
                return Err(self.line_too_long());
            }
            if !self.fill(chunk)? {
                return Ok(false);
            }
            scanned = scanned.min(chunk.end);
        }
        self.refuse_long_lines(chunk)?;
        self.lines += chunk.len() as u64;
        self.rest.clear();
        let end = chunk.bounds.last().copied().unwrap_or(0);
        self.rest.extend_from_slice(&chunk.buffer[end..chunk.end]);
        chunk.raw_bytes = self.raw_bytes_before + self.input.as_ref().map_or(0, Input::raw_bytes);
        self.cut_keys(chunk);
        Ok(true)
    }

    /// Appends where lines end in the bytes from `scanned` on.
    fn find_ends(&mut self, chunk: &mut Chunk, scanned: usize) {
        let Chunk { buffer, end, bounds, .. } = chunk;
        let Some(csv) = &mut self.csv else {
            return ends_of(self.separator, &buffer[..*end], scanned, bounds);
        };
        if scanned == 0 {
            // A chunk begins at the beginning of a record.
            csv.begin(self.mark_bytes);
        }
        csv.ends(&buffer[..*end], scanned, bounds);
        // No record continues in the next input: an unclosed quote ends with its input.
        if self.input.is_none() && *end > 0 && bounds.last() != Some(end) {
            bounds.push(*end);
        }
    }

    /// Leaves the lines from one that is too long on for the next chunk.
    fn refuse_long_lines(&self, chunk: &mut Chunk) -> Result<(), Error> {
        if chunk.end <= self.reading.max_line {
            return Ok(());
        }
        let too_long = |bounds: &[usize]| bounds[1] - bounds[0] - 1 > self.reading.max_line;
        if let Some(first) = chunk.bounds.windows(2).position(too_long) {
            chunk.bounds.truncate(first + 1);
            if first == 0 {
                return Err(self.line_too_long());
            }
        }
        Ok(())
    }

    fn line_too_long(&self) -> Error {
        let name = self.input.as_ref().map_or("input", Input::name).into();
        Error::LineTooLong { name, line: self.lines + 1, limit: self.reading.max_line }
    }

    /// Reads once more; `false` after the last source.
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool, Error> {
        chunk.make_room(self.reading.max_line)?;
        if self.input.is_none() {
            let Some(source) = self.sources.pop_front() else { return Ok(false) };
            self.open(&source)?;
        }
        let Some(input) = &mut self.input else { return Ok(false) };
        let length = input.read(&mut chunk.buffer[chunk.end..])?;
        chunk.end += length;
        if length == 0 {
            self.raw_bytes_before += input.raw_bytes();
            if input.padding_bytes() > 0 {
                self.notes.push(Note::Padding(input.name().into(), input.padding_bytes()));
            }
            self.input = None;
            if self.mark_bytes > 0 && chunk.end == self.mark_bytes {
                // A mark by itself is no line.
                (self.mark_bytes, chunk.end) = (0, 0);
            }
            // A quote that is not closed may hold the last separator.
            if chunk.end > 0 && chunk.buffer[chunk.end - 1] != self.separator {
                chunk.buffer[chunk.end] = self.separator;
                chunk.end += 1;
            }
        }
        Ok(true)
    }

    /// Opens the next input; no chunk has lines of two.
    fn open(&mut self, source: &Source) -> Result<(), Error> {
        let input = Input::open(source, self.separator, &self.reading, self.stop.clone())?;
        self.begin(input);
        Ok(())
    }

    /// Continues with this input.
    pub(crate) fn begin(&mut self, input: Input) {
        self.is_stream = input.is_stream();
        self.mark_bytes = input.mark_bytes();
        if self.mark_bytes > 0 {
            self.notes.push(Note::ByteOrderMark(input.name().into()));
        }
        self.input = Some(input);
    }

    fn cut_keys(&mut self, chunk: &mut Chunk) {
        chunk.cr_lines = if self.strips_cr { chunk.count_cr_lines() } else { 0 };
        chunk.is_stream = self.is_stream;
        chunk.mark_bytes = std::mem::take(&mut self.mark_bytes);
        chunk.notes = std::mem::take(&mut self.notes);
        let Chunk { buffer, bounds, table, digests, .. } = chunk;
        let start = bounds[0];
        bounds[0] += chunk.mark_bytes;
        let lines = bounds.windows(2).map(|bounds| &buffer[bounds[0]..bounds[1] - 1]);
        if let Some(cutter) = &mut self.cutter {
            table.cut(cutter, lines);
            if let Some(function) = &self.function {
                let all = 0..bounds.len() - 1;
                digests.extend(table.keys(all).map(|key| function.digest(key)));
            }
        } else if let Some(function) = &self.function {
            digest_lines(function, lines, chunk.cr_lines > 0, digests);
        }
        bounds[0] = start;
    }
}

/// Appends where each separator from `scanned` on ends. Lines are short: a mask of 64 bytes takes
/// less than a search for each of them.
fn ends_of(separator: u8, bytes: &[u8], scanned: usize, ends: &mut Vec<usize>) {
    let (blocks, rest) = bytes[scanned..].as_chunks::<64>();
    let mut start = scanned;
    for block in blocks {
        let mut mask = block.as_chunks::<16>().0.iter().rev().fold(0u64, |mask, &bytes| {
            let here = u8x16::new(bytes).simd_eq(u8x16::splat(separator)).to_bitmask();
            mask << 16 | u64::from(here)
        });
        while mask != 0 {
            ends.push(start + mask.trailing_zeros() as usize + 1);
            mask &= mask - 1;
        }
        start += 64;
    }
    ends.extend((start..).zip(rest).filter(|(_, byte)| **byte == separator).map(|(at, _)| at + 1));
}

/// Appends the digests of lines that are keys themselves, except for a carriage return.
fn digest_lines<'a>(
    function: &DigestFunction,
    lines: impl Iterator<Item = &'a [u8]>,
    strip_cr: bool,
    digests: &mut Vec<Digest>,
) {
    if strip_cr {
        digests.extend(lines.map(|line| function.digest(line.strip_suffix(b"\r").unwrap_or(line))));
    } else {
        digests.extend(lines.map(|line| function.digest(line)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(22),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn ends_are_those_that_one_sees(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..400),
            scanned in 0..200usize,
        ) {
            let scanned = scanned.min(bytes.len());
            let mut ends = vec![7];
            ends_of(b'\n', &bytes, scanned, &mut ends);
            let seen = (scanned..bytes.len()).filter(|&at| bytes[at] == b'\n').map(|at| at + 1);
            prop_assert_eq!(ends, [7].into_iter().chain(seen).collect::<Vec<_>>());
        }
    }
}
