//! The kernels of ribbon filters: whether a sum of slots is a fingerprint, for eight bits at once.
//!
//! `kernel.rs` says what they do, and `scalar.rs` is the definition; `avx2.rs` and `avx512.rs` have
//! a bit of the fingerprint in each lane. A loop over keys is compiled once for each of them.

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx512;
mod kernel;
mod scalar;
#[cfg(test)]
mod tests;

pub(crate) use kernel::{Lines, PLANES, PlaneKernel, PlaneTask};

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::cpu::Detected;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::limit::{InstructionSet, allows};

/// Runs a computation with the fastest kernel of this CPU.
#[inline]
pub(crate) fn with_planes<T: PlaneTask>(task: T) -> T::Output {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    {
        static FOUND: Detected = Detected::nothing_yet();
        let form = FOUND.get_or_find(|| {
            let has_avx2 = avx2::is_available() && allows(InstructionSet::Avx2);
            let has_avx512 = avx512::is_available() && allows(InstructionSet::Avx512);
            u8::from(has_avx2) + u8::from(has_avx2 && has_avx512)
        });
        match form {
            // SAFETY: the CPU has the features.
            2 => return unsafe { avx512::run(task) },
            // SAFETY: the CPU has the features.
            1 => return unsafe { avx2::run(task) },
            _ => {}
        }
    }
    super::with_popcount(
        #[inline(always)]
        || task.run::<scalar::Scalar>(),
    )
}
