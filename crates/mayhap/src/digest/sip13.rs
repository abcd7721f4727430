//! `sip13`: SipHash-1-3 with a secret 128-bit key, for keys that strangers choose.

use core::hash::Hasher;
use siphasher::sip::SipHasher13;

#[inline(always)]
pub(super) fn digest(bytes: &[u8], key: &[u8; 16]) -> u64 {
    let mut hasher = SipHasher13::new_with_key(key);
    // `write` takes the bytes alone: no length or type tag is mixed in.
    hasher.write(bytes);
    hasher.finish()
}
