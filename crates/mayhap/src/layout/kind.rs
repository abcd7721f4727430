//! The trait through which filters use layouts.

use super::Layout;
use crate::bits::Block;
use crate::sync::AtomicU64;
use crate::{Digest, FilterParams, InstructionSet, simd};

/// The operations of a layout on digests and blocks. Sealed: [`crate::Standard`],
/// [`crate::Blocked`] and [`crate::NarrowBlocked`] are the only ones.
///
/// Batch results are words of bits, key `i` at bit `i % 64` of word `i / 64`; callers pass
/// zeroed words, as many as needed.
#[doc(hidden)]
pub trait LayoutKind: Copy + core::fmt::Debug + Send + Sync + sealed::Sealed {
    const LAYOUT: Layout;
    /// `params` must have this layout.
    fn new(params: &FilterParams) -> Self;
    /// Limits the hot loops to these instructions. `params` as for `new`.
    fn limit_kernel(&mut self, params: &FilterParams, most: InstructionSet);
    /// The instruction set of the hot loops.
    fn kernel_name(&self) -> &'static str;
    fn contains(&self, blocks: &[Block], digest: Digest) -> bool;
    fn insert(&self, blocks: &mut [Block], digest: Digest) -> bool;
    /// Inserts and returns the number of bits that were clear before.
    fn insert_counted(&self, blocks: &mut [Block], digest: Digest) -> u32;
    /// Prefetches the cache lines that the digest needs.
    fn prefetch(&self, blocks: &[Block], digest: Digest);
    fn contains_batch(&self, blocks: &[Block], digests: &[Digest], found: &mut [u64]);
    fn insert_batch(&self, blocks: &mut [Block], digests: &[Digest], new: &mut [u64]);
    fn contains_shared(&self, words: &[AtomicU64], digest: Digest) -> bool;
    /// Queries up to 64 digests: digest `i` is bit `i` of the answer.
    #[inline(always)]
    fn contains_shared_group(&self, words: &[AtomicU64], digests: &[Digest]) -> u64 {
        let answers = digests.iter().enumerate();
        answers.fold(0, |found, (i, &digest)| {
            found | u64::from(self.contains_shared(words, digest)) << i
        })
    }
    fn contains_batch_shared(&self, words: &[AtomicU64], digests: &[Digest], found: &mut [u64]) {
        let is_near = simd::fits_cache(words.len() / 8);
        for (group, found) in digests.chunks(64).zip(found) {
            if !is_near {
                for &digest in group {
                    self.prefetch_shared::<false>(words, digest);
                }
            }
            *found |= self.contains_shared_group(words, group);
        }
    }
    fn insert_shared(&self, words: &[AtomicU64], digest: Digest) -> bool;
    /// Prefetches the cache lines that the digest needs, for reading or writing.
    fn prefetch_shared<const WRITE: bool>(&self, words: &[AtomicU64], digest: Digest);
    /// The probability that an absent key is answered "maybe" by blocks with these contents.
    fn fpp_of(&self, params: &FilterParams, blocks: &impl crate::Storage) -> f64;
}

pub(crate) mod sealed {
    /// Only layouts of this crate implement [`super::LayoutKind`].
    pub trait Sealed {}
}
