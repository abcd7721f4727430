//! The bits of a digest, for callers that store them elsewhere.

use mayhap::{AnyFilter, Digest, DigestFunction, FilterParams, Layout, OwnedBlocks};

fn params(layout: Layout, num_bits: u64, num_hashes: u32) -> FilterParams {
    FilterParams::new(layout, num_bits, num_hashes, 100, 0.01).unwrap()
}

#[test]
fn positions_are_the_bits_that_inserting_sets() {
    for (layout, num_bits, num_hashes) in [
        (Layout::Standard, 1_000, 7),
        (Layout::Standard, 100_003, 32),
        (Layout::Blocked, 512, 4),
        (Layout::Blocked, 512 * 77, 4),
        (Layout::Blocked, 512, 8),
        (Layout::Blocked, 512 * 77, 8),
        (Layout::Blocked, 512 * 77, 16),
        (Layout::Blocked128, 128 * 301, 8),
        (Layout::Blocked64, 64 * 301, 8),
    ] {
        let params = params(layout, num_bits, num_hashes);
        let blocks = OwnedBlocks::zeroed(params.num_blocks()).unwrap();
        let function = DigestFunction::xxh3(0);
        let mut filter = AnyFilter::from_parts(params, function, blocks, 0).unwrap();
        let mut expected = vec![0u64; params.num_blocks() as usize * 8];
        for i in 0..300u64 {
            let digest = Digest::new(function.digest(&i).get() ^ i.rotate_right(9));
            assert_eq!(params.positions(digest).count(), num_hashes as usize);
            for position in params.positions(digest) {
                assert!(position < num_bits);
                expected[(position / 64) as usize] |= 1 << (position % 64);
            }
            filter.insert_digest(digest);
            let words = filter.blocks().iter().flat_map(|block| block.0);
            assert!(words.eq(expected.iter().copied()), "{layout} {num_bits} {num_hashes} {i}");
        }
    }
}

/// The table of the format's page: the digest of the text `a`.
#[test]
fn positions_are_in_the_order_of_the_formulas() {
    let digest = DigestFunction::xxh3(0).digest("a");
    let first = [3584, 3661, 3743, 3811, 3863, 3908, 3992, 4065];
    let second = [3610, 3665, 3714, 3784, 3869, 3961, 4025, 4042];
    assert!(params(Layout::Blocked, 4096, 4).positions(digest).eq([3584, 3765, 3964, 4021]));
    assert!(params(Layout::Blocked, 4096, 8).positions(digest).eq(first));
    assert!(
        params(Layout::Blocked, 4096, 16).positions(digest).eq(first.into_iter().chain(second))
    );
    let narrow = [3584, 3600, 3629, 3639, 3662, 3667, 3685, 3708];
    assert!(params(Layout::Blocked128, 4096, 8).positions(digest).eq(narrow));
    let narrow = [3648, 3656, 3665, 3677, 3683, 3695, 3700, 3707];
    assert!(params(Layout::Blocked64, 4096, 8).positions(digest).eq(narrow));
}
