//! The table of functions that each instruction set fills.

use super::Pairs;
use crate::Digest;
use crate::bits::Block;
use crate::sync::AtomicU64;

/// The functions of one instruction set for one k.
///
/// Batches answer for `digests[i]` in bit `i % 64` of word `i / 64` by or; there must be a word for
/// each 64 digests. Insertions happen in order, as if one at a time.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) contains: unsafe fn(&[Block], Digest) -> bool,
    pub(super) insert: unsafe fn(&mut [Block], Digest) -> bool,
    pub(super) contains_batch: unsafe fn(&[Block], &[Digest], &mut [u64]),
    pub(super) insert_batch: unsafe fn(&mut [Block], &[Digest], &mut [u64]),
    /// While other threads insert.
    pub(super) contains_shared: unsafe fn(&[AtomicU64], Digest) -> bool,
    /// For up to 64 digests.
    pub(super) contains_shared_group: unsafe fn(&[AtomicU64], &[Digest]) -> u64,
    pub(super) insert_shared: unsafe fn(&[AtomicU64], Digest, Option<Pairs>) -> bool,
}

/// The [`Kernel`]s of an instruction set: see [`of_k`].
macro_rules! kernels {
    ($name:literal) => {
        pub(super) static KERNELS: [super::kernel::Kernel; 3] =
            [kernels!($name, 4), kernels!($name, 8), kernels!($name, 16)];
    };
    ($name:literal, $k:literal) => {
        super::kernel::Kernel {
            name: $name,
            contains: contains::<$k>,
            insert: insert::<$k>,
            contains_batch: contains_batch::<$k>,
            insert_batch: insert_batch::<$k>,
            contains_shared: contains_shared::<$k>,
            contains_shared_group: contains_shared_group::<$k>,
            insert_shared: insert_shared::<$k>,
        }
    };
}
pub(super) use kernels;

/// The index into `KERNELS` for this k: 4, 8 or 16.
pub(super) const fn of_k(num_hashes: u32) -> usize {
    match num_hashes {
        4 => 0,
        8 => 1,
        _ => 2,
    }
}
