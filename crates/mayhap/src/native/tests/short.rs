//! Short files: what was written comes back, and all else is refused.

use super::{refused, small};
use crate::native::{
    self, Header, Identity, Kind, MAX_SHORT_BYTES, decode, encode, encode_short, is_short, lengthen,
};
use crate::{
    AnyFilter, Build, CountingBloomFilter, DigestFunction, Error, FilterParams, Layout, SecretKey,
};
use alloc::vec;
use alloc::vec::Vec;
use xxhash_rust::xxh3::xxh3_64;

const KEY: SecretKey = SecretKey::new([7; 16]);

fn filter_of(layout: Layout, num_bits: u64, num_hashes: u32, by: DigestFunction) -> AnyFilter {
    let params = FilterParams::new(layout, num_bits, num_hashes, 100, 0.01).unwrap();
    let mut filter: AnyFilter = Build::empty(params, by).unwrap();
    (0..60u64).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn short_of(layout: Layout, num_bits: u64, num_hashes: u32, options: &str) -> Vec<u8> {
    let filter = filter_of(layout, num_bits, num_hashes, DigestFunction::xxh3(5));
    encode_short(&filter, options).unwrap()
}

/// A short file with `field` written at `offset` and a right checksum.
fn with_field(offset: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = short_of(Layout::Standard, 1001, 7, "lower=true\n");
    bytes[offset..offset + field.len()].copy_from_slice(field);
    seal(bytes)
}

fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 8;
    let checksum = xxh3_64(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn a_filter_of_any_layout_and_digest_comes_back() {
    for (layout, num_bits, num_hashes) in [
        (Layout::Standard, 64, 1),
        (Layout::Standard, 959, 7),
        (Layout::Standard, 32_184, 32),
        (Layout::Blocked, 512, 4),
        (Layout::Blocked, 31_744, 8),
        (Layout::Blocked, 1024, 16),
        (Layout::Blocked128, 1152, 8),
        (Layout::Blocked64, 576, 8),
    ] {
        for (by, key) in [
            (DigestFunction::xxh3(0), None),
            (DigestFunction::xxh3(u64::MAX), None),
            (DigestFunction::sip13(KEY), Some(KEY)),
        ] {
            let filter = filter_of(layout, num_bits, num_hashes, by);
            let options = if num_bits > 30_000 { "" } else { "trim=true\n" };
            let short = encode_short(&filter, options).unwrap();
            assert_eq!(short.len() as u64, 72 + options.len() as u64 + num_bits.div_ceil(8));
            assert!(is_short(&short) && is_short(&short[..10]) && !is_short(&short[..9]));
            let paged = encode(&filter, options);
            assert_eq!(lengthen(&short).unwrap(), paged);
            let (copy, header) = decode(&short, key).unwrap();
            assert_eq!((encode(&copy, options), header.key_options()), (paged.clone(), options));
            assert_eq!(header, Header::decode(&paged).unwrap());
            assert_eq!(Header::decode(&short).unwrap(), header);
            assert_eq!(encode_short(&copy, options).unwrap(), short, "one encoding");
            let (set, _) = crate::set::decode(&short, key).unwrap();
            assert_eq!(crate::set::encode(&*set, options), paged);
            if let Some(key) = key {
                let needed = key.id();
                assert_eq!(refused(&short), Error::WrongKey { needed, given: None });
            }
        }
    }
}

#[test]
fn a_hundred_keys_at_one_percent_have_at_most_200_bytes() {
    let builder = AnyFilter::builder().layout(Layout::Standard);
    let mut filter = builder.expected_items(100).target_fpp(0.01).build().unwrap();
    (0..100u64).for_each(|key| {
        filter.insert(&key);
    });
    let short = encode_short(&filter, "").unwrap();
    assert_eq!((short.len(), encode(&filter, "").len()), (193, 8200));
}

#[test]
fn every_flipped_bit_is_refused() {
    for mut bytes in
        [short_of(Layout::Standard, 1001, 7, "lower=true\n"), short_of(Layout::Blocked, 512, 8, "")]
    {
        for offset in (0..bytes.len()).step_by(if cfg!(miri) { 17 } else { 1 }) {
            for bit in 0..8 {
                bytes[offset] ^= 1 << bit;
                let error = refused(&bytes);
                bytes[offset] ^= 1 << bit;
                let expected = match offset {
                    0..8 => error == Error::NotAFilter,
                    // Another version, of files that begin with a page.
                    8 | 9 => matches!(error, Error::WrongLength { field: "header", .. }),
                    _ => error == Error::ShortDamaged,
                };
                assert!(expected, "bit {bit} of byte {offset}: {error}");
            }
        }
        assert!(decode(&bytes, None).is_ok(), "all flips were undone");
    }
}

#[test]
fn every_truncation_and_every_extension_is_refused() {
    let bytes = short_of(Layout::Standard, 1001, 7, "lower=true\n");
    for length in (0..bytes.len()).step_by(if cfg!(miri) { 7 } else { 1 }) {
        let error = refused(&bytes[..length]);
        let expected = match length {
            0..8 => error == Error::NotAFilter,
            8..10 => matches!(error, Error::WrongLength { field: "header", .. }),
            _ => error == Error::ShortDamaged,
        };
        assert!(expected, "{length} bytes: {error}");
    }
    for extra in [1, 8, 64, 3000, 4096, 10_000] {
        let mut longer = bytes.clone();
        longer.resize(bytes.len() + extra, 0);
        assert_eq!(refused(&longer), Error::ShortDamaged);
        // The checksum at the new end is right.
        assert_eq!(refused(&seal(longer)), Error::ShortDamaged);
    }
}

#[test]
fn forged_sizes_are_refused_under_a_right_checksum() {
    let bytes = short_of(Layout::Standard, 1001, 7, "lower=true\n");
    let found = bytes.len() as u64;
    for num_bits in [0, 8, 63, 1000, 1009, 1 << 56, (1 << 56) + 1, u64::MAX] {
        let expected = 72 + 11 + num_bits.div_ceil(8);
        let error = refused(&with_field(24, &num_bits.to_le_bytes()));
        match num_bits {
            // The bits have as many bytes, the last of which has one bit too many.
            1001..=1008 => unreachable!(),
            _ if expected == found => assert!(matches!(error, Error::BadField { .. })),
            _ => assert_eq!(error, Error::ShortDamaged, "{num_bits}"),
        }
    }
    for options_bytes in [0u16, 10, 12, 2048] {
        let bytes = with_field(36, &options_bytes.to_le_bytes());
        assert_eq!(refused(&bytes), Error::ShortDamaged);
    }
    // As many bytes as the file has, so that options would lie over the body of pages.
    let mut bytes = short_of(Layout::Standard, 32_000, 7, "");
    bytes[24..32].copy_from_slice(&64u64.to_le_bytes());
    bytes[36..38].copy_from_slice(&(32_000u16 / 8 - 8).to_le_bytes());
    assert_eq!(refused(&seal(bytes)), Error::ShortDamaged);
}

#[test]
fn fields_that_no_filter_has_are_refused_by_name() {
    let name = |offset, field: &[u8]| match refused(&with_field(offset, field)) {
        Error::BadField { field, .. } => field,
        Error::OutOfRange { parameter, .. } => parameter,
        other => panic!("offset {offset}: {other}"),
    };
    for id in (0..=u16::MAX).filter(|&id| id != 1).step_by(if cfg!(miri) { 9999 } else { 1 }) {
        assert_eq!(refused(&with_field(10, &id.to_le_bytes())), Error::ShortDamaged);
    }
    for id in [0u16, 5, u16::MAX] {
        assert_eq!(name(12, &id.to_le_bytes()), "layout");
        assert_eq!(name(14, &id.to_le_bytes()), "digest");
    }
    assert_eq!(name(32, &33u32.to_le_bytes()), "num_hashes");
    assert_eq!(name(38, &[1]), "reserved");
    assert_eq!(name(64, &[0xFF]), "key_options (UTF-8)");
    assert_eq!(refused(&with_field(40, &0u64.to_le_bytes())), Error::ZeroItems);
    let error = refused(&with_field(48, &f64::NAN.to_le_bytes()));
    assert!(matches!(error, Error::FppOutOfRange { .. }));
    // Bits 1001 to 1007 are in the last byte, past m.
    let end = short_of(Layout::Standard, 1001, 7, "lower=true\n").len() - 8;
    assert_eq!(name(end - 1, &[0x80]), "bits past num_bits");
}

#[test]
fn what_does_not_fit_is_refused_with_its_size() {
    let largest = short_of(Layout::Standard, 32_184, 7, "");
    assert_eq!(largest.len(), MAX_SHORT_BYTES);
    assert!(decode(&largest, None).is_ok());
    for (num_bits, options, found) in [(32_185, "", 4096), (32_184, "x", 4096)] {
        let filter = filter_of(Layout::Standard, num_bits, 7, DigestFunction::xxh3(5));
        let field = "short file bytes";
        let expected = Error::TooLarge { field, limit: 4095, found };
        assert_eq!(encode_short(&filter, options), Err(expected));
    }
    let huge = FilterParams::new(Layout::Standard, 1 << 56, 7, 100, 0.01).unwrap();
    let header = Header::decode(&small()).unwrap().with_params(&huge).unwrap();
    assert!(matches!(header.encode_short(&[]), Err(Error::TooLarge { limit: 4095, .. })));
}

#[test]
fn other_kinds_and_states_have_no_short_form() {
    let builder = CountingBloomFilter::builder().expected_items(10).target_fpp(0.01);
    let error = encode_short(&builder.build().unwrap(), "").unwrap_err();
    assert_eq!(error, Error::NotOfKind { operation: "short file", kind: Kind::Counting.name() });
    let identity = Identity { id: 1, epoch: 3, log_begun: true };
    let header = Header::decode(&small()).unwrap().with_identity(Some(identity)).unwrap();
    assert_eq!(header.encode_short(&[]), Error::bad_field("identity", 3));
    let header = header.with_identity(None).unwrap();
    let error = header.encode_short(&[&[]]).unwrap_err();
    assert_eq!(error, Error::WrongLength { field: "blocks", expected: 2, found: 0 });
}

#[test]
fn only_short_files_are_lengthened() {
    let packed = native::pack(&small()).unwrap();
    for bytes in [vec![], b"one\ntwo\n".to_vec(), small(), packed] {
        assert_eq!(lengthen(&bytes), Err(Error::NotAFilter));
    }
    let mut newer = short_of(Layout::Blocked, 512, 8, "");
    newer[8] = 6;
    newer.resize(4096, 0);
    assert_eq!(refused(&newer), Error::NewerVersion { found: 6, supported: 5 });
}
