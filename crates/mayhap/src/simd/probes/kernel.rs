//! The table of functions that each instruction set fills.

use crate::Digest;
use crate::sync::{AtomicU64, Ordering};

/// The functions of one instruction set for one k.
///
/// A group is up to 64 digests, and digest `i` is bit `i` of the answer.
///
/// # Safety
///
/// To call them: the CPU has the instruction set, and the words have at least `num_bits` bits.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) contains: Contains<u64>,
    pub(super) contains_shared: Contains<AtomicU64>,
    /// The range by value: a load of it waits for the writes of the insertion before.
    pub(super) insert: unsafe fn(&mut [u64], Digest, Range) -> bool,
    pub(super) insert_group: unsafe fn(&mut [u64], &[Digest], Range) -> u64,
}

/// Queries of words of this kind.
pub(super) struct Contains<W: 'static> {
    /// Reads all bits at once, of filters below 2^32 bits: for words in a near cache, where a
    /// mispredicted branch costs more than the bits that it saves.
    pub(super) near: unsafe fn(&[W], Digest, &Range) -> bool,
    /// Stops early.
    pub(super) far: unsafe fn(&[W], Digest, &Range) -> bool,
    /// Same as `near`.
    pub(super) group: unsafe fn(&[W], &[Digest], &Range) -> u64,
}

/// The [`Kernel`]s of an instruction set at index k - 1: `contains` and `contains_group` of the
/// module, the rest by `bmi2.rs`. Above k = 20, which is a rate of one in a million, all is scalar.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
macro_rules! kernels {
    ($name:literal) => {
        pub(super) static KERNELS: [Kernel; 32] = kernels!(
            $name: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
        );
    };
    ($name:literal: $($k:literal)*) => {{
        use super::{bmi2, kernel::Contains, scalar};
        let mut kernels = [scalar::KERNEL; 32];
        $(kernels[$k - 1] = Kernel {
            name: $name,
            contains: Contains {
                near: contains::<_, $k>,
                far: bmi2::contains_far::<_, $k>,
                group: contains_group::<_, $k>,
            },
            contains_shared: Contains {
                near: contains::<_, $k>,
                far: bmi2::contains_far::<_, $k>,
                group: contains_group::<_, $k>,
            },
            insert: bmi2::insert::<$k>,
            insert_group: bmi2::insert_group::<$k>,
        };)*
        kernels
    }};
}
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
pub(super) use kernels;

/// The input of a kernel: m, and k from 1 to 32.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) num_bits: u64,
    pub(super) num_hashes: u32,
}

/// 64 bits of a filter that this thread owns, or that others write to.
pub(crate) trait Word {
    fn get(&self) -> u64;
}

impl Word for u64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        *self
    }
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        // ORDERING: Relaxed. A bit carries no data but itself.
        self.load(Ordering::Relaxed)
    }
}

/// The bit of a position, lowest, below others.
///
/// # Safety
///
/// `words` has this position.
#[inline(always)]
pub(super) unsafe fn bit<W: Word>(words: &[W], position: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { words.get_unchecked((position / 64) as usize) }.get() >> (position % 64)
}

/// The answers of `answer` for up to 64 digests.
#[inline(always)]
pub(super) fn group(digests: &[Digest], mut answer: impl FnMut(Digest) -> bool) -> u64 {
    let answers = digests.iter().enumerate();
    answers.fold(0, |found, (i, &digest)| found | u64::from(answer(digest)) << i)
}
