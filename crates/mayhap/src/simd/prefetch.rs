//! Asking for cache lines ahead of use.
#![expect(unsafe_code, reason = "prefetch intrinsics")]

use crate::bits::Block;

/// Filters up to 512 KiB are taken to be in a near cache, where prefetching only costs.
const CACHED_BLOCKS: usize = (2 << 20) / Block::BYTES;

/// Whether a filter of this many blocks needs no prefetching.
#[inline(always)]
pub(crate) fn fits_cache(num_blocks: usize) -> bool {
    num_blocks <= CACHED_BLOCKS
}

/// Asks for the cache line of `slice[index]`; does nothing on other architectures.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    let line = slice.as_ptr().wrapping_add(index);
    // SAFETY: a prefetch of any address, mapped or not, has no effect but on caches.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.cast());
    }
    // SAFETY: as above; `prfm` writes neither memory nor flags.
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{line}]",
            line = in(reg) line,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = line;
}
