//! Bytes → `mayhap::native::decode_as` for every kind but plain Bloom filters (`native_decode`),
//! and `mayhap::set::decode` for all, as they are and once more with right checksums.
//!
//! Oracles: a decoded filter is encoded to the same bytes, and keeps working without a panic; no
//! allocation is larger than the input allows.
use mayhap::native::{self, HEADER_BYTES, Native};
use mayhap::set::{self, Repeats};
use mayhap::{
    BinaryFuse, Bitmap, BloomMatrix, CompactFilter, CountingBloomFilter, Digest, RibbonFilter,
    ScalableBloomFilter, Segment, WindowBloomFilter,
};
use mayhap_fuzz::{check_encoded, limited_to, seal_pages};

pub(super) fn run(data: &[u8]) {
    // Short files have a target of their own.
    if native::is_short(data) {
        return;
    }
    check(data);
    let mut sealed = data.to_vec();
    seal_pages(&mut sealed);
    check(&sealed);
}

fn check(data: &[u8]) {
    decode(data, |filter: &mut CompactFilter, digest| {
        filter.set_max_bytes(1 << 20);
        let copies = filter.count_digest(digest);
        if filter.insert_digest(digest).is_ok() {
            assert!(filter.contains_digest(digest));
            assert_eq!(filter.remove_digest(digest), copies < 14);
        }
        let mut stored = 0;
        filter.for_each_fingerprint(|_, copies| stored += u64::from(copies));
        assert_eq!(stored, filter.inserted_items());
        while filter.inserted_items() > 0 && filter.remove_digest(digest) {}
        assert!(filter.count_digest(digest) == 0 || filter.count_digest(digest) >= 15);
    });
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
    decode(data, |filter: &mut RibbonFilter, digest| {
        let nth = |i| Digest::new(digest.get().wrapping_mul(i));
        let digests: Vec<Digest> = (0..97).map(nth).collect();
        let found = filter.contains_digests(&digests);
        assert!(found.iter().zip(&digests).all(|(found, &d)| found == filter.contains_digest(d)));
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
    decode_set(data);
}

/// The face of every kind: what it says that it can do, it does.
fn decode_set(data: &[u8]) {
    let limit = data.len() + (8 << 20);
    let Ok((mut set, header)) = limited_to(limit, || set::decode(data, None)) else {
        return;
    };
    let encoded = set::encode(&*set, header.key_options());
    assert!(encoded[HEADER_BYTES..] == data[HEADER_BYTES..], "another body");
    assert_eq!(set.inserted_items(), set.numbers().inserted_items);
    let (can, fill) = (set.capabilities(), set.by_bits().fill_ratio);
    // A fuse or ribbon filter of a forged header may have more keys than slots.
    assert!(fill >= 0.0 && (fill <= 1.0 || !can.inserts), "fill is {fill}");
    let digests = [Digest::new(0x9E37_79B9_7F4A_7C15)];
    let mut bits = Bitmap::new();
    let inserted = set.insert_into(&digests, Repeats::Renew, &mut bits);
    assert!(can.inserts || inserted.is_err());
    if inserted.is_ok() {
        set.contains_into(&digests, set.now(), &mut bits);
        assert!(bits.get(0) || can.forgets);
    }
    assert_eq!(set.remove_into(&digests, &mut bits).is_ok(), can.removes);
    assert_eq!(set.clear().is_ok(), can.clears);
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
