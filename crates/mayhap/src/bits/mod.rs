//! The storage of the bits: 64-byte blocks, owned, shared between threads, or borrowed from a file.
//!
//! | file | contents |
//! |---|---|
//! | `bitmap.rs` | the answers of a batch: one bit per key |
//! | `block.rs` | the unit of storage: one cache line |
//! | `owned.rs` | the memory owned by a filter |
//! | `shared.rs` | blocks that many threads write at once |

mod bitmap;
pub(crate) mod block;
mod owned;
mod shared;

pub use bitmap::Bitmap;
pub(crate) use bitmap::ones;
pub use block::Block;
pub use owned::{OwnedBlocks, advise_huge_pages};
pub use shared::SharedBlocks;

/// Blocks that can be read: owned, shared, mapped from a file or borrowed (`&[Block]`).
pub trait Storage {
    /// The number of blocks.
    fn num_blocks(&self) -> usize;

    /// A copy of one block.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`Storage::num_blocks`].
    fn block(&self, index: usize) -> Block;

    /// The number of set bits in all blocks. Reads them all.
    fn count_ones(&self) -> u64 {
        // A plain loop: an iterator's `fold` may remain a separate function, compiled without the
        // instruction.
        crate::simd::with_popcount(
            #[inline(always)]
            || {
                let mut ones = 0;
                for i in 0..self.num_blocks() {
                    ones += u64::from(self.block(i).count_ones());
                }
                ones
            },
        )
    }
}

impl<T: AsRef<[Block]>> Storage for T {
    #[inline]
    fn num_blocks(&self) -> usize {
        self.as_ref().len()
    }

    #[inline]
    fn block(&self, index: usize) -> Block {
        self.as_ref()[index]
    }
}

/// Blocks that one thread can write: owned or borrowed mutably.
pub trait StorageMut: AsRef<[Block]> + AsMut<[Block]> {}

impl<T: AsRef<[Block]> + AsMut<[Block]>> StorageMut for T {}
