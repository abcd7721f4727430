//! Every kernel answers as the definition does, and that as the sum bit by bit.

use super::kernel::{Lines, PLANES, PlaneKernel, PlaneTask};
use super::scalar::Scalar;
use super::with_planes;
use crate::positions::splitmix64;
use alloc::vec::Vec;

/// Planes of two segments, a shift and coefficients from a seed, and the sums of the slots.
struct Sum {
    planes: usize,
    low: [u64; PLANES],
    high: [u64; PLANES],
    shift: u32,
    coefficients: u64,
    bits: u32,
}

impl Sum {
    fn of(seed: u64) -> Self {
        let random = |i: u64| splitmix64(seed * 64 + i);
        let planes = 1 + (random(0) % PLANES as u64) as usize;
        let low = core::array::from_fn(|i| random(1 + i as u64));
        let high = core::array::from_fn(|i| random(9 + i as u64));
        let (shift, coefficients) = ((random(17) % 64) as u32, random(18) | 1);
        let slot = |plane: usize, i: u32| {
            let (word, bit) = if i < 64 { (low[plane], i) } else { (high[plane], i - 64) };
            (word >> bit & 1) as u32
        };
        let bits = (0..planes).fold(0, |bits, plane| {
            let chosen = (0..64).filter(|i| coefficients >> i & 1 == 1);
            bits | (chosen.map(|i| slot(plane, shift + i)).sum::<u32>() & 1) << plane
        });
        Self { planes, low, high, shift, coefficients, bits }
    }
}

/// The answers for the sum, for one that differs in each plane alone, and for one that differs in
/// the bits that do not count.
struct Answers<'a>(&'a Sum);

impl PlaneTask for Answers<'_> {
    type Output = Vec<bool>;

    #[inline(always)]
    fn run<K: PlaneKernel>(self) -> Vec<bool> {
        let Sum { planes, low, high, shift, coefficients, bits } = *self.0;
        // The last words of the slice, and other words before each.
        let words: Vec<u64> = [&[u64::MAX][..], &low[..planes], &[!0, 0], &high[..planes]].concat();
        let lines = Lines { low: 1, high: 3 + planes, planes };
        let differ = (0..planes).map(|plane| 1 << plane);
        let differ = [0, u32::MAX << planes].into_iter().chain(differ);
        differ.map(|differ| K::agrees(&words, lines, shift, coefficients, bits ^ differ)).collect()
    }
}

#[test]
fn every_kernel_finds_each_bit_that_differs() {
    for seed in 0..if cfg!(miri) { 40 } else { 20_000 } {
        let sum = Sum::of(seed);
        let mut expected = [false; PLANES + 2];
        (expected[0], expected[1]) = (true, true);
        let expected = &expected[..sum.planes + 2];
        assert_eq!(Answers(&sum).run::<Scalar>(), expected, "seed {seed}");
        assert_eq!(with_planes(Answers(&sum)), expected, "seed {seed}");
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
        if super::avx2::is_available() {
            // SAFETY: the CPU has the features.
            assert_eq!(unsafe { super::avx2::run(Answers(&sum)) }, expected, "seed {seed}");
        }
    }
}
