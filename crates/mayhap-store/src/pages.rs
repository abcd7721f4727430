//! The pages of a mapped body, each compared with its checksum before it is first read.

use crate::Changed;
use crate::map::MappedBlocks;
use mayhap::native::{Header, PAGE_BYTES};
use mayhap::{Digest, FilterParams, Layout};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

const PAGE_BITS: u64 = 8 * PAGE_BYTES as u64;
/// No page.
const NONE: u64 = u64::MAX;

/// Which pages were compared with their checksums, once for all threads.
///
/// A page that has its checksum is sound, whatever else the table holds. So the table itself is
/// compared with its own checksum only once a page differs, to say which of the two is damaged: for
/// a file of 1 GiB that would be 2 MiB to read before the answer about a single key.
///
/// A query first compares the pages that it is about to read, and one more page for each key, in
/// order: after as many keys as there are pages all are known, and queries have no extra cost.
///
/// Two threads may compare a page at once, with one result. All orderings are Relaxed: the bit of a
/// page means that these bytes of the file are sound, and the thread that sees it reads the same
/// bytes, which no thread of this process has written. A thread that finds a damaged page records
/// it, and sees its own record when it looks for one after its queries, in program order; another
/// thread that reads that page finds the damage itself, since the page never gets its bit.
#[derive(Debug)]
pub(crate) struct Pages {
    count: u64,
    table_checksum: u64,
    /// A bit for each page that is sound, from the first query on.
    sound: OnceLock<Box<[AtomicU64]>>,
    /// The checksum that the table has, once a page differs from it.
    found_of_table: OnceLock<u64>,
    /// The number of pages not known to be sound.
    left: AtomicU64,
    /// The next page to compare before a query needs it.
    next: AtomicU64,
    /// A damaged page.
    damaged: AtomicU64,
}

impl Pages {
    /// The pages of a file with this header, which are assumed sound if they are trusted.
    pub(crate) fn new(header: &Header, are_trusted: bool) -> Self {
        let num_pages = header.num_pages();
        Self {
            count: num_pages,
            table_checksum: header.table_checksum(),
            sound: OnceLock::new(),
            found_of_table: OnceLock::new(),
            left: AtomicU64::new(if are_trusted { 0 } else { num_pages }),
            next: AtomicU64::new(0),
            damaged: AtomicU64::new(NONE),
        }
    }

    /// Whether all are known to be sound, or trusted.
    #[inline]
    pub(crate) fn are_sound(&self) -> bool {
        // ORDERING: Relaxed, as above.
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Compares the pages that queries for these digests read, and as many more.
    #[inline]
    pub(crate) fn before_queries(
        &self,
        blocks: &MappedBlocks,
        params: &FilterParams,
        digests: &[Digest],
    ) {
        if !self.are_sound() {
            self.compare_for(blocks, params, digests);
        }
    }

    #[cold]
    fn compare_for(&self, blocks: &MappedBlocks, params: &FilterParams, digests: &[Digest]) {
        self.compare_next(blocks, digests.len() as u64);
        if self.are_sound() {
            return;
        }
        for &digest in digests {
            for position in params.positions(digest) {
                self.compare(blocks, position / PAGE_BITS);
                // All bits of a block are in one page; a clear bit is an answer.
                if params.layout() != Layout::Standard || !blocks.bit(position) {
                    break;
                }
            }
        }
    }

    /// Compares up to `most` pages that no query has needed yet, in order; returns whether all are
    /// known now.
    pub(crate) fn compare_next(&self, blocks: &MappedBlocks, most: u64) -> bool {
        // ORDERING: Relaxed. It hands out numbers.
        if self.next.load(Ordering::Relaxed) < self.count {
            let start = self.next.fetch_add(most, Ordering::Relaxed);
            let end = start.saturating_add(most).min(self.count);
            (start..end).for_each(|page| self.compare(blocks, page));
        }
        self.are_sound() || self.damage().is_some()
    }

    /// Compares all pages that are not known.
    pub(crate) fn compare_all(&self, blocks: &MappedBlocks) {
        if !self.are_sound() {
            (0..self.count).for_each(|page| self.compare(blocks, page));
        }
    }

    fn compare(&self, blocks: &MappedBlocks, page: u64) {
        let sound = self
            .sound
            .get_or_init(|| (0..self.count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect());
        let (word, bit) = (&sound[(page / 64) as usize], 1 << (page % 64));
        // ORDERING: Relaxed. The bit is about bytes of the file, which no thread here writes.
        if word.load(Ordering::Relaxed) & bit != 0 {
            return;
        }
        if !is_sound(blocks, page) {
            self.found_of_table.get_or_init(|| xxh3_64(blocks.table()));
            // ORDERING: Relaxed. Read by this thread after its queries; others find it themselves.
            self.damaged.store(page, Ordering::Relaxed);
        } else if word.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            // ORDERING: Relaxed. A count of set bits, each counted once, by the thread that set it.
            self.left.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The damage that was found.
    #[inline]
    pub(crate) fn damage(&self) -> Option<Changed> {
        // ORDERING: Relaxed. A thread sees its own store; see `compare`.
        match self.damaged.load(Ordering::Relaxed) {
            NONE => None,
            page => Some(match self.found_of_table.get() {
                Some(&found) if found != self.table_checksum => Changed::TableDamaged { found },
                _ => Changed::PageDamaged { page, num_pages: self.count },
            }),
        }
    }

    /// Whether the pages found to be sound still are: after a write to the file.
    pub(crate) fn are_still_sound(&self, blocks: &MappedBlocks) -> bool {
        let Some(sound) = self.sound.get() else { return true };
        let mut known = (0..self.count).filter(|page| {
            // ORDERING: Relaxed, as in `compare`.
            sound[(page / 64) as usize].load(Ordering::Relaxed) >> (page % 64) & 1 == 1
        });
        xxh3_64(blocks.table()) == self.table_checksum && known.all(|page| is_sound(blocks, page))
    }
}

/// Whether a page has the checksum of the table.
fn is_sound(blocks: &MappedBlocks, page: u64) -> bool {
    let page = page as usize;
    let bytes = &blocks.pages()[page * PAGE_BYTES..][..PAGE_BYTES];
    blocks.table()[page * 8..][..8] == xxh3_64(bytes).to_le_bytes()
}
