//! Log → digests: up to the end, a torn write or damage.

use super::header::{HEADER_BYTES, Header};
use super::record::{self, MAX_RECORD_BYTES, Position, Record};
use crate::Error;
use crate::disk::{DiskFile, read_up_to};
use crate::notice::Notice;
use std::path::Path;

/// Bytes of the log in memory: room for several of the longest records.
const WINDOW_BYTES: usize = 4 * MAX_RECORD_BYTES;

/// The size that a disk writes atomically.
const SECTOR_BYTES: u64 = 512;

/// Where and how a replay ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replayed {
    /// After the last sound record.
    pub(crate) end: Position,
    /// Bytes after it that are not a sound record.
    pub(crate) dropped_bytes: u64,
}

impl Replayed {
    /// The notice about the bytes that are not a sound record.
    pub(crate) fn torn(&self, path: &Path, is_removed: bool) -> Notice {
        let (offset, bytes) = (self.end.bytes, self.dropped_bytes);
        Notice::TornLog { path: path.into(), offset, bytes, is_removed }
    }
}

/// Passes all records from `start` on to `apply`, in order, each with its end; changes nothing.
///
/// # Errors
///
/// [`Error::LogDamaged`], [`Error::Format`] for an unknown operation, [`Error::Io`], and the errors
/// of `apply`.
pub(crate) fn replay(
    file: &dyn DiskFile,
    path: &Path,
    header: &Header,
    start: Position,
    mut apply: impl FnMut(&Record<'_>, Position) -> Result<(), Error>,
) -> Result<Replayed, Error> {
    let file_bytes = file.look().map_err(Error::io("look at", path))?.bytes;
    let version = header.version();
    let mut window = Window { file, path, file_bytes, buffer: Vec::new(), start: 0 };
    let (mut end, mut digests) = (start, Vec::new());
    while let Some(sound) = record::decode(window.at(end.bytes)?, version) {
        if (sound.previous, sound.sequence) != (end.previous, end.sequence) {
            let (offset, next_sound_offset) = (end.bytes, end.bytes);
            return Err(Error::LogDamaged { path: path.into(), offset, next_sound_offset });
        }
        let operation = sound.operation.map_err(|found| {
            Error::format(path)(mayhap::Error::BadField { field: "operation", found })
        })?;
        digests.clear();
        digests.extend(sound.digests());
        end = Position {
            bytes: end.bytes + sound.bytes as u64,
            previous: sound.checksum,
            sequence: end.sequence + 1,
        };
        apply(&Record { operation, time: sound.time, digests: &digests }, end)?;
    }
    let offset = end.bytes;
    if let Some(next_sound_offset) = find_damage(&mut window, end, version)? {
        return Err(Error::LogDamaged { path: path.into(), offset, next_sound_offset });
    }
    let dropped_bytes = file_bytes.saturating_sub(offset);
    Ok(Replayed { end, dropped_bytes })
}

/// The offset of the first record.
pub(crate) fn first(header: &Header) -> Position {
    Position { bytes: HEADER_BYTES as u64, previous: header.checksum(), sequence: 0 }
}

/// The offset of a sound record that proves the bytes at `end` to be damage; `None` if they are a
/// torn write.
///
/// A write torn by a kill has nothing sound after it. After a power failure a disk may have a later
/// write and lack an earlier one: then the missing sectors are zeros. Neither can lose records
/// that, according to a later one, were on disk.
fn find_damage(window: &mut Window<'_>, end: Position, version: u16) -> Result<Option<u64>, Error> {
    let mut first = None;
    let mut candidate = end.bytes + 1;
    while candidate < window.file_bytes {
        let Some(sound) = record::decode(window.at(candidate)?, version) else {
            candidate += 1;
            continue;
        };
        let (is_safe, bytes) = (sound.safe > end.sequence, sound.bytes);
        if is_safe || first.is_none() && !is_lost(window, end, candidate)? {
            return Ok(Some(candidate));
        }
        first = Some(candidate);
        candidate += bytes as u64;
    }
    Ok(None)
}

/// Whether one of the sectors between the end and the next sound record was never completely
/// written: it ends with zeros, more of them than a record may have there.
fn is_lost(window: &mut Window<'_>, end: Position, next: u64) -> Result<bool, Error> {
    let mut boundary = (end.bytes + 1).next_multiple_of(SECTOR_BYTES);
    while boundary <= next {
        let mut at = boundary - 8;
        while at > end.bytes && record::may_be_zero(at - end.bytes, end.sequence) {
            at -= 8;
        }
        if window.at(at)?.starts_with(&[0; 8]) {
            return Ok(true);
        }
        boundary += SECTOR_BYTES;
    }
    Ok(false)
}

/// A part of the file in memory that moves with the reads.
struct Window<'a> {
    file: &'a dyn DiskFile,
    path: &'a Path,
    file_bytes: u64,
    buffer: Vec<u8>,
    start: u64,
}

impl Window<'_> {
    /// The bytes from `offset` on: enough for the longest record, or all up to the end.
    fn at(&mut self, offset: u64) -> Result<&[u8], Error> {
        let end = self.start + self.buffer.len() as u64;
        let wanted = (offset + MAX_RECORD_BYTES as u64).min(self.file_bytes);
        if offset < self.start || end < wanted {
            let bytes = self.file_bytes.saturating_sub(offset).min(WINDOW_BYTES as u64) as usize;
            self.buffer.resize(bytes, 0);
            let found = read_up_to(self.file, &mut self.buffer, offset)
                .map_err(Error::io("read", self.path))?;
            self.buffer.truncate(found);
            self.start = offset;
        }
        // Past the end only if the file has become shorter.
        Ok(self.buffer.get((offset - self.start) as usize..).unwrap_or_default())
    }
}
