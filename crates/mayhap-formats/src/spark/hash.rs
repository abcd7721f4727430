//! Spark's own 32-bit Murmur3.

/// Like `Murmur3_x86_32` up to the last whole block of four bytes. Each byte behind it is
/// sign-extended and mixed as a whole block (SPARK-23381), where Murmur3 gathers them into one.
///
/// A long is hashed as its eight bytes, least significant first.
#[inline]
pub(super) fn murmur3_x86_32(bytes: &[u8], seed: u32) -> u32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut h1 = seed;
    for &block in blocks {
        h1 = mix(h1, u32::from_le_bytes(block));
    }
    for &byte in tail {
        h1 = mix(h1, byte.cast_signed() as u32);
    }
    h1 ^= bytes.len() as u32;
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
    use super::murmur3_x86_32;

    #[test]
    fn hello_hashes_as_in_spark() {
        let h1 = murmur3_x86_32(b"hello", 0);
        assert_eq!((h1, murmur3_x86_32(b"hello", h1)), (0xB21F_6E00, 0x92DD_C9F9));
    }
}
