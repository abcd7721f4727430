//! Blocks that other threads may be writing to, loaded into registers.
#![expect(unsafe_code, reason = "a load for which Rust has no atomic type")]

use crate::sync::AtomicU64;
use core::arch::x86_64::__m128i;

/// The words of a block, two per register.
///
/// To Rust's memory model a relaxed load of each word. CPUs with AVX execute an aligned load of 16
/// bytes as one (Intel, *Software Developer's Manual*, volume 3, 9.1.1; AMD, volume 2, 7.3.2), so a
/// word is never seen partially written.
///
/// # Safety
///
/// `words` is aligned to 16 bytes.
#[inline]
#[target_feature(enable = "avx")]
pub(super) unsafe fn pairs(words: &[AtomicU64; 8]) -> [__m128i; 4] {
    core::array::from_fn(|i| {
        #[cfg(miri)]
        {
            // ORDERING: Relaxed. A bit carries no data but itself.
            use crate::sync::Ordering::Relaxed;
            let [low, high] = [0, 1].map(|j| words[2 * i + j].load(Relaxed).cast_signed());
            core::arch::x86_64::_mm_set_epi64x(high, low)
        }
        #[cfg(not(miri))]
        {
            let pair: __m128i;
            // SAFETY: words `2 i` and `2 i + 1` are in the block and, as the caller promises,
            // aligned; they are only read.
            unsafe {
                core::arch::asm!(
                    "vmovdqa {pair}, xmmword ptr [{words}]",
                    pair = out(xmm_reg) pair,
                    words = in(reg) &raw const words[2 * i],
                    options(nostack, readonly, preserves_flags),
                );
            }
            pair
        }
    })
}
