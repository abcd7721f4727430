//! Kernels of `standard`: k bits anywhere in m, read and set.
//!
//! `kernel.rs` is a table of functions; `scalar.rs` is the definition, `avx512.rs` computes 8
//! positions at once and gathers their words, `tests.rs` compares the two.

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
mod avx512;
mod kernel;
mod scalar;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use crate::Digest;
use crate::sizing::MAX_NUM_HASHES;
use kernel::{Kernel, Range};

/// The probes of a filter: their number, their range, and the kernel that this CPU runs.
#[derive(Clone, Copy)]
pub(crate) struct Probes {
    num_bits: u64,
    num_hashes: u32,
    kernel: &'static Kernel,
}

impl Probes {
    /// The fastest kernel that this CPU can run.
    ///
    /// # Panics
    ///
    /// If `num_hashes` is not from 1 to 32.
    pub(crate) fn new(num_bits: u64, num_hashes: u32) -> Self {
        Self::all(num_bits, num_hashes).next().expect("the scalar one is always there")
    }

    /// All kernels that this CPU can run, the fastest first; the last is scalar.
    fn all(num_bits: u64, num_hashes: u32) -> impl Iterator<Item = Self> {
        assert!((1..=MAX_NUM_HASHES).contains(&num_hashes), "FilterParams::new checks k");
        [
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
            (avx512::is_available(), &avx512::KERNEL),
            (true, &scalar::KERNEL),
        ]
        .into_iter()
        .filter_map(move |(is_available, kernel)| {
            is_available.then_some(Self { num_bits, num_hashes, kernel })
        })
    }

    pub(crate) fn kernel_name(&self) -> &'static str {
        self.kernel.name
    }

    pub(crate) fn num_bits(&self) -> u64 {
        self.num_bits
    }

    pub(crate) fn num_hashes(&self) -> u32 {
        self.num_hashes
    }

    #[inline(always)]
    fn range(&self, words: &[u64]) -> Range {
        assert!(self.num_bits <= words.len() as u64 * 64, "a filter has num_bits bits");
        Range { num_bits: self.num_bits, num_hashes: self.num_hashes }
    }

    /// Whether all bits of the digest are set; reads all of them at once.
    #[inline(always)]
    pub(crate) fn contains(&self, words: &[u64], digest: Digest) -> bool {
        // SAFETY: `all` found the instructions of this kernel on this CPU; `range` checks the
        // words.
        unsafe { (self.kernel.contains)(words, digest, self.range(words)) }
    }

    /// Whether the bits of these probes are set; stops at the first clear one.
    #[inline(always)]
    pub(crate) fn has_all(&self, words: &[u64], digest: Digest, multipliers: &[u64]) -> bool {
        let range = self.range(words);
        // SAFETY: `range` checks the words.
        unsafe { scalar::has_all(words, digest, range.num_bits, multipliers) }
    }

    /// [`Probes::contains`] for words in the cache, key `i`'s answer or-ed into bit `i % 64` of
    /// word `i / 64`.
    pub(crate) fn contains_batch(&self, words: &[u64], digests: &[Digest], found: &mut [u64]) {
        // SAFETY: as in `contains`.
        unsafe { (self.kernel.contains_batch)(words, digests, self.range(words), found) }
    }

    /// Sets all bits of the digest; returns whether one was clear before.
    #[inline(always)]
    pub(crate) fn insert(&self, words: &mut [u64], digest: Digest) -> bool {
        let range = self.range(words);
        // SAFETY: `range` checks the words.
        unsafe { scalar::insert(words, digest, range) }
    }
}

impl core::fmt::Debug for Probes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} of {} by {}", self.num_hashes, self.num_bits, self.kernel.name)
    }
}
