//! Frozen filters of every width: the rate is the one that was asked for, in few bits.

use mayhap::native::{Header, Kind, Native};
use mayhap::sizing::fuse::{expected_fpp, max_items, num_bits};
use mayhap::{BinaryFuse, Digest, DigestFunction, Error, FuseWidth};

fn of(width: FuseWidth, function: DigestFunction, items: u64) -> BinaryFuse {
    let filter = BinaryFuse::from_keys(width, function, 0..items).unwrap();
    assert_eq!(filter.num_bits(), num_bits(width, items).unwrap());
    assert_eq!(filter.expected_fpp(), expected_fpp(width, items));
    filter
}

/// From 10 % to 1e-7, and at the borders: of 2^−8, of the narrowest and of the widest.
#[test]
fn the_rate_is_the_one_that_was_asked_for() {
    for items in [1_000u64, 10_000, 1_000_000, 123_456_789, 1 << 40] {
        let mut last = u64::MAX;
        for tenths in (5..=320).rev() {
            let asked = 0.5f64.powf(f64::from(tenths) / 10.0);
            let Some(width) = FuseWidth::for_target(items, asked) else {
                // 2^−32, and what digests that collide leave unreachable.
                assert!(asked < 0.5f64.powi(32) * 1.001 + items as f64 / 0.5f64.powi(-64));
                continue;
            };
            let (fpp, bits) = (expected_fpp(width, items), num_bits(width, items).unwrap());
            assert!(fpp <= asked, "{items}: {fpp} for {asked}");
            // By a part of a segment below it: 1 / c of the rate at most, with 136 of them or more.
            let least = if items < 1_000_000 { 0.5 } else { 0.992 };
            assert!(asked > 0.0625 || fpp >= asked * least, "{items}: {fpp} for {asked}");
            assert!(bits <= last || width.is_whole_bytes(), "{items}: {bits} at {asked}");
            last = bits;
        }
        assert_eq!(FuseWidth::for_target(items, 0.0), None);
        assert_eq!(FuseWidth::for_target(items, -1.0), None);
        assert_eq!(FuseWidth::for_target(items, f64::NAN), None);
    }
    assert_eq!(FuseWidth::for_target(0, 1.0 / 256.0), Some(FuseWidth::BITS_8));
    assert_eq!(FuseWidth::for_target(0, 0.5f64.powi(32)), FuseWidth::from_bits(32));
    assert_eq!(FuseWidth::for_target(0, 0.5f64.powi(32) * 0.999), None);
}

/// Of log2(1/p) bits: 1.13 for 10 million keys where p is 1 % or lower. The mix of two widths is a
/// part of it, of up to 2 % from 4 bits on and 1 % from 6 bits on.
#[test]
fn bits_per_key_are_as_documented() {
    for (items, times) in [(1_000_000u64, 1.157), (2_000_000, 1.148), (10_000_000, 1.135)] {
        for tenths in 40..=300 {
            let asked = 0.5f64.powf(f64::from(tenths) / 10.0);
            let width = FuseWidth::for_target(items, asked).unwrap();
            let bits = num_bits(width, items).unwrap() as f64 / items as f64;
            let least = f64::from(tenths) / 10.0;
            assert!(bits <= times * least, "{items} at {asked}: {bits} of {least}");
            assert!(items < 10_000_000 || asked > 0.01 || bits <= 1.13 * least, "{bits}, {least}");
        }
    }
}

#[test]
fn the_widest_that_fits_is_found() {
    for items in [1u64, 77, 1_000, 50_000, 3_000_000, 1 << 34] {
        for bits in 4..=32 {
            let width = FuseWidth::from_bits(bits).unwrap();
            let max_bits = num_bits(width, items).unwrap();
            let found = FuseWidth::fitting(items, max_bits).unwrap();
            assert!(num_bits(found, items).unwrap() <= max_bits);
            assert!(expected_fpp(found, items) <= expected_fpp(width, items), "{found:?}");
            assert!(max_items(width, max_bits) >= items);
            let shares = [1, 1 << 20, 1 << 31, u32::MAX].into_iter();
            for wider in shares.filter_map(|share| FuseWidth::mixed(bits, share)) {
                let max_bits = num_bits(wider, items).unwrap();
                let found = FuseWidth::fitting(items, max_bits).unwrap();
                assert!(num_bits(found, items).unwrap() <= max_bits);
                assert!(expected_fpp(found, items) <= expected_fpp(wider, items), "{found:?}");
            }
        }
        // For the fewest keys it is that of 8 bits, without 64 bits to spare.
        let least = [FuseWidth::from_bits(4).unwrap(), FuseWidth::BITS_8]
            .map(|width| num_bits(width, items).unwrap());
        assert_eq!(FuseWidth::fitting(items, least[0].min(least[1]) - 1), None);
    }
}

/// Within 3 σ of the rate that was asked for, of which the model is 0.4 % short at most.
#[test]
#[cfg(not(miri))]
fn measured_rates_are_the_ones_that_were_asked_for() {
    for (seed, items, asked, probes) in [
        (0, 1u64, 0.01, 400_000u64),
        (1, 5_000, 0.003, 1_000_000),
        (2, 1_000_000, 0.04, 400_000),
        (3, 1_000_000, 0.01, 1_000_000),
        (4, 1_000_000, 0.001, 4_000_000),
        (5, 300_000, 1e-4, 10_000_000),
        (6, 2_000_000, 1e-5, 20_000_000),
        (7, 100_000, 1e-6, 40_000_000),
    ] {
        let width = FuseWidth::for_target(items, asked).unwrap();
        let function = DigestFunction::xxh3(seed);
        let filter = of(width, function, items);
        let expected = filter.expected_fpp();
        assert!(expected <= asked);
        let mut found = 0;
        let mut batch = vec![Digest::new(0); 1 << 16];
        for start in (0..probes).step_by(batch.len()) {
            let len = batch.len().min((probes - start) as usize);
            for (key, digest) in (1 << 40 | start..).zip(&mut batch[..len]) {
                *digest = function.digest(&key);
            }
            found += filter.contains_digests(&batch[..len]).count_ones();
        }
        let mean = probes as f64 * expected;
        let deviation = (found as f64 - mean) / (mean * (1.0 - expected)).sqrt();
        println!("{items} keys, {width:?}: {found} of {probes}, {deviation:+.2} σ");
        assert!(deviation.abs() <= 3.0, "{width:?}: {deviation} σ");
    }
}

/// Both parts of the keys, and those on whose border a key's slots have one bit more and its
/// fingerprint has not.
#[test]
#[cfg(not(miri))]
fn both_parts_have_the_rate_of_their_width() {
    let width = FuseWidth::mixed(6, 1 << 31).unwrap();
    let function = DigestFunction::xxh3(11);
    let filter = of(width, function, 200_000);
    let (mut wide, mut narrow) = ((0u32, 0u32), (0u32, 0u32));
    for key in 1 << 40..(1 << 40) + 2_000_000u64 {
        let digest = function.digest(&key);
        let h = mixed(digest.get(), filter.params().seed());
        let part = if h >> 63 == 0 { &mut wide } else { &mut narrow };
        part.0 += 1;
        part.1 += u32::from(filter.contains_digest(digest));
    }
    for ((asked, found), fpp) in [(wide, 1.0 / 128.0), (narrow, 1.0 / 64.0)] {
        let (mean, p) = (f64::from(asked) * fpp, fpp);
        // One segment in 60 is of the other part.
        let tolerance = 3.0 * (mean * (1.0 - p)).sqrt() + mean / 60.0;
        assert!((f64::from(found) - mean).abs() <= tolerance, "{found} of {asked}");
    }
}

fn mixed(digest: u64, seed: u64) -> u64 {
    let mut h = digest.wrapping_add(seed);
    for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53u64] {
        h = (h ^ h >> 33).wrapping_mul(factor);
    }
    h ^ h >> 33
}

/// The formulas of `crates/mayhap/NATIVE-FORMAT.md`, written down a second time: bit by bit.
#[test]
fn the_filter_is_what_the_format_page_says() {
    let function = DigestFunction::default();
    for (bits, wider) in
        [(4u32, 0u32), (5, 1), (9, 1 << 30), (17, 3 << 30), (31, u32::MAX), (32, 0)]
    {
        let width = FuseWidth::mixed(bits, wider).unwrap();
        let filter = of(width, function, 1000);
        let params = filter.params();
        let body: Vec<u8> =
            filter.storage().as_ref().iter().flat_map(|b| b.0).flat_map(u64::to_le_bytes).collect();
        let (length, c) = (1u128 << params.log2_segment_length(), params.segment_count());
        let v = (u128::from(wider) * u128::from(c)).div_ceil(1 << 32);
        let x = if v == 0 { 0 } else { (v + 2) * length };
        let w = u128::from(bits);
        assert_eq!(u128::from(filter.num_bits()), w * (u128::from(c) + 2) * length + x + 64);
        let found = |key: u64| {
            let h = mixed(function.digest(&key).get(), params.seed());
            let q = u128::from(h.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let a = (u128::from(h) * u128::from(c) * length) >> 64;
            let slots =
                [a, (a + length) ^ ((q >> 44) % length), (a + 2 * length) ^ ((q >> 24) % length)];
            let fingerprint = h.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32;
            let own_bits = w + u128::from(a < v * length);
            (0..own_bits).all(|i| {
                let bit = |slot: u128| {
                    let at = slot * w + slot.min(x) + i;
                    u64::from(body[(at / 8) as usize] >> (at % 8) & 1)
                };
                slots.iter().fold(0, |sum, &slot| sum ^ bit(slot)) == fingerprint >> i & 1
            })
        };
        assert!((0..1000).all(found), "{width:?}");
        let last = if cfg!(miri) { 1100 } else { 20_000u64 };
        assert!((1000..last).all(|key| found(key) == filter.contains(&key)), "{width:?}");
    }
}

/// The digest of a file of each version says which one it is; earlier releases refuse version 4.
#[test]
fn only_new_widths_are_written_in_version_4() {
    let function = DigestFunction::default();
    let header = |width| Header::of(&of(width, function, 50), "");
    for (bits, wider, version) in
        [(8, 0, 3), (16, 0, 3), (8, 1, 4), (16, 1, 4), (7, 0, 4), (9, 0, 4), (32, 0, 4)]
    {
        let header = header(FuseWidth::mixed(bits, wider).unwrap());
        assert_eq!((header.version(), header.kind()), (version, Kind::Fuse), "{bits}, {wider}");
        assert_eq!(header.fields().extra[4], u64::from(wider));
        let mut bytes = header.encode(0);
        assert_eq!(Header::decode(&bytes).unwrap().version(), version);
        // The other version, under a right checksum.
        bytes[8] = 7 - version as u8;
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..4088]);
        bytes[4088..].copy_from_slice(&sum.to_le_bytes());
        assert!(matches!(Header::decode(&bytes), Err(Error::BadField { field: "version", .. })));
    }
}

#[test]
fn forged_shares_are_refused() {
    let width = FuseWidth::mixed(9, 1 << 30).unwrap();
    let good = of(width, DigestFunction::default(), 99).fields();
    assert!(BinaryFuse::segment_blocks(&good).is_ok());
    for (i, value) in [
        (0, 8),
        (0, 3),
        (0, 32),
        (0, 1 << 32 | 9),
        (4, 0),
        (4, 1 << 31),
        (4, 1 << 32),
        (4, 1 << 32 | 1 << 30),
        (5, 1),
        (6, 1),
    ] {
        let mut fields = good.clone();
        fields.extra[i] = value;
        assert!(BinaryFuse::segment_blocks(&fields).is_err(), "extra {i} = {value}");
    }
}

/// The example of `crates/mayhap/NATIVE-FORMAT.md`.
#[test]
fn the_example_of_the_format_page_is_right() {
    let width = FuseWidth::mixed(9, 1 << 31).unwrap();
    let function = DigestFunction::default();
    let filter = BinaryFuse::from_keys(width, function, ["a", "b", "c"]).unwrap();
    let params = filter.params();
    assert_eq!(params.seed(), 0xE220_A839_7B1D_CDAF);
    assert_eq!((params.log2_segment_length(), params.segment_count()), (3, 1));
    let lanes: Vec<u64> = filter.storage().as_ref().iter().flat_map(|block| block.0).collect();
    assert_eq!(lanes[..2], [0x3000_0000_0000_039D, 0x7832]);
    assert!(params.num_bits() == 304 && lanes[2..].iter().all(|&lane| lane == 0));
}
