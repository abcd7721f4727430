//! Blocks that many threads write at once.
#![cfg_attr(not(any(loom, shuttle)), expect(unsafe_code, reason = "memory seen as atomics"))]

use super::{Block, OwnedBlocks, Storage};
use crate::sync::{AtomicU64, Ordering};

/// Blocks whose words are atomics: read and written through `&self` from any thread.
#[derive(Debug)]
pub struct SharedBlocks {
    #[cfg(not(any(loom, shuttle)))]
    blocks: OwnedBlocks,
    #[cfg(any(loom, shuttle))]
    words: alloc::vec::Vec<AtomicU64>,
}

#[cfg(not(any(loom, shuttle)))]
impl SharedBlocks {
    pub(crate) fn new(blocks: OwnedBlocks) -> Self {
        Self { blocks }
    }

    pub(crate) fn into_owned(self) -> OwnedBlocks {
        self.blocks
    }

    /// All lanes, block after block.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let len = self.blocks.as_ref().len() * 8;
        // SAFETY: the pointer is valid for `len` initialised words of `AtomicU64`'s size and
        // alignment, and is derived from the allocation itself, not from a reference. While `self`
        // is shared the memory is only reached through these atomics: no other method exposes it.
        unsafe { core::slice::from_raw_parts(self.blocks.as_ptr().cast(), len) }
    }
}

#[cfg(any(loom, shuttle))]
impl SharedBlocks {
    #[allow(clippy::needless_pass_by_value, reason = "as without a checker")]
    pub(crate) fn new(blocks: OwnedBlocks) -> Self {
        let words = super::block::words(blocks.as_ref());
        Self { words: words.iter().map(|&word| AtomicU64::new(word)).collect() }
    }

    pub(crate) fn into_owned(self) -> OwnedBlocks {
        let blocks: alloc::vec::Vec<Block> =
            (0..self.num_blocks()).map(|i| self.block(i)).collect();
        OwnedBlocks::copy_of(&blocks).expect("a copy of a small test filter")
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        &self.words
    }
}

/// The words of the smallest page size in use.
const PAGE_WORDS: usize = 4096 / 8;
/// The number of pages touched between two checks for cancellation: up to a huge page.
const PAGES_AT_ONCE: usize = 512;

impl SharedBlocks {
    /// Writes to each page, so that no later write has to wait for the system to provide one;
    /// `false` if `go_on` stopped it. Changes no bits, and other threads may set bits meanwhile.
    pub(crate) fn touch(&self, go_on: &dyn Fn() -> bool) -> bool {
        self.words().chunks(PAGE_WORDS * PAGES_AT_ONCE).all(|words| {
            for page in words.chunks(PAGE_WORDS) {
                // A write even if nothing changes, unlike an "or with 0", which compilers turn into
                // a read. ORDERING: Relaxed, as it publishes nothing; a word that is not 0 has been
                // written to.
                let _ = page[0].compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
            go_on()
        })
    }
}

impl Storage for SharedBlocks {
    fn num_blocks(&self) -> usize {
        self.words().len() / 8
    }

    fn block(&self, index: usize) -> Block {
        let words = &self.words()[index * 8..][..8];
        // ORDERING: Relaxed. A momentary statistic; no other memory belongs to a bit.
        Block(core::array::from_fn(|lane| words[lane].load(Ordering::Relaxed)))
    }
}
