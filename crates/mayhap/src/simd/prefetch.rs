//! Requests for cache lines ahead of use.
#![cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64", target_family = "wasm"),
    expect(unsafe_code, reason = "prefetch intrinsics, and loads in their place")
)]

use crate::bits::Block;
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
use core::arch::asm;

/// Filters of up to 2 MiB, about the second-level cache of a core, are assumed to be in a near
/// cache, where prefetching only adds cost.
const CACHED_BLOCKS: usize = (2 << 20) / Block::BYTES;

/// Whether a filter of this many blocks needs no prefetching.
#[inline(always)]
pub(crate) fn fits_cache(num_blocks: usize) -> bool {
    num_blocks <= CACHED_BLOCKS
}

/// Requests the cache line of `slice[index]`, to read it; does nothing on other architectures.
///
/// WebAssembly has no prefetch. A load whose value is not used takes its place: the processor
/// continues without it, and has many such loads in flight at once.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    let line = slice.as_ptr().wrapping_add(index);
    // SAFETY: a prefetch of any address, mapped or not, only affects caches; `prfm` writes neither
    // memory nor flags.
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(line.cast());
        #[cfg(target_arch = "aarch64")]
        asm!("prfm pldl1keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_family = "wasm")]
    if index < slice.len() {
        // SAFETY: in bounds, as compared; the elements are blocks and words, whose bytes are all
        // initialised.
        let _ = unsafe { line.cast::<u8>().read_volatile() };
    }
    #[cfg(any(
        miri,
        not(any(target_arch = "x86_64", target_arch = "aarch64", target_family = "wasm"))
    ))]
    let _ = line;
}

/// Like [`prefetch`], but into the second-level cache, which waits for more lines at once than the
/// first: for keys of several lines.
#[inline(always)]
pub(crate) fn prefetch_far<T>(slice: &[T], index: usize) {
    let line = slice.as_ptr().wrapping_add(index);
    // SAFETY: as in `prefetch`.
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T1 }>(line.cast());
        #[cfg(target_arch = "aarch64")]
        asm!("prfm pldl2keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = line;
        prefetch(slice, index);
    }
}

/// Requests the cache line of `slice[index]`, to write it: one transfer from another core instead
/// of one to read and one to own. Does nothing on other architectures.
#[inline(always)]
pub(crate) fn prefetch_write<T>(slice: &[T], index: usize) {
    let line = slice.as_ptr().wrapping_add(index);
    // SAFETY: as in `prefetch`. `prefetchw` is a no-op on the 64-bit CPUs that do not support it;
    // the intrinsic would become a prefetch to read unless the crate is compiled for newer ones.
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("prefetchw [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
        #[cfg(target_arch = "aarch64")]
        asm!("prfm pstl1keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = line;
}
