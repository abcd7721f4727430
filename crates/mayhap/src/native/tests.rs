//! The decoder refuses every field outside its range, every cut and every flipped bit.

mod short;

use super::{
    HEADER_BYTES, Header, IDENTITY_BYTES, Identity, Kind, MAX_KEY_OPTIONS_BYTES, PAGE_BYTES,
    decode, encode,
};
use crate::{AnyFilter, Build, DigestFunction, Error, FilterParams, Layout, SecretKey};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use xxhash_rust::xxh3::xxh3_64;

fn file_of(layout: Layout, num_bits: u64, num_hashes: u32) -> Vec<u8> {
    let params = FilterParams::new(layout, num_bits, num_hashes, 100, 0.01).unwrap();
    let mut filter: AnyFilter = Build::empty(params, DigestFunction::xxh3(5)).unwrap();
    (0..60u64).for_each(|key| {
        filter.insert(&key);
    });
    encode(&filter, "lower=true\n")
}

/// One page: m in the middle of a block, so that bits past m exist.
fn small() -> Vec<u8> {
    file_of(Layout::Standard, 1000, 7)
}

/// Recomputes the header's checksum, so that the fields behind it are read.
fn seal(bytes: &mut [u8]) {
    let checksum = xxh3_64(&bytes[..HEADER_BYTES - 8]);
    bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// Makes all checksums right again.
fn seal_all(bytes: &mut [u8]) {
    let pages = (bytes.len() - HEADER_BYTES) / (PAGE_BYTES + 8);
    let (body, table) = bytes[HEADER_BYTES..].split_at_mut(pages * PAGE_BYTES);
    for (page, entry) in body.chunks(PAGE_BYTES).zip(table.chunks_mut(8)) {
        entry.copy_from_slice(&xxh3_64(page).to_le_bytes());
    }
    let checksum = xxh3_64(table);
    bytes[64..72].copy_from_slice(&checksum.to_le_bytes());
    seal(bytes);
}

fn refused(bytes: &[u8]) -> Error {
    let error = decode(bytes, None).map(|_| ()).expect_err("these bytes are no filter");
    assert!(!error.to_string().is_empty());
    error
}

/// A small file with `field` written at `offset` and a right checksum.
fn with_field(offset: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = small();
    bytes[offset..offset + field.len()].copy_from_slice(field);
    seal(&mut bytes);
    bytes
}

fn bad_field(offset: usize, field: &[u8]) -> (&'static str, u64) {
    match refused(&with_field(offset, field)) {
        Error::BadField { field, found } => (field, found),
        other => panic!("offset {offset}: {other}"),
    }
}

#[test]
fn ids_that_no_filter_has_are_refused_by_name() {
    assert_eq!(bad_field(8, &0u16.to_le_bytes()), ("version", 0));
    let next = (1..=u16::MAX).find(|&id| Kind::from_id(id).is_none()).unwrap();
    for id in [0u16, next, 0x100, u16::MAX] {
        assert_eq!(bad_field(10, &id.to_le_bytes()), ("kind", u64::from(id)));
    }
    for id in [0u16, 5, u16::MAX] {
        assert_eq!(bad_field(12, &id.to_le_bytes()), ("layout", u64::from(id)));
        assert_eq!(bad_field(14, &id.to_le_bytes()), ("digest", u64::from(id)));
    }
    for length in [2049u16, u16::MAX] {
        let (field, found) = bad_field(36, &length.to_le_bytes());
        assert_eq!((field, found), ("key_options_bytes", u64::from(length)));
    }
}

#[test]
fn numbers_outside_their_range_are_refused_by_name() {
    let out_of_range = |offset, field: &[u8], name: &str| match refused(&with_field(offset, field))
    {
        Error::OutOfRange { parameter, found, .. } if parameter.starts_with(name) => found,
        other => panic!("{name}: {other}"),
    };
    for num_bits in [0u64, 1, 63, (1 << 56) + 1, u64::MAX] {
        assert_eq!(out_of_range(24, &num_bits.to_le_bytes(), "num_bits"), num_bits);
    }
    for num_hashes in [0u32, 33, 1 << 16, u32::MAX] {
        let found = out_of_range(32, &num_hashes.to_le_bytes(), "num_hashes");
        assert_eq!(found, u64::from(num_hashes));
    }
    assert_eq!(refused(&with_field(40, &0u64.to_le_bytes())), Error::ZeroItems);
    for fpp in [0.0, -0.0, -0.5, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let error = refused(&with_field(48, &fpp.to_le_bytes()));
        assert!(matches!(error, Error::FppOutOfRange { .. }), "{fpp}: {error}");
    }
    // `blocked` has its own ranges.
    for (num_bits, num_hashes) in [(511u64, 8u32), (513, 8), (1000, 8), (512, 1), (512, 9)] {
        let mut bytes = file_of(Layout::Blocked, 512, 8);
        bytes[24..32].copy_from_slice(&num_bits.to_le_bytes());
        bytes[32..36].copy_from_slice(&num_hashes.to_le_bytes());
        seal(&mut bytes);
        assert!(matches!(refused(&bytes), Error::OutOfRange { .. }), "{num_bits} {num_hashes}");
    }
}

#[test]
fn reserved_bytes_must_be_zero() {
    // 10 bytes of key options are at 128, followed by zeros up to the checksum.
    let options_end = 128 + "lower=true\n".len();
    // The identity is at 4032, `num_layers` at 4064.
    let reserved = (38..40).chain(options_end..4032).chain(4066..HEADER_BYTES - 8);
    for offset in reserved.step_by(if cfg!(miri) { 501 } else { 1 }) {
        assert_eq!(bad_field(offset, &[0x40]), ("reserved", 0x40), "offset {offset}");
    }
    // A plain Bloom filter has no numbers of its own and no layers.
    for offset in (72..128).step_by(8) {
        assert_eq!(bad_field(offset, &[0x40]), ("reserved", 0x40), "offset {offset}");
    }
    assert_eq!(bad_field(4064, &[1]), ("layers", 1));
    assert_eq!(bad_field(4064, &[59]), ("num_layers", 59));
}

#[test]
fn key_options_must_be_text() {
    assert_eq!(bad_field(128, &[0xFF]).0, "key_options (UTF-8)");
    // A length that cuts a character in two; the rest of it is then not reserved zero either.
    let mut bytes = small();
    bytes[36..38].copy_from_slice(&1u16.to_le_bytes());
    bytes[128..139].copy_from_slice(b"\xC3\0\0\0\0\0\0\0\0\0\0");
    seal(&mut bytes);
    assert!(matches!(refused(&bytes), Error::BadField { .. }));
}

#[test]
fn the_longest_key_options_survive() {
    let (filter, _) = decode(&small(), None).unwrap();
    for length in [0, 1, MAX_KEY_OPTIONS_BYTES - 1, MAX_KEY_OPTIONS_BYTES] {
        let options: String = "x".repeat(length);
        let bytes = encode(&filter, &options);
        assert_eq!(decode(&bytes, None).unwrap().1.key_options(), options);
    }
}

#[test]
fn a_newer_version_is_named_even_if_its_checksum_is_elsewhere() {
    for version in [6u16, 7, u16::MAX] {
        let mut bytes = small();
        bytes[8..10].copy_from_slice(&version.to_le_bytes());
        assert_eq!(refused(&bytes), Error::NewerVersion { found: version, supported: 5 });
    }
    // Version 5 is that of short files.
    assert_eq!(refused(&with_field(8, &[5])), Error::ShortDamaged);
    // Version 4 is written only for what no earlier one has.
    assert_eq!(bad_field(8, &4u16.to_le_bytes()), ("version", 4));
    // Version 2 was never written for files that version 1 can express.
    assert_eq!(bad_field(8, &2u16.to_le_bytes()), ("version", 2));
}

#[test]
fn an_identity_is_read_back_and_replaced_without_another_byte_changing() {
    let plain = small();
    let (_, header) = decode(&plain, None).unwrap();
    assert_eq!(header.identity(), None);
    let highest = (1 << 63) - 1;
    for (id, epoch, log_begun) in [(1, 1, false), (u128::MAX, highest, true), (1 << 64, 7, true)] {
        let identity = Some(Identity { id, epoch, log_begun });
        let named = header.clone().with_identity(identity).unwrap();
        let encoded = named.encode(named.table_checksum());
        let differ = |at: &usize| encoded[*at] != plain[*at];
        let changed: Vec<usize> = (0..HEADER_BYTES).filter(differ).collect();
        assert!(!changed.is_empty() && changed.iter().all(|at| (4032..4064).contains(at)));
        let read = Header::decode(&encoded).unwrap();
        assert_eq!(read.identity(), identity);
        assert!(read.is_same_image(&header) && read != header);
        assert_eq!(
            read.with_identity(None).unwrap().encode(header.table_checksum()),
            plain[..4096]
        );
    }
    let other = Header::decode(&header.encode(1)).unwrap();
    assert!(!other.is_same_image(&header), "another body is another image");
}

#[test]
fn every_flipped_bit_of_an_identity_is_noticed() {
    let header = decode(&small(), None).unwrap().1;
    let identity = Some(Identity { id: 1 << 100 | 5, epoch: 9, log_begun: true });
    let header = header.with_identity(identity).unwrap();
    let sound = header.encode(header.table_checksum());
    for bit in 4032 * 8..4064 * 8 {
        let mut bytes = sound;
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Header::decode(&bytes), Err(Error::IdentityDamaged), "bit {bit}");
    }
    // A torn write leaves a part of one over zeros, or over another one.
    for kept in 1..IDENTITY_BYTES {
        let mut bytes = sound;
        bytes[4032 + kept..4064].fill(0);
        assert_eq!(Header::decode(&bytes), Err(Error::IdentityDamaged), "{kept} bytes");
    }
    for (at, field) in [(0, "id"), (16, "epoch")] {
        let mut bytes = sound;
        bytes[4032 + at..4048 + at].fill(0);
        if at == 16 {
            bytes[4055] = 0x80;
        }
        let checksum = xxh3_64(&bytes[4032..4056]);
        bytes[4056..4064].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(Header::decode(&bytes), Err(Error::BadField { field, found: 0 }));
    }
}

/// The versions of earlier releases have layers where the identity is now.
#[test]
fn headers_of_earlier_versions_are_read_and_written_as_they_are() {
    let mut bytes = small();
    bytes[8] = 1;
    seal(&mut bytes);
    let header = Header::decode(&bytes).unwrap();
    assert_eq!((header.version(), header.identity()), (1, None));
    assert_eq!(header.encode(header.table_checksum()), bytes[..HEADER_BYTES]);
    let identity = Some(Identity { id: 1, epoch: 1, log_begun: false });
    let refused_identity = header.clone().with_identity(identity);
    assert_eq!(refused_identity, Err(Error::BadField { field: "version", found: 1 }));
    // Version 2 has other layouts, which version 1 lacks.
    let mut bytes = file_of(Layout::Blocked64, 64 * 9, 8);
    for (version, is_sound) in [(1, false), (2, true), (3, true)] {
        bytes[8] = version;
        seal(&mut bytes);
        assert_eq!(Header::decode(&bytes).is_ok(), is_sound, "version {version}");
    }
    // A reserved byte of an earlier version does not become an identity.
    let mut bytes = small();
    bytes[8] = 1;
    bytes[4040] = 3;
    seal(&mut bytes);
    assert_eq!(refused(&bytes), Error::BadField { field: "reserved", found: 3 });
}

#[test]
fn every_truncation_and_every_extension_is_refused() {
    let bytes = small();
    for length in (0..bytes.len()).step_by(if cfg!(miri) { 997 } else { 1 }) {
        let error = refused(&bytes[..length]);
        let expected = match length {
            0..8 => matches!(error, Error::NotAFilter),
            8..HEADER_BYTES => matches!(error, Error::WrongLength { field: "header", .. }),
            _ => matches!(error, Error::WrongLength { field: "file", .. }),
        };
        assert!(expected, "{length} bytes: {error}");
    }
    for extra in [1, 8, PAGE_BYTES, PAGE_BYTES + 8] {
        let mut longer = bytes.clone();
        longer.resize(bytes.len() + extra, 0);
        assert!(matches!(refused(&longer), Error::WrongLength { field: "file", .. }));
    }
}

#[test]
fn every_flipped_byte_is_noticed_and_placed() {
    let mut bytes = file_of(Layout::Blocked, 512 * 65, 8);
    let (body, table) = (HEADER_BYTES, HEADER_BYTES + 2 * PAGE_BYTES);
    assert_eq!(bytes.len(), table + 16);
    for offset in (0..bytes.len()).step_by(if cfg!(miri) { 997 } else { 1 }) {
        for bit in if cfg!(miri) { 0..1 } else { 0..8 } {
            bytes[offset] ^= 1 << bit;
            let error = refused(&bytes);
            bytes[offset] ^= 1 << bit;
            let page = (offset.wrapping_sub(body) / PAGE_BYTES) as u64;
            let expected = match offset {
                0..8 => matches!(error, Error::NotAFilter),
                8 | 9 => matches!(error, Error::NewerVersion { .. } | Error::HeaderDamaged),
                4032..4064 => error == Error::IdentityDamaged,
                _ if offset < body => error == Error::HeaderDamaged,
                _ if offset < table => {
                    error == Error::PageDamaged { page, damaged_pages: 1, num_pages: 2 }
                }
                _ => matches!(error, Error::BadField { field: "checksum table", .. }),
            };
            assert!(expected, "bit {bit} of byte {offset}: {error}");
        }
    }
    assert!(decode(&bytes, None).is_ok(), "all flips were undone");
}

#[test]
fn the_number_of_damaged_pages_is_counted() {
    let mut bytes = file_of(Layout::Blocked, 512 * 64 * 5, 8);
    for page in [1, 2, 4] {
        bytes[HEADER_BYTES + page * PAGE_BYTES + 7] ^= 0x10;
    }
    let expected = Error::PageDamaged { page: 1, damaged_pages: 3, num_pages: 5 };
    assert_eq!(refused(&bytes), expected);
}

#[test]
fn bits_past_the_end_are_refused_under_right_checksums() {
    // Bits 1000 to 1023 are in the last block, past m; `blocked` has no such bits.
    for bit in [1000, 1001, 1023] {
        let mut bytes = small();
        bytes[HEADER_BYTES + bit / 8] |= 1 << (bit % 8);
        seal_all(&mut bytes);
        let expected = Error::BadField { field: "bits past num_bits", found: 1 };
        assert_eq!(refused(&bytes), expected, "bit {bit}");
    }
}

#[test]
fn what_fills_up_the_last_page_must_be_zero_under_right_checksums() {
    for (file, filter_bytes) in [(small(), 128), (file_of(Layout::Blocked, 512 * 3, 8), 192)] {
        for offset in [filter_bytes, filter_bytes + 1, PAGE_BYTES - 1] {
            let mut bytes = file.clone();
            bytes[HEADER_BYTES + offset] = 1;
            seal_all(&mut bytes);
            let error = refused(&bytes);
            assert!(matches!(error, Error::BadField { .. }), "byte {offset} of the body: {error}");
        }
    }
}

/// A header that declares 8 PiB must not make the decoder allocate, or compute a length that wraps.
#[test]
fn a_declared_size_is_not_believed() {
    let mut bytes = with_field(24, &(1u64 << 56).to_le_bytes());
    let pages = 1u64 << 41;
    let expected = 4096 + pages * 4104;
    let found = bytes.len() as u64;
    assert_eq!(refused(&bytes), Error::WrongLength { field: "file", expected, found });
    bytes.truncate(HEADER_BYTES);
    assert!(matches!(refused(&bytes), Error::WrongLength { .. }));
    let header = Header::decode(&bytes).unwrap();
    assert_eq!(header.file_bytes(), expected);
}

#[test]
fn a_keyed_file_opens_with_its_key_only() {
    let key = SecretKey::new([7; 16]);
    let params = FilterParams::new(Layout::Blocked, 5120, 16, 100, 1e-6).unwrap();
    let mut filter: AnyFilter = Build::empty(params, DigestFunction::sip13(key)).unwrap();
    filter.insert("secret");
    let bytes = encode(&filter, "");
    let needed = key.id();
    assert_eq!(refused(&bytes), Error::WrongKey { needed, given: None });
    let other = SecretKey::new([8; 16]);
    let error = decode(&bytes, Some(other)).unwrap_err();
    assert_eq!(error, Error::WrongKey { needed, given: Some(other.id()) });
    assert!(!bytes.windows(16).any(|window| window == [7; 16]), "the key is not in the file");
    let (copy, _) = decode(&bytes, Some(key)).unwrap();
    assert!(copy.contains("secret") && !copy.contains("other"));
    assert_eq!(encode(&copy, ""), bytes);
    // A file without a key is not taken for one with this key.
    assert_eq!(decode(&small(), Some(key)).unwrap_err(), Error::NotKeyed);
}

#[test]
fn a_file_says_what_its_filter_is() {
    for (layout, num_bits, num_hashes) in [
        (Layout::Blocked128, 128 * 3, 8),
        (Layout::Blocked64, 64 * 9, 8),
        (Layout::Standard, 64, 1),
        (Layout::Standard, 1000, 32),
        (Layout::Standard, 32_768, 7),
        (Layout::Standard, 32_769, 7),
        (Layout::Blocked, 512, 8),
        (Layout::Blocked, 512 * 63, 4),
        (Layout::Blocked, 512 * 64, 16),
        (Layout::Blocked, 512 * 65, 8),
    ] {
        let bytes = file_of(layout, num_bits, num_hashes);
        let (filter, header) = decode(&bytes, None).unwrap();
        assert_eq!(bytes.len() as u64, header.file_bytes());
        assert_eq!((header.digest_id(), header.digest_parameter()), (1, 5));
        assert_eq!(header.params().unwrap(), *filter.params());
        assert_eq!((filter.params().layout(), filter.params().num_bits()), (layout, num_bits));
        assert_eq!(filter.params().num_hashes(), num_hashes);
        assert_eq!(header.inserted_items(), filter.inserted_items());
        assert_eq!(header.key_options(), "lower=true\n");
        assert!((0..60u64).all(|key| filter.contains(&key)));
        assert_eq!(encode(&filter, "lower=true\n"), bytes);
    }
}
