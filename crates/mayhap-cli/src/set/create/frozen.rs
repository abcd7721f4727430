//! Sets that never change, built from all lines at once.

use crate::args::{DEFAULT_FPP, DigestArgs, SizeArgs};
use crate::error::Error;
use crate::io::messages::rate;
use crate::io::progress::Progress;
use crate::memory;
use mayhap::sizing::ribbon;
use mayhap::{BinaryFuse, Digest, DigestFunction, RibbonFilter, Scratch, SortedDigests};
use mayhap_lists::{LineReader, Stop};
use mayhap_sets::{LayoutName, OwnSet};
use mayhap_store::{DigestSorter, ScratchFile, SortedFile};
use std::path::Path;

/// Bytes of memory per line while a ribbon filter is built in memory, at most.
const RIBBON_BYTES_PER_LINE: u64 = 24;
/// The same for a fuse filter: 26 at 0.1 % and 31 at the lowest rate.
const FUSE_BYTES_PER_LINE: u64 = 31;
/// Memory besides the filter if it is built with files: pieces of them.
const EXTERNAL_BYTES: u64 = 16 << 20;

/// Builds a filter of all lines; none is added later.
///
/// # Errors
///
/// [`Error::Usage`] for numbers that it has no use for, [`Error::TooMuchMemory`],
/// [`Error::Filter`], [`Error::Store`], [`Error::Stopped`], those of [`LineReader`].
pub fn build(
    (size, digest): (&SizeArgs, &DigestArgs),
    site: &Site<'_>,
    reader: &mut LineReader,
    progress: &mut Progress,
) -> Result<OwnSet, Error> {
    // Before anything is read, and before a key file is made.
    check(size)?;
    let function = digest.function()?;
    reader.digest_by(function);
    let mut all = Collected::new(size, function, site);
    let mut digests = Vec::new();
    loop {
        let raw_bytes = reader.raw_bytes();
        let Some(batch) = reader.next_batch(|| Ok::<(), Error>(()))? else { break };
        // Leaves none for lines without a key.
        batch.digest_into(&function, &mut digests);
        all.extend(&digests)?;
        progress.tick(all.count, raw_bytes, String::new);
    }
    all.build(progress)
}

/// Refuses numbers that a fuse or ribbon filter has no use for.
///
/// # Errors
///
/// [`Error::Usage`].
pub fn check(size: &SizeArgs) -> Result<(), Error> {
    let name = size.layout.map_or("fuse", LayoutName::name);
    size.refuse_preset(name)?;
    if size.is_fixed() {
        return Err(Error::usage(
            format!("a {name} filter is sized by its keys, but -n or --mem is given"),
            "omit them; -p sets its rate",
        ));
    }
    // The rates of both are the same.
    ribbon::check_target(1, target_fpp(size)).map(drop).map_err(|error| match error {
        mayhap::Error::FppUnreachable { target_fpp, lowest_fpp } => Error::usage(
            format!("a {name} filter cannot keep the rate {}", rate(target_fpp)),
            format!("its lowest is {}; --layout standard keeps lower ones", rate(lowest_fpp)),
        ),
        error => error.into(),
    })
}

/// Where a filter is built.
#[derive(Debug)]
pub struct Site<'a> {
    /// The folder for files of what does not fit into memory.
    folder: &'a Path,
    stop: &'a Stop,
}

impl<'a> Site<'a> {
    /// In the folder of the filter; a signal ends the building.
    pub fn beside(output: &'a Path, stop: &'a Stop) -> Self {
        let folder = output.parent().filter(|folder| *folder != Path::new(""));
        Self { folder: folder.unwrap_or(Path::new(".")), stop }
    }
}

/// The digests of all keys, in memory or, for a ribbon filter of more than there is room for, in
/// files.
#[derive(Debug)]
pub struct Collected<'a> {
    size: &'a SizeArgs,
    function: DigestFunction,
    site: &'a Site<'a>,
    sorter: DigestSorter,
    /// The number of digests, repeats among them.
    count: u64,
}

impl<'a> Collected<'a> {
    /// None yet.
    pub fn new(size: &'a SizeArgs, function: DigestFunction, site: &'a Site<'a>) -> Self {
        // Half of the memory: a sorted run is encoded in pieces.
        let max_in_memory = usize::try_from(size.max_bytes() / 16).unwrap_or(usize::MAX);
        let sorter = DigestSorter::new(site.folder, max_in_memory);
        Self { size, function, site, sorter, count: 0 }
    }

    /// Adds digests.
    ///
    /// # Errors
    ///
    /// [`Error::TooMuchMemory`], [`Error::Store`].
    pub fn extend(&mut self, digests: &[Digest]) -> Result<(), Error> {
        self.count += digests.len() as u64;
        self.check_room()?;
        Ok(self.sorter.extend(digests)?)
    }

    /// The memory for building the filter without files.
    fn building_bytes(&self) -> u64 {
        let per_line = if self.is_fuse() { FUSE_BYTES_PER_LINE } else { RIBBON_BYTES_PER_LINE };
        self.count.saturating_mul(per_line)
    }

    /// Refuses what cannot be built with files either.
    fn check_room(&self) -> Result<(), Error> {
        let max_bytes = self.size.max_bytes();
        let takes_no_files = self.is_fuse() || max_bytes < EXTERNAL_BYTES;
        if takes_no_files { memory::check(self.building_bytes(), max_bytes) } else { Ok(()) }
    }

    fn is_fuse(&self) -> bool {
        self.size.layout == Some(LayoutName::Fuse)
    }

    /// A ribbon or, if its layout is named, a fuse filter.
    ///
    /// # Errors
    ///
    /// [`Error::TooMuchMemory`], [`Error::Filter`], [`Error::Store`], [`Error::Stopped`].
    pub fn build(self, progress: &mut Progress) -> Result<OwnSet, Error> {
        let (target_fpp, function) = (target_fpp(self.size), self.function);
        if self.sorter.has_runs() || self.building_bytes() > self.size.max_bytes() {
            return self.build_external(progress);
        }
        let is_fuse = self.is_fuse();
        let digests = self.sorter.into_digests();
        Ok(if is_fuse {
            BinaryFuse::build_for_target(target_fpp, function, digests)?.into()
        } else {
            RibbonFilter::build_for_target(target_fpp, function, digests)?.into()
        })
    }

    fn build_external(self, progress: &mut Progress) -> Result<OwnSet, Error> {
        let Site { folder, stop } = *self.site;
        stop.check()?;
        let sorted = self.sorter.finish_watched::<Error>(|merged| {
            progress.tick_bytes(merged * 8);
            Ok(stop.check()?)
        })?;
        let (items, target_fpp) = (sorted.count(), target_fpp(self.size));
        let width = ribbon::check_target(items, target_fpp)?;
        let filter = ribbon::num_bits(width, items)? / 8;
        // Of the first layer 5 % of the digests are left, of 8 bytes each.
        memory::check(filter + items / 5 * 2 + EXTERNAL_BYTES, self.size.max_bytes())?;
        let digests = Watched { sorted, done: 0, progress, stop };
        let scratch = Interruptible(ScratchFile::new(folder)?, stop);
        let filter: Result<_, Error> =
            RibbonFilter::build_external(target_fpp, self.function, digests, scratch);
        Ok(filter?.into())
    }
}

/// Digests whose reading shows progress, and ends with a signal.
struct Watched<'a> {
    sorted: SortedFile,
    done: u64,
    progress: &'a mut Progress,
    stop: &'a Stop,
}

impl SortedDigests<Error> for Watched<'_> {
    fn count(&self) -> u64 {
        self.sorted.count()
    }

    fn count_below(&mut self, limit: u64) -> Result<u64, Error> {
        self.sorted.count_below(limit)
    }

    fn read(&mut self, digests: &mut Vec<u64>, at_most: usize) -> Result<(), Error> {
        self.stop.check()?;
        let known = digests.len();
        SortedDigests::<Error>::read(&mut self.sorted, digests, at_most)?;
        self.done += (digests.len() - known) as u64;
        self.progress.tick_bytes(self.done * 8);
        Ok(())
    }
}

/// Equations whose solving ends with a signal.
struct Interruptible<'a>(ScratchFile, &'a Stop);

impl Scratch<Error> for Interruptible<'_> {
    fn put(&mut self, words: &[u64]) -> Result<(), Error> {
        self.0.put(words)
    }

    fn take(&mut self, words: &mut [u64]) -> Result<(), Error> {
        self.1.check()?;
        self.0.take(words)
    }
}

fn target_fpp(size: &SizeArgs) -> f64 {
    size.fpp.unwrap_or(DEFAULT_FPP)
}
