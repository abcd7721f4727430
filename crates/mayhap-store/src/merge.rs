//! Files → one file with the keys of all, in one pass and constant memory.

use crate::body::{Body, CHUNK_BYTES, check_bits_past_end};
use crate::disk::{DiskFile, Writer};
use crate::save::{begin, replaced, take_place};
use crate::{Error, FilterLock, Image, LockOptions, LogFound, Snapshot, apply};
use mayhap::native::{self, HEADER_BYTES, Header, Kind, PAGE_BYTES};
use mayhap::sizing::{estimated_fpp, with_collisions_of};
use mayhap::{AnyFilter, Block, DigestFunction, Estimate, FilterParams, Layout, SecretKey};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const CHUNK_BLOCKS: usize = CHUNK_BYTES / Block::BYTES;

/// The result of a merge, known without reading it again.
#[derive(Debug, Clone)]
pub struct Merged {
    /// The header of the new file.
    pub header: Header,
    /// The insertions counted by each input, including its log.
    pub inserted_items: Vec<u64>,
    /// The number of keys estimated from the bits.
    pub estimated_items: Estimate,
    /// The share of bits that are set.
    pub fill_ratio: f64,
    /// The current false-positive probability, as [`mayhap::Filter::estimated_fpp`].
    pub estimated_fpp: f64,
}

/// Writes a file with the keys of all `inputs`, replacing the file at `output`.
///
/// The bits are ored, 256 KiB of every input at a time; all inputs are open at once, so their
/// number is limited by the files that a process may open. Every byte of every input is checked. An
/// input that is a live state includes its log: it is loaded, for which `secret_key` is needed if
/// it is keyed; the others need no key.
///
/// Inputs must agree in everything that determines bits: layout, m, k, digest function, seed or
/// key, and key options. n and p, which do not, are those of the first input.
/// [`Header::inserted_items`] becomes the count that a single filter would have for the number of
/// keys estimated from the bits, which is assumed to be at least that of the fullest input and at
/// most the sum of all, as far as the interval of the estimate allows. `output` may be one of the
/// inputs. `progress` receives the bytes done and the bytes in all.
///
/// # Errors
///
/// [`Error::Unlike`]; [`Error::MissingLog`] and [`Error::OlderCopy`] for an input that is a part of
/// a state; as [`crate::load()`] for each input and as [`crate::save()`]. After an error the path
/// is unchanged.
///
/// # Panics
///
/// If `inputs` is empty.
///
/// # Examples
///
/// ```
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
/// let merged = mayhap_store::merge(&[a, b], &all, None, |_, _| {})?;
/// assert_eq!(merged.header.inserted_items(), 2);
/// let filter = mayhap_store::load(&all, None)?.filter;
/// assert!(filter.contains("one") && filter.contains("two") && !filter.contains("three"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge(
    inputs: &[PathBuf],
    output: &Path,
    secret_key: Option<SecretKey>,
    progress: impl FnMut(u64, u64),
) -> Result<Merged, Error> {
    let options = MergeOptions { secret_key, replace: true, without_log: false };
    FilterLock::take(output, &mut LockOptions::new("merge"))?.merge(
        inputs,
        options,
        progress,
        |_| true,
    )
}

/// [`merge()`] that never replaces a file, not even one created while it writes.
///
/// # Errors
///
/// As [`merge()`], and [`Error::Exists`].
///
/// # Panics
///
/// As [`merge()`].
pub fn merge_new(
    inputs: &[PathBuf],
    output: &Path,
    secret_key: Option<SecretKey>,
    progress: impl FnMut(u64, u64),
) -> Result<Merged, Error> {
    let options = MergeOptions { secret_key, replace: false, without_log: false };
    FilterLock::take(output, &mut LockOptions::new("merge"))?.merge(
        inputs,
        options,
        progress,
        |_| true,
    )
}

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
    /// [`merge()`] into the file whose lock is held, so that it may be one of the inputs while
    /// others add to it. It calls `accept` with the contents of the new file; nothing is written if
    /// that refuses.
    ///
    /// # Errors
    ///
    /// As [`merge()`] and [`merge_new`], except for the lock.
    ///
    /// # Panics
    ///
    /// As [`merge()`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use mayhap_store::{FilterLock, LockOptions, MergeOptions, Merged, save};
    /// # let folder = tempfile::tempdir()?;
    /// # let [a, all] = ["a", "all"].map(|name| folder.path().join(name));
    /// let mut filter = mayhap::AnyFilter::builder().expected_items(9).target_fpp(0.01).build()?;
    /// filter.insert("one");
    /// save(&a, &filter, "")?;
    /// let lock = FilterLock::take(&all, &mut LockOptions::new("merge"))?;
    /// let options = MergeOptions { secret_key: None, replace: false, without_log: false };
    /// let is_small = |merged: &Merged| merged.header.inserted_items() < 1;
    /// lock.merge(&[a], options, |_, _| {}, is_small)?;
    /// assert!(!all.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge(
        &self,
        paths: &[PathBuf],
        options: MergeOptions,
        progress: impl FnMut(u64, u64),
        accept: impl FnOnce(&Merged) -> bool,
    ) -> Result<Merged, Error> {
        assert!(!paths.is_empty(), "a merge needs at least one input");
        let inputs = paths
            .iter()
            .map(|path| Input::open(path, options))
            .collect::<Result<Vec<_>, Error>>()?;
        let first = &inputs[0];
        let mut key_options = first.header.key_options().to_owned();
        for input in &inputs[1..] {
            check_alike(first, input)?;
            let common = common_key_options(&key_options, input.header.key_options());
            key_options = common.unwrap_or(key_options);
        }
        let params = first.header.params().map_err(Error::format(first.path))?;
        let (output, replaced) = (self.path(), replaced(self, options.replace)?);
        let temporary = begin(self, first.header.digest_id() != 1, options.replace)?;
        let mut union = Union::new(params, output, &first.header);
        let table_checksum = union.write(temporary.file(), &inputs, progress)?;

        let inserted_items: Vec<u64> =
            inputs.iter().map(|input| input.header.inserted_items()).collect();
        let estimated_items = Estimate::from_ones(&params, union.ones);
        let items = items_of(&params, &estimated_items, &inserted_items);
        let (fill_ratio, estimated_fpp) = (union.fill_ratio(), union.estimated_fpp());
        let header = first.header.clone().renewed().with_inserted_items(items);
        let header = header.with_key_options(&key_options);
        let bytes = header.encode(table_checksum);
        let header = Header::decode(&bytes).map_err(Error::format(output))?;
        Writer::new(temporary.file())
            .write_all(&bytes)
            .map_err(Error::write(output, header.file_bytes()))?;
        let merged = Merged { header, inserted_items, estimated_items, fill_ratio, estimated_fpp };
        if accept(&merged) {
            take_place(self, temporary, options.replace, replaced.as_ref())?;
        }
        Ok(merged)
    }
}

/// The initial count: what a single filter would have counted for the number of keys estimated from
/// the bits, unless the counters are more precise within the interval. There are at least the keys
/// of the fullest input, and at most those of all.
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
    /// The contents of file and log together.
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

/// The values that have to agree, with their names.
fn meaning(header: &Header) -> [(&'static str, String); 6] {
    let fields = header.fields();
    let digest = if header.digest_id() == 1 { "xxh3" } else { "sip13" };
    let layout = Layout::from_id(fields.layout).map_or("unknown", Layout::name);
    let (items, fpp) = (fields.expected_items, fields.target_fpp);
    [
        ("layout", layout.into()),
        ("size", format!("{} bits (for {items} keys at a rate of {fpp})", fields.num_bits)),
        ("bits per key", format!("{} (for {items} keys at a rate of {fpp})", fields.num_hashes)),
        ("digest function", digest.into()),
        ("digest seed or key", format!("{:#x}", header.digest_parameter())),
        ("key options", format!("{:?}", header.key_options())),
    ]
}

/// The key options of the union of two filters, if their keys were cut alike: where one does not
/// record what became of carriage returns (`crlf=strip`), neither does the union.
pub fn common_key_options(left: &str, right: &str) -> Option<String> {
    if left == right {
        return Some(left.to_owned());
    }
    let others = |options: &str| -> String {
        options.split_inclusive('\n').filter(|line| *line != "crlf=strip\n").collect()
    };
    Some(others(left)).filter(|common| *common == others(right))
}

/// The first value in which the filters of two headers differ: its name, left and right.
pub(crate) fn difference(left: &Header, right: &Header) -> Option<(&'static str, String, String)> {
    let same = [
        left.fields().layout == right.fields().layout,
        left.fields().num_bits == right.fields().num_bits,
        left.fields().num_hashes == right.fields().num_hashes,
        left.digest_id() == right.digest_id(),
        left.digest_parameter() == right.digest_parameter(),
        left.key_options() == right.key_options(),
    ];
    let values = meaning(left).into_iter().zip(meaning(right)).zip(same);
    for (((parameter, left), (_, right)), same) in values {
        if !same {
            return Some((parameter, left, right));
        }
    }
    None
}

fn check_alike(first: &Input<'_>, input: &Input<'_>) -> Result<(), Error> {
    let (options, others) = (first.header.key_options(), input.header.key_options());
    match difference(&first.header, &input.header) {
        None => Ok(()),
        // The last one that is compared: all others agree.
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

/// A body in progress, with what is known of the bits written so far.
pub(crate) struct Union<'a> {
    params: FilterParams,
    output: &'a Path,
    /// Of the new file, as far as sizes go.
    header: &'a Header,
    ones: u64,
    /// The sum over all 512-bit blocks of the rate in each; not kept for `standard`.
    block_fpps: f64,
}

impl<'a> Union<'a> {
    pub(crate) const fn new(params: FilterParams, output: &'a Path, header: &'a Header) -> Self {
        Self { params, output, header, ones: 0, block_fpps: 0.0 }
    }

    /// The set bits that were counted.
    pub(crate) const fn ones(&self) -> u64 {
        self.ones
    }

    /// Writes body and table, leaves room for the header and returns the table's checksum.
    fn write(
        &mut self,
        file: &dyn DiskFile,
        inputs: &[Input<'_>],
        mut progress: impl FnMut(u64, u64),
    ) -> Result<u64, Error> {
        let mut bodies: Vec<Pages<'_>> = inputs.iter().map(Pages::of).collect();
        let chunk = || vec![Block::default(); CHUNK_BLOCKS];
        let (mut sum, mut more) = (chunk(), chunk());
        let mut table = Xxh3::new();
        let total_bytes = self.params.num_blocks() * Block::BYTES as u64;
        let mut done = 0;
        while done < total_bytes {
            let used = (total_bytes - done).min(CHUNK_BYTES as u64) as usize;
            let blocks = used.next_multiple_of(PAGE_BYTES) / Block::BYTES;
            let is_last = done + used as u64 == total_bytes;
            for (i, (body, input)) in bodies.iter_mut().zip(inputs).enumerate() {
                let read = if i == 0 { &mut sum[..blocks] } else { &mut more[..blocks] };
                body.read(bytemuck::cast_slice_mut(read), used)?;
                if is_last {
                    self.check_end(input.path, &read[used / Block::BYTES - 1])?;
                }
                if i > 0 {
                    or(&mut sum[..blocks], &more[..blocks]);
                }
                let before = done * inputs.len() as u64 + (i * used) as u64;
                progress(before + used as u64, total_bytes * inputs.len() as u64);
            }
            self.count(&sum[..used / Block::BYTES])?;
            let pages: &[u8] = bytemuck::cast_slice(&sum[..blocks]);
            self.write_pages(file, pages, done, &mut table)?;
            done += used as u64;
        }
        bodies.into_iter().try_for_each(Pages::finish)?;
        Ok(table.digest())
    }

    fn check_end(&self, path: &Path, last: &Block) -> Result<(), Error> {
        let last = bytemuck::cast(*last);
        check_bits_past_end(self.params.num_bits() % Block::BITS, last).map_err(Error::format(path))
    }

    /// Writes pages and their checksums where they belong, so that the table takes no memory.
    pub(crate) fn write_pages(
        &self,
        file: &dyn DiskFile,
        pages: &[u8],
        done: u64,
        table: &mut Xxh3,
    ) -> Result<(), Error> {
        let mut checksums = [[0; 8]; CHUNK_BYTES / PAGE_BYTES];
        for (page, checksum) in pages.chunks(PAGE_BYTES).zip(&mut checksums) {
            *checksum = xxh3_64(page).to_le_bytes();
        }
        let checksums = checksums[..pages.len() / PAGE_BYTES].as_flattened();
        table.update(checksums);
        let table_start = HEADER_BYTES as u64 + self.header.body_bytes();
        write_at(file, HEADER_BYTES as u64 + done, pages)
            .and_then(|()| write_at(file, table_start + done / PAGE_BYTES as u64 * 8, checksums))
            .map_err(Error::write(self.output, self.header.file_bytes()))
    }

    /// Counts the bits of these blocks while they are in the cache.
    pub(crate) fn count(&mut self, blocks: &[Block]) -> Result<(), Error> {
        // Including the zeros after the last bit, which add nothing.
        let bits = blocks.len() as u64 * Block::BITS;
        // A filter with only these blocks: the core knows how to count and evaluate them.
        let (layout, k) = (self.params.layout(), self.params.num_hashes());
        let part = FilterParams::new(layout, bits, k, 1, self.params.target_fpp())
            .and_then(|params| AnyFilter::from_parts(params, DigestFunction::default(), blocks, 0))
            .map_err(Error::format(self.output))?;
        self.ones += part.count_ones();
        if layout != Layout::Standard {
            self.block_fpps += part.fpp_of_bits() * bits as f64;
        }
        Ok(())
    }

    pub(crate) fn fill_ratio(&self) -> f64 {
        self.ones as f64 / self.params.num_bits() as f64
    }

    pub(crate) fn estimated_fpp(&self) -> f64 {
        let of_bits = match self.params.layout() {
            Layout::Standard => {
                estimated_fpp(self.ones, self.params.num_bits(), self.params.num_hashes())
            }
            _ => self.block_fpps / self.params.num_bits() as f64,
        };
        with_collisions_of(of_bits, || Estimate::from_ones(&self.params, self.ones).rounded())
    }
}

fn write_at(file: &dyn DiskFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut out = Writer::new(file);
    out.seek(SeekFrom::Start(offset))?;
    out.write_all(bytes)
}

/// A loop over whole words, for vector instructions.
fn or(sum: &mut [Block], more: &[Block]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        for (sum, more) in sum.0.iter_mut().zip(more.0) {
            *sum |= more;
        }
    }
}
