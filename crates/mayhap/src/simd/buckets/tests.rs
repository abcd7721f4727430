//! Every kernel does to a bucket what the definition does.

use super::scalar::{Scalar, select};
use super::{BucketKernel, BucketTask, IndexWords, Words, with_buckets};
use crate::positions::splitmix64;

fn words(seed: u64) -> Words {
    let random = |i: u64| splitmix64(seed * 64 + i);
    // Sparse, half full and dense.
    core::array::from_fn(|i| {
        let (a, b) = (random(i as u64), random(i as u64 + 16));
        [a & b, a, a | b, 0, u64::MAX][(seed % 5) as usize]
    })
}

/// All operations of a kernel on a bucket, with numbers from a seed.
struct All(u64);

impl BucketTask for All {
    type Output = ([Words; 4], [(u32, u32); 2]);

    fn run<K: BucketKernel>(self) -> Self::Output {
        let before = words(self.0);
        let random = |i: u64, below: u32| (splitmix64(self.0 * 7 + i) % u64::from(below)) as u32;
        let to = 1 + random(0, 512);
        let from = random(1, to);
        let (bits, at) = (1 + random(2, 56), random(3, 1024));
        let value = splitmix64(self.0) & ((1 << bits) - 1);
        let mut after = [before; 4];
        K::insert_one(after[0].first_chunk_mut().unwrap(), from, to);
        K::remove_one(after[1].first_chunk_mut().unwrap(), from, to);
        K::insert_bits(&mut after[2], at, bits, value);
        K::remove_bits(&mut after[3], at, bits);
        let index: &IndexWords = before.first_chunk().unwrap();
        let zeros = (0..to).filter(|&bit| index[bit as usize / 64] >> (bit % 64) & 1 == 0).count();
        let found = [0, random(4, zeros as u32 + 1)].map(|run| K::find_run(index, to, run));
        (after, found)
    }
}

#[test]
fn every_kernel_equals_the_definition() {
    for seed in 0..if cfg!(miri) { 100 } else { 50_000 } {
        let expected = All(seed).run::<Scalar>();
        assert_eq!(with_buckets(All(seed)), expected, "seed {seed}");
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
        if super::bmi2::is_available() {
            // SAFETY: the CPU has the features.
            assert_eq!(unsafe { super::bmi2::run(All(seed)) }, expected, "seed {seed}");
        }
    }
}

/// The definition, bit by bit.
#[test]
fn the_definition_moves_bits_and_finds_runs() {
    let bit = |words: &[u64], i: u32| words[i as usize / 64] >> (i % 64) & 1 == 1;
    for seed in 0..if cfg!(miri) { 20 } else { 3_000 } {
        let before = words(seed);
        let (after, found) = All(seed).run::<Scalar>();
        let random = |i: u64, below: u32| (splitmix64(seed * 7 + i) % u64::from(below)) as u32;
        let to = 1 + random(0, 512);
        let from = random(1, to);
        let (bits, at) = (1 + random(2, 56), random(3, 1024));
        let value = splitmix64(seed) & ((1 << bits) - 1);
        for i in 0..1024 {
            let old = |i: u32| i < 1024 && bit(&before, i);
            let expected = [
                if i == from {
                    true
                } else if (from..to).contains(&i) {
                    old(i - 1)
                } else {
                    old(i)
                },
                if i + 1 == to {
                    false
                } else if (from..to).contains(&i) {
                    old(i + 1)
                } else {
                    old(i)
                },
                if i < at {
                    old(i)
                } else if i < at + bits {
                    value >> (i - at) & 1 == 1
                } else {
                    old(i - bits)
                },
                if i < at { old(i) } else { old(i + bits) },
            ];
            let found = after.each_ref().map(|words| bit(words, i));
            assert_eq!(found, expected, "seed {seed}, bit {i}");
        }
        let zeros: u32 = (0..to).map(|i| u32::from(!bit(&before, i))).sum();
        let run = random(4, zeros + 1);
        let behind = (0..to).filter(|&i| !bit(&before, i)).nth(run.max(1) as usize - 1);
        let start = if run == 0 { 0 } else { behind.unwrap() + 1 };
        assert_eq!(found, [(0, zeros), (start, zeros)], "seed {seed}");
    }
}

#[test]
fn each_set_bit_is_selected() {
    for word in
        (0..if cfg!(miri) { 50 } else { 5_000 }).map(splitmix64).chain([1, 1 << 63, u64::MAX])
    {
        for word in [word, word & splitmix64(word), word | splitmix64(word)] {
            let bits = (0..64).filter(|bit| word >> bit & 1 == 1);
            assert!((0..word.count_ones()).map(|n| select(word, n)).eq(bits), "{word:#x}");
        }
    }
}
