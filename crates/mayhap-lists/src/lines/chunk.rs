//! The unit that the reading thread hands over.

use crate::input::{Error, Note};
use mayhap::Digest;
use mayhap_keys::KeyTable;

/// Bytes of one read: enough that system calls and handing over are cheap (256 KiB took
/// 6 % more processor time, 1 MiB none less), little enough to stay in L2.
const BUFFER_BYTES: usize = 512 << 10;

/// Some lines with their properties.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// The bytes read, `..end`, and room after them.
    pub(crate) buffer: Vec<u8>,
    pub(crate) end: usize,
    /// Where line `i` begins, and where the last one ends.
    pub(crate) bounds: Vec<usize>,
    /// Their keys, where these are not the lines.
    pub(crate) table: KeyTable,
    /// Their digests, if the function is known; anything for lines without a key.
    pub(crate) digests: Vec<Digest>,
    /// The number of bytes read from the files so far, before decompression.
    pub(crate) raw_bytes: u64,
    /// Bytes before the key of the first line: a byte-order mark.
    pub(crate) mark_bytes: usize,
    /// How many lines end with a carriage return that is no part of their keys.
    pub(crate) cr_lines: u64,
    /// Whether the next chunk may take any time to arrive.
    pub(crate) is_stream: bool,
    /// The notes about the input that begins with this chunk.
    pub(crate) notes: Vec<Note>,
}

impl Chunk {
    /// Makes it begin with these bytes, with room for more.
    pub(crate) fn begin(&mut self, bytes: &[u8]) {
        let room = BUFFER_BYTES.max(bytes.len() + 1);
        if self.buffer.is_empty() {
            // Untouched pages: a short list does not pay for the buffer of a long one.
            self.buffer = vec![0; room];
        } else if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        self.buffer[..bytes.len()].copy_from_slice(bytes);
        self.end = bytes.len();
        self.bounds.clear();
        self.bounds.push(0);
        self.digests.clear();
    }

    /// The number of lines.
    pub(crate) fn len(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    /// A line as a key: without its separator and a carriage return at its end.
    #[inline]
    pub(crate) fn key_line(&self, i: usize) -> &[u8] {
        let line = self.line(i);
        if self.cr_lines > 0 { line.strip_suffix(b"\r").unwrap_or(line) } else { line }
    }

    /// A line without its separator, with a carriage return at its end if it has one.
    #[inline]
    pub(crate) fn line(&self, i: usize) -> &[u8] {
        let mark = if i == 0 { self.mark_bytes } else { 0 };
        &self.buffer[self.bounds[i] + mark..self.bounds[i + 1] - 1]
    }

    /// The number of lines that end with a carriage return. Most lists have none, which one search
    /// finds out for all lines.
    pub(super) fn count_cr_lines(&self) -> u64 {
        if memchr::memchr(b'\r', &self.buffer[..self.line_bytes()]).is_none() {
            return 0;
        }
        (0..self.len()).filter(|line| self.ends_with_cr(*line)).count() as u64
    }

    /// Whether a line ends with a carriage return.
    #[inline]
    pub(crate) fn ends_with_cr(&self, i: usize) -> bool {
        let (start, end) = (self.bounds[i], self.bounds[i + 1]);
        end - start > 1 && self.buffer[end - 2] == b'\r'
    }

    /// Bytes of its lines.
    pub(crate) fn line_bytes(&self) -> usize {
        self.bounds.last().copied().unwrap_or(0)
    }

    /// Whether its lines may be appended to the previous chunk: it has no notes, and no mark before
    /// the first line.
    pub(crate) fn is_continuation(&self) -> bool {
        self.mark_bytes == 0 && self.notes.is_empty()
    }

    /// Appends the lines of the next chunk, which is a [`Chunk::is_continuation`].
    pub(crate) fn append(&mut self, next: &Self) {
        let (start, length) = (self.line_bytes(), next.line_bytes());
        self.end = start + length;
        // A byte is always free.
        if self.buffer.len() <= self.end {
            self.buffer.resize(self.end + 1, 0);
        }
        self.buffer[start..self.end].copy_from_slice(&next.buffer[..length]);
        self.bounds.extend(next.bounds.iter().skip(1).map(|bound| start + bound));
        self.table.append(&next.table);
        self.digests.extend_from_slice(&next.digests);
        self.cr_lines += next.cr_lines;
        (self.raw_bytes, self.is_stream) = (next.raw_bytes, next.is_stream);
    }

    /// Doubles a full buffer, up to a line of `max_line` bytes. A byte is always free, for the
    /// separator that a last line may lack.
    pub(crate) fn make_room(&mut self, max_line: usize) -> Result<(), Error> {
        if self.end < self.buffer.len() {
            return Ok(());
        }
        let wanted = (self.buffer.len() * 2).min(max_line.saturating_add(2)).max(self.end + 1);
        let more = wanted - self.buffer.len();
        let no_memory = |_| Error::OutOfMemory { bytes: wanted as u64 };
        self.buffer.try_reserve_exact(more).map_err(no_memory)?;
        self.buffer.resize(wanted, 0);
        Ok(())
    }
}
