//! Plain loops compiled for the detected CPU.
#![cfg_attr(
    all(target_arch = "x86_64", not(any(loom, shuttle))),
    expect(unsafe_code, reason = "calls to functions with target features")
)]

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use core::sync::atomic::{AtomicU8, Ordering};

/// Runs a computation compiled for AVX-512 or AVX2, whichever this CPU has: the same code, for
/// which the compiler may use more instructions than the target guarantees.
///
/// This helps only if the closure and everything that it calls are `#[inline(always)]`.
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
        static FOUND: Detected = Detected::nothing_yet();
        let form = FOUND.get_or_find(|| {
            let has_avx2 = super::avx2::is_available();
            u8::from(has_avx2) + u8::from(has_avx2 && super::avx512::is_available())
        });
        match form {
            // SAFETY: the CPU has these features.
            2 => return unsafe { on_avx512(computation) },
            // SAFETY: the CPU has these features.
            1 => return unsafe { on_avx2(computation) },
            _ => {}
        }
    }
    computation()
}

/// The detected features of the CPU, as one of a few numbers: detecting several features each time
/// takes as long as a short loop.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
pub(super) struct Detected(AtomicU8);

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
impl Detected {
    const NOTHING: u8 = u8::MAX;

    pub(super) const fn nothing_yet() -> Self {
        Self(AtomicU8::new(Self::NOTHING))
    }

    /// The number, which `find` gives the first time and each time.
    #[inline(always)]
    pub(super) fn get_or_find(&self, find: impl FnOnce() -> u8) -> u8 {
        // ORDERING: Relaxed. All threads find the same, and nothing else hangs on it.
        match self.0.load(Ordering::Relaxed) {
            Self::NOTHING => self.find(find),
            found => found,
        }
    }

    #[cold]
    fn find(&self, find: impl FnOnce() -> u8) -> u8 {
        let found = find();
        // ORDERING: as in `get_or_find`.
        self.0.store(found, Ordering::Relaxed);
        found
    }
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

#[cfg(test)]
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
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
