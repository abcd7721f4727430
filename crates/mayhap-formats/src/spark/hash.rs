//! Spark's own 32-bit Murmur3, of one key and of many.
#![expect(
    clippy::needless_range_loop,
    reason = "lanes of several arrays; adapters of iterators may stay functions of their own, \
              compiled for any CPU"
)]

/// Like `Murmur3_x86_32` up to the last whole block of four bytes. Each byte after it is
/// sign-extended and mixed as a whole block (SPARK-23381), where Murmur3 gathers them into one.
///
/// A long is hashed as its eight bytes, least significant first.
#[inline]
pub(super) fn murmur3_x86_32(bytes: &[u8], seed: u32) -> u32 {
    avalanche(absorb(seed, bytes) ^ bytes.len() as u32)
}

/// Keys hashed side by side: a step of one hash waits for the step before it, so the steps of
/// several fill the time. Two registers of AVX-512, which hide each other's latency.
pub(super) const LANES: usize = 32;

/// The number of steps of a key done side by side; longer keys are finished one by one.
const ROWS: usize = 64;

/// The steps of [`LANES`] keys: a block or a byte behind them, row by row.
#[repr(align(64))]
pub(super) struct Rows([[u32; LANES]; ROWS]);

impl Rows {
    pub(super) fn new() -> Self {
        Self([[0; LANES]; ROWS])
    }

    /// Both hashes of each key: the second has the first as its seed.
    #[inline(always)]
    pub(super) fn hash(
        &mut self,
        keys: &[&[u8]; LANES],
        seed: u32,
    ) -> ([u32; LANES], [u32; LANES]) {
        let mut steps = [0; LANES];
        let mut lens = [0; LANES];
        let mut rests: [&[u8]; LANES] = [&[]; LANES];
        let mut any_rest = 0;
        for lane in 0..LANES {
            (steps[lane], rests[lane]) = self.fill(lane, keys[lane]);
            lens[lane] = keys[lane].len() as u32;
            any_rest |= rests[lane].len();
        }
        let mut used = 0;
        for lane in 0..LANES {
            used = steps[lane].max(used);
        }
        let rows = &mut self.0[..used as usize];
        for row in &mut *rows {
            for block in row {
                *block = scramble(*block);
            }
        }
        let mut h1 = [seed; LANES];
        mix_rows(&mut h1, rows, &steps);
        if any_rest > 0 {
            absorb_rests(&mut h1, &rests);
        }
        finish(&mut h1, &lens);
        let mut h2 = h1;
        mix_rows(&mut h2, rows, &steps);
        if any_rest > 0 {
            absorb_rests(&mut h2, &rests);
        }
        finish(&mut h2, &lens);
        (h1, h2)
    }

    /// Puts a key into a lane; returns the number of its rows, and the bytes that did not fit.
    #[inline(always)]
    fn fill<'a>(&mut self, lane: usize, key: &'a [u8]) -> (u32, &'a [u8]) {
        let (blocks, tail) = key.as_chunks::<4>();
        for (row, &block) in self.0.iter_mut().zip(blocks) {
            row[lane] = u32::from_le_bytes(block);
        }
        let steps = blocks.len() + tail.len();
        if steps > ROWS {
            let taken = blocks.len().min(ROWS);
            return (taken as u32, &key[taken * 4..]);
        }
        for (row, &byte) in self.0[blocks.len()..].iter_mut().zip(tail) {
            row[lane] = byte.cast_signed() as u32;
        }
        (steps as u32, &[])
    }
}

#[inline(always)]
fn mix_rows(hashes: &mut [u32; LANES], rows: &[[u32; LANES]], steps: &[u32; LANES]) {
    for (step, row) in (0..).zip(rows) {
        for lane in 0..LANES {
            let mixed = mix_in(hashes[lane], row[lane]);
            hashes[lane] = if step < steps[lane] { mixed } else { hashes[lane] };
        }
    }
}

#[cold]
fn absorb_rests(hashes: &mut [u32; LANES], rests: &[&[u8]; LANES]) {
    for (hash, rest) in hashes.iter_mut().zip(rests) {
        *hash = absorb(*hash, rest);
    }
}

#[inline(always)]
fn finish(hashes: &mut [u32; LANES], lens: &[u32; LANES]) {
    for lane in 0..LANES {
        hashes[lane] = avalanche(hashes[lane] ^ lens[lane]);
    }
}

/// The steps of these blocks and of the bytes behind them.
#[inline(always)]
fn absorb(mut h1: u32, bytes: &[u8]) -> u32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    for &block in blocks {
        h1 = mix_in(h1, scramble(u32::from_le_bytes(block)));
    }
    for &byte in tail {
        h1 = mix_in(h1, scramble(byte.cast_signed() as u32));
    }
    h1
}

#[inline(always)]
fn scramble(block: u32) -> u32 {
    block.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593)
}

#[inline(always)]
fn mix_in(h1: u32, scrambled: u32) -> u32 {
    (h1 ^ scrambled).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64)
}

#[inline(always)]
fn avalanche(h1: u32) -> u32 {
    let h1 = (h1 ^ h1 >> 16).wrapping_mul(0x85EB_CA6B);
    let h1 = (h1 ^ h1 >> 13).wrapping_mul(0xC2B2_AE35);
    h1 ^ h1 >> 16
}

#[cfg(test)]
mod tests {
    use super::{LANES, ROWS, Rows, murmur3_x86_32};

    #[test]
    fn hello_hashes_as_in_spark() {
        let h1 = murmur3_x86_32(b"hello", 0);
        assert_eq!((h1, murmur3_x86_32(b"hello", h1)), (0xB21F_6E00, 0x92DD_C9F9));
    }

    #[test]
    fn several_keys_hash_as_each_of_them_does() {
        let text: Vec<u8> = (0..=255).map(|byte: u8| byte.wrapping_mul(151)).collect();
        let text = text.repeat(2);
        let mut rows = Rows::new();
        for i in 0..2_000usize {
            // Up to 320 bytes: there are rows for 256.
            let most = [12, 41, 100, 321][i % 4];
            let keys: [&[u8]; LANES] = std::array::from_fn(|lane| {
                let from = (i + lane * 7) % 23;
                &text[from..from + (i * (lane + 1) + i / 7) % most]
            });
            let seed = (i * 0x9E37_79B9) as u32;
            let h1 = keys.map(|key| murmur3_x86_32(key, seed));
            let h2 = std::array::from_fn(|lane| murmur3_x86_32(keys[lane], h1[lane]));
            assert_eq!(rows.hash(&keys, seed), (h1, h2));
        }
    }

    #[test]
    fn keys_about_as_long_as_there_are_rows_hash_as_alone() {
        let text = [0xA7; 4 * ROWS + LANES];
        let mut rows = Rows::new();
        for first in 4 * ROWS - 40..4 * ROWS {
            let keys: [&[u8]; LANES] = std::array::from_fn(|lane| &text[..first + lane]);
            assert_eq!(rows.hash(&keys, 7).0, keys.map(|key| murmur3_x86_32(key, 7)));
        }
    }
}
