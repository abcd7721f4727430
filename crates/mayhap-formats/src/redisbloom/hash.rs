//! The two hashes: A. Appleby's `MurmurHash2` of 2008, with 64 and with 32 bits (public domain).

/// A key's two hashes; position i is `a + i b`, modulo m.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hashes {
    pub(super) a: u64,
    pub(super) b: u64,
}

impl Hashes {
    pub(super) fn of(key: &[u8], with_64_bits: bool) -> Self {
        if with_64_bits {
            let a = murmur_64a(key, 0xC6A4_A793_5BD1_E995);
            Self { a, b: murmur_64a(key, a) }
        } else {
            let a = murmur_2(key, 0x9747_B28C);
            Self { a: u64::from(a), b: u64::from(murmur_2(key, a)) }
        }
    }
}

/// `MurmurHash64A`. The length is a signed 32-bit number, as passed by the caller.
fn murmur_64a(key: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xC6A4_A793_5BD1_E995;
    let mut hash = seed ^ (key.len() as u64).wrapping_mul(M);
    let (words, tail) = key.as_chunks::<8>();
    for &word in words {
        let mut k = u64::from_le_bytes(word).wrapping_mul(M);
        k ^= k >> 47;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        let last = tail.iter().rev().fold(0, |last: u64, &byte| last << 8 | u64::from(byte));
        hash = (hash ^ last).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 47).wrapping_mul(M);
    hash ^ hash >> 47
}

/// `MurmurHash2`.
fn murmur_2(key: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5BD1_E995;
    let mut hash = seed ^ key.len() as u32;
    let (words, tail) = key.as_chunks::<4>();
    for &word in words {
        let mut k = u32::from_le_bytes(word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        let last = tail.iter().rev().fold(0, |last: u32, &byte| last << 8 | u32::from(byte));
        hash = (hash ^ last).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    hash ^ hash >> 15
}
