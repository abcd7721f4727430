//! Files → one file with the keys of all, in one pass and constant memory.

use crate::body::{Body, CHUNK_BYTES, check_bits_past_end};
use crate::disk::DiskFile;
use crate::save::Replacement;
use crate::union::{Assembled, Union, difference};
use crate::{Error, FilterLock, Image, LogFound, Snapshot, apply};
use mayhap::native::{self, Header, Kind, PAGE_BYTES};
use mayhap::{AnyFilter, Block, Estimate, FilterParams, SecretKey};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const CHUNK_BLOCKS: usize = CHUNK_BYTES / Block::BYTES;

/// Options for merging filters.
#[derive(Debug, Clone, Copy)]
pub struct MergeOptions {
    /// For inputs that are read with their log, if they are keyed.
    pub secret_key: Option<SecretKey>,
    /// Replace an existing file.
    pub replace: bool,
    /// Merge only the files of inputs whose log was begun and is missing.
    pub without_log: bool,
}

impl FilterLock {
    /// Writes the keys of all filters at `paths` to the file of the lock, which may be one of them.
    /// Returns its facts with the insertions counted by each input, including its log.
    ///
    /// The bits are ored, 256 KiB of every input at a time; all inputs are open at once, so their
    /// number is limited by the files that a process may open. Every byte of every input is
    /// checked. An input that is a live state includes its log: it is loaded, for which the secret
    /// key is needed if it is keyed; the others need no key.
    ///
    /// Inputs must agree in everything that determines bits: layout, m, k, digest function, seed or
    /// key, and key options; but a size that is a multiple of the smallest is folded to it, in
    /// memory. n and p, which determine no bit, are those of the first input of the smallest size.
    /// [`Header::inserted_items`] becomes the count that a single filter would have for the number
    /// of keys estimated from the bits, which is assumed to be at least the number of the fullest
    /// input and at most the sum of all, as far as the interval of the estimate allows. `progress`
    /// receives the bytes done and the bytes in all. `accept` gets the facts of the new file;
    /// nothing is written if it refuses.
    ///
    /// # Errors
    ///
    /// [`Error::Unlike`]; [`Error::MissingLog`] and [`Error::OlderCopy`] for an input that is a
    /// part of a state; the errors of [`crate::load()`] for each input and of [`crate::save()`],
    /// except for the lock. After an error the path is unchanged.
    ///
    /// # Panics
    ///
    /// If `paths` is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// # use mayhap_store::{FilterLock, LockOptions, MergeOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let [a, b, all] = ["a", "b", "all"].map(|name| folder.path().join(name));
    /// let shard = |key: &str| {
    ///     let builder = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(1e-6);
    ///     builder.build().map(|mut filter| {
    ///         filter.insert(key);
    ///         filter
    ///     })
    /// };
    /// mayhap_store::save(&a, &shard("one")?, "")?;
    /// mayhap_store::save(&b, &shard("two")?, "")?;
    /// let lock = FilterLock::take(&all, &mut LockOptions::new("merge"))?;
    /// let options = MergeOptions { secret_key: None, replace: false, without_log: false };
    /// let inputs = [a, b];
    /// lock.merge(&inputs, options, |_, _| {}, |merged| merged.header.inserted_items() < 2)?;
    /// assert!(!all.exists());
    /// let (merged, inserted) = lock.merge(&inputs, options, |_, _| {}, |_| true)?;
    /// assert!(merged.header.inserted_items() == 2 && inserted == [1, 1]);
    /// let filter = mayhap_store::load(&all, None)?.filter;
    /// assert!(filter.contains("one") && filter.contains("two") && !filter.contains("three"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge(
        &self,
        paths: &[PathBuf],
        options: MergeOptions,
        progress: impl FnMut(u64, u64),
        accept: impl FnOnce(&Assembled) -> bool,
    ) -> Result<(Assembled, Vec<u64>), Error> {
        assert!(!paths.is_empty(), "a merge needs at least one input");
        let mut inputs = paths
            .iter()
            .map(|path| Input::open(path, options))
            .collect::<Result<Vec<_>, Error>>()?;
        let inserted_items: Vec<u64> =
            inputs.iter().map(|input| input.header.inserted_items()).collect();
        let smallest = (0..inputs.len()).min_by_key(|&i| inputs[i].header.fields().num_bits);
        let smallest = smallest.unwrap_or(0);
        let params = inputs[smallest].params()?;
        for input in &mut inputs {
            input.fold_to(&params)?;
        }
        let first = &inputs[smallest];
        let mut key_options = first.header.key_options().to_owned();
        for input in &inputs {
            check_alike(first, input)?;
            let common = common_key_options(&key_options, input.header.key_options());
            key_options = common.unwrap_or(key_options);
        }
        let new = Replacement::begin(self, first.header.digest_id() != 1, options.replace)?;
        let mut union = Union::new(params, self.path(), &first.header);
        let table = write(&mut union, new.file(), &inputs, progress)?;

        let counted: Vec<u64> = inputs.iter().map(|input| input.header.inserted_items()).collect();
        let items = items_of(&params, &union.estimated_items(), &counted);
        let header = first.header.clone().renewed().with_inserted_items(items);
        let header = header.with_key_options(&key_options);
        let merged = union.finish(new.file(), &header, table)?;
        if accept(&merged) {
            new.commit()?;
        }
        Ok((merged, inserted_items))
    }
}

/// The initial count: the count of a single filter for the number of keys estimated from the bits,
/// unless the counters are more precise within the interval. It is at least the number of keys of
/// the fullest input, and at most the sum of all.
fn items_of(params: &FilterParams, estimate: &Estimate, counted: &[u64]) -> u64 {
    let came = counted.iter().map(|&counted| params.distinct_items(counted));
    let most = came.clone().fold(0, u64::saturating_add);
    let (least, least_counted) = came.zip(counted).max().unwrap_or((0, &0));
    let items = estimate.rounded();
    let count_of = |distinct: u64| params.expected_inserted(distinct).round() as u64;
    if items > most && estimate.low <= most as f64 {
        count_of(most)
    } else if items < least && least as f64 <= estimate.high {
        *least_counted
    } else {
        count_of(items)
    }
}

/// A filter that is merged.
struct Input<'a> {
    path: &'a Path,
    /// With the insertions that its log adds.
    header: Header,
    bits: Bits,
}

enum Bits {
    File(Image),
    /// The contents of file and log together, or the file folded to a smaller size.
    Memory(AnyFilter),
}

impl<'a> Input<'a> {
    fn open(path: &'a Path, options: MergeOptions) -> Result<Self, Error> {
        let snapshot = Snapshot::open(path)?;
        let header = snapshot.header().clone();
        header.check_kind(Kind::Bloom).map_err(Error::format(path))?;
        match snapshot.log() {
            LogFound::Missing { .. } if options.without_log => {}
            _ => snapshot.check()?,
        }
        if !matches!(snapshot.log(), LogFound::Records { bytes: 1.. }) {
            return Ok(Self { path, header, bits: Bits::File(snapshot.into_image()) });
        }
        let mut filter: AnyFilter = snapshot.image().load(options.secret_key, |_, _| {})?;
        snapshot.replay(|record| apply(&mut filter, record))?;
        let header = header.with_inserted_items(filter.inserted_items());
        Ok(Self { path, header, bits: Bits::Memory(filter) })
    }
}

impl Input<'_> {
    fn params(&self) -> Result<FilterParams, Error> {
        self.header.params().map_err(Error::format(self.path))
    }

    /// Folds the filter to the size of `smallest` if its own is a multiple of that; a filter that
    /// is unlike in another way stays as it is, to be refused.
    fn fold_to(&mut self, smallest: &FilterParams) -> Result<(), Error> {
        let params = self.params()?;
        let factor = params.num_bits() / smallest.num_bits();
        let is_alike = params.layout() == smallest.layout()
            && params.num_hashes() == smallest.num_hashes()
            && params.num_bits().is_multiple_of(smallest.num_bits());
        if !is_alike || factor == 1 {
            return Ok(());
        }
        let fpp = smallest.target_fpp();
        let folded = match &self.bits {
            Bits::File(image) => image.load_bits()?.fold(factor, fpp),
            Bits::Memory(filter) => filter.fold(factor, fpp),
        };
        let folded = folded.map_err(Error::format(self.path))?;
        let header = self.header.clone().with_params(folded.params());
        let header = header.map_err(Error::format(self.path))?;
        self.header = header.with_inserted_items(folded.inserted_items());
        self.bits = Bits::Memory(folded);
        Ok(())
    }
}

/// The key options of the union of two filters, if their keys were cut alike: where one does not
/// record the treatment of carriage returns (`crlf=strip`), neither does the union.
pub fn common_key_options(left: &str, right: &str) -> Option<String> {
    if left == right {
        return Some(left.to_owned());
    }
    let others = |options: &str| -> String {
        options.split_inclusive('\n').filter(|line| *line != "crlf=strip\n").collect()
    };
    Some(others(left)).filter(|common| *common == others(right))
}

fn check_alike(first: &Input<'_>, input: &Input<'_>) -> Result<(), Error> {
    let (options, others) = (first.header.key_options(), input.header.key_options());
    match difference(&first.header, &input.header) {
        None => Ok(()),
        // The key options are compared last: all other parameters agree.
        Some(("key options", ..)) if common_key_options(options, others).is_some() => Ok(()),
        Some((parameter, expected, found)) => {
            let (path, first) = (input.path.into(), first.path.into());
            Err(Error::Unlike { path, first, parameter, found, expected })
        }
    }
}

/// The source of an input's next bits.
enum Pages<'a> {
    File(Box<Body<'a>>),
    Memory(&'a [Block]),
}

impl<'a> Pages<'a> {
    fn of(input: &'a Input<'_>) -> Self {
        match &input.bits {
            Bits::File(image) => {
                Self::File(Box::new(Body::new(image.file(), input.path, &input.header)))
            }
            Bits::Memory(filter) => Self::Memory(filter.blocks()),
        }
    }

    /// Fills whole pages with the next ones; `used` bytes of them are blocks.
    fn read(&mut self, pages: &mut [u8], used: usize) -> Result<(), Error> {
        match self {
            Self::File(body) => body.read(pages, used),
            Self::Memory(blocks) => {
                let (now, later) = blocks.split_at(used / Block::BYTES);
                *blocks = later;
                pages[..used].copy_from_slice(&native::body_bytes(now));
                pages[used..].fill(0);
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<(), Error> {
        match self {
            Self::File(body) => body.finish(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// Writes body and table, leaves room for the header and returns the table's checksum.
fn write(
    union: &mut Union<'_>,
    file: &dyn DiskFile,
    inputs: &[Input<'_>],
    mut progress: impl FnMut(u64, u64),
) -> Result<u64, Error> {
    let mut bodies: Vec<Pages<'_>> = inputs.iter().map(Pages::of).collect();
    let chunk = || vec![Block::default(); CHUNK_BLOCKS];
    let (mut sum, mut more) = (chunk(), chunk());
    let mut table = Xxh3::new();
    let params = *union.params();
    let total_bytes = params.num_blocks() * Block::BYTES as u64;
    let mut done = 0;
    while done < total_bytes {
        let used = (total_bytes - done).min(CHUNK_BYTES as u64) as usize;
        let blocks = used.next_multiple_of(PAGE_BYTES) / Block::BYTES;
        let is_last = done + used as u64 == total_bytes;
        for (i, (body, input)) in bodies.iter_mut().zip(inputs).enumerate() {
            let read = if i == 0 { &mut sum[..blocks] } else { &mut more[..blocks] };
            body.read(bytemuck::cast_slice_mut(read), used)?;
            if is_last {
                check_end(&params, input.path, &read[used / Block::BYTES - 1])?;
            }
            if i > 0 {
                or(&mut sum[..blocks], &more[..blocks]);
            }
            let before = done * inputs.len() as u64 + (i * used) as u64;
            progress(before + used as u64, total_bytes * inputs.len() as u64);
        }
        union.count(&sum[..used / Block::BYTES])?;
        let pages: &[u8] = bytemuck::cast_slice(&sum[..blocks]);
        union.write_pages(file, pages, done, &mut table)?;
        done += used as u64;
    }
    bodies.into_iter().try_for_each(Pages::finish)?;
    Ok(table.digest())
}

fn check_end(params: &FilterParams, path: &Path, last: &Block) -> Result<(), Error> {
    let last = bytemuck::cast(*last);
    check_bits_past_end(params.num_bits() % Block::BITS, last).map_err(Error::format(path))
}

/// A loop over whole words, for vector instructions.
fn or(sum: &mut [Block], more: &[Block]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        for (sum, more) in sum.0.iter_mut().zip(more.0) {
            *sum |= more;
        }
    }
}
