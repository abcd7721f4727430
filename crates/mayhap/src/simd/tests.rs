//! Every kernel of this machine equals the scalar one, and which ran is printed and checked.

use super::{Backend, Pairs};
use crate::Digest;
use crate::bits::{Block, OwnedBlocks, SharedBlocks};
use alloc::vec;
use alloc::vec::Vec;

fn digests(count: u64) -> Vec<Digest> {
    let function = crate::DigestFunction::xxh3(1);
    (0..count).map(|i| function.digest(&i)).collect()
}

/// Fewer, so that Miri ends; the number must not be a multiple of 64.
const COUNT: u64 = if cfg!(miri) { 141 } else { 20_011 };

#[test]
fn every_kernel_equals_the_scalar_one() {
    let digests = digests(COUNT);
    let (members, all) = (&digests[..digests.len() / 2], &digests[..]);
    // One block; small; and large enough for the loops that prefetch.
    let sizes: &[usize] = if cfg!(miri) { &[10] } else { &[1, 3, 300, 20_000] };
    for k in [4, 8, 16] {
        let scalar = Backend::all(k).last().unwrap();
        assert_eq!(scalar.name(), "scalar");
        for (backend, &size) in
            Backend::all(k).flat_map(|backend| sizes.iter().map(move |size| (backend, size)))
        {
            std::println!("kernel {backend:?}: k = {k}, {size} blocks");
            let mut expected = vec![Block::default(); size];
            let expected_new: Vec<bool> =
                members.iter().map(|&d| scalar.insert(&mut expected, d)).collect();

            let mut one_by_one = vec![Block::default(); size];
            for (&digest, &new) in members.iter().zip(&expected_new) {
                assert_eq!(backend.insert(&mut one_by_one, digest), new);
            }
            assert!(one_by_one == expected, "insert, {size} blocks, k = {k}");

            let mut batch = vec![Block::default(); size];
            let mut new = vec![0; members.len().div_ceil(64)];
            backend.insert_batch(&mut batch, members, &mut new);
            assert!(batch == expected, "insert_batch, {size} blocks, k = {k}");
            assert_eq!(bits(&new, members.len()), expected_new);

            let found: Vec<bool> = all.iter().map(|&d| scalar.contains(&expected, d)).collect();
            assert!(found[..members.len()].iter().all(|&yes| yes));
            assert!(size < 300 || !found.iter().all(|&yes| yes), "the test must see misses");
            assert!(all.iter().zip(&found).all(|(&d, &f)| backend.contains(&batch, d) == f));
            let mut batch_found = vec![0; all.len().div_ceil(64)];
            backend.contains_batch(&batch, all, &mut batch_found);
            assert_eq!(bits(&batch_found, all.len()), found);

            let shared = SharedBlocks::new(OwnedBlocks::copy_of(&expected).unwrap());
            for (group, found) in all.chunks(64).zip(&batch_found) {
                assert_eq!(backend.contains_shared_group(shared.words(), group), *found);
                for (i, &digest) in group.iter().enumerate() {
                    let is_found = backend.contains_shared(shared.words(), digest);
                    assert_eq!(is_found, found >> i & 1 == 1);
                }
            }
            for pairs in core::iter::once(None).chain(Pairs::detect().map(Some)) {
                let shared = SharedBlocks::new(OwnedBlocks::zeroed(size as u64).unwrap());
                for (&digest, &new) in members.iter().zip(&expected_new) {
                    assert_eq!(backend.insert_shared(shared.words(), digest, pairs), new);
                }
                let blocks = shared.into_owned();
                assert!(blocks.as_ref() == expected, "insert_shared, {size} blocks, k = {k}");
            }
        }
    }
}

#[test]
fn the_kernels_that_this_cpu_has_are_used() {
    let names: Vec<_> = crate::kernel_names().collect();
    std::println!("kernels, fastest first: {names:?}");
    assert_eq!(names.last(), Some(&"scalar"));
    #[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
    {
        assert_eq!(names.contains(&"avx2"), std::arch::is_x86_feature_detected!("avx2"));
        assert_eq!(names.contains(&"avx512"), std::arch::is_x86_feature_detected!("avx512dq"));
    }
    #[cfg(all(target_arch = "aarch64", feature = "std"))]
    assert!(names.contains(&"neon"));
}

#[test]
fn batches_of_every_length_answer_only_for_their_keys() {
    for backend in [4, 8].into_iter().flat_map(Backend::all) {
        let step = if cfg!(miri) { 43 } else { 1 };
        for len in (0..=130usize).step_by(step) {
            let digests = digests(len as u64);
            let mut blocks = vec![Block::default(); 100];
            let mut new = vec![0; 3];
            backend.insert_batch(&mut blocks, &digests, &mut new);
            let mut found = vec![0; 3];
            backend.contains_batch(&blocks, &digests, &mut found);
            assert_eq!(found.iter().map(|w| w.count_ones() as usize).sum::<usize>(), len);
            assert!(bits(&found, 192).iter().skip(len).all(|&yes| !yes), "bits past the end");
            assert!(bits(&new, 192).iter().skip(len).all(|&yes| !yes), "bits past the end");
        }
    }
}

fn bits(words: &[u64], len: usize) -> Vec<bool> {
    (0..len).map(|i| words[i / 64] >> (i % 64) & 1 == 1).collect()
}
