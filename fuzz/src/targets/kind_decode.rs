//! Bytes → `mayhap::native::decode_as` for every kind but plain Bloom filters (`native_decode`), as
//! they are and once more with right checksums.
//!
//! Oracles: what decodes is encoded to the same bytes, and goes on without a panic; no allocation
//! is larger than the input allows.
use mayhap::native::{self, Native};
use mayhap::{
    BinaryFuse, BloomMatrix, CountingBloomFilter, Digest, ScalableBloomFilter, Segment,
    WindowBloomFilter,
};
use mayhap_fuzz::{check_encoded, limited_to, seal_pages};

pub(super) fn run(data: &[u8]) {
    check(data);
    let mut sealed = data.to_vec();
    seal_pages(&mut sealed);
    check(&sealed);
}

fn check(data: &[u8]) {
    decode(data, |filter: &mut CountingBloomFilter, digest| {
        filter.insert_digest(digest);
        assert!(filter.contains_digest(digest));
    });
    decode(data, |filter: &mut WindowBloomFilter, digest| {
        filter.insert_digest(digest);
        filter.advance(u64::MAX);
        filter.contains_digest(digest);
    });
    decode(data, |filter: &mut BloomMatrix, digest| {
        filter.insert_digest(0, digest);
        assert!(filter.contains_digest(0, digest));
        filter.remove_set(0);
    });
    decode(data, |filter: &mut BinaryFuse, digest| {
        filter.contains_digest(digest);
    });
    decode(data, |segment: &mut Segment, digest| {
        let is_inside = segment.digests().contains(&digest);
        assert_eq!(segment.insert_digest(digest).is_ok(), is_inside);
        assert_eq!(segment.contains_digest(digest).ok(), is_inside.then_some(true));
    });
    decode(data, |filter: &mut ScalableBloomFilter, digest| {
        assert!((0.0..=1.0).contains(&filter.expected_fpp()));
        filter.set_max_bytes(filter.num_bytes() + (1 << 20));
        if filter.insert_digest(digest).is_ok() {
            assert!(filter.contains_digest(digest));
        }
    });
}

fn decode<F: Native>(data: &[u8], go_on: impl FnOnce(&mut F, Digest)) {
    // The body is copied once, with the padding of huge pages per segment; the rest is small.
    let limit = data.len() + (8 << 20);
    let Ok((mut filter, header)) = limited_to(limit, || native::decode_as::<F>(data, None)) else {
        return;
    };
    assert_eq!(header.file_bytes(), data.len() as u64);
    check_encoded(&filter, &header, data);
    go_on(&mut filter, Digest::new(0x9E37_79B9_7F4A_7C15));
}
