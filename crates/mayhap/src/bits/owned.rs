//! The memory owned by a filter: zeroed, cache-line aligned, in huge pages if it is large.
#![expect(unsafe_code, reason = "raw allocation: no safe one is zeroed lazily and aligned")]

use super::Block;
use crate::Error;
use alloc::alloc::{alloc_zeroed, dealloc};
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// From this size on, memory is aligned to huge pages and the kernel is advised to use them.
const HUGE_THRESHOLD: usize = 1 << 20;
const HUGE_PAGE: usize = 2 << 20;
/// Up to this size the allocator aligns the memory. If it aligned more, it would write the zeros
/// itself, page by page, before they are needed and before huge pages can be requested: more is
/// allocated there, and aligned by hand.
const SMALL: usize = 4096;

/// Zeroed, 64-byte aligned blocks that a filter owns.
///
/// From 1 MiB on they are aligned to 2 MiB and, on Linux with `std`, the kernel is advised to back
/// them with huge pages: a filter of 1 GiB then needs 512 TLB entries instead of 262,144. Pages are
/// not touched before they are written.
pub struct OwnedBlocks {
    blocks: NonNull<Block>,
    len: usize,
    /// Bytes of the allocation before the blocks: fewer than a huge page has.
    padding: u32,
}

/// The allocation for blocks of this size, and the alignment that they get in it.
fn allocation_of(size: usize) -> Option<(Layout, usize)> {
    if size <= SMALL {
        return Some((Layout::from_size_align(size, Block::BYTES).ok()?, Block::BYTES));
    }
    let align = if size >= HUGE_THRESHOLD { HUGE_PAGE } else { Block::BYTES };
    Some((Layout::from_size_align(size.checked_add(align)?, 16).ok()?, align))
}

// SAFETY: the memory is owned by this value alone and `Block` is plain data.
unsafe impl Send for OwnedBlocks {}
// SAFETY: as above; `&OwnedBlocks` gives out `&[Block]` only.
unsafe impl Sync for OwnedBlocks {}

impl OwnedBlocks {
    /// Allocates `num_blocks` zeroed blocks.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if the allocator fails or the size exceeds the address space.
    pub fn zeroed(num_blocks: u64) -> Result<Self, Error> {
        let bytes = num_blocks.saturating_mul(Block::BYTES as u64);
        let out_of_memory = Error::OutOfMemory { bytes };
        let size = usize::try_from(bytes).map_err(|_| out_of_memory.clone())?;
        let len = size / Block::BYTES;
        Error::check_range("num_blocks", 1..=u64::MAX, len as u64)?;
        let (allocation, align) = allocation_of(size).ok_or_else(|| out_of_memory.clone())?;
        // SAFETY: `allocation` has a size above 0.
        let base = NonNull::new(unsafe { alloc_zeroed(allocation) }).ok_or(out_of_memory)?;
        let padding = base.as_ptr().align_offset(align);
        // SAFETY: `padding` is 0 if the allocation is aligned. Else it is below `align`, and the
        // allocation is `align` bytes larger than `size`, so `padding .. padding + size` is within
        // it.
        let start = unsafe { base.add(padding) };
        // SAFETY: as above; no other code has the memory, and any contents are valid.
        advise_huge_pages::<u8>(unsafe {
            core::slice::from_raw_parts_mut(start.as_ptr().cast(), size)
        });
        Ok(Self { blocks: start.cast(), len, padding: padding as u32 })
    }

    /// A copy of `blocks`.
    ///
    /// # Errors
    ///
    /// Same as [`OwnedBlocks::zeroed`].
    pub fn copy_of(blocks: &[Block]) -> Result<Self, Error> {
        let mut copy = Self::zeroed(blocks.len() as u64)?;
        copy.as_mut().copy_from_slice(blocks);
        Ok(copy)
    }

    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn as_ptr(&self) -> *mut Block {
        self.blocks.as_ptr()
    }
}

impl AsRef<[Block]> for OwnedBlocks {
    #[inline]
    fn as_ref(&self) -> &[Block] {
        // SAFETY: `blocks` points to `len` zero-initialised, aligned blocks that live as long as
        // `self`, and they are only written through `&mut self`.
        unsafe { core::slice::from_raw_parts(self.blocks.as_ptr(), self.len) }
    }
}

impl AsMut<[Block]> for OwnedBlocks {
    #[inline]
    fn as_mut(&mut self) -> &mut [Block] {
        // SAFETY: as in `as_ref`, and `&mut self` makes the borrow the only one.
        unsafe { core::slice::from_raw_parts_mut(self.blocks.as_ptr(), self.len) }
    }
}

impl Drop for OwnedBlocks {
    fn drop(&mut self) {
        let Some((allocation, _)) = allocation_of(self.len * Block::BYTES) else { return };
        // SAFETY: the allocation began `padding` bytes before the blocks.
        let base = unsafe { self.blocks.cast::<u8>().sub(self.padding as usize) };
        // SAFETY: `base` is from `alloc_zeroed(allocation)`, with this size, and is freed only
        // here.
        unsafe { dealloc(base.as_ptr(), allocation) }
    }
}

impl core::fmt::Debug for OwnedBlocks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "OwnedBlocks({})", self.len)
    }
}

/// Advises the kernel to use huge pages for memory that will hold bits, if there is at least 1 MiB
/// of it: aligned stretches of 2 MiB can be such pages.
///
/// For memory that has not been written to yet, such as the spare capacity of a `Vec`. It is only
/// advice, on Linux with `std`; elsewhere it does nothing.
///
/// # Examples
///
/// ```
/// let mut words: Vec<u64> = Vec::with_capacity(1 << 20);
/// mayhap::advise_huge_pages(words.spare_capacity_mut());
/// words.resize(1 << 20, 0);
/// ```
pub fn advise_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(all(feature = "std", target_os = "linux", not(miri)))]
    {
        let size = core::mem::size_of_val(memory);
        let start: *mut u8 = memory.as_mut_ptr().cast();
        let padding = start.align_offset(HUGE_PAGE);
        if size < HUGE_THRESHOLD || padding >= size {
            return;
        }
        // SAFETY: the range is in `memory`, which only the caller has. Advice changes no contents;
        // a refusal is harmless, so the result is ignored.
        unsafe {
            libc::madvise(start.add(padding).cast(), size - padding, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zeroed_aligned_and_writable_at_every_size() {
        let (small, huge) = ((SMALL / 64) as u64, (HUGE_THRESHOLD / 64) as u64);
        for num_blocks in [1, 2, 5, small, small + 1, huge - 1, huge] {
            let mut blocks = OwnedBlocks::zeroed(num_blocks).unwrap();
            assert_eq!(blocks.as_ref().len() as u64, num_blocks);
            let step = if cfg!(miri) { 997 } else { 1 };
            assert!(blocks.as_ref().iter().step_by(step).all(|b| *b == Block::default()));
            let align = if num_blocks * 64 >= HUGE_THRESHOLD as u64 { HUGE_PAGE } else { 64 };
            assert_eq!(blocks.as_ref().as_ptr().align_offset(align), 0);
            let last = blocks.as_mut().last_mut().unwrap();
            last.0 = [u64::MAX; 8];
            assert_eq!(blocks.as_ref().last().unwrap().count_ones(), 512);
        }
    }

    #[test]
    fn absurd_sizes_are_an_error() {
        for num_blocks in [1 << 57, 1 << 58, u64::MAX] {
            assert!(matches!(OwnedBlocks::zeroed(num_blocks), Err(Error::OutOfMemory { .. })));
        }
        assert!(OwnedBlocks::zeroed(0).is_err());
    }
}
