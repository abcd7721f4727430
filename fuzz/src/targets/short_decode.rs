//! Bytes as a short file, as they are and once more with right magic, version, kind and checksum.
//!
//! Oracles: a decoded filter is encoded to the same bytes, so that a filter has one short file; it
//! is the filter of the file with pages; it keeps working; no allocation is larger than the format
//! allows.
use mayhap::native::{self, MAX_SHORT_BYTES, SHORT_VERSION, is_short, lengthen};
use mayhap::{SecretKey, set};
use mayhap_fuzz::limited_to;
use xxhash_rust::xxh3::xxh3_64;

pub(super) fn run(data: &[u8]) {
    check(data);
    if data.len() < 72 {
        return;
    }
    let mut sealed = data[..data.len().min(MAX_SHORT_BYTES)].to_vec();
    sealed[..8].copy_from_slice(&native::MAGIC);
    sealed[8..10].copy_from_slice(&SHORT_VERSION.to_le_bytes());
    sealed[10..12].copy_from_slice(&[1, 0]);
    let at = sealed.len() - 8;
    let checksum = xxh3_64(&sealed[..at]);
    sealed[at..].copy_from_slice(&checksum.to_le_bytes());
    check(&sealed);
}

fn check(data: &[u8]) {
    // Files with pages have targets of their own.
    if !is_short(data) {
        return;
    }
    // The body is copied once, with the padding of huge pages; the rest is small.
    let Ok(paged) = limited_to(1 << 14, || lengthen(data)) else {
        assert!(native::decode(data, None).is_err());
        return;
    };
    for key in [None, Some(SecretKey::new([7; 16]))] {
        let decoded = limited_to(4 << 20, || native::decode(data, key));
        assert_eq!(decoded.is_ok(), native::decode(&paged, key).is_ok());
        let Ok((mut filter, header)) = decoded else { continue };
        assert!(native::encode(&filter, header.key_options()) == paged, "another filter");
        let short = native::encode_short(&filter, header.key_options());
        assert!(short.unwrap() == data, "a second short file of a filter");
        let (same, _) = set::decode(data, key).unwrap();
        assert!(set::encode(&*same, header.key_options()) == paged, "another set");
        assert!((0.0..=1.0).contains(&filter.fill_ratio()));
        let new = !filter.contains("key");
        assert_eq!(filter.insert("key"), new);
        assert!(filter.contains("key") && !filter.insert("key"));
    }
}
