//! The transposition, which the public API does not show.

use super::transpose::transpose;

#[test]
fn transposing_moves_bit_j_of_word_i_to_bit_i_of_word_j() {
    let mut state = 1u64;
    let words: [u64; 64] = core::array::from_fn(|_| {
        state = state.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ state >> 31;
        state
    });
    let mut turned = words;
    transpose(&mut turned);
    for (i, row) in words.iter().enumerate() {
        for (j, column) in turned.iter().enumerate() {
            assert_eq!(row >> j & 1, column >> i & 1, "bit {j} of word {i}");
        }
    }
    transpose(&mut turned);
    assert_eq!(turned, words);
}
