//! Input cut into batches of lines, without copying them.

use crate::error::Error;
use crate::input::{Input, Source};
use crate::key_options::KeyOptions;
use crate::signals::Stop;
use mayhap::{Digest, DigestFunction};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

/// Bytes asked for in one read: enough to make system calls cheap, little enough to stay in L2.
const BUFFER_BYTES: usize = 256 << 10;

/// Lines in a batch: many cache misses of the filter in flight, the batch's bytes still in L2.
const BATCH_LINES: usize = 1024;

/// Lines that stand one after another in the reader's buffer, each with its separator.
#[derive(Debug)]
pub struct Batch<'a> {
    buffer: &'a [u8],
    /// Where line `i` begins; one more than there are lines.
    bounds: &'a [usize],
    strip_cr: bool,
}

impl Batch<'_> {
    /// The number of lines.
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Never: a batch has at least one line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of some lines with their separators.
    pub fn lines(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[self.bounds[range.start]..self.bounds[range.end]]
    }

    /// Whether none of its lines has a key; else all have one.
    pub fn is_keyless(&self) -> bool {
        false
    }

    /// Calls `each` with the key of every line, in order, up to the first error.
    ///
    /// # Errors
    ///
    /// What `each` returns.
    pub fn try_for_each_key<E>(
        &self,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.bounds.windows(2).try_for_each(|bounds| {
            let line = &self.buffer[bounds[0]..bounds[1] - 1];
            each(if self.strip_cr { line.strip_suffix(b"\r").unwrap_or(line) } else { line })
        })
    }

    /// Replaces the contents of `digests` with the digest of each line's key.
    pub fn digest_into(&self, function: &DigestFunction, digests: &mut Vec<Digest>) {
        digests.clear();
        if self.strip_cr {
            let strip = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).len();
            digests.extend(self.bounds.windows(2).map(|bounds| {
                let line = &self.buffer[bounds[0]..bounds[1] - 1];
                function.digest(&line[..strip(line)])
            }));
        } else {
            digests.extend(
                self.bounds
                    .windows(2)
                    .map(|bounds| function.digest(&self.buffer[bounds[0]..bounds[1] - 1])),
            );
        }
    }
}

/// Reads sources one after another and cuts them into lines.
///
/// A last line without separator is a line, and gets one.
pub struct LineReader {
    sources: VecDeque<Source>,
    input: Option<Input>,
    stop: Option<Rc<Stop>>,
    options: KeyOptions,
    max_line: usize,
    buffer: Vec<u8>,
    /// `start..end` is not yet handed out, `start..scanned` holds no separator.
    start: usize,
    scanned: usize,
    end: usize,
    bounds: Vec<usize>,
    lines: u64,
    bytes: u64,
    raw_bytes_before: u64,
}

impl LineReader {
    /// A reader of these sources; lines longer than `max_line` bytes are an error.
    pub fn new(
        sources: Vec<Source>,
        options: &KeyOptions,
        max_line: usize,
        stop: Option<Rc<Stop>>,
    ) -> Self {
        Self {
            sources: sources.into(),
            input: None,
            stop,
            options: options.clone(),
            max_line,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            scanned: 0,
            end: 0,
            bounds: Vec::with_capacity(BATCH_LINES + 1),
            lines: 0,
            bytes: 0,
            raw_bytes_before: 0,
        }
    }

    /// Lines handed out so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Bytes of the lines handed out so far, decompressed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes read from the files so far, as they stand there.
    pub fn raw_bytes(&self) -> u64 {
        self.raw_bytes_before + self.input.as_ref().map_or(0, Input::raw_bytes)
    }

    /// The next lines; `None` at the end. `before_wait` is called when the next read may wait.
    ///
    /// # Errors
    ///
    /// Those of [`Input`] and of `before_wait`; [`Error::LineTooLong`].
    pub fn next_batch(
        &mut self,
        mut before_wait: impl FnMut() -> Result<(), Error>,
    ) -> Result<Option<Batch<'_>>, Error> {
        while !self.cut()? {
            if !self.fill(&mut before_wait)? {
                return Ok(None);
            }
        }
        let strip_cr = self.options.strip_cr;
        Ok(Some(Batch { buffer: &self.buffer, bounds: &self.bounds, strip_cr }))
    }

    /// Finds the bounds of the next lines in the buffer, if there are any.
    fn cut(&mut self) -> Result<bool, Error> {
        self.bounds.clear();
        self.bounds.push(self.start);
        let offset = self.scanned + 1;
        let separators =
            memchr::memchr_iter(self.options.separator(), &self.buffer[self.scanned..self.end]);
        self.bounds.extend(separators.map(|at| offset + at).take(BATCH_LINES));
        let mut lines = self.bounds.len() - 1;
        if lines == 0 {
            self.scanned = self.end;
            return Ok(false);
        }
        // Only what is longer in all can have a line that is too long; those before it come first.
        if self.bounds[lines] - self.start > self.max_line {
            let too_long = |bounds: &[usize]| bounds[1] - bounds[0] - 1 > self.max_line;
            lines = self.bounds.windows(2).position(too_long).unwrap_or(lines);
            self.bounds.truncate(lines + 1);
            if lines == 0 {
                return Err(self.line_too_long());
            }
        }
        let next = self.bounds[lines];
        self.lines += lines as u64;
        self.bytes += (next - self.start) as u64;
        (self.start, self.scanned) = (next, next);
        Ok(true)
    }

    fn line_too_long(&self) -> Error {
        let name = self.input.as_ref().map_or("input", Input::name).into();
        Error::LineTooLong { name, line: self.lines + 1, limit: self.max_line }
    }

    /// Reads once more; `false` after the last source.
    fn fill(&mut self, before_wait: &mut impl FnMut() -> Result<(), Error>) -> Result<bool, Error> {
        self.make_room()?;
        if self.input.is_none() {
            let Some(source) = self.sources.pop_front() else { return Ok(false) };
            before_wait()?;
            self.input = Some(Input::open(&source, self.stop.clone())?);
        }
        let Some(input) = &mut self.input else { return Ok(false) };
        if input.may_block() {
            before_wait()?;
        }
        let length = input.read(&mut self.buffer[self.end..])?;
        self.end += length;
        if length == 0 {
            self.raw_bytes_before += input.raw_bytes();
            self.input = None;
            if self.end > self.start {
                self.buffer[self.end] = self.options.separator();
                self.end += 1;
            }
        }
        Ok(true)
    }

    /// Moves the unfinished line to the front, and doubles the buffer for one that fills it.
    fn make_room(&mut self) -> Result<(), Error> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.end > self.max_line {
            return Err(self.line_too_long());
        }
        // A byte is always free, for the separator that a last line may lack.
        if self.end == self.buffer.len() {
            let wanted = (self.buffer.len() * 2).min(self.max_line.saturating_add(2));
            let more = wanted.max(self.end + 1) - self.buffer.len();
            self.buffer
                .try_reserve_exact(more)
                .map_err(|_| mayhap::Error::OutOfMemory { bytes: wanted as u64 })?;
            self.buffer.resize(self.buffer.len() + more, 0);
        }
        Ok(())
    }
}
