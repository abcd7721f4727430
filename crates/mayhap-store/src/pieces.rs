//! Plain filters in pieces: a body that is read where it is wanted, and a file whose body comes in
//! order, both in constant memory.

use crate::body::{CHUNK_BYTES, check_bits_past_end};
use crate::disk::read_exact_at;
use crate::save::Replacement;
use crate::union::{Assembled, Union};
use crate::{Error, FilterLock, Image};
use mayhap::native::{self, HEADER_BYTES, Header, Kind, PAGE_BYTES};
use mayhap::{Block, FilterParams};
use std::ops::Range;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const PAGE_BLOCKS: u64 = (PAGE_BYTES / Block::BYTES) as u64;

impl Image {
    /// Reads some of the blocks of a plain filter; each page is compared with its checksum, whose
    /// table [`Image::verify`] checks.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Format`] for a damaged page, another kind of filter, and blocks that
    /// the filter does not have.
    ///
    /// # Examples
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = &folder.path().join("seen.mayhap");
    /// let builder = mayhap::AnyFilter::builder().expected_items(9_000).target_fpp(1e-3);
    /// let mut filter = builder.build()?;
    /// filter.insert("one");
    /// mayhap_store::save(path, &filter, "")?;
    /// let file = mayhap_store::Snapshot::open(path)?;
    /// assert_eq!(file.image().blocks(3..70)?, filter.blocks()[3..70]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocks(&self, range: Range<u64>) -> Result<Vec<Block>, Error> {
        let bad = Error::format(self.path());
        let header = self.header();
        header.check_kind(Kind::Bloom).map_err(Error::format(self.path()))?;
        let limit = header.segment_blocks().iter().sum();
        if range.end > limit || range.start > range.end {
            return Err(bad(mayhap::Error::TooLarge { field: "block", limit, found: range.end }));
        }
        let pages = range.start / PAGE_BLOCKS..range.end.div_ceil(PAGE_BLOCKS);
        let mut blocks = vec![Block::default(); ((pages.end - pages.start) * PAGE_BLOCKS) as usize];
        let memory: &mut [u8] = bytemuck::cast_slice_mut(&mut blocks);
        let start = HEADER_BYTES as u64;
        read_exact_at(self.file(), memory, start + pages.start * PAGE_BYTES as u64)
            .map_err(Error::io("read", self.path()))?;
        let mut table = vec![0; (pages.end - pages.start) as usize * 8];
        read_exact_at(self.file(), &mut table, start + header.body_bytes() + pages.start * 8)
            .map_err(Error::io("read", self.path()))?;
        let checksums = table.as_chunks::<8>().0;
        for (page, (bytes, checksum)) in pages.clone().zip(memory.chunks(PAGE_BYTES).zip(checksums))
        {
            if xxh3_64(bytes) != u64::from_le_bytes(*checksum) {
                let num_pages = header.num_pages();
                return Err(bad(mayhap::Error::PageDamaged { page, damaged_pages: 1, num_pages }));
            }
        }
        native::body_from_le(&mut blocks);
        let first = (range.start - pages.start * PAGE_BLOCKS) as usize;
        blocks.truncate(first + (range.end - range.start) as usize);
        blocks.drain(..first);
        Ok(blocks)
    }
}

impl<'a> Incoming<'a> {
    /// Begins the file of a plain filter with this header, whose blocks come in order
    /// ([`Incoming::write`]). An existing file is replaced only if `replace`.
    ///
    /// # Errors
    ///
    /// Same as [`crate::save()`] and [`crate::save_new`], except for the lock; [`Error::Format`]
    /// for another kind of filter.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::native::Header;
    /// use mayhap_store::{FilterLock, Incoming, LockOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = &folder.path().join("seen.mayhap");
    /// let builder = mayhap::AnyFilter::builder().expected_items(9_000).target_fpp(1e-3);
    /// let mut filter = builder.build()?;
    /// filter.insert("one");
    /// let lock = FilterLock::take(path, &mut LockOptions::new("copy"))?;
    /// let mut incoming = Incoming::begin(&lock, &Header::of(&filter, ""), false)?;
    /// for blocks in filter.blocks().chunks(7) {
    ///     incoming.write(blocks)?;
    /// }
    /// assert!(!path.exists());
    /// incoming.finish()?;
    /// assert!(mayhap_store::load(path, None)?.filter.contains("one"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(lock: &'a FilterLock, header: &Header, replace: bool) -> Result<Self, Error> {
        header.check_kind(Kind::Bloom).map_err(Error::format(lock.path()))?;
        let params = header.params().map_err(Error::format(lock.path()))?;
        let header = header.clone().renewed();
        Ok(Self {
            lock,
            new: Replacement::begin(lock, header.digest_id() != 1, replace)?,
            union: Union::new(params, lock.path(), &header),
            header,
            table: Xxh3::new(),
            waiting: Vec::with_capacity(CHUNK_BYTES / Block::BYTES),
            written: 0,
        })
    }
}

/// A file of a plain filter whose blocks come in order: [`Incoming::begin`]. Nothing is at its
/// path before [`Incoming::finish`], and nothing is left of it if it is dropped.
pub struct Incoming<'a> {
    lock: &'a FilterLock,
    new: Replacement<'a>,
    union: Union<'a>,
    header: Header,
    table: Xxh3,
    /// Blocks for which there are no whole pages yet.
    waiting: Vec<Block>,
    /// The bytes of the blocks that were written.
    written: u64,
}

impl Incoming<'_> {
    /// Takes the next blocks.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::NoSpace`]; [`Error::Format`] for more blocks than the filter has.
    pub fn write(&mut self, blocks: &[Block]) -> Result<(), Error> {
        let all = self.union.params().num_blocks() * Block::BYTES as u64;
        let found =
            self.written + (self.waiting.len() as u64 + blocks.len() as u64) * Block::BYTES as u64;
        if found > all {
            return Err(self.wrong_length(found));
        }
        let mut rest = blocks;
        while !rest.is_empty() {
            let room = CHUNK_BYTES / Block::BYTES - self.waiting.len();
            let (now, later) = rest.split_at(rest.len().min(room));
            self.waiting.extend_from_slice(now);
            rest = later;
            if self.waiting.len() == CHUNK_BYTES / Block::BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Puts the file in its place, with the number of keys that its bits speak of as its count.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] if there were too few blocks, or bits after the last one of the filter;
    /// the errors of [`crate::save()`]. After an error the path is unchanged.
    pub fn finish(mut self) -> Result<Assembled, Error> {
        let params: FilterParams = *self.union.params();
        self.flush()?;
        if self.written != params.num_blocks() * Block::BYTES as u64 {
            return Err(self.wrong_length(self.written));
        }
        // Where all bits are set there may be any number of keys.
        let items = self.union.estimated_items().rounded().min(params.num_bits());
        let header = self.header.with_inserted_items(items);
        let done = self.union.finish(self.new.file(), &header, self.table.digest())?;
        self.new.commit()?;
        Ok(done)
    }

    /// Writes the blocks that wait, whole pages or the last ones.
    fn flush(&mut self) -> Result<(), Error> {
        let used = self.waiting.len();
        if used == 0 {
            return Ok(());
        }
        let params = *self.union.params();
        let is_last = self.written / Block::BYTES as u64 + used as u64 == params.num_blocks();
        if let Some(last) = self.waiting.last().filter(|_| is_last) {
            let bytes = native::body_bytes(std::slice::from_ref(last));
            check_bits_past_end(params.num_bits() % Block::BITS, std::array::from_fn(|i| bytes[i]))
                .map_err(Error::format(self.lock.path()))?;
        }
        self.union.count(&self.waiting)?;
        self.waiting.resize(used.next_multiple_of(PAGE_BLOCKS as usize), Block::default());
        let pages = native::body_bytes(&self.waiting);
        self.union.write_pages(self.new.file(), &pages, self.written, &mut self.table)?;
        self.written += (used * Block::BYTES) as u64;
        self.waiting.clear();
        Ok(())
    }

    fn wrong_length(&self, found: u64) -> Error {
        let expected = self.union.params().num_blocks() * Block::BYTES as u64;
        Error::format(self.lock.path())(mayhap::Error::WrongLength {
            field: "body",
            expected,
            found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LockOptions, Snapshot, load, save};
    use mayhap::AnyFilter;
    use std::fs;

    /// 40 pages and a part of one.
    fn filter() -> AnyFilter {
        of_bytes(163_904)
    }

    fn of_bytes(num_bytes: u64) -> AnyFilter {
        let mut filter =
            AnyFilter::builder().num_bytes(num_bytes).target_fpp(0.01).build().unwrap();
        for key in 0..5_000u32 {
            filter.insert(&key.to_le_bytes());
        }
        filter
    }

    fn receive(path: &std::path::Path, filter: &AnyFilter, blocks: &[Block]) -> Result<(), Error> {
        let lock = FilterLock::take(path, &mut LockOptions::new("test"))?;
        let mut incoming = Incoming::begin(&lock, &Header::of(filter, "trim=yes\n"), false)?;
        for blocks in blocks.chunks(1_000) {
            incoming.write(blocks)?;
        }
        incoming.finish().map(drop)
    }

    #[test]
    fn a_file_that_came_in_pieces_is_the_file_that_is_saved_whole() {
        let folder = tempfile::tempdir().unwrap();
        // The last two are whole chunks.
        for num_bytes in [163_904, 600 << 10, 256 << 10, 512 << 10] {
            let [whole, pieces] = ["whole", "pieces"].map(|name| folder.path().join(name));
            let mut filter = of_bytes(num_bytes);
            receive(&pieces, &filter, filter.blocks()).unwrap();
            filter.settle_inserted_items();
            save(&whole, &filter, "trim=yes\n").unwrap();
            let got = load(&pieces, None).unwrap();
            assert_eq!(got.filter.blocks(), filter.blocks());
            assert_eq!(fs::metadata(&pieces).unwrap().len(), fs::metadata(&whole).unwrap().len());
            let image = Snapshot::open(&pieces).unwrap().into_image();
            image.verify(|_, _| {}).unwrap();
            let all = filter.blocks().len() as u64;
            for range in [0..all, 1..2, 63..65, 64..128, all - 1..all, 5..5] {
                let (from, to) = (range.start as usize, range.end as usize);
                assert_eq!(image.blocks(range).unwrap(), filter.blocks()[from..to]);
            }
            assert!(image.blocks(0..all + 1).is_err());
            fs::remove_file(&pieces).unwrap();
        }
    }

    #[test]
    fn pieces_that_are_no_whole_filter_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let filter = filter();
        let blocks = filter.blocks();
        let more: Vec<Block> = blocks.iter().chain(&blocks[..1]).copied().collect();
        for wrong in [&blocks[..blocks.len() - 1], &more] {
            let error = receive(&path, &filter, wrong).unwrap_err();
            let found = mayhap::Error::WrongLength {
                field: "body",
                expected: blocks.len() as u64 * 64,
                found: wrong.len() as u64 * 64,
            };
            assert!(
                matches!(&error, Error::Format { source, .. } if *source == found),
                "{error:?}"
            );
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_damaged_page_is_refused_and_the_others_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let filter = filter();
        save(&path, &filter, "").unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEADER_BYTES + 3 * PAGE_BYTES + 7] ^= 1;
        fs::write(&path, bytes).unwrap();
        let image = Snapshot::open(&path).unwrap().into_image();
        assert_eq!(image.blocks(0..192).unwrap(), filter.blocks()[..192]);
        let error = image.blocks(190..193).unwrap_err();
        let Error::Format { source: mayhap::Error::PageDamaged { page: 3, .. }, .. } = error else {
            panic!("{error:?}")
        };
    }
}
