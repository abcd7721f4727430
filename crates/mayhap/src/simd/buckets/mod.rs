//! The kernels of compact filters: finding a run in the index of a bucket, and making room for a
//! key.
//!
//! `scalar.rs` is the definition; `bmi2.rs` selects bits by an instruction, and `avx512.rs` handles
//! a bucket as two vectors. A loop over keys is compiled once for each of them.

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx512;
mod batch;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod bmi2;
mod scalar;
#[cfg(test)]
mod tests;

pub(crate) use batch::{Above, Fronts};

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::cpu::Found;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::limit::{InstructionSet, allows};

/// The words of a bucket.
pub(crate) type Words = [u64; 16];

/// The words that have its index.
pub(crate) type IndexWords = [u64; 8];

/// The hot operations on a bucket. They are `inline(always)`, and so is all that calls them in a
/// [`BucketTask`].
pub(crate) trait BucketKernel {
    /// The bit behind the zero that `run - 1` others precede, 0 for run 0, and all zeros below
    /// `index_bits`, of which there are at least `run`.
    fn find_run(index: &IndexWords, index_bits: u32, run: u32) -> (u32, u32);

    /// Moves the bits `from..to` up by one, loses the highest of them, and sets bit `from`.
    fn insert_one(index: &mut IndexWords, from: u32, to: u32);

    /// Moves the bits `from + 1..to` down by one; bit `to - 1` becomes 0.
    fn remove_one(index: &mut IndexWords, from: u32, to: u32);

    /// Moves the bits from `from` on up by `bits`, 1 to 63, loses the highest of them, and puts
    /// `value` in their place.
    fn insert_bits(words: &mut Words, from: u32, bits: u32, value: u64);

    /// Moves the bits from `from + bits` on down by `bits`, 1 to 63; zeros come in.
    fn remove_bits(words: &mut Words, from: u32, bits: u32);
}

/// A computation over buckets.
pub(crate) trait BucketTask {
    type Output;

    fn run<K: BucketKernel>(self) -> Self::Output;
}

/// Runs a computation with the fastest kernel of this CPU.
#[inline]
pub(crate) fn with_buckets<T: BucketTask>(task: T) -> T::Output {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    {
        static FOUND: Found = Found::nothing_yet();
        let form = FOUND.get_or_find(|| {
            let has_bmi2 = bmi2::is_available() && allows(InstructionSet::Avx2);
            let has_avx512 = avx512::is_available() && allows(InstructionSet::Avx512);
            u8::from(has_bmi2) + u8::from(has_bmi2 && has_avx512)
        });
        match form {
            // SAFETY: the CPU has the features.
            2 => return unsafe { avx512::run(task) },
            // SAFETY: the CPU has the features.
            1 => return unsafe { bmi2::run(task) },
            _ => {}
        }
    }
    task.run::<scalar::Scalar>()
}
