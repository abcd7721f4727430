//! Segments: the same bits as the whole filter, in any number of them.

use mayhap::native::{self, Header, Kind};
use mayhap::{
    BlockedBloomFilter, Digest, DigestFunction, Error, FilterParams, Layout, SecretKey, Segment,
    Segments, sizing,
};
use proptest::prelude::*;

const FUNCTION: DigestFunction = DigestFunction::xxh3(7);

fn digests(count: u64) -> Vec<Digest> {
    (0..count).map(|key| FUNCTION.digest(&key)).collect()
}

fn whole(params: FilterParams, digests: &[Digest]) -> BlockedBloomFilter {
    let blocks = mayhap::OwnedBlocks::zeroed(params.num_blocks()).unwrap();
    let mut filter = BlockedBloomFilter::from_parts(params, FUNCTION, blocks, 0).unwrap();
    filter.insert_digests(digests);
    filter
}

/// Each digest in its segment, one by one or in batches.
fn filled(cut: Segments, params: FilterParams, digests: &[Digest], batch: usize) -> Vec<Segment> {
    let pages = (0..cut.count()).map(|i| cut.pages(i).unwrap());
    let mut segments: Vec<Segment> =
        pages.map(|pages| Segment::new(params, FUNCTION, pages).unwrap()).collect();
    let mut parts = vec![Vec::new(); segments.len()];
    for &digest in digests {
        parts[cut.index_of(digest) as usize].push(digest);
    }
    for (segment, part) in segments.iter_mut().zip(&parts) {
        for digests in part.chunks(batch) {
            if let [digest] = digests {
                let was_there = segment.contains_digest(*digest).unwrap();
                assert_eq!(segment.insert_digest(*digest).unwrap(), !was_there);
            } else {
                segment.insert_digests(digests).unwrap();
            }
        }
        assert_eq!(segment.contains_digests(part).unwrap().count_ones(), part.len());
    }
    segments
}

proptest! {
    #![proptest_config(crate::cases(60))]

    /// Any size, any k, cut anywhere.
    #[test]
    fn the_bits_are_those_of_the_whole(
        blocks in 1..3_000u64,
        k in prop::sample::select(vec![4, 8, 16]),
        cut in 1..50u64,
        keys in 0..3_000u64,
        batch in 1..200usize,
    ) {
        let params = FilterParams::new(Layout::Blocked, blocks * 512, k, 10, 0.01).unwrap();
        let cut = Segments::new(&params, cut.min(blocks.div_ceil(64))).unwrap();
        let digests = digests(keys);
        let whole = whole(params, &digests);
        let segments = filled(cut, params, &digests, batch);
        let together: Vec<_> = segments.iter().flat_map(Segment::blocks).copied().collect();
        prop_assert!(together == whole.storage().as_ref());
        let ones: u64 = segments.iter().map(Segment::count_ones).sum();
        prop_assert_eq!(ones, whole.count_ones());
        // Absent keys, too: each segment answers like the whole filter.
        for key in keys..keys + 500 {
            let digest = FUNCTION.digest(&key);
            let found = segments[cut.index_of(digest) as usize].contains_digest(digest).unwrap();
            prop_assert_eq!(found, whole.contains_digest(digest));
        }
    }

    /// Every digest belongs to one segment, whose neighbours begin where it ends.
    #[test]
    fn ranges_follow_each_other(
        blocks in 1..(1u64 << 47),
        count in 1..1_000u64,
        at in any::<u64>(),
        digest in any::<u64>(),
    ) {
        let params = FilterParams::new(Layout::Blocked, blocks * 512, 8, 10, 0.01).unwrap();
        let cut = Segments::new(&params, count.min(blocks.div_ceil(64))).unwrap();
        let (last, i) = (cut.count() - 1, at % cut.count());
        let (pages, range) = (cut.pages(i).unwrap(), cut.digests(i).unwrap());
        prop_assert!(!pages.is_empty() && !range.is_empty());
        prop_assert_eq!(pages.start, i * blocks.div_ceil(64) / cut.count());
        prop_assert_eq!((cut.index_of(*range.start()), cut.index_of(*range.end())), (i, i));
        if i == 0 {
            prop_assert_eq!((pages.start, range.start().get()), (0, 0));
        }
        if i == last {
            prop_assert_eq!((pages.end, range.end().get()), (blocks.div_ceil(64), u64::MAX));
        } else {
            prop_assert_eq!(cut.pages(i + 1).unwrap().start, pages.end);
            let next = cut.digests(i + 1).unwrap();
            prop_assert_eq!(next.start().get(), range.end().get() + 1);
        }
        let digest = Digest::new(digest);
        prop_assert!(cut.digests(cut.index_of(digest)).unwrap().contains(&digest));
    }
}

/// Above 2 MiB, where cache lines are requested ahead.
#[test]
fn large_segments_have_the_same_bits() {
    let params = sizing::for_items(Layout::Blocked, 6_000_000, 0.01).unwrap();
    let cut = Segments::new(&params, 3).unwrap();
    let digests = digests(if cfg!(debug_assertions) { 60_000 } else { 6_000_000 });
    let segments = filled(cut, params, &digests, 100_001);
    assert!(segments.iter().all(|segment| segment.num_bytes() > 2 << 20));
    let together: Vec<_> = segments.iter().flat_map(Segment::blocks).copied().collect();
    assert!(together == whole(params, &digests).storage().as_ref());
}

#[test]
fn digests_of_other_segments_are_refused_and_nothing_is_inserted() {
    let params = sizing::for_items(Layout::Blocked, 10_000, 0.01).unwrap();
    let cut = Segments::new(&params, 2).unwrap();
    let mut segment = Segment::new(params, FUNCTION, cut.pages(1).unwrap()).unwrap();
    let (first, last) = (*cut.digests(1).unwrap().start(), Digest::new(u64::MAX));
    let other = Digest::new(first.get() - 1);
    let error = segment.insert_digests(&[first, last, other]).unwrap_err();
    assert!(matches!(error, Error::OutsideSegment { last: u64::MAX, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "digest {:016x} belongs to another segment: this one has the digests from {:016x} to \
             ffffffffffffffff",
            other.get(),
            first.get()
        )
    );
    assert_eq!(segment.insert_digest(other), Err(error.clone()));
    assert_eq!(segment.contains_digest(other), Err(error.clone()));
    assert_eq!(segment.contains_digests(&[first, other]), Err(error));
    assert_eq!(segment.count_ones(), 0);
    assert_eq!(segment.insert_digests(&[first, last, first]).unwrap().count_ones(), 2);
}

#[test]
fn what_cannot_be_cut_is_refused_before_memory_is_taken() {
    let standard = sizing::for_items(Layout::Standard, 1_000, 0.01).unwrap();
    for error in [
        Segments::new(&standard, 1).unwrap_err(),
        Segment::new(standard, FUNCTION, 0..1).unwrap_err(),
    ] {
        assert_eq!(error, Error::NoSegments { layout: "standard" });
    }
    // 2^41 pages.
    let params = FilterParams::new(Layout::Blocked, 1 << 56, 8, 1, 0.5).unwrap();
    assert!(Segments::new(&params, 0).is_err());
    assert!(Segments::new(&params, (1 << 41) + 1).is_err());
    let most = Segments::new(&params, 1 << 41).unwrap();
    assert_eq!(most.pages((1 << 41) - 1).unwrap(), (1 << 41) - 1..1 << 41);
    assert!(most.pages(1 << 41).is_err());
    assert!(Segment::new(params, FUNCTION, 5..5).is_err());
    assert!(Segment::new(params, FUNCTION, (1 << 41)..(1 << 41) + 1).is_err());
    assert!(matches!(Segment::new(params, FUNCTION, 0..1 << 41), Err(Error::OutOfMemory { .. })));
    assert_eq!(Segment::new(params, FUNCTION, 7..9).unwrap().num_bytes(), 8192);
}

#[test]
fn a_segment_survives_the_file_format() {
    let params = sizing::for_items(Layout::Blocked, 10_000, 0.01).unwrap();
    let function = DigestFunction::sip13(SecretKey::new([3; 16]));
    let mut segment = Segment::new(params, function, 2..4).unwrap();
    for i in 0..10_000u64 {
        let digest = function.digest(&i);
        if segment.digests().contains(&digest) {
            segment.insert_digest(digest).unwrap();
        }
    }
    let bytes = native::encode(&segment, "trim=yes\n");
    assert_eq!(bytes.len(), 4096 + 2 * 4104);
    let (copy, header) =
        native::decode_as::<Segment>(&bytes, Some(SecretKey::new([3; 16]))).unwrap();
    assert_eq!((header.kind(), header.key_options()), (Kind::Segment, "trim=yes\n"));
    assert_eq!(native::encode(&copy, "trim=yes\n"), bytes);
    let fields = header.segment().unwrap();
    assert_eq!((fields.params, fields.pages, fields.ones), (params, 2..4, segment.count_ones()));
    assert_eq!(copy.blocks(), segment.blocks());
    let error = native::decode(&bytes, None).unwrap_err();
    assert_eq!(error, Error::WrongKind { wanted: "bloom", found: "segment" });
}

/// With checksums that are right.
#[test]
fn forged_numbers_are_refused() {
    let params = sizing::for_items(Layout::Blocked, 10_000, 0.01).unwrap();
    let mut segment = Segment::new(params, FUNCTION, 1..3).unwrap();
    segment.insert_digest(*segment.digests().start()).unwrap();
    let bytes = native::encode(&segment, "");
    let pages = params.num_blocks().div_ceil(64);
    for (offset, value) in [
        (72, pages - 1), // from the last page, and one after it
        (72, pages),     // after the last page
        (72, u64::MAX),  // wraps
        (80, 0),         // none
        (80, pages),     // too many
        (80, u64::MAX),  // wraps
        (88, 9),         // one more bit than there are
        (88, 8193 * 8),  // more than the memory has
        (88, u64::MAX),
        (96, 1),   // reserved
        (56, 1),   // a count
        (24, 512), // a smaller filter
    ] {
        let mut forged = bytes.clone();
        forged[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..4088]);
        forged[4088..4096].copy_from_slice(&checksum.to_le_bytes());
        let error = native::decode_as::<Segment>(&forged, None).unwrap_err();
        assert!(!matches!(error, Error::HeaderDamaged), "{offset}: {value}: {error}");
    }
    let mut standard = bytes.clone();
    standard[12] = 1;
    let checksum = xxhash_rust::xxh3::xxh3_64(&standard[..4088]);
    standard[4088..4096].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(Header::decode(&standard), Err(Error::NoSegments { layout: "standard" }));
}

/// The count of a whole filter follows from the bits, also when all of them are set.
#[test]
fn the_count_of_the_whole_is_that_of_a_settled_filter() {
    let params = sizing::for_items(Layout::Blocked, 1_000, 0.1).unwrap();
    for keys in [0, 1, 900, 30_000, 3_000_000] {
        let digests = digests(keys);
        let mut whole = whole(params, &digests);
        whole.settle_inserted_items();
        let segment = &filled(Segments::new(&params, 1).unwrap(), params, &digests, 9_999)[0];
        let header = Header::of(segment, "").whole(segment.count_ones()).unwrap();
        assert_eq!(header, Header::of(&whole, ""), "{keys}");
    }
}

const ANSWERS: &str = include_str!("../golden/native/answers_segment.txt");

macro_rules! file {
    ($name:literal, $keys:literal) => {
        ($name, include_bytes!(concat!("../golden/native/", $name, ".mayhap")), $keys)
    };
}

/// Keys inserted into the whole filter, by `tests/golden/native/README.md`.
const FILES: [(&str, &[u8], u64); 4] = [
    file!("v3-segment-0", 9000),
    file!("v3-segment-1", 9000),
    file!("v3-segment-sip13", 6000),
    file!("v3-segment-empty", 0),
];

#[test]
fn golden_segments_open_answer_and_are_written_back_byte_for_byte() {
    assert_eq!(ANSWERS.lines().count(), FILES.len());
    for ((name, bytes, keys), line) in FILES.into_iter().zip(ANSWERS.lines()) {
        let [line_name, first, last, false_positives] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let key = SecretKey::new(std::array::from_fn(|i| i as u8));
        let is_keyed = native::Header::decode(bytes).unwrap().is_keyed();
        let key = is_keyed.then_some(key);
        let (segment, header) = native::decode_as::<Segment>(bytes, key).unwrap();
        let bounds = segment.digests();
        let bounds = [bounds.start(), bounds.end()].map(|digest| format!("{:016x}", digest.get()));
        assert_eq!((line_name, [first, last]), (name, bounds.each_ref().map(String::as_str)));
        let function = *segment.digest_function();
        // The same again, from its keys.
        let mut built = Segment::new(*segment.params(), function, segment.pages()).unwrap();
        for i in 0..keys {
            let digest = function.digest(format!("member-{i}").as_str());
            if segment.digests().contains(&digest) {
                built.insert_digest(digest).unwrap();
                assert!(segment.contains_digest(digest).unwrap(), "{name}: false negative");
            }
        }
        assert!(native::encode(&segment, header.key_options()) == bytes, "{name}");
        assert!(native::encode(&built, header.key_options()) == bytes, "{name}");
        let is_found = |i: &u64| {
            let digest = function.digest(format!("absent-{i}").as_str());
            segment.contains_digest(digest).unwrap_or(false)
        };
        let found: Vec<String> = (0..1000).filter(is_found).map(|i| i.to_string()).collect();
        let listed = if found.is_empty() { "-".into() } else { found.join(",") };
        assert_eq!(listed, false_positives, "{name}");
    }
}
