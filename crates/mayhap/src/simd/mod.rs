//! Kernels: the hot loops of `blocked` per instruction set, chosen at run time, all bit-identical.
//!
//! A kernel is a [`Kernel`] on a private token that only detection can make, so a call needs no
//! further proof that the instructions exist. `scalar` is the definition; `tests` compares every
//! kernel of this machine with it and prints which ran.

/// Whether the CPU at hand has all these features.
#[cfg(not(loom))]
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
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(loom)))]
use has_features;

#[cfg(all(target_arch = "x86_64", not(loom)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(loom)))]
mod avx512;
mod batch;
mod digest;
#[cfg(all(target_arch = "aarch64", not(loom)))]
mod neon;
mod prefetch;
mod scalar;
#[cfg(test)]
mod tests;

pub(crate) use digest::digest_batch;
pub(crate) use prefetch::{fits_cache, prefetch};

use crate::Digest;
use crate::bits::Block;

/// What each instruction set does: `PASSES` is 1 for k = 8 and 2 for k = 16.
trait Kernel: Copy {
    const NAME: &'static str;
    fn detect() -> Option<Self>;
    fn contains<const PASSES: usize>(self, blocks: &[Block], digest: Digest) -> bool;
    fn insert<const PASSES: usize>(self, blocks: &mut [Block], digest: Digest) -> bool;
    fn contains_batch<const PASSES: usize>(
        self,
        blocks: &[Block],
        digests: &[Digest],
        found: &mut [u64],
    );
    fn insert_batch<const PASSES: usize>(
        self,
        blocks: &mut [Block],
        digests: &[Digest],
        new: &mut [u64],
    );
}

/// A kernel that this CPU can run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Backend {
    Scalar(scalar::Token),
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    Avx2(avx2::Token),
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    Avx512(avx512::Token),
    #[cfg(all(target_arch = "aarch64", not(loom)))]
    Neon(neon::Token),
}

macro_rules! with_token {
    ($backend:expr, $token:ident => $call:expr) => {
        match $backend {
            Backend::Scalar($token) => $call,
            #[cfg(all(target_arch = "x86_64", not(loom)))]
            Backend::Avx2($token) => $call,
            #[cfg(all(target_arch = "x86_64", not(loom)))]
            Backend::Avx512($token) => $call,
            #[cfg(all(target_arch = "aarch64", not(loom)))]
            Backend::Neon($token) => $call,
        }
    };
}

macro_rules! with_passes {
    ($passes:expr, $token:ident.$method:ident($($argument:expr),*)) => {
        if $passes == 1 {
            $token.$method::<1>($($argument),*)
        } else {
            $token.$method::<2>($($argument),*)
        }
    };
}

impl Backend {
    /// All kernels that this CPU can run, the fastest first; the last is scalar.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        [
            #[cfg(all(target_arch = "x86_64", not(loom)))]
            avx512::Token::detect().map(Self::Avx512),
            #[cfg(all(target_arch = "x86_64", not(loom)))]
            avx2::Token::detect().map(Self::Avx2),
            #[cfg(all(target_arch = "aarch64", not(loom)))]
            neon::Token::detect().map(Self::Neon),
            scalar::Token::detect().map(Self::Scalar),
        ]
        .into_iter()
        .flatten()
    }

    /// The fastest kernel that this CPU can run.
    pub(crate) fn detect() -> Self {
        Self::all().next().unwrap_or(Self::Scalar(scalar::Token))
    }

    /// The kernel's name.
    pub(crate) fn name(self) -> &'static str {
        fn name_of<K: Kernel>(_: K) -> &'static str {
            K::NAME
        }
        with_token!(self, token => name_of(token))
    }

    #[inline(always)]
    pub(crate) fn contains(self, passes: u8, blocks: &[Block], digest: Digest) -> bool {
        with_token!(self, token => with_passes!(passes, token.contains(blocks, digest)))
    }

    #[inline(always)]
    pub(crate) fn insert(self, passes: u8, blocks: &mut [Block], digest: Digest) -> bool {
        with_token!(self, token => with_passes!(passes, token.insert(blocks, digest)))
    }

    /// Ors the answer for `digests[i]` into bit `i % 64` of `found[i / 64]`.
    pub(crate) fn contains_batch(
        self,
        passes: u8,
        blocks: &[Block],
        digests: &[Digest],
        found: &mut [u64],
    ) {
        assert!(found.len() >= digests.len().div_ceil(64), "one bit per digest");
        with_token!(self, token => with_passes!(passes, token.contains_batch(blocks, digests, found)));
    }

    /// Inserts in order, as if one at a time; answers as [`Backend::contains_batch`].
    pub(crate) fn insert_batch(
        self,
        passes: u8,
        blocks: &mut [Block],
        digests: &[Digest],
        new: &mut [u64],
    ) {
        assert!(new.len() >= digests.len().div_ceil(64), "one bit per digest");
        with_token!(self, token => with_passes!(passes, token.insert_batch(blocks, digests, new)));
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
    Backend::all().map(Backend::name)
}

/// The block index of a digest: always below `blocks.len()`, which must not be 0.
#[inline(always)]
fn block_index(blocks: &[Block], digest: Digest) -> usize {
    crate::layout::positions::block(digest, blocks.len() as u64) as usize
}
