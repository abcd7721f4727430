//! Digesting many keys: the loop compiled for the detected CPU, so that keys are hashed several at
//! a time.
#![cfg_attr(
    all(target_arch = "x86_64", not(any(loom, shuttle))),
    expect(unsafe_code, reason = "calls to functions with target features")
)]

use crate::Digest;

/// Runs `wide`, compiled for AVX-512, where the CPU has that, and `narrow` elsewhere. Both do the
/// same.
#[inline]
pub(crate) fn digest_batch<K>(
    keys: &[K],
    digests: &mut [Digest],
    wide: impl Fn(&[K], &mut [Digest]),
    narrow: impl Fn(&[K], &mut [Digest]),
) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    if super::avx512::is_available() {
        // SAFETY: the CPU has these features.
        return unsafe { on_avx512(keys, digests, wide) };
    }
    let _ = wide;
    narrow(keys, digests);
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn on_avx512<K>(keys: &[K], digests: &mut [Digest], wide: impl Fn(&[K], &mut [Digest])) {
    wide(keys, digests);
}
