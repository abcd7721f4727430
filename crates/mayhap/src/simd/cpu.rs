//! Plain loops compiled for the CPU at hand.
#![cfg_attr(
    all(target_arch = "x86_64", not(any(loom, shuttle))),
    expect(unsafe_code, reason = "calls to functions with target features")
)]

/// Runs a computation compiled for AVX-512 or AVX2, whichever the CPU at hand has: the same code,
/// for which the compiler may use more instructions than the target guarantees.
///
/// This helps only if the closure and everything that it calls are `#[inline(always)]`. Detecting
/// the CPU takes a nanosecond, so it is meant for loops over many items.
///
/// # Examples
///
/// ```
/// let numbers = [1, 2, 3];
/// let sum = mayhap::on_this_cpu(
///     #[inline(always)]
///     || numbers.iter().sum::<u32>(),
/// );
/// assert_eq!(sum, 6);
/// ```
#[inline]
pub fn on_this_cpu<T>(computation: impl FnOnce() -> T) -> T {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    {
        if super::avx512::is_available() {
            // SAFETY: the CPU has these features.
            return unsafe { on_avx512(computation) };
        }
        if super::avx2::is_available() {
            // SAFETY: the CPU has these features.
            return unsafe { on_avx2(computation) };
        }
    }
    computation()
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn on_avx512<T>(computation: impl FnOnce() -> T) -> T {
    computation()
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn on_avx2<T>(computation: impl FnOnce() -> T) -> T {
    computation()
}

#[cfg(all(test, target_arch = "x86_64", not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::DigestFunction;
    use crate::positions::splitmix64;
    use alloc::vec::Vec;

    /// Each form, whichever this CPU would choose.
    #[test]
    fn a_loop_of_digests_gives_the_same_in_each_form() {
        let function = DigestFunction::xxh3(5);
        let keys: Vec<u64> = (0..if cfg!(miri) { 50 } else { 1000 }).map(splitmix64).collect();
        let one_by_one: Vec<_> = keys.iter().map(|key| function.digest(key)).collect();
        let all = || keys.iter().map(|key| function.digest(key)).collect::<Vec<_>>();
        assert_eq!(on_this_cpu(all), one_by_one);
        if super::super::avx2::is_available() {
            // SAFETY: the CPU has these features.
            assert_eq!(unsafe { on_avx2(all) }, one_by_one);
        }
        if super::super::avx512::is_available() {
            // SAFETY: the CPU has these features.
            assert_eq!(unsafe { on_avx512(all) }, one_by_one);
        }
    }
}
