//! Counting filters: sizes, files, and the plain filter that they become.

use super::counting::{BOTH, with_blocks};
use mayhap::{
    AnyFilter, CounterBits, CountingBloomFilter, DigestFunction, Error, FilterParams, Layout,
    native,
};

#[test]
fn the_plain_filter_of_one_bit_a_counter_is_saved_mapped_and_united() {
    for (bits, layout, times) in
        [(CounterBits::Four, Layout::Blocked128, 4), (CounterBits::Eight, Layout::Blocked64, 8)]
    {
        let (mut left, mut right) = (with_blocks(bits, 101), with_blocks(bits, 101));
        left.insert_batch(&(0..200u64).collect::<Vec<_>>());
        right.insert_batch(&(200..400u64).collect::<Vec<_>>());
        assert!((0..100u64).all(|key| left.remove(&key)));
        let (mut plain, other) = (left.to_blocked().unwrap(), right.to_blocked().unwrap());
        assert_eq!(
            (plain.params(), plain.digest_function()),
            (left.params(), left.digest_function())
        );
        assert_eq!(plain.params().layout(), layout);
        assert_eq!(plain.params().num_bits() / 8 * times, left.num_bytes());
        assert_eq!(plain.inserted_items(), left.estimated_items().rounded());
        let encoded = native::encode(&plain, "");
        assert_eq!(encoded[8..14], [3, 0, 1, 0, layout.id() as u8, 0], "version 3, kind 1, layout");
        let (copy, _) = native::decode(&encoded, None).unwrap();
        assert!((0..1000u64).all(|key| copy.contains(&key) == left.contains(&key)));
        assert_eq!(native::encode(&copy, ""), encoded);
        let borrowed =
            AnyFilter::from_parts(*copy.params(), *copy.digest_function(), copy.blocks(), 0);
        assert!(
            (0..1000u64)
                .all(|key| borrowed.as_ref().unwrap().contains(&key) == left.contains(&key))
        );
        plain.union_with(&other).unwrap();
        left.union_with(&right).unwrap();
        assert!(plain.blocks() == left.to_blocked().unwrap().blocks());
    }
}

fn forged(filter: &CountingBloomFilter, offset: usize, field: &[u8]) -> Error {
    let mut bytes = native::encode(filter, "");
    bytes[offset..offset + field.len()].copy_from_slice(field);
    let checksum = DigestFunction::xxh3(0).digest(&bytes[..4088]).get();
    bytes[4088..4096].copy_from_slice(&checksum.to_le_bytes());
    native::decode_as::<CountingBloomFilter>(&bytes, None).map(|_| ()).unwrap_err()
}

#[test]
fn forged_headers_are_refused_by_name() {
    let mut filter = with_blocks(CounterBits::Four, 100);
    filter.insert("key");
    let bytes = native::encode(&filter, "");
    assert_eq!(bytes.len(), 4096 + 2 * 4104, "6400 bytes of counters are two pages");
    assert_eq!(
        native::decode(&bytes, None).map(|_| ()),
        Err(Error::WrongKind { wanted: "bloom", found: "counting" })
    );
    let mut damaged = bytes.clone();
    damaged[4096 + 77] ^= 1;
    let damaged = native::decode_as::<CountingBloomFilter>(&damaged, None).map(|_| ());
    assert!(matches!(damaged, Err(Error::PageDamaged { page: 0, .. })), "{damaged:?}");
    for layout in [0u16, 1, 2, 5] {
        let refused = forged(&filter, 12, &layout.to_le_bytes());
        assert!(matches!(
            refused,
            Error::BadField { field: "layout", .. } | Error::OutOfRange { .. }
        ));
    }
    assert!(matches!(forged(&filter, 8, &[1]), Error::BadField { field: "version", .. }));
    assert!(matches!(
        forged(&filter, 32, &[16]),
        Error::OutOfRange { parameter: "num_hashes", .. }
    ));
    assert!(matches!(forged(&filter, 72, &[1]), Error::BadField { field: "reserved", .. }));
    assert!(matches!(forged(&filter, 4064, &[1]), Error::BadField { field: "layers", .. }));
    for num_counters in [0u64, 127, 129, (1 << 56) + 128, u64::MAX] {
        let refused = forged(&filter, 24, &num_counters.to_le_bytes());
        assert!(matches!(refused, Error::OutOfRange { .. }), "{refused}");
    }
    for num_counters in [128u64, 1 << 56] {
        let refused = forged(&filter, 24, &num_counters.to_le_bytes());
        assert!(matches!(refused, Error::WrongLength { field: "file", .. }), "{refused}");
    }
}

#[test]
fn two_of_items_rate_and_memory_give_the_third() {
    let builder = CountingBloomFilter::builder;
    for bits in BOTH {
        let builder = || builder().counter_bits(bits);
        let sized = builder().expected_items(10_000).target_fpp(0.01).build().unwrap();
        assert!(sized.expected_fpp(10_000) <= 0.01);
        assert_eq!(sized.num_bits(), sized.num_counters() * u64::from(bits.bits()));
        assert_eq!(sized.num_bytes(), sized.blocks().len() as u64 * 64);
        let bytes = sized.num_bytes();
        let by_bytes = builder().expected_items(10_000).num_bytes(bytes + 63).params().unwrap();
        assert_eq!(by_bytes.num_bits(), sized.num_counters());
        assert!(by_bytes.target_fpp() <= 0.01);
        let most = builder().num_bytes(bytes).target_fpp(0.01).params().unwrap();
        assert!((10_000..10_100).contains(&most.expected_items()), "{}", most.expected_items());
        let all = builder().expected_items(10_000).target_fpp(0.01);
        assert_eq!(all.clone().num_bytes(bytes).params().unwrap(), *sized.params());
        let refused = all.clone().num_bytes(bytes - 64).params().unwrap_err();
        assert!(matches!(refused, Error::FppUnreachable { .. }), "{refused}");
        let refused = all.max_bytes(bytes - 1).build().map(|_| ()).unwrap_err();
        assert_eq!(
            refused,
            Error::TooLarge { field: "filter bytes", limit: bytes - 1, found: bytes }
        );
        assert!(builder().num_bytes(63).target_fpp(0.01).params().is_err());
        assert!(builder().num_bytes(u64::MAX).target_fpp(0.01).params().is_err());
    }
    assert_eq!(CounterBits::new(8), Ok(CounterBits::Eight));
    assert_eq!(CounterBits::new(4).map(CounterBits::bits), Ok(4));
    assert!(matches!(CounterBits::new(5), Err(Error::OutOfRange { found: 5, .. })));
    for missing in [builder(), builder().expected_items(1), builder().target_fpp(0.1)] {
        assert!(matches!(missing.params(), Err(Error::Missing { .. })));
    }
    let blocked = FilterParams::new(Layout::Blocked, 512, 8, 1, 0.1).unwrap();
    let refused = CountingBloomFilter::empty(blocked, DigestFunction::default()).map(|_| ());
    assert!(matches!(refused, Err(Error::Incompatible { parameter: "layout", .. })));
}
