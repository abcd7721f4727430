//! Counting bits: loops compiled for a CPU that has an instruction for it.
#![cfg_attr(
    all(target_arch = "x86_64", not(any(loom, shuttle))),
    expect(unsafe_code, reason = "calls to functions with target features")
)]

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::cpu::Detected;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::limit::{InstructionSet, allows};

/// Runs `count`, a loop over blocks, with the CPU's population count instruction if it has one: the
/// closure becomes part of a function that is compiled for it. Otherwise a count takes 12
/// instructions per word.
#[inline]
pub(crate) fn with_popcount<R>(count: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    {
        static FOUND: Detected = Detected::nothing_yet();
        let form = FOUND.get_or_find(|| {
            let has_popcnt = has_features!("popcnt");
            let has_vectors = allows(InstructionSet::Avx512)
                && has_features!("avx512f", "avx512vl", "avx512vpopcntdq");
            u8::from(has_popcnt) + u8::from(has_popcnt && has_vectors)
        });
        match form {
            // SAFETY: the CPU has these features.
            2 => return unsafe { with_avx512(count) },
            // SAFETY: the CPU has this feature.
            1 => return unsafe { with_popcnt(count) },
            _ => {}
        }
    }
    count()
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
fn with_avx512<R>(count: impl FnOnce() -> R) -> R {
    count()
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
#[target_feature(enable = "popcnt")]
fn with_popcnt<R>(count: impl FnOnce() -> R) -> R {
    count()
}
