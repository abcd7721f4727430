//! Spark's own 32-bit Murmur3.

/// Like `Murmur3_x86_32` up to the last whole block of four bytes. Each byte behind it is
/// sign-extended and mixed as a whole block (SPARK-23381), where Murmur3 gathers them into one.
///
/// A long is hashed as its eight bytes, least significant first.
#[inline]
pub(super) fn murmur3_x86_32(bytes: &[u8], seed: u32) -> u32 {
    finish(seed, bytes, bytes.len())
}

/// Keys hashed at once. A step of one hash waits for the step before it, so the steps of several
/// fill the time.
pub(super) const LANES: usize = 4;

/// [`murmur3_x86_32`] of several keys.
#[inline]
pub(super) fn murmur3_x86_32_lanes(keys: [&[u8]; LANES], seeds: [u32; LANES]) -> [u32; LANES] {
    let common = keys.iter().map(|key| key.len() / 4).min().unwrap_or(0);
    let mut blocks = keys.map(|key| key.as_chunks::<4>().0[..common].iter());
    let mut h1 = seeds;
    for _ in 0..common {
        for (h1, blocks) in h1.iter_mut().zip(&mut blocks) {
            if let Some(&block) = blocks.next() {
                *h1 = mix(*h1, u32::from_le_bytes(block));
            }
        }
    }
    std::array::from_fn(|lane| finish(h1[lane], &keys[lane][common * 4..], keys[lane].len()))
}

/// The blocks and bytes that are left of a key of `len` bytes, and the end.
#[inline]
fn finish(mut h1: u32, rest: &[u8], len: usize) -> u32 {
    let (blocks, tail) = rest.as_chunks::<4>();
    for &block in blocks {
        h1 = mix(h1, u32::from_le_bytes(block));
    }
    for &byte in tail {
        h1 = mix(h1, byte.cast_signed() as u32);
    }
    h1 ^= len as u32;
    h1 = (h1 ^ h1 >> 16).wrapping_mul(0x85EB_CA6B);
    h1 = (h1 ^ h1 >> 13).wrapping_mul(0xC2B2_AE35);
    h1 ^ h1 >> 16
}

#[inline]
fn mix(h1: u32, block: u32) -> u32 {
    let k1 = block.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593);
    (h1 ^ k1).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64)
}

#[cfg(test)]
mod tests {
    use super::{LANES, murmur3_x86_32, murmur3_x86_32_lanes};

    #[test]
    fn hello_hashes_as_in_spark() {
        let h1 = murmur3_x86_32(b"hello", 0);
        assert_eq!((h1, murmur3_x86_32(b"hello", h1)), (0xB21F_6E00, 0x92DD_C9F9));
    }

    #[test]
    fn several_keys_hash_as_each_of_them_does() {
        let text: Vec<u8> = (0..100u8).map(|byte| byte.wrapping_mul(151)).collect();
        for i in 0..400usize {
            let keys: [&[u8]; LANES] = std::array::from_fn(|lane| {
                let from = (i + lane * 7) % 23;
                &text[from..from + (i * (lane + 1)) % 41]
            });
            let seeds = std::array::from_fn(|lane| (i * 0x9E37_79B9 + lane) as u32);
            let expected = std::array::from_fn(|lane| murmur3_x86_32(keys[lane], seeds[lane]));
            assert_eq!(murmur3_x86_32_lanes(keys, seeds), expected);
        }
    }
}
