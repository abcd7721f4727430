//! Blocks that other threads may be writing to, loaded into registers.
//!
//! A register is loaded by one instruction, which to Rust's memory model is a relaxed load of each
//! word, in any order. To the CPU it is that too: an aligned quadword is read at once, and a wider
//! access may be split, but not within such a quadword (Intel, *Software Developer's Manual*,
//! volume 3, 9.1.1; AMD, *Programmer's Manual*, volume 2, 7.3.2).
//!
//! The result does not depend on how it is split. While a filter is shared its bits only change
//! from 0 to 1, so whatever the parts are, each bit is as it was at some moment of the load: a key
//! whose insertion happened before is found, and a missing bit is checked again by the instruction
//! that sets it.
#![expect(unsafe_code, reason = "a load for which Rust has no atomic type")]

use crate::sync::AtomicU64;
use core::arch::x86_64::{__m256i, __m512i};

/// The words of a block in two registers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn halves(words: &[AtomicU64; 8]) -> [__m256i; 2] {
    #[cfg(miri)]
    return bytemuck::cast(one_by_one(words));
    #[cfg(not(miri))]
    {
        let (low, high): (__m256i, __m256i);
        // SAFETY: both halves are in the block, and are only read.
        unsafe {
            core::arch::asm!(
                "vmovdqu {low}, ymmword ptr [{words}]",
                "vmovdqu {high}, ymmword ptr [{words} + 32]",
                words = in(reg) words,
                low = out(ymm_reg) low,
                high = out(ymm_reg) high,
                options(nostack, readonly, preserves_flags),
            );
        }
        [low, high]
    }
}

/// The words of a block in one register.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn whole(words: &[AtomicU64; 8]) -> __m512i {
    let block: __m512i;
    // SAFETY: it is one block, which is only read.
    unsafe {
        core::arch::asm!(
            "vmovdqu64 {block}, zmmword ptr [{words}]",
            words = in(reg) words,
            block = out(zmm_reg) block,
            options(nostack, readonly, preserves_flags),
        );
    }
    block
}

#[cfg(miri)]
fn one_by_one(words: &[AtomicU64; 8]) -> [u64; 8] {
    // ORDERING: Relaxed. A bit carries no data but itself.
    core::array::from_fn(|i| words[i].load(crate::sync::Ordering::Relaxed))
}
