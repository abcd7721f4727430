//! The kernels of compact filters: finding a run in the index of a bucket, and inserting and
//! removing a key.
//!
//! `kernel.rs` says what they do, and `scalar.rs` is the definition; `bmi2.rs` selects bits by an
//! instruction, and `avx512.rs` handles a bucket as two vectors. A loop over keys is compiled once
//! for each of them; `batch.rs` is that of queries.

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx512;
mod batch;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod bmi2;
mod kernel;
mod scalar;
#[cfg(test)]
mod tests;

pub(crate) use batch::{Above, Fronts, InFront};
pub(crate) use kernel::{BucketKernel, BucketTask, GROUP, Place, Words};

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::cpu::Detected;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::limit::{InstructionSet, allows};

/// Runs a computation with the fastest kernel of this CPU.
#[inline]
pub(crate) fn with_buckets<T: BucketTask>(task: T) -> T::Output {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    {
        static FOUND: Detected = Detected::nothing_yet();
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
