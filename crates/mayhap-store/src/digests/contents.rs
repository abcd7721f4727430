//! The records of a file of digests, up to a torn write.

use super::record::{self, HEADER_BYTES, MAGIC, RECORD_BYTES, Record, Run};
use crate::Error;
use crate::disk::{DiskFile, read_exact_at, read_up_to};
use crate::log::Meaning;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are read at once.
pub(super) const CHUNK_BYTES: u64 = 64 << 10;

/// The contents of a file of digests.
#[derive(Debug, Clone)]
pub(super) struct DigestFile {
    pub(super) meaning: Meaning,
    pub(super) runs: Vec<Run>,
    /// Fingerprints of images.
    covers: Vec<u64>,
    /// The end of the last record.
    pub(super) end: u64,
}

impl DigestFile {
    /// A file that has a header only.
    pub(super) const fn new(meaning: Meaning) -> Self {
        let end = HEADER_BYTES as u64;
        Self { meaning, runs: Vec::new(), covers: Vec::new(), end }
    }

    /// Reads all records, for the image with this fingerprint; `None` if it is a file of another
    /// program.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsDamaged`] if its header is damaged; [`Error::Format`] if it is newer;
    /// [`Error::Io`].
    pub(super) fn read(
        file: &dyn DiskFile,
        path: &Path,
        image: Option<u64>,
    ) -> Result<Option<Self>, Error> {
        let Some(header) = header_of(file, path)? else { return Ok(None) };
        let meaning = record::decode_header(&header).map_err(|source| match source {
            mayhap::Error::HeaderDamaged => damaged(path, 0),
            source => Error::format(path)(source),
        })?;
        let mut contents = Self::new(meaning);
        contents.read_on(file, path, image)?;
        Ok(Some(contents))
    }

    /// Reads the records that were appended since, up to a torn write.
    ///
    /// The current image got its name after its cover, and everything before it, was on disk. Later
    /// records may belong to an image that never got its name: such a run counts only if it is
    /// sound.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(super) fn read_on(
        &mut self,
        file: &dyn DiskFile,
        path: &Path,
        image: Option<u64>,
    ) -> Result<(), Error> {
        let records = records(file, path, self.end)?;
        let is_its = |(record, _): &(Record, u64)| match record {
            Record::Cover(fingerprint) => Some(*fingerprint) == image,
            Record::Run(_) => false,
        };
        let sure = records.iter().rposition(is_its).unwrap_or(0);
        for (place, (record, end)) in records.into_iter().enumerate() {
            match record {
                Record::Run(run) if place >= sure && !is_sound(file, path, &run)? => break,
                record => self.push(record, end),
            }
        }
        Ok(())
    }

    /// Reads the codes of all runs.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsDamaged`] if those of a run do not have their checksum; [`Error::Io`].
    pub(super) fn check(&self, file: &dyn DiskFile, path: &Path) -> Result<(), Error> {
        for run in &self.runs {
            if !is_sound(file, path, run)? {
                return Err(damaged(path, run.offset()));
            }
        }
        Ok(())
    }

    /// Adds a record that ends there.
    pub(super) fn push(&mut self, record: Record, end: u64) {
        match record {
            Record::Run(run) => self.runs.push(run),
            Record::Cover(fingerprint) => self.covers.push(fingerprint),
        }
        self.end = end;
    }

    /// Whether all keys of the image with this fingerprint are in the runs.
    pub(super) fn covers(&self, fingerprint: u64) -> bool {
        self.covers.contains(&fingerprint)
    }

    /// The number of digests in all runs together; a digest in several runs counts more than once.
    pub(super) fn digests(&self) -> u64 {
        self.runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.count))
    }
}

/// The first bytes of a file of digests, damaged as they may be: 0 follow where it ends. `None` for
/// a file of another program, which has neither the magic nor a sound record where the first one
/// is.
pub(super) fn header_of(
    file: &dyn DiskFile,
    path: &Path,
) -> Result<Option<[u8; HEADER_BYTES]>, Error> {
    let (mut header, mut first) = ([0; HEADER_BYTES], [0; RECORD_BYTES]);
    read_up_to(file, &mut header, 0).map_err(Error::io("read", path))?;
    read_up_to(file, &mut first, HEADER_BYTES as u64).map_err(Error::io("read", path))?;
    let is_ours =
        header.starts_with(MAGIC) || Record::decode(&first, HEADER_BYTES as u64).is_some();
    Ok(is_ours.then_some(header))
}

pub(super) fn damaged(path: &Path, offset: u64) -> Error {
    Error::DigestsDamaged { path: path.into(), offset }
}

/// The records from an offset on, each with its end, up to the first unsound one; the codes of runs
/// are not read.
fn records(file: &dyn DiskFile, path: &Path, from: u64) -> Result<Vec<(Record, u64)>, Error> {
    let bytes = file.look().map_err(Error::io("look at", path))?.bytes;
    let (mut records, mut at) = (Vec::new(), from);
    loop {
        let mut start = [0; RECORD_BYTES];
        let found = read_up_to(file, &mut start, at).map_err(Error::io("read", path))?;
        let record = Record::decode(&start, at).filter(|_| found == RECORD_BYTES);
        let Some(record) = record else { return Ok(records) };
        let Some(end) = record.end(at).filter(|&end| end <= bytes) else { return Ok(records) };
        records.push((record, end));
        at = end;
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
