//! The choice of the kernel: the fastest one that this CPU has.

use super::kernel::{Kernel, of_k};
use super::{InstructionSet, Pairs};
use crate::Digest;
use crate::bits::Block;
use crate::sync::AtomicU64;

/// A kernel that this CPU can run: only detection creates one, so calling it is sound.
#[derive(Clone, Copy)]
pub(crate) struct Backend(&'static Kernel);

impl Backend {
    /// All kernels for this k that this CPU can run, the fastest first; the last is scalar.
    pub(crate) fn all(num_hashes: u32) -> impl Iterator<Item = Self> {
        [
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
            (super::avx512::is_available(), &super::avx512::KERNELS),
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
            (super::avx2::is_available(), &super::avx2::KERNELS),
            #[cfg(all(target_arch = "aarch64", not(any(loom, shuttle))))]
            (super::neon::is_available(), &super::neon::KERNELS),
            (true, &super::scalar::KERNELS),
        ]
        .into_iter()
        .filter_map(move |(available, kernels)| {
            available.then_some(Self(&kernels[of_k(num_hashes)]))
        })
    }

    /// The fastest kernel for this k that this CPU can run.
    pub(crate) fn detect(num_hashes: u32) -> Self {
        Self::up_to(num_hashes, InstructionSet::Avx512)
    }

    /// The fastest kernel within these instructions.
    pub(crate) fn up_to(num_hashes: u32, most: InstructionSet) -> Self {
        let mut all = Self::all(num_hashes);
        all.find(|kernel| InstructionSet::of_kernel(kernel.name()) <= most)
            .unwrap_or(Self(&super::scalar::KERNELS[of_k(num_hashes)]))
    }

    /// The kernel's name.
    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    #[inline(always)]
    pub(crate) fn contains(self, blocks: &[Block], digest: Digest) -> bool {
        // SAFETY: `all` found the instructions of this kernel on this CPU.
        unsafe { (self.0.contains)(blocks, digest) }
    }

    #[inline(always)]
    pub(crate) fn insert(self, blocks: &mut [Block], digest: Digest) -> bool {
        // SAFETY: `all` found the instructions of this kernel on this CPU.
        unsafe { (self.0.insert)(blocks, digest) }
    }

    pub(crate) fn contains_batch(self, blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
        // SAFETY: `all` found the instructions of this kernel on this CPU.
        unsafe { (self.0.contains_batch)(blocks, digests, found) }
    }

    pub(crate) fn insert_batch(self, blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
        // SAFETY: `all` found the instructions of this kernel on this CPU.
        unsafe { (self.0.insert_batch)(blocks, digests, new) }
    }

    /// Queries a digest in blocks into which other threads may be inserting.
    #[inline(always)]
    pub(crate) fn contains_shared(self, words: &[AtomicU64], digest: Digest) -> bool {
        // SAFETY: `all` found the instructions of this kernel on this CPU.
        unsafe { (self.0.contains_shared)(words, digest) }
    }

    /// Like [`Backend::contains_shared`], for up to 64 digests: digest `i` is bit `i` of the
    /// answer.
    ///
    /// # Panics
    ///
    /// If there are more digests.
    pub(crate) fn contains_shared_group(self, words: &[AtomicU64], digests: &[Digest]) -> u64 {
        // SAFETY: `all` found the instructions of this kernel on this CPU.
        unsafe { (self.0.contains_shared_group)(words, digests) }
    }

    /// Inserts a digest while other threads do; `true` if a bit was new. Reads first, so that keys
    /// already present cost no write to a line that others read.
    ///
    /// # Panics
    ///
    /// If the words are not aligned to 16 bytes (blocks are aligned to 64).
    #[inline(always)]
    pub(crate) fn insert_shared(
        self,
        words: &[AtomicU64],
        digest: Digest,
        pairs: Option<Pairs>,
    ) -> bool {
        // SAFETY: `all` found the instructions of this kernel on this CPU.
        unsafe { (self.0.insert_shared)(words, digest, pairs) }
    }
}

impl core::fmt::Debug for Backend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of the kernels that this CPU can run, the fastest (which filters use) first.
///
/// With the feature `std`, the environment variable `MAYHAP_KERNEL` limits them for tests and
/// measurements: `scalar`, `neon`, `avx2` or `avx512` is then the most that this process uses, in
/// filters of both layouts. It is read once; any other value limits nothing. Answers never depend
/// on it.
///
/// # Examples
///
/// ```
/// assert_eq!(mayhap::kernel_names().last(), Some("scalar"));
/// ```
pub fn kernel_names() -> impl Iterator<Item = &'static str> {
    Backend::all(8).map(Backend::name)
}
