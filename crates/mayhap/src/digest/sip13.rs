//! `sip13`: SipHash-1-3 with a secret 128-bit key, for keys chosen by untrusted parties.

use super::{Digest, Key};
use siphasher::sip::SipHasher13;

#[inline(always)]
pub(super) fn digest(bytes: &[u8], key: &[u8; 16]) -> u64 {
    // Hashes the bytes alone: no length or type tag is mixed in.
    SipHasher13::new_with_key(key).hash(bytes)
}

/// Keys that are hashed side by side.
const LANES: usize = 8;
/// The most words of a key in a lane; longer keys are hashed one by one.
const MAX_WORDS: usize = 16;

/// Like [`digest`], for many keys, [`LANES`] at a time: the speed depends on the vector width of
/// the code that it is inlined into.
#[inline(always)]
pub(super) fn digest_batch<K: Key>(keys: &[K], digests: &mut [Digest], secret: &[u8; 16]) {
    // Leftovers of an earlier key in a lane are never read.
    let mut words = [[0; LANES]; MAX_WORDS];
    let (many, rest) = keys.as_chunks::<LANES>();
    let (for_many, for_rest) = digests.split_at_mut(many.len() * LANES);
    for (keys, digests) in many.iter().zip(for_many.as_chunks_mut::<LANES>().0) {
        let mut counts = [0; LANES];
        for (lane, key) in keys.iter().enumerate() {
            counts[lane] = key.with_bytes(|bytes| put_words(bytes, &mut words, lane));
        }
        if counts.contains(&0) {
            digest_each(keys, digests, secret);
        } else {
            *digests = digest_lanes(&words, &counts, secret).map(Digest::new);
        }
    }
    digest_each(rest, for_rest, secret);
}

/// Like [`digest`], for many keys, one after another.
#[inline(always)]
pub(super) fn digest_each<K: Key>(keys: &[K], digests: &mut [Digest], secret: &[u8; 16]) {
    for (out, key) in digests.iter_mut().zip(keys) {
        *out = key.with_bytes(|bytes| Digest::new(digest(bytes, secret)));
    }
}

/// Splits a key into the words that are compressed, the last of them with the key's length;
/// returns how many, or 0 if there are too many.
#[inline(always)]
fn put_words(bytes: &[u8], words: &mut [[u64; LANES]; MAX_WORDS], lane: usize) -> u64 {
    let (whole, rest) = bytes.as_chunks::<8>();
    if whole.len() >= MAX_WORDS {
        return 0;
    }
    for (words, whole) in words.iter_mut().zip(whole) {
        words[lane] = u64::from_le_bytes(*whole);
    }
    let tail = match bytes.last_chunk() {
        // The last 8 bytes, without the bytes that are already in the previous word.
        Some(last) if !rest.is_empty() => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
        Some(_) => 0,
        None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    words[whole.len()][lane] = (bytes.len() as u64) << 56 | tail;
    whole.len() as u64 + 1
}

/// SipHash-1-3 of one key per lane, each of `counts` words.
#[inline(always)]
fn digest_lanes(
    words: &[[u64; LANES]; MAX_WORDS],
    counts: &[u64; LANES],
    key: &[u8; 16],
) -> [u64; LANES] {
    let [k0, k1] = [0, 8].map(|from| u64::from_le_bytes(core::array::from_fn(|i| key[from + i])));
    // The constants of the specification, "somepseudorandomlygeneratedbytes".
    let mut state = [
        [k0 ^ 0x736f_6d65_7073_6575; LANES],
        [k1 ^ 0x646f_7261_6e64_6f6d; LANES],
        [k0 ^ 0x6c79_6765_6e65_7261; LANES],
        [k1 ^ 0x7465_6462_7974_6573; LANES],
    ];
    let most = counts.iter().copied().max().unwrap_or(0);
    for (i, words) in (0..most).zip(words) {
        let before = state;
        for lane in 0..LANES {
            state[3][lane] ^= words[lane];
        }
        round(&mut state);
        for lane in 0..LANES {
            state[0][lane] ^= words[lane];
        }
        for (now, before) in state.iter_mut().zip(&before) {
            for lane in 0..LANES {
                now[lane] = if i < counts[lane] { now[lane] } else { before[lane] };
            }
        }
    }
    state[2].iter_mut().for_each(|lane| *lane ^= 0xff);
    for _ in 0..3 {
        round(&mut state);
    }
    let [a, b, c, d] = state;
    core::array::from_fn(|lane| a[lane] ^ b[lane] ^ c[lane] ^ d[lane])
}

/// A round of the specification in each lane.
#[inline(always)]
fn round([v0, v1, v2, v3]: &mut [[u64; LANES]; 4]) {
    for lane in 0..LANES {
        v0[lane] = v0[lane].wrapping_add(v1[lane]);
        v2[lane] = v2[lane].wrapping_add(v3[lane]);
        v1[lane] = v1[lane].rotate_left(13) ^ v0[lane];
        v3[lane] = v3[lane].rotate_left(16) ^ v2[lane];
        v0[lane] = v0[lane].rotate_left(32).wrapping_add(v3[lane]);
        v2[lane] = v2[lane].wrapping_add(v1[lane]);
        v3[lane] = v3[lane].rotate_left(21) ^ v0[lane];
        v1[lane] = v1[lane].rotate_left(17) ^ v2[lane];
        v2[lane] = v2[lane].rotate_left(32);
    }
}
