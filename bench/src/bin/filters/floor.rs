//! The lower bound of every filter's time: hashing the key, and reading one cache line for it.
#![expect(unsafe_code, reason = "prefetch intrinsic")]

use crate::contestants::{Contestant, DIGEST, Scratch, Table};
use mayhap::{Block, BlockedBloomFilter, Digest, OwnedBlocks};
use mayhap_bench::keys::BenchKey;

/// Adds the floors, with a buffer as large as the blocked filter and in the same kind of pages.
pub(crate) fn add<K: BenchKey>(table: &mut Table<K>, target_fpp: f64) {
    let builder = BlockedBloomFilter::builder().expected_items(table.n).target_fpp(target_fpp);
    add_of_size(table, builder.params().expect("a filter of this size").num_blocks());
}

/// The same with a buffer of this many cache lines.
pub(crate) fn add_of_size<K: BenchKey>(table: &mut Table<K>, num_blocks: u64) {
    let lines = || {
        let mut blocks = OwnedBlocks::zeroed(num_blocks).expect("enough memory");
        blocks.as_mut().fill(Block([1; 8])); // or all pages would be the one zero page
        blocks
    };
    table.add_filled("floor: hash", f64::NAN, HashAlone);
    table.add_filled("floor: hash + one line", f64::NAN, OneLine(lines()));
    table.add_filled("floor: hash + one line, batch", f64::NAN, OneLineBatch(lines()));
}

struct HashAlone;

impl<K: BenchKey> Contestant<K> for HashAlone {
    fn free(&mut self) -> u64 {
        0
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        keys.iter().fold(0, |sum, key| sum ^ DIGEST.digest(key).get())
    }
}

fn line_of(blocks: &[Block], digest: Digest) -> usize {
    ((u128::from(digest.get()) * blocks.len() as u128) >> 64) as usize
}

fn read(blocks: &[Block], digest: Digest) -> u64 {
    blocks[line_of(blocks, digest)].0[0]
}

struct OneLine(OwnedBlocks);

impl<K: BenchKey> Contestant<K> for OneLine {
    fn free(&mut self) -> u64 {
        size_of_val(self.0.as_ref()) as u64
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        let blocks = self.0.as_ref();
        keys.iter().map(|key| read(blocks, DIGEST.digest(key))).sum()
    }
}

/// The number of digests that are computed together, and of lines that are requested together.
const CHUNK: usize = 512;
const GROUP: usize = 64;
/// Up to here prefetching gains nothing.
const CACHED_BYTES: usize = 512 << 10;

struct OneLineBatch(OwnedBlocks);

impl<K: BenchKey> Contestant<K> for OneLineBatch {
    fn free(&mut self) -> u64 {
        size_of_val(self.0.as_ref()) as u64
    }

    fn contains(&self, keys: &[K], _scratch: &mut Scratch) -> u64 {
        let blocks = self.0.as_ref();
        let mut digests = [Digest::default(); CHUNK];
        let mut sum = 0;
        for keys in keys.chunks(CHUNK) {
            let digests = &mut digests[..keys.len()];
            DIGEST.digest_batch(keys, digests);
            if size_of_val(blocks) <= CACHED_BYTES {
                sum += digests.iter().map(|&digest| read(blocks, digest)).sum::<u64>();
                continue;
            }
            prefetch_all(blocks, &digests[..GROUP.min(digests.len())]);
            for (i, group) in digests.chunks(GROUP).enumerate() {
                let next = digests.chunks(GROUP).nth(i + 1).unwrap_or_default();
                prefetch_all(blocks, next);
                sum +=
                    group.iter().map(|&digest| blocks[line_of(blocks, digest)].0[0]).sum::<u64>();
            }
        }
        sum
    }
}

fn prefetch_all(blocks: &[Block], digests: &[Digest]) {
    for &digest in digests {
        prefetch(&blocks[line_of(blocks, digest)]);
    }
}

#[cfg(target_arch = "x86_64")]
fn prefetch(block: &Block) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch of any address has no effect but on caches; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(block).cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
fn prefetch(_block: &Block) {}
