//! Bytes as the packed form of a file, as they are and once more with a right checksum; and as a
//! file to pack.
//!
//! Oracles: an unpacked file packs to the same bytes, so that a file has one packed form; every
//! file survives packing; no allocation is larger than the format allows.
use mayhap::native::{MAX_PACKED_BYTES, PACKED_MAGIC, pack, unpack};
use mayhap_fuzz::limited_to;
use xxhash_rust::xxh3::xxh3_64;

pub(super) fn run(data: &[u8]) {
    check(data);
    let mut sealed = data.to_vec();
    if sealed.len() >= PACKED_MAGIC.len() + 8 {
        sealed[..PACKED_MAGIC.len()].copy_from_slice(&PACKED_MAGIC);
        let at = sealed.len() - 8;
        let checksum = xxh3_64(&sealed[..at]);
        sealed[at..].copy_from_slice(&checksum.to_le_bytes());
        check(&sealed);
    }
    let packed = pack(data).unwrap();
    assert!(unpack(&packed).unwrap() == data, "a file does not survive packing");
}

fn check(packed: &[u8]) {
    if let Ok(file) = limited_to(MAX_PACKED_BYTES, || unpack(packed)) {
        assert!(pack(&file).unwrap() == packed, "a second packed form of a file");
    }
}
