//! The table of functions that each instruction set fills.

use crate::Digest;

/// The functions of one instruction set.
///
/// # Safety
///
/// To call them: the CPU has the instruction set, and the words have at least `num_bits` bits.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) contains: unsafe fn(&[u64], Digest, Range) -> bool,
    pub(super) contains_batch: unsafe fn(&[u64], &[Digest], Range, &mut [u64]),
}

/// The input of a kernel: m, and k from 1 to 32.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) num_bits: u64,
    pub(super) num_hashes: u32,
}
