//! Bits are selected by the instruction that scatters bits to the set ones of a mask; all else is
//! the scalar code, compiled for more instructions.

use super::kernel::{BucketKernel, BucketTask, IndexWords, Place, Words};
use super::scalar::{self, Scalar};

struct Bmi2;

pub(super) fn is_available() -> bool {
    has_features!("avx2", "bmi1", "bmi2", "popcnt", "lzcnt")
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn run<T: BucketTask>(task: T) -> T::Output {
    task.run::<Bmi2>()
}

/// [`scalar::select`] by an instruction.
#[target_feature(enable = "bmi2")]
#[inline]
pub(super) fn select(word: u64, n: u32) -> u32 {
    core::arch::x86_64::_pdep_u64(1 << n, word).trailing_zeros()
}

impl BucketKernel for Bmi2 {
    #[inline(always)]
    fn find_run(index: &IndexWords, index_bits: u32, run: u32) -> (u32, u32) {
        // SAFETY: this kernel is used in `run` alone, on a CPU that has the feature.
        scalar::find_run(index, index_bits, run, |word, n| unsafe { select(word, n) })
    }

    #[inline(always)]
    fn insert(words: &mut Words, place: Place, remainder: u64) {
        Scalar::insert(words, place, remainder);
    }

    #[inline(always)]
    fn remove(words: &mut Words, place: Place) {
        Scalar::remove(words, place);
    }
}
