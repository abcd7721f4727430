//! Kernels: the hot loops per instruction set, chosen at run time, all bit-identical.
//!
//! Each instruction set is one file with a [`Kernel`], a table of functions, for each k of
//! `blocked`; those of `standard` are in `probes`. `scalar` is the definition; `tests` compares
//! every kernel of this machine with it and prints which ran.
#![expect(unsafe_code, reason = "calls to functions with target features")]

/// Whether the CPU at hand has all these features.
#[cfg(not(any(loom, shuttle)))]
macro_rules! has_features {
    ($($feature:tt),*) => {{
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let has = true $(&& std::arch::is_x86_feature_detected!($feature))*;
        #[cfg(all(feature = "std", target_arch = "aarch64"))]
        let has = true $(&& std::arch::is_aarch64_feature_detected!($feature))*;
        #[cfg(not(feature = "std"))]
        let has = true $(&& cfg!(target_feature = $feature))*;
        has
    }};
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx512;
mod batch;
mod cpu;
mod digest;
#[cfg(all(target_arch = "aarch64", not(any(loom, shuttle))))]
mod neon;
mod pair;
mod popcount;
mod prefetch;
mod probes;
mod scalar;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use batch::{contains as for_each_block, insert as for_each_block_mut};
pub use cpu::on_this_cpu;
pub(crate) use digest::digest_batch;
pub(crate) use pair::Pairs;
pub(crate) use popcount::with_popcount;
pub(crate) use prefetch::{fits_cache, prefetch, prefetch_write};
pub(crate) use probes::Probes;

use crate::Digest;
use crate::bits::Block;
use crate::sync::AtomicU64;

/// The functions of one instruction set for one k.
///
/// Batches answer for `digests[i]` in bit `i % 64` of word `i / 64` by or; there must be a word for
/// each 64 digests. Insertions happen in order, as if one at a time.
struct Kernel {
    name: &'static str,
    contains: unsafe fn(&[Block], Digest) -> bool,
    insert: unsafe fn(&mut [Block], Digest) -> bool,
    contains_batch: unsafe fn(&[Block], &[Digest], &mut [u64]),
    insert_batch: unsafe fn(&mut [Block], &[Digest], &mut [u64]),
    /// For up to 64 digests, while other threads insert.
    contains_shared: unsafe fn(&[AtomicU64], &[Digest]) -> u64,
}

/// The [`Kernel`]s of an instruction set: see [`of_k`].
macro_rules! kernels {
    ($name:literal) => {
        pub(super) static KERNELS: [super::Kernel; 3] =
            [kernels!($name, 4), kernels!($name, 8), kernels!($name, 16)];
    };
    ($name:literal, $k:literal) => {
        super::Kernel {
            name: $name,
            contains: contains::<$k>,
            insert: insert::<$k>,
            contains_batch: contains_batch::<$k>,
            insert_batch: insert_batch::<$k>,
            contains_shared: contains_shared::<$k>,
        }
    };
}
use kernels;

/// Which of the `KERNELS` is for this k: 4, 8 or 16.
const fn of_k(num_hashes: u32) -> usize {
    match num_hashes {
        4 => 0,
        8 => 1,
        _ => 2,
    }
}

/// A kernel that this CPU can run: only detection makes one, so calling it is sound.
#[derive(Clone, Copy)]
pub(crate) struct Backend(&'static Kernel);

impl Backend {
    /// All kernels for this k that this CPU can run, the fastest first; the last is scalar.
    pub(crate) fn all(num_hashes: u32) -> impl Iterator<Item = Self> {
        [
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
            (avx512::is_available(), &avx512::KERNELS),
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
            (avx2::is_available(), &avx2::KERNELS),
            #[cfg(all(target_arch = "aarch64", not(any(loom, shuttle))))]
            (neon::is_available(), &neon::KERNELS),
            (true, &scalar::KERNELS),
        ]
        .into_iter()
        .filter_map(move |(available, kernels)| {
            available.then_some(Self(&kernels[of_k(num_hashes)]))
        })
    }

    /// The fastest kernel for this k that this CPU can run.
    pub(crate) fn detect(num_hashes: u32) -> Self {
        Self::all(num_hashes).next().unwrap_or(Self(&scalar::KERNELS[of_k(num_hashes)]))
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

    /// Which of up to 64 digests are in blocks that other threads may be inserting into.
    ///
    /// # Panics
    ///
    /// If the words are not aligned to 64 bytes, as blocks are, and if there are more digests.
    pub(crate) fn contains_shared(self, words: &[AtomicU64], digests: &[Digest]) -> u64 {
        // SAFETY: `all` found the instructions of this kernel on this CPU.
        unsafe { (self.0.contains_shared)(words, digests) }
    }
}

impl core::fmt::Debug for Backend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of the kernels that this CPU can run, the fastest (which filters use) first.
///
/// # Examples
///
/// ```
/// assert_eq!(mayhap::kernel_names().last(), Some("scalar"));
/// ```
pub fn kernel_names() -> impl Iterator<Item = &'static str> {
    Backend::all(8).map(Backend::name)
}

/// The block index of a digest: always below `blocks.len()`, which must not be 0.
#[inline(always)]
fn block_index(blocks: &[Block], digest: Digest) -> usize {
    crate::positions::block(digest, blocks.len() as u64) as usize
}
