//! Every kernel does to a bucket what the definition does.

use super::kernel::{BucketKernel, BucketTask, GROUP, IndexWords, Place, Words};
use super::scalar::{Scalar, select};
use super::with_buckets;
use crate::positions::splitmix64;

fn words(seed: u64) -> Words {
    let random = |i: u64| splitmix64(seed * 64 + i);
    // Sparse, half full and dense.
    core::array::from_fn(|i| {
        let (a, b) = (random(i as u64), random(i as u64 + 16));
        [a & b, a, a | b, 0, u64::MAX][(seed % 5) as usize]
    })
}

/// A place of a bucket, a remainder for it, and a number below 2^32, from a seed.
fn place(seed: u64) -> (Place, u64, u64) {
    let random = |i: u64, below: u32| (splitmix64(seed * 7 + i) % u64::from(below)) as u32;
    let index_bits = 1 + random(0, 512);
    let index_bit = random(1, index_bits);
    let remainder_bits = random(2, 57);
    let remainder_bit = index_bits + random(3, 1024 - index_bits);
    let remainder = splitmix64(seed) & ((1 << remainder_bits) - 1);
    let place = Place { index_bit, index_bits, remainder_bit, remainder_bits };
    (place, remainder, splitmix64(seed * 7 + 4) >> 32)
}

/// All operations of a kernel on a bucket, with numbers from a seed.
struct All(u64);

impl BucketTask for All {
    type Output = ([Words; 2], [(u32, u32); 2], [(u32, u32); GROUP]);

    fn run<K: BucketKernel>(self) -> Self::Output {
        let before = words(self.0);
        let (place, remainder, random) = place(self.0);
        let mut after = [before; 2];
        K::insert(&mut after[0], place, remainder);
        K::remove(&mut after[1], place);
        let index: &IndexWords = before.first_chunk().unwrap();
        let to = place.index_bits;
        let zeros = (0..to).filter(|&bit| index[bit as usize / 64] >> (bit % 64) & 1 == 0).count();
        let run = random as u32 % (zeros as u32 + 1);
        let found = [0, run].map(|run| K::find_run(index, to, run));
        (after, found, Self::group::<K>(&before, to, zeros as u32, random))
    }
}

impl All {
    /// Runs of two buckets, of which the other one is empty.
    fn group<K: BucketKernel>(
        words: &Words,
        index_bits: u32,
        zeros: u32,
        random: u64,
    ) -> [(u32, u32); GROUP] {
        let front: [_; GROUP] = core::array::from_fn(|i| (random >> i & 1) as usize);
        let run: [_; GROUP] =
            core::array::from_fn(|i| splitmix64(random + i as u64) as u32 % (zeros + 1));
        let mut found = [(0, 0); GROUP];
        let len = random as usize % (GROUP + 1);
        let (front, run) = (&front[..len], &run[..len]);
        K::find_runs(&[*words, [0; 16]], front, index_bits, run, |i, bit, zeros| {
            found[i] = (bit, zeros);
        });
        found
    }
}

#[test]
fn every_kernel_equals_the_definition() {
    for seed in 0..if cfg!(miri) { 20 } else { 50_000 } {
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
    for seed in 0..if cfg!(miri) { 4 } else { 3_000 } {
        let before = words(seed);
        let (after, found, _) = All(seed).run::<Scalar>();
        let (place, remainder, random) = place(seed);
        let (from, to) = (place.index_bit, place.index_bits);
        let (at, bits) = (place.remainder_bit, place.remainder_bits);
        for i in 0..1024 {
            let old = |i: u32| i < 1024 && bit(&before, i);
            let inserted = match i {
                _ if i == from => true,
                _ if i > from && i < to => old(i - 1),
                _ if i < at || bits == 0 => old(i),
                _ if i < at + bits => remainder >> (i - at) & 1 == 1,
                _ => old(i - bits),
            };
            let removed = match i {
                _ if i >= from && i < to => i + 1 < to && old(i + 1),
                _ if i < at => old(i),
                _ => old(i + bits),
            };
            let found = after.each_ref().map(|words| bit(words, i));
            assert_eq!(found, [inserted, removed], "seed {seed}, bit {i}");
        }
        let zeros: u32 = (0..to).map(|i| u32::from(!bit(&before, i))).sum();
        let run = random as u32 % (zeros + 1);
        let behind = (0..to).filter(|&i| !bit(&before, i)).nth(run.max(1) as usize - 1);
        let start = if run == 0 { 0 } else { behind.unwrap() + 1 };
        assert_eq!(found, [(0, zeros), (start, zeros)], "seed {seed}");
    }
}

#[test]
fn each_set_bit_is_selected() {
    for word in
        (0..if cfg!(miri) { 10 } else { 5_000 }).map(splitmix64).chain([1, 1 << 63, u64::MAX])
    {
        for word in [word, word & splitmix64(word), word | splitmix64(word)] {
            let bits = (0..64).filter(|bit| word >> bit & 1 == 1);
            assert!((0..word.count_ones()).map(|n| select(word, n)).eq(bits), "{word:#x}");
        }
    }
}
