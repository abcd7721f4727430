//! Every kernel of this machine equals the scalar one.

use super::Probes;
use crate::Digest;
use crate::positions::{PROBE_MULTIPLIERS, standard};
use alloc::vec;
use alloc::vec::Vec;

fn digests(count: u64) -> Vec<Digest> {
    let function = crate::DigestFunction::xxh3(3);
    let edges = [0, 1, u64::MAX, 1 << 63, u64::MAX - 1].map(Digest::new);
    edges.into_iter().chain((0..count).map(|i| function.digest(&i))).collect()
}

#[test]
fn every_kernel_equals_the_scalar_one() {
    let digests = digests(if cfg!(miri) { 37 } else { 3001 });
    let sizes: &[u64] = if cfg!(miri) { &[64, 1000] } else { &[64, 65, 1000, 30_000, 1 << 20] };
    for &num_bits in sizes {
        for num_hashes in [1, 2, 7, 8, 9, 16, 17, 31, 32] {
            let all: Vec<Probes> = Probes::all(num_bits, num_hashes).collect();
            let scalar = all.last().unwrap();
            assert_eq!(scalar.kernel.name, "scalar");
            let mut words = vec![0; (num_bits as usize).div_ceil(512) * 8];
            let mut naive = words.clone();
            let members = (num_bits / u64::from(num_hashes) / 2).clamp(1, 1000) as usize;
            for &digest in &digests[..members.min(digests.len())] {
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
            for probes in &all {
                let mut batch = vec![0; digests.len().div_ceil(64)];
                probes.contains_batch(&words, &digests, &mut batch);
                for (i, &digest) in digests.iter().enumerate() {
                    let expected = scalar.contains(&words, digest);
                    assert_eq!(probes.contains(&words, digest), expected, "{probes:?}");
                    assert_eq!(batch[i / 64] >> (i % 64) & 1 == 1, expected, "{probes:?} batch");
                    assert!(i >= members || expected, "{probes:?} lost a member");
                }
            }
            std::println!("{:?}: {} kernels agree", all[0], all.len());
        }
    }
}

/// Positions past 2^32, in sparse memory: only the pages that hold bits are there.
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
