//! Every kernel of this machine equals the scalar one.

use super::Probes;
use crate::Digest;
use crate::positions::{PROBE_MULTIPLIERS, standard};
use crate::sync::AtomicU64;
use alloc::vec;
use alloc::vec::Vec;

fn digests(count: u64) -> Vec<Digest> {
    let function = crate::DigestFunction::xxh3(3);
    let edges = [0, 1, u64::MAX, 1 << 63, u64::MAX - 1].map(Digest::new);
    edges.into_iter().chain((0..count).map(|i| function.digest(&i))).collect()
}

#[test]
fn every_kernel_equals_the_scalar_one() {
    let digests = digests(if cfg!(miri) { 20 } else { 3001 });
    let sizes: &[u64] = if cfg!(miri) { &[64, 1000] } else { &[64, 65, 1000, 30_000, 1 << 20] };
    let all_hashes = [1, 4, 8, 9, 17, 32, 2, 3, 7, 16, 20, 21, 31];
    for &num_bits in sizes {
        for &num_hashes in &all_hashes[..if cfg!(miri) { 6 } else { all_hashes.len() }] {
            let all: Vec<Probes> = Probes::all(num_bits, num_hashes).collect();
            let scalar = all.last().unwrap();
            assert_eq!(scalar.kernel.name, "scalar");
            let mut words = vec![0; (num_bits as usize).div_ceil(512) * 8];
            let mut naive = words.clone();
            let members = num_bits as usize / num_hashes as usize / 2;
            let members = members.clamp(1, digests.len().min(1000));
            for &digest in &digests[..members] {
                let positions = PROBE_MULTIPLIERS[..num_hashes as usize]
                    .iter()
                    .map(|&multiplier| standard(digest, multiplier, num_bits));
                let mut is_new = false;
                for position in positions {
                    is_new |= naive[(position / 64) as usize] >> (position % 64) & 1 == 0;
                    naive[(position / 64) as usize] |= 1 << (position % 64);
                }
                assert_eq!(scalar.insert(&mut words, digest), is_new);
            }
            assert_eq!(words, naive);
            let shared = atomics(&words);
            for probes in &all {
                let far = Probes { is_near: false, ..*probes };
                for (i, &digest) in digests.iter().enumerate() {
                    let expected = scalar.contains(&words, digest);
                    assert!(i >= members || expected, "{probes:?} lost a member");
                    for probes in [probes, &far] {
                        assert_eq!(probes.contains(&words, digest), expected, "{probes:?}");
                        assert_eq!(probes.contains_shared(&shared, digest), expected, "{probes:?}");
                    }
                }
                for group in digests.chunks(64) {
                    let expected = scalar.contains_group(&words, group);
                    assert_eq!(probes.contains_group(&words, group), expected, "{probes:?}");
                    assert_eq!(probes.contains_shared_group(&shared, group), expected);
                    let one_by_one = group.iter().rev().fold(0, |found, &digest| {
                        found << 1 | u64::from(scalar.contains(&words, digest))
                    });
                    assert_eq!(expected, one_by_one);
                }
                insertions_equal_those_of_the_scalar_kernel(probes, &digests[..members], &words);
            }
            std::println!("{:?}: {} kernels agree", all[0], all.len());
        }
    }
}

fn atomics(words: &[u64]) -> Vec<AtomicU64> {
    words.iter().map(|&word| AtomicU64::new(word)).collect()
}

/// One at a time and in groups, into an empty filter: `words` at the end.
fn insertions_equal_those_of_the_scalar_kernel(probes: &Probes, members: &[Digest], words: &[u64]) {
    let scalar = Probes::all(probes.num_bits(), probes.num_hashes()).last().unwrap();
    let [mut expected, mut one_by_one, mut grouped] = [0; 3].map(|_| vec![0; words.len()]);
    for group in members.chunks(64) {
        let new = probes.insert_group(&mut grouped, group);
        for (i, &digest) in group.iter().enumerate() {
            let is_new = scalar.insert(&mut expected, digest);
            assert_eq!(probes.insert(&mut one_by_one, digest), is_new, "{probes:?}");
            assert_eq!(new >> i & 1 == 1, is_new, "{probes:?}, group");
        }
        assert_eq!(new.checked_shr(group.len() as u32).unwrap_or(0), 0, "{probes:?}");
    }
    assert!(expected == words && one_by_one == words && grouped == words, "{probes:?}");
}

/// Positions past 2^32, in sparse memory: only the pages that hold bits exist.
#[test]
#[cfg_attr(miri, ignore = "half a gigabyte of memory")]
fn kernels_agree_past_two_to_the_32_bits() {
    let digests = digests(500);
    for num_bits in [(1u64 << 32) - 1, 1 << 32, (1 << 32) + 1, 5_000_000_011] {
        let mut words = vec![0; num_bits.div_ceil(512) as usize * 8];
        for probes in Probes::all(num_bits, 9) {
            for &digest in &digests[..250] {
                probes.insert(&mut words, digest);
            }
            assert!(digests[..250].iter().all(|&digest| probes.contains(&words, digest)));
            assert!(digests[250..].iter().all(|&digest| !probes.contains(&words, digest)));
        }
    }
}
