//! Digesting many keys: the loop compiled for the CPU at hand, so that fixed-size keys are hashed
//! several at a time.
#![cfg_attr(
    all(target_arch = "x86_64", not(any(loom, shuttle))),
    expect(unsafe_code, reason = "calls to functions with target features")
)]

use crate::Digest;

/// `digests[i] = digest(keys[i])`.
#[inline]
pub(crate) fn digest_batch<K>(keys: &[K], digests: &mut [Digest], digest: impl Fn(&K) -> Digest) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    if super::avx512::is_available() {
        // SAFETY: the CPU has these features.
        return unsafe { digest_batch_avx512(keys, digests, digest) };
    }
    each(keys, digests, digest);
}

#[inline(always)]
fn each<K>(keys: &[K], digests: &mut [Digest], digest: impl Fn(&K) -> Digest) {
    for (out, key) in digests.iter_mut().zip(keys) {
        *out = digest(key);
    }
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn digest_batch_avx512<K>(keys: &[K], digests: &mut [Digest], digest: impl Fn(&K) -> Digest) {
    each(keys, digests, digest);
}
