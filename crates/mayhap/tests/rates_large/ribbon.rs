//! Ribbon filters at the rate that was asked for, in the bits that are promised, and that every set
//! has one.

use mayhap::{Digest, DigestFunction, RibbonFilter};

/// Keys that are in no filter here.
const ABSENT: u64 = 1 << 40;

fn build(asked: f64, function: DigestFunction, items: u64) -> RibbonFilter {
    let digests = (0..items).map(|key| function.digest(&key));
    RibbonFilter::build_for_target(asked, function, digests).unwrap()
}

/// What two widths cost, and 0.4 % for the construction.
#[test]
fn filters_of_10_million_keys_keep_their_rate_and_their_bits() {
    const ITEMS: u64 = 10_000_000;
    for (seed, asked) in (0..).zip([0.04, 0.01, 1e-3, 1e-4, 1e-5, 1e-6]) {
        let function = DigestFunction::xxh3(seed);
        let filter = build(asked, function, ITEMS);
        let expected = filter.expected_fpp();
        assert!(expected <= asked && expected > asked * 0.999_999, "{expected} for {asked}");
        let bits = filter.num_bits() as f64 / ITEMS as f64;
        assert!(bits <= 1.004 * filter.width().mean_bits(), "{bits} at {asked}");
        assert!(bits <= 1.02 * -asked.log2(), "{bits} at {asked}");
        let probes = ((1_000.0 / asked) as u64).min(200_000_000);
        let (mut found, mut batch) = (0, vec![Digest::new(0); 1 << 16]);
        for start in (0..probes).step_by(batch.len()) {
            let len = batch.len().min((probes - start) as usize);
            for (key, digest) in (ABSENT + start..).zip(&mut batch[..len]) {
                *digest = function.digest(&key);
            }
            found += filter.contains_digests(&batch[..len]).count_ones();
        }
        let mean = probes as f64 * expected;
        let deviation = (found as f64 - mean) / (mean * (1.0 - expected)).sqrt();
        println!("{asked}: {bits:.3} bits, {found} of {probes}, {deviation:+.2} σ");
        assert!(deviation.abs() <= 3.0, "{asked}: {deviation:.2} σ off");
        assert!((0..ITEMS).step_by(7).all(|key| filter.contains(&key)), "false negative");
    }
}

/// No set is refused, and none has digests that no layer takes: 1,000 of each size, and 10,000 with
/// `MAYHAP_SOAK`.
#[test]
fn every_set_has_a_filter() {
    let sets = if std::env::var_os("MAYHAP_SOAK").is_some() { 10_000 } else { 1_000 };
    for items in [0u64, 1, 2, 10, 1_000, 100_000] {
        for seed in 0..sets {
            let function = DigestFunction::xxh3(seed << 20 | items);
            let filter = build([0.01, 1e-4, 0.05, 1e-7][seed as usize % 4], function, items);
            assert_eq!((filter.len(), filter.params().rest()), (items, 0));
            let step = (items / 100).max(1) as usize;
            assert!((0..items).step_by(step).all(|key| filter.contains(&key)), "false negative");
        }
    }
}
