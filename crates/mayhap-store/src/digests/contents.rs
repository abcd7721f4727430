//! The records of a file of digests, up to a torn write.

use super::record::{self, HEADER_BYTES, MAGIC, RECORD_BYTES, Record, Run};
use crate::Error;
use crate::disk::{DiskFile, read_exact_at, read_up_to};
use crate::log::Meaning;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are read at once.
pub(super) const CHUNK_BYTES: u64 = 64 << 10;

/// What a file of digests has.
#[derive(Debug, Clone)]
pub(super) struct Contents {
    pub(super) meaning: Meaning,
    pub(super) runs: Vec<Run>,
    /// Fingerprints of images.
    covers: Vec<u64>,
    /// Runs that were on disk when a cover was appended, or whose checksum was right.
    sound: usize,
    /// The end of the last record.
    pub(super) end: u64,
}

impl Contents {
    /// A file that has a header only.
    pub(super) const fn new(meaning: Meaning) -> Self {
        let end = HEADER_BYTES as u64;
        Self { meaning, runs: Vec::new(), covers: Vec::new(), sound: 0, end }
    }

    /// Reads all records; `None` if it is a file of another program.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] if its header is damaged or newer; [`Error::Io`].
    pub(super) fn read(file: &dyn DiskFile, path: &Path) -> Result<Option<Self>, Error> {
        let mut header = [0; HEADER_BYTES];
        let found = read_up_to(file, &mut header, 0).map_err(Error::io("read", path))?;
        if !header.starts_with(MAGIC) {
            return Ok(None);
        }
        if found < HEADER_BYTES {
            // It gets its name once the header is on disk.
            return Err(Error::format(path)(mayhap::Error::HeaderDamaged));
        }
        let meaning = record::decode_header(&header).map_err(Error::format(path))?;
        let mut contents = Self::new(meaning);
        contents.read_on(file, path)?;
        Ok(Some(contents))
    }

    /// Reads the records that were appended since.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(super) fn read_on(&mut self, file: &dyn DiskFile, path: &Path) -> Result<(), Error> {
        let bytes = file.look().map_err(Error::io("look at", path))?.bytes;
        loop {
            let mut start = [0; RECORD_BYTES];
            let found = read_up_to(file, &mut start, self.end).map_err(Error::io("read", path))?;
            let record = Record::decode(&start, self.end).filter(|_| found == RECORD_BYTES);
            let Some(record) = record else { break };
            let Some(end) = record.end(self.end).filter(|&end| end <= bytes) else { break };
            self.push(record, end);
        }
        // A run whose cover is there was on disk before that.
        while let Some(run) = self.runs.get(self.sound) {
            if !is_sound(file, path, run)? {
                self.end = run.at - RECORD_BYTES as u64;
                self.runs.truncate(self.sound);
                break;
            }
            self.sound += 1;
        }
        Ok(())
    }

    /// Adds a record that ends there.
    pub(super) fn push(&mut self, record: Record, end: u64) {
        match record {
            Record::Run(run) => self.runs.push(run),
            Record::Cover(fingerprint) => {
                self.covers.push(fingerprint);
                self.sound = self.runs.len();
            }
        }
        self.end = end;
    }

    /// Whether all keys of the image with this fingerprint are in the runs.
    pub(super) fn covers(&self, fingerprint: u64) -> bool {
        self.covers.contains(&fingerprint)
    }

    /// Digests in all runs together, those in several runs more than once.
    pub(super) fn digests(&self) -> u64 {
        self.runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.count))
    }
}

/// Whether the codes of a run have their checksum.
fn is_sound(file: &dyn DiskFile, path: &Path, run: &Run) -> Result<bool, Error> {
    let mut hasher = Xxh3::new();
    let mut chunk = vec![0; run.bytes.min(CHUNK_BYTES) as usize];
    let mut done = 0;
    while done < run.bytes {
        let part = &mut chunk[..(run.bytes - done).min(CHUNK_BYTES) as usize];
        read_exact_at(file, part, run.at + done).map_err(Error::io("read", path))?;
        hasher.update(part);
        done += part.len() as u64;
    }
    Ok(hasher.digest() == run.checksum)
}
