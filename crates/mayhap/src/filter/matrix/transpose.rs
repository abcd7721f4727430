//! 64 × 64 bits, rows to columns.

/// Bit `j` of word `i` becomes bit `i` of word `j`.
///
/// Swaps halves of halves in six rounds of word operations (Warren 2013, *Hacker's Delight*, 7–3):
/// 192 swaps instead of 4096 bits.
#[inline]
pub(in crate::filter) fn transpose(words: &mut [u64; 64]) {
    swap::<32>(words, 0x0000_0000_FFFF_FFFF);
    swap::<16>(words, 0x0000_FFFF_0000_FFFF);
    swap::<8>(words, 0x00FF_00FF_00FF_00FF);
    swap::<4>(words, 0x0F0F_0F0F_0F0F_0F0F);
    swap::<2>(words, 0x3333_3333_3333_3333);
    swap::<1>(words, 0x5555_5555_5555_5555);
}

/// Swaps the high `N` bits of each 2`N` in the first `N` of 2`N` words with the low bits of the
/// others.
#[inline(always)]
fn swap<const N: usize>(words: &mut [u64; 64], low: u64) {
    for pair in words.chunks_exact_mut(2 * N) {
        let (first, second) = pair.split_at_mut(N);
        for (a, b) in first.iter_mut().zip(second) {
            let differ = (*a >> N ^ *b) & low;
            *a ^= differ << N;
            *b ^= differ;
        }
    }
}
