//! Log → digests: up to the end, or to a write that was cut off, or to damage.

use super::LogRecovery;
use super::header::{HEADER_BYTES, Header};
use super::record::{self, MAX_RECORD_BYTES};
use crate::Error;
use crate::file::read_up_to;
use mayhap::Digest;
use std::fs::File;
use std::path::Path;

/// Bytes of the log in memory: room for several of the longest records.
const WINDOW_BYTES: usize = 4 * MAX_RECORD_BYTES;

/// Where a replay ended, and how.
pub(crate) struct Replay {
    /// The end of the last sound record.
    pub(crate) sound_bytes: u64,
    pub(crate) previous: u64,
    pub(crate) sequence: u64,
    pub(crate) recovery: LogRecovery,
}

/// Hands the digests of all records to `insert`, in order, and changes nothing.
///
/// # Errors
///
/// [`Error::LogDamaged`], [`Error::Io`].
pub(crate) fn replay(
    file: &File,
    path: &Path,
    header: &Header,
    mut insert: impl FnMut(&[Digest]),
) -> Result<Replay, Error> {
    let file_bytes = file.metadata().map_err(Error::io("look at", path))?.len();
    let mut window = Window::new(file, path, file_bytes);
    let (mut previous, mut sequence, mut replayed_digests) = (header.checksum(), 0, 0);
    let mut offset = HEADER_BYTES as u64;
    let mut digests = Vec::new();
    while let Some(record) = record::decode(window.at(offset)?) {
        if (record.previous, record.sequence) != (previous, sequence) {
            let (path, next_sound_offset) = (path.into(), offset);
            return Err(Error::LogDamaged { path, offset, next_sound_offset });
        }
        digests.clear();
        digests.extend(record.digests());
        insert(&digests);
        replayed_digests += digests.len() as u64;
        (previous, sequence) = (record.checksum, sequence + 1);
        offset += record.bytes as u64;
    }
    if let Some(next_sound_offset) = find_sound(&mut window, offset)? {
        return Err(Error::LogDamaged { path: path.into(), offset, next_sound_offset });
    }
    let dropped_bytes = file_bytes.saturating_sub(offset);
    let recovery = LogRecovery { replayed_digests, stale_digests: 0, dropped_bytes };
    Ok(Replay { sound_bytes: offset, previous, sequence, recovery })
}

/// The offset of the first sound record after `offset`, at whatever byte it starts.
fn find_sound(window: &mut Window<'_>, offset: u64) -> Result<Option<u64>, Error> {
    for candidate in offset + 1..window.file_bytes {
        if record::decode(window.at(candidate)?).is_some() {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// A part of the file in memory that moves with what is asked for.
struct Window<'a> {
    file: &'a File,
    path: &'a Path,
    file_bytes: u64,
    buffer: Vec<u8>,
    start: u64,
}

impl<'a> Window<'a> {
    fn new(file: &'a File, path: &'a Path, file_bytes: u64) -> Self {
        Self { file, path, file_bytes, buffer: Vec::new(), start: 0 }
    }

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
        // Past the end only if the file became shorter meanwhile.
        Ok(self.buffer.get((offset - self.start) as usize..).unwrap_or_default())
    }
}
