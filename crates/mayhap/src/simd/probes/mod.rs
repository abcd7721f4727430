//! Kernels of `standard`: k bits anywhere in m, read and set.
//!
//! `kernel.rs` is a table of functions; `scalar.rs` is the definition, `bmi2.rs` the same code for
//! each k, `avx2.rs` and `avx512.rs` compute the positions of a query side by side, `tests.rs`
//! compares them.

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
mod avx512;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod bmi2;
mod kernel;
mod scalar;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use super::{InstructionSet, fits_cache};
use crate::Digest;
use crate::bits::Block;
use crate::sizing::MAX_NUM_HASHES;
use crate::sync::AtomicU64;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
pub(super) use avx2::{is_available as has_avx2, positions as positions_by_4};
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
pub(super) use avx512::{is_available as has_avx512, positions as positions_by_8};
pub(crate) use kernel::Word;
use kernel::{Kernel, Range};

/// The probes of a filter: their number, their range, and the kernel that this CPU runs.
#[derive(Clone, Copy)]
pub(crate) struct Probes {
    range: Range,
    is_near: bool,
    kernel: &'static Kernel,
}

impl Probes {
    /// The fastest kernel that this CPU can run.
    ///
    /// # Panics
    ///
    /// If `num_hashes` is not from 1 to 32.
    pub(crate) fn new(num_bits: u64, num_hashes: u32) -> Self {
        Self::up_to(num_bits, num_hashes, InstructionSet::Avx512)
    }

    /// The fastest kernel within these instructions.
    ///
    /// # Panics
    ///
    /// Same as [`Probes::new`].
    pub(crate) fn up_to(num_bits: u64, num_hashes: u32, most: InstructionSet) -> Self {
        let mut all = Self::all(num_bits, num_hashes);
        all.find(|probes| InstructionSet::of_kernel(probes.kernel_name()) <= most)
            .expect("the scalar one is always there")
    }

    /// All kernels that this CPU can run, the fastest first; the last is scalar.
    fn all(num_bits: u64, num_hashes: u32) -> impl Iterator<Item = Self> {
        assert!((1..=MAX_NUM_HASHES).contains(&num_hashes), "FilterParams::new checks k");
        let is_near = fits_cache(num_bits.div_ceil(Block::BITS) as usize);
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
        let of_k = num_hashes as usize - 1;
        [
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
            (avx512::is_available(), &avx512::KERNELS[of_k]),
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
            (avx2::is_available(), &avx2::KERNELS[of_k]),
            (true, &scalar::KERNEL),
        ]
        .into_iter()
        .filter_map(move |(is_available, kernel)| {
            let range = Range { num_bits, num_hashes };
            is_available.then_some(Self { range, is_near, kernel })
        })
    }

    pub(crate) fn kernel_name(&self) -> &'static str {
        self.kernel.name
    }

    pub(crate) fn num_bits(&self) -> u64 {
        self.range.num_bits
    }

    pub(crate) fn num_hashes(&self) -> u32 {
        self.range.num_hashes
    }

    /// Whether the filter is assumed to be in a near cache.
    #[inline(always)]
    pub(crate) fn is_near(&self) -> bool {
        self.is_near
    }

    #[inline(always)]
    fn range<W>(&self, words: &[W]) -> &Range {
        assert!(self.range.num_bits <= words.len() as u64 * 64, "a filter has num_bits bits");
        &self.range
    }

    /// Whether all bits of the digest are set.
    #[inline(always)]
    pub(crate) fn contains(&self, words: &[u64], digest: Digest) -> bool {
        let queries = &self.kernel.contains;
        let contains = if self.is_near { queries.near } else { queries.far };
        // SAFETY: `all` found the instructions of this kernel on this CPU; `range` checks the
        // words.
        unsafe { contains(words, digest, self.range(words)) }
    }

    /// Like [`Probes::contains`], for words that other threads may be writing to.
    #[inline(always)]
    pub(crate) fn contains_shared(&self, words: &[AtomicU64], digest: Digest) -> bool {
        let queries = &self.kernel.contains_shared;
        let contains = if self.is_near { queries.near } else { queries.far };
        // SAFETY: as in `contains`.
        unsafe { contains(words, digest, self.range(words)) }
    }

    /// Whether the bits of these probes are set; stops at the first clear one.
    #[inline(always)]
    pub(crate) fn has_each<W: Word>(
        &self,
        words: &[W],
        digest: Digest,
        multipliers: &[u64],
    ) -> bool {
        let range = self.range(words);
        // SAFETY: `range` checks the words.
        unsafe { scalar::has_each(words, digest, range.num_bits, multipliers) }
    }

    /// Like [`Probes::contains`], for up to 64 digests and words in the cache: digest `i` is bit
    /// `i` of the answer.
    pub(crate) fn contains_group(&self, words: &[u64], digests: &[Digest]) -> u64 {
        // SAFETY: as in `contains`.
        unsafe { (self.kernel.contains.group)(words, digests, self.range(words)) }
    }

    /// Like [`Probes::contains_group`], for words that other threads may be writing to.
    pub(crate) fn contains_shared_group(&self, words: &[AtomicU64], digests: &[Digest]) -> u64 {
        // SAFETY: as in `contains`.
        unsafe { (self.kernel.contains_shared.group)(words, digests, self.range(words)) }
    }

    /// Sets all bits of the digest; returns whether one was clear before.
    #[inline(always)]
    pub(crate) fn insert(&self, words: &mut [u64], digest: Digest) -> bool {
        let range = *self.range(words);
        // SAFETY: as in `contains`.
        unsafe { (self.kernel.insert)(words, digest, range) }
    }

    /// Like [`Probes::insert`], for up to 64 digests, in order: digest `i` is bit `i` of the
    /// answer.
    pub(crate) fn insert_group(&self, words: &mut [u64], digests: &[Digest]) -> u64 {
        let range = *self.range(words);
        // SAFETY: as in `contains`.
        unsafe { (self.kernel.insert_group)(words, digests, range) }
    }
}

impl core::fmt::Debug for Probes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} of {} by {}", self.num_hashes(), self.num_bits(), self.kernel.name)
    }
}
