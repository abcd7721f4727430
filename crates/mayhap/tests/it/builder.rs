//! Named numbers in, a sized filter out; requests that cannot be met are refused by name.

use mayhap::{
    AnyFilter, BlockedBloomFilter, BloomFilter, Builder, ConcurrentBloomFilter, Error, Layout,
    sizing,
};

fn any() -> Builder<AnyFilter> {
    AnyFilter::builder()
}

#[test]
fn items_and_rate_give_bits_and_hashes() {
    let standard = BloomFilter::builder().expected_items(1_000_000).target_fpp(0.01);
    let params = standard.params().unwrap();
    assert_eq!(params.num_hashes(), 7);
    assert!((9.585..9.6).contains(&params.bits_per_item()), "{}", params.bits_per_item());
    let blocked = BlockedBloomFilter::builder().expected_items(1_000_000).target_fpp(0.01);
    let params = blocked.params().unwrap();
    assert_eq!((params.num_hashes(), params.num_bits() % 512), (8, 0));
    assert!((10.0..10.15).contains(&params.bits_per_item()), "{}", params.bits_per_item());
    assert_eq!((params.expected_items(), params.target_fpp()), (1_000_000, 0.01));
    assert!(params.expected_fpp(1_000_000) <= 0.01);
    let filter = blocked.build().unwrap();
    assert_eq!(filter.storage().as_ref().len() as u64, params.num_blocks());
}

#[test]
fn items_and_bits_give_the_lowest_rate() {
    let params = BloomFilter::builder().expected_items(1000).num_bits(10_000).params().unwrap();
    assert_eq!((params.num_bits(), params.num_hashes()), (10_000, 7));
    for other in [6, 8] {
        let rate = sizing::expected_fpp(Layout::Standard, 10_000, other, 1000);
        assert!(params.target_fpp() < rate, "k = {other}");
    }
    let params = any().expected_items(1000).num_bytes(1250).params().unwrap();
    assert_eq!((params.layout(), params.num_bits()), (Layout::Blocked, 9728), "whole blocks");
}

#[test]
fn bits_and_rate_give_the_most_items() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let params = any().layout(layout).num_bits(1 << 20).target_fpp(0.001).params().unwrap();
        let items = params.expected_items();
        assert_eq!((params.num_bits(), params.target_fpp()), (1 << 20, 0.001));
        assert!(params.expected_fpp(items) <= 0.001);
        let one_more = sizing::for_bits(layout, 1 << 20, items + 1).unwrap();
        assert!(one_more.expected_fpp(items + 1) > 0.001, "{layout}: {items} is not the most");
    }
}

#[test]
fn items_rate_and_bits_are_checked_against_each_other() {
    let builder = || BloomFilter::builder().expected_items(1000).target_fpp(0.01);
    let roomy = builder().num_bits(20_000).params().unwrap();
    assert_eq!((roomy.num_bits(), roomy.target_fpp()), (20_000, 0.01));
    assert!(roomy.expected_fpp(1000) < 1e-4);
    let Err(Error::FppUnreachable { target_fpp, lowest_fpp }) = builder().num_bits(5000).params()
    else {
        panic!("5 bits a key cannot keep 1 %");
    };
    assert_eq!(target_fpp, 0.01);
    assert!((0.08..0.1).contains(&lowest_fpp), "{lowest_fpp}");
}

#[test]
fn the_number_of_hashes_can_be_fixed() {
    let builder = || BloomFilter::builder().expected_items(1000).num_bits(10_000);
    let params = builder().num_hashes(3).params().unwrap();
    assert_eq!(params.num_hashes(), 3);
    let rate = params.expected_fpp(1000);
    assert_eq!(params.target_fpp(), rate);
    assert!(rate > builder().params().unwrap().target_fpp());
    for k in [0, 33, u32::MAX] {
        let refused = builder().num_hashes(k).params().unwrap_err();
        assert!(
            matches!(refused, Error::OutOfRange { parameter: "num_hashes", .. }),
            "{k}: {refused}"
        );
    }
    for k in [0, 1, 3, 5, 7, 9, 15, 17, 24] {
        let blocked = BlockedBloomFilter::builder().expected_items(10).num_bits(1024).num_hashes(k);
        let refused = blocked.params().unwrap_err().to_string();
        assert!(refused.contains("4, 8 or 16"), "{k}: {refused}");
    }
    // Where nothing fixes the number of bits, the rate and this k determine it.
    let sized = BloomFilter::builder().expected_items(10).target_fpp(0.1).num_hashes(3).params();
    let smallest = mayhap::sizing::for_items_and_hashes(Layout::Standard, 3, 10, 0.1);
    assert_eq!(sized.unwrap(), smallest.unwrap());
}

#[test]
fn what_is_missing_is_named() {
    for (builder, parameter) in [
        (any(), "target_fpp"),
        (any().expected_items(10), "target_fpp"),
        (any().num_bits(1000), "target_fpp"),
        (any().target_fpp(0.1), "expected_items"),
    ] {
        let refused = builder.params().unwrap_err();
        assert_eq!(refused, Error::Missing { parameter }, "{builder:?}");
        assert!(refused.to_string().contains(parameter));
    }
}

#[test]
fn wishes_without_meaning_are_refused() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let any = || any().layout(layout);
        assert_eq!(any().expected_items(0).target_fpp(0.1).params(), Err(Error::ZeroItems));
        assert_eq!(any().expected_items(0).num_bits(1000).params(), Err(Error::ZeroItems));
        for p in [0.0, -0.0, -1.0, 1.0, 5.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for builder in [
                any().expected_items(10).target_fpp(p),
                any().num_bits(1 << 20).target_fpp(p),
                any().expected_items(10).num_bits(1 << 20).target_fpp(p),
            ] {
                let refused = builder.params().unwrap_err();
                assert!(matches!(refused, Error::FppOutOfRange { .. }), "{p}: {refused}");
            }
        }
        for bits in [0, 1, 63, sizing::MAX_NUM_BITS + 1, u64::MAX] {
            let refused = any().expected_items(10).num_bits(bits).params().unwrap_err();
            assert!(matches!(refused, Error::OutOfRange { .. }), "{bits}: {refused}");
            let refused = any().num_bits(bits).target_fpp(0.1).params().unwrap_err();
            assert!(matches!(refused, Error::OutOfRange { .. }), "{bits}: {refused}");
        }
        // Two keys of 2^40 share a digest more often than that.
        let floor = any().expected_items(1 << 40).target_fpp(1e-9).params().unwrap_err();
        assert!(matches!(floor, Error::FppUnreachable { .. }), "{floor}");
    }
    let small = BlockedBloomFilter::builder().expected_items(10).num_bits(511).params();
    assert!(matches!(small, Err(Error::OutOfRange { min: 512, .. })));
}

#[test]
fn enormous_filters_are_sized_without_memory_and_not_made() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let builder = any().layout(layout).expected_items(10_000_000_000_000).target_fpp(0.01);
        let params = builder.params().unwrap();
        assert!((9.5..10.2).contains(&params.bits_per_item()), "{}", params.bits_per_item());
        // 12 TB: above the limit before any allocator is asked.
        let refused = builder.max_bytes(1 << 30).build().unwrap_err();
        let found = params.num_bytes();
        let limit = 1 << 30;
        assert_eq!(refused, Error::TooLarge { field: "filter bytes", limit, found });
    }
    let small = |limit| BloomFilter::builder().num_bytes(4096).target_fpp(0.1).max_bytes(limit);
    assert!(small(4096).build().is_ok());
    assert!(small(4095).build().is_err());
    // 8 PiB: beyond any allocator. The result is an error, not an abort.
    let refused = BloomFilter::builder().expected_items(1 << 50).num_bits(1 << 56).build();
    assert!(matches!(refused, Err(Error::OutOfMemory { .. })));
}

#[test]
fn the_default_layout_is_blocked_down_to_about_2e_5() {
    for (fpp, layout) in [
        (0.05, Layout::Blocked),
        (1e-2, Layout::Blocked),
        (1e-3, Layout::Blocked),
        (1e-4, Layout::Blocked),
        (1e-5, Layout::Standard),
        (1e-6, Layout::Standard),
    ] {
        let builder = any().expected_items(1_000_000).target_fpp(fpp);
        let params = builder.params().unwrap();
        assert_eq!(params.layout(), layout, "{fpp}");
        let bits = |layout| sizing::for_items(layout, 1_000_000, fpp).unwrap().num_bits() as f64;
        let ratio = bits(Layout::Blocked) / bits(Layout::Standard);
        assert_eq!(layout == Layout::Blocked, ratio <= 1.25, "{fpp}: {ratio}");
        let named = builder.layout(Layout::Standard).params().unwrap();
        assert_eq!(named.layout(), Layout::Standard, "a user can always name it");
    }
}

#[test]
fn the_digest_function_is_xxh3_unless_said_otherwise() {
    let filter = |seed| {
        ConcurrentBloomFilter::builder()
            .expected_items(9)
            .target_fpp(0.1)
            .seed(seed)
            .build()
            .unwrap()
    };
    let default = any().expected_items(9).target_fpp(0.1).build().unwrap();
    assert_eq!(*default.digest_function(), mayhap::DigestFunction::xxh3(0));
    assert_ne!(filter(1).digest("key"), filter(2).digest("key"));
}

#[test]
fn a_fixed_k_is_never_ignored() {
    let with_k = || BlockedBloomFilter::builder().num_hashes(16);
    let refused = with_k().num_bits(1 << 20).target_fpp(0.01).params().unwrap_err();
    assert!(refused.to_string().contains("expected_items"), "{refused}");
    let params = with_k().expected_items(1000).target_fpp(0.01).params().unwrap();
    assert_eq!(params.num_hashes(), 16);
    assert!(params.expected_fpp(1000) <= 0.01);
    // Whole blocks, rounded down, with a given k as without.
    let params = with_k().num_bits(1_000_000).expected_items(20_000).params().unwrap();
    assert_eq!((params.num_bits(), params.num_hashes()), (1_000_000 / 512 * 512, 16));
}
