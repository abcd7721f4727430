//! Union with pieces of bits: the OR of bytes, refused where they are none of the filter.

use super::{cases, digests, empty, shape, shapes, with_layout};
use mayhap::{AnyFilter, Block, Build, Digest, DigestFunction, Error, Gain, Layout, LayoutKind};
use mayhap::{FilterParams, OwnedBlocks};
use proptest::prelude::*;

fn bytes_of(blocks: &[Block]) -> Vec<u8> {
    blocks.iter().flat_map(|block| block.0).flat_map(u64::to_le_bytes).collect()
}

fn any(params: FilterParams, digests: &[Digest]) -> AnyFilter {
    let mut filter: AnyFilter = Build::empty(params, DigestFunction::default()).unwrap();
    filter.insert_digests_into(digests, &mut mayhap::Bitmap::new());
    filter
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn all_pieces_are_the_union(
        params in shapes(), left in digests(60), right in digests(60), length in 1..9_usize,
    ) {
        with_layout!(pieces_are_union(params, &left, &right, length))?;
    }
}

fn pieces_are_union<L: LayoutKind>(
    params: FilterParams,
    left: &[Digest],
    right: &[Digest],
    length: usize,
) -> Result<(), TestCaseError> {
    let mut both = empty::<L>(params);
    both.insert_digests(left);
    both.insert_digests(right);
    let (mut ours, theirs) = (any(params, left), any(params, right));
    let (shared, items) = (any(params, left).into_concurrent(), ours.inserted_items());
    let bytes = bytes_of(theirs.blocks());
    let pieces = bytes.chunks(length * Block::BYTES).zip((0..).step_by(length * Block::BYTES));
    // Backwards, and twice: the order and repetitions change nothing.
    let pieces: Vec<_> = pieces.collect();
    let (mut new, mut ones) = (0, 0);
    for (piece, offset) in pieces.iter().rev().copied() {
        let gain = ours.gain_of(offset, piece).unwrap();
        prop_assert_eq!(ours.union_bytes(offset, piece), Ok(gain.lacking));
        let then = Gain { ones: gain.ones + gain.lacking, lacking: 0 };
        prop_assert_eq!(ours.gain_of(offset, piece), Ok(then));
        prop_assert_eq!(ours.union_bytes(offset, piece), Ok(0));
        prop_assert_eq!(shared.gain_of(offset, piece), Ok(gain));
        prop_assert_eq!(shared.union_bytes(offset, piece), Ok(gain.lacking));
        prop_assert_eq!(shared.union_bytes(offset, piece), Ok(0));
        (new, ones) = (new + gain.lacking, ones + gain.ones);
    }
    prop_assert_eq!((ones, ones + new), (any(params, left).count_ones(), both.count_ones()));
    let both: &OwnedBlocks = both.storage();
    prop_assert!(ours.blocks() == both.as_ref() && ours.inserted_items() == items);
    prop_assert!(shared.snapshot().unwrap().blocks() == both.as_ref());
    Ok(())
}

#[test]
fn bytes_that_are_no_piece_are_refused_and_nothing_changes() {
    // Two blocks and 10 bits of a third.
    let params = shape(Layout::Standard, 1034, 8);
    let digests = [Digest::new(1), Digest::new(u64::MAX / 3)];
    let (mut filter, shared) = (any(params, &digests), any(params, &digests).into_concurrent());
    let before = bytes_of(filter.blocks());
    let past_end = || Error::BadField { field: "bits past num_bits", found: 502 };
    let none = |offset, bytes| Error::NoPiece { offset, bytes, num_bytes: 192 };
    let piece = [0xff; 256];
    for (at, bytes, refused) in [
        (0, 0, none(0, 0)),
        (0, 63, none(0, 63)),
        (0, 65, none(0, 65)),
        (8, 64, none(8, 64)),
        (192, 64, none(192, 64)),
        (0, 256, none(0, 256)),
        (u64::MAX - 63, 64, none(u64::MAX - 63, 64)),
        // Its bits 10 to 511 are past the end of the filter.
        (128, 64, past_end()),
        (0, 192, past_end()),
    ] {
        let bytes = &piece[..bytes];
        assert_eq!(filter.gain_of(at, bytes), Err(refused.clone()), "{at} {}", bytes.len());
        assert_eq!(shared.gain_of(at, bytes), Err(refused.clone()));
        assert_eq!(shared.union_bytes(at, bytes), Err(refused.clone()));
        assert_eq!(filter.union_bytes(at, bytes), Err(refused));
        assert!(bytes_of(filter.blocks()) == before, "{at}");
        assert!(bytes_of(shared.snapshot().unwrap().blocks()) == before, "{at}");
    }
    let mut last = [0; 64];
    last[..2].copy_from_slice(&[0xff, 0b11]);
    let lacking = 10 - u64::from(filter.blocks()[2].count_ones());
    assert_eq!(filter.union_bytes(128, &last), Ok(lacking));
}
