//! Digests in any order → a sorted file.

use super::sorted::{SortedFile, SortedFileWriter};
use super::{changed, unnamed};
use crate::Error;
use crate::digests::{Run, for_each_of_runs, write_run};
use crate::disk::write_all_at;
use mayhap::Digest;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Digests in any order, with repeats: in memory up to a number of them, and beyond it as sorted
/// runs in a file without a name, 5 to 6 bytes each, which are merged at the end.
///
/// # Examples
///
/// ```
/// use mayhap::{Digest, DigestFunction, RibbonFilter};
/// use mayhap_store::{DigestSorter, Error, ScratchFile};
///
/// # #[derive(Debug, thiserror::Error)]
/// # enum Failed {
/// #     #[error("{0}")] Filter(#[from] mayhap::Error),
/// #     #[error("{0}")] Store(#[from] Error),
/// # }
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let function = DigestFunction::default();
/// let mut sorter = DigestSorter::new(folder, 10_000);
/// for key in 0..100_000u64 {
///     sorter.extend(&[function.digest(&key)])?;
/// }
/// assert!(sorter.has_runs());
/// let (sorted, scratch) = (sorter.finish()?, ScratchFile::new(folder)?);
/// let filter: Result<_, Failed> = RibbonFilter::build_external(1e-3, function, sorted, scratch);
/// let filter = filter?;
/// assert!(filter.len() == 100_000 && (0..100_000u64).all(|key| filter.contains(&key)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DigestSorter {
    folder: PathBuf,
    /// The number of digests in memory at which they become a run.
    full_at: usize,
    digests: Vec<Digest>,
    /// The runs, and the end of the last.
    runs: Option<(File, Vec<Run>, u64)>,
}

impl DigestSorter {
    /// Keeps at most `max_in_memory` digests in memory, 8 bytes each; its files are in `folder`.
    pub fn new(folder: &Path, max_in_memory: usize) -> Self {
        let full_at = max_in_memory.max(1);
        Self { folder: folder.into(), full_at, digests: Vec::new(), runs: None }
    }

    /// Adds digests.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`], [`Error::Io`]; [`Error::Format`] if memory runs out.
    pub fn extend(&mut self, mut digests: &[Digest]) -> Result<(), Error> {
        while !digests.is_empty() {
            if self.digests.len() == self.full_at {
                self.digests.sort_unstable();
                self.digests.dedup();
                // Repeats alone need no file.
                if self.digests.len() > self.full_at / 2 {
                    self.write_run()?;
                }
            }
            let room = self.full_at - self.digests.len();
            let (now, later) = digests.split_at(digests.len().min(room));
            self.reserve(now.len())?;
            self.digests.extend_from_slice(now);
            digests = later;
        }
        Ok(())
    }

    /// Room for more digests, twice as many at a time but never for more than the limit.
    fn reserve(&mut self, more: usize) -> Result<(), Error> {
        let len = self.digests.len();
        if self.digests.capacity() - len >= more {
            return Ok(());
        }
        let room = (2 * len).max(len + more).min(self.full_at) - len;
        let bytes = (len + room) as u64 * 8;
        let no_memory = |_| Error::format(&self.folder)(mayhap::Error::OutOfMemory { bytes });
        self.digests.try_reserve_exact(room).map_err(no_memory)
    }

    /// Writes the digests in memory, which are in order and distinct.
    fn write_run(&mut self) -> Result<(), Error> {
        let (file, runs, end) = match &mut self.runs {
            Some(runs) => runs,
            none => none.insert((unnamed(&self.folder)?, Vec::new(), 0)),
        };
        let write = |bytes: &[u8], at: u64| {
            let needed = at + bytes.len() as u64;
            write_all_at(file, bytes, at).map_err(Error::write(&self.folder, needed))
        };
        let run = write_run(&self.digests, *end, write)?;
        *end = run.at + run.bytes;
        runs.push(run);
        self.digests.clear();
        Ok(())
    }

    /// Whether there are digests in a file.
    pub const fn has_runs(&self) -> bool {
        self.runs.is_some()
    }

    /// The number of digests in memory, repeats among them.
    pub const fn in_memory(&self) -> usize {
        self.digests.len()
    }

    #[cfg(test)]
    pub(super) fn runs_file(&self) -> Option<&File> {
        self.runs.as_ref().map(|(file, ..)| file)
    }

    /// The digests in memory: all of them, unless there are runs.
    pub fn into_digests(self) -> Vec<Digest> {
        self.digests
    }

    /// All distinct digests in order, in a file: 8 bytes each, besides those of the runs meanwhile.
    ///
    /// # Errors
    ///
    /// Same as [`DigestSorter::extend`].
    pub fn finish(self) -> Result<SortedFile, Error> {
        self.finish_watched(|_| Ok(()))
    }

    /// Like [`DigestSorter::finish`], with the number of digests merged so far passed to `watch`
    /// now and then, whose error ends it.
    ///
    /// # Errors
    ///
    /// Same as [`DigestSorter::extend`]; those of `watch`.
    pub fn finish_watched<E: From<Error>>(
        mut self,
        mut watch: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<SortedFile, E> {
        let mut writer = SortedFileWriter::new(&self.folder)?;
        self.digests.sort_unstable();
        self.digests.dedup();
        if self.runs.is_none() {
            writer.extend(&self.digests)?;
            return Ok(writer.finish()?);
        }
        self.write_run()?;
        self.digests = Vec::new();
        if let Some((file, runs, _)) = &self.runs {
            let mut merged = 0;
            let each = |digests: &[Digest]| {
                writer.extend(digests)?;
                merged += digests.len() as u64;
                watch(merged).map_err(Ended::Watched)
            };
            for_each_of_runs(file, &self.folder, runs, each).map_err(|ended| match ended {
                Ended::Store(Error::DigestsDamaged { .. }) => changed(&self.folder).into(),
                Ended::Store(error) => error.into(),
                Ended::Watched(error) => error,
            })?;
        }
        Ok(writer.finish()?)
    }
}

/// Why merging ended early.
enum Ended<E> {
    Store(Error),
    Watched(E),
}

impl<E> From<Error> for Ended<E> {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}
