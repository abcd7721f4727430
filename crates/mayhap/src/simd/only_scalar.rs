//! The kernel for targets with only the scalar one: called without a table of functions, so that a
//! module for the browser links only the functions that it calls.

use super::{InstructionSet, Pairs, scalar};
use crate::Digest;
use crate::bits::Block;
use crate::sync::AtomicU64;

/// The scalar kernel for one k: 4, 8 or 16.
#[derive(Clone, Copy)]
pub(crate) struct Backend(u32);

/// Calls a function of `scalar.rs` for this k.
macro_rules! of_k {
    ($backend:expr, $function:ident($($argument:expr),*)) => {
        match $backend.0 {
            4 => scalar::$function::<4>($($argument),*),
            8 => scalar::$function::<8>($($argument),*),
            _ => scalar::$function::<16>($($argument),*),
        }
    };
}

impl Backend {
    /// The kernel for this k, alone.
    pub(crate) fn all(num_hashes: u32) -> impl Iterator<Item = Self> {
        [Self(num_hashes)].into_iter()
    }

    /// The kernel for this k.
    pub(crate) fn detect(num_hashes: u32) -> Self {
        Self(num_hashes)
    }

    /// The kernel for this k.
    pub(crate) fn up_to(num_hashes: u32, _: InstructionSet) -> Self {
        Self(num_hashes)
    }

    /// The kernel's name.
    #[expect(clippy::unused_self, reason = "elsewhere there is more than one")]
    pub(crate) fn name(self) -> &'static str {
        "scalar"
    }

    #[inline(always)]
    pub(crate) fn contains(self, blocks: &[Block], digest: Digest) -> bool {
        of_k!(self, contains(blocks, digest))
    }

    #[inline(always)]
    pub(crate) fn insert(self, blocks: &mut [Block], digest: Digest) -> bool {
        of_k!(self, insert(blocks, digest))
    }

    pub(crate) fn contains_batch(self, blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
        of_k!(self, contains_batch(blocks, digests, found));
    }

    pub(crate) fn insert_batch(self, blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
        of_k!(self, insert_batch(blocks, digests, new));
    }

    /// Queries a digest in blocks into which other threads may be inserting.
    pub(crate) fn contains_shared(self, words: &[AtomicU64], digest: Digest) -> bool {
        of_k!(self, contains_shared(words, digest))
    }

    /// Like [`Backend::contains_shared`], for up to 64 digests: digest `i` is bit `i` of the
    /// answer.
    ///
    /// # Panics
    ///
    /// If there are more.
    pub(crate) fn contains_shared_group(self, words: &[AtomicU64], digests: &[Digest]) -> u64 {
        of_k!(self, contains_shared_group(words, digests))
    }

    /// Inserts a digest while other threads do; `true` if a bit was new.
    pub(crate) fn insert_shared(
        self,
        words: &[AtomicU64],
        digest: Digest,
        pairs: Option<Pairs>,
    ) -> bool {
        of_k!(self, insert_shared(words, digest, pairs))
    }
}

impl core::fmt::Debug for Backend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of the kernels that this machine can run: one.
pub fn kernel_names() -> impl Iterator<Item = &'static str> {
    Backend::all(8).map(Backend::name)
}
