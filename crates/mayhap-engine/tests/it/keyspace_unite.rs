//! A filter that comes in pieces has the keys of the one that they are of, whoever inserts
//! meanwhile.

use super::keyspace::{keyspace, numbered, turn, with_words};
use super::keyspace_recovery::{checkpoint_beside, commit, open, recording};
use mayhap::native::{HEADER_BYTES, encode};
use mayhap::sizing::Shrink;
use mayhap::{AnyFilter, DigestFunction, Error, Layout, ScalableBloomFilter, SecretKey};
use mayhap_engine::durable::Log;
use mayhap_engine::keyspace::{
    CreateError, Entry, Hash, InsertError, Keyspace, PieceOf, Sender, Shape, Spec, UniteError,
};

const KEYS: u64 = 2_000;

/// A filter elsewhere: 960 blocks of `blocked`, with keys of its own.
fn elsewhere(keys: std::ops::Range<u64>) -> AnyFilter {
    let builder = AnyFilter::builder().layout(Layout::Blocked).num_bytes(960 * 64);
    let mut filter = builder.target_fpp(0.01).build().unwrap();
    filter.insert_batch(&numbered(keys));
    filter
}

fn header_of(filter: &AnyFilter) -> Vec<u8> {
    encode(filter, "")[..HEADER_BYTES].to_vec()
}

/// Its bits in pieces of this many blocks, with their offsets.
fn pieces(filter: &AnyFilter, blocks: usize) -> Vec<(u64, Vec<u8>)> {
    let chunks = filter.blocks().chunks(blocks).zip((0..).step_by(64 * blocks));
    let bytes = |(chunk, offset): (&[mayhap::Block], u64)| {
        (offset, chunk.iter().flat_map(|block| block.0).flat_map(u64::to_le_bytes).collect())
    };
    chunks.map(bytes).collect()
}

fn unite(
    keyspace: &Keyspace,
    name: &[u8],
    (header, offset, bits): (&[u8], u64, &[u8]),
    log: Option<&Log>,
) -> Result<u64, UniteError> {
    let piece = PieceOf { header, offset, bits };
    keyspace.unite(name, (piece, Sender::Writer), 1, log)
}

fn has(entry: &Entry, keys: std::ops::Range<u64>) -> bool {
    let count = (keys.end - keys.start) as usize;
    let mut turn = turn();
    with_words(&numbered(keys), |words| entry.contains_many(words, &mut turn));
    turn.answers.count_ones() == count
}

/// As a move with two passes sends it, with a restart between any two pieces.
#[test]
fn pieces_are_in_the_folder_and_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let filter = elsewhere(0..KEYS);
    let header = header_of(&filter);
    let (mut sent, mut last) = (0, None);
    for (offset, bits) in pieces(&filter, 100) {
        let (keyspace, log) = open(folder.path());
        if let Some((params, items)) = last {
            let entry = keyspace.get(b"a", 1).unwrap();
            assert_eq!((entry.info(), entry.items()), (params, items));
        }
        sent += unite(&keyspace, b"a", (&header, offset, &bits), Some(&log)).unwrap();
        // Once more: nothing is new, nothing counts.
        assert_eq!(unite(&keyspace, b"a", (&header, offset, &bits), Some(&log)), Ok(0));
        let entry = keyspace.get(b"a", 1).unwrap();
        last = Some((entry.info(), entry.items()));
        if offset == 12_800 {
            log.checkpoint(&keyspace).unwrap();
        }
    }
    assert_eq!(sent, filter.count_ones());
    let (keyspace, _log) = open(folder.path());
    let entry = keyspace.get(b"a", 1).unwrap();
    assert!(has(&entry, 0..KEYS) && !has(&entry, 0..2 * KEYS));
    assert!(entry.items().abs_diff(KEYS) < 30, "{}", entry.items());
    let info = entry.info();
    assert_eq!((info.kind, info.num_bytes), ("blocked", 960 * 64));
    assert_eq!(info.capacity, filter.params().expected_items());
    // Unlike one that this server creates, it has the size of the other one, after an image too.
    let mut turn = turn();
    let digest = filter.digest_function().digest("key:0");
    assert_eq!(entry.insert_digest(digest, &mut turn), Ok(false));
}

#[test]
fn a_piece_that_does_not_fit_is_refused_and_changes_nothing() {
    let keyspace = keyspace();
    let filter = elsewhere(0..10);
    let (header, bits) = (header_of(&filter), [0xff; 128]);
    let send = |name: &[u8], header: &[u8], offset, bits: &[u8]| {
        unite(&keyspace, name, (header, offset, bits), None)
    };
    let none =
        |offset, bytes| Err(UniteError::Piece(Error::NoPiece { offset, bytes, num_bytes: 61_440 }));
    let grows = ScalableBloomFilter::new(10, 0.1, DigestFunction::default()).unwrap();
    let keyed = DigestFunction::sip13(SecretKey::new([3; 16]));
    let other = AnyFilter::builder()
        .digest_function(keyed)
        .expected_items(9)
        .target_fpp(0.1)
        .build()
        .unwrap();
    let lines = encode(&filter, "trim=yes");
    let mut broken = header.clone();
    broken[30] ^= 1;
    let is_bad = |refused: Result<u64, UniteError>| {
        assert!(matches!(refused, Err(UniteError::Header(_))), "{refused:?}");
    };
    for (name, exists) in [(&b"none"[..], false), (b"a", true)] {
        if exists {
            assert_eq!(send(name, &header, 0, &[0; 64]), Ok(0));
        }
        assert_eq!(send(name, &header, 8, &bits), none(8, 128));
        assert_eq!(send(name, &header, 0, &bits[..63]), none(0, 63));
        assert_eq!(send(name, &header, 0, &[]), none(0, 0));
        assert_eq!(send(name, &header, 61_376, &bits), none(61_376, 128));
        is_bad(send(name, &header[1..], 0, &bits));
        is_bad(send(name, &broken, 0, &bits));
        is_bad(send(name, &header_of(&other), 0, &bits));
        is_bad(send(name, &lines[..HEADER_BYTES], 0, &bits));
        let refused = send(name, &encode(&grows, "")[..HEADER_BYTES], 0, &bits);
        assert_eq!(refused, Err(UniteError::Kind("scalable")));
        assert_eq!(keyspace.get(name, 1).is_some(), exists);
    }
    let entry = keyspace.get(b"a", 1).unwrap();
    assert_eq!((entry.items(), entry.measure().fill_ratio), (0, 0.0));
    // A filter of the right kind that is another one.
    let builder = AnyFilter::builder().layout(Layout::Blocked).num_bytes(959 * 64);
    let unlike = header_of(&builder.target_fpp(0.01).build().unwrap());
    let differs = Error::Incompatible { parameter: "num_bits", left: 491_520, right: 491_008 };
    assert_eq!(send(b"a", &unlike, 0, &bits), Err(UniteError::Piece(differs)));
    keyspace.create(b"grows", Spec::growing(100, 0.01, 2), 1, None).unwrap();
    assert_eq!(send(b"grows", &header, 0, &bits), Err(UniteError::Kind("scalable")));
    keyspace.set_max_memory(keyspace.used_bytes());
    let refused = send(b"b", &header, 0, &bits);
    assert!(matches!(refused, Err(UniteError::Create(CreateError::TooLarge(_)))), "{refused:?}");
    assert_eq!(send(b"a", &header, 0, &bits), Ok(1024));
    assert!(keyspace.get(b"b", 1).is_none());
}

/// Bits that a client chooses are what a secret key is there to prevent.
#[test]
fn pieces_of_keyed_filters_are_for_admins() {
    let keyspace = keyspace();
    let shape = Shape::Fixed { capacity: 900, target_fpp: 0.01, layout: Some(Layout::Blocked) };
    let entry = keyspace.create(b"a", Spec { shape, hash: Hash::Keyed }, 1, None).unwrap();
    let mut turn = turn();
    entry.insert(b"key", &mut turn).unwrap();
    let file = keyspace.begin_dump(&entry, 1).unwrap();
    let header = &file.bytes()[..HEADER_BYTES];
    let (piece, num_bytes) = (PieceOf { header, offset: 0, bits: &[1; 64] }, entry.num_bytes());
    for name in [b"a", b"b"] {
        let refused = keyspace.unite(name, (piece, Sender::Writer), 1, None);
        assert_eq!(refused, Err(UniteError::Keyed));
    }
    assert!(keyspace.get(b"b", 1).is_none() && entry.items() == 1);
    assert_eq!(keyspace.unite(b"b", (piece, Sender::Admin), 1, None), Ok(64));
    assert_eq!(keyspace.get(b"b", 1).unwrap().num_bytes(), num_bytes);
}

/// A filter that pieces have filled refuses keys, as one that keys have filled does.
#[test]
fn a_filter_is_full_once_its_pieces_have_as_many_keys() {
    let keyspace = keyspace();
    let capacity = elsewhere(0..0).params().expected_items();
    let filter = elsewhere(0..capacity + capacity / 20);
    let header = header_of(&filter);
    for (offset, bits) in pieces(&filter, 500) {
        unite(&keyspace, b"a", (&header, offset, &bits), None).unwrap();
    }
    let (entry, mut turn) = (keyspace.get(b"a", 1).unwrap(), turn());
    assert!(entry.info().over_capacity && entry.items() > capacity);
    let mut key = 1_000_000..;
    let refused = key.find_map(|key: u64| entry.insert(&key.to_le_bytes(), &mut turn).err());
    assert_eq!(refused, Some(InsertError::Full));
    // All bits of all filters: the count stays a number.
    for (offset, bits) in pieces(&filter, 500) {
        unite(&keyspace, b"a", (&header, offset, &vec![0xff; bits.len()]), None).unwrap();
    }
    assert!(entry.items() <= 960 * 512, "{}", entry.items());
}

/// Threads insert, pieces come and the filter shrinks: each key that was answered is found by all
/// from then on, after a restart too, and the pieces count once.
#[test]
fn pieces_insertions_and_folds_at_once_lose_no_key() {
    const EACH: u64 = 1_500;
    for checkpoints in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let filter = elsewhere(100_000..100_000 + KEYS);
        let header = header_of(&filter);
        unite(&keyspace, b"a", (&header, 0, &[0; 64]), Some(&log)).unwrap();
        let sent = std::thread::scope(|scope| {
            let (keyspace, log, filter, header) = (&keyspace, &log, &filter, &header);
            for thread in 0..2 {
                scope.spawn(move || {
                    let mut turn = recording(log);
                    for key in thread * EACH..(thread + 1) * EACH {
                        turn.begin();
                        let entry = keyspace.get(b"a", 1).unwrap();
                        entry.insert(&numbered(key..key + 1)[0], &mut turn).unwrap();
                        commit(&mut turn);
                    }
                });
            }
            let sender = scope.spawn(move || {
                let mut sent = 0;
                for (offset, bits) in pieces(filter, 16) {
                    match unite(keyspace, b"a", (header, offset, &bits), Some(log)) {
                        Ok(_) => sent += 1,
                        Err(UniteError::Piece(Error::Incompatible { .. })) => break,
                        refused => panic!("{refused:?}"),
                    }
                }
                sent
            });
            while keyspace.get(b"a", 1).unwrap().items() < 1_000 {
                std::thread::yield_now();
            }
            if checkpoints {
                let shrink = || {
                    keyspace.shrink(b"a", Shrink::By(2), 1, Some(log)).unwrap();
                };
                checkpoint_beside(log, keyspace, shrink).unwrap();
            } else {
                keyspace.shrink(b"a", Shrink::By(2), 1, Some(log)).unwrap();
            }
            sender.join().unwrap()
        });
        println!("checkpoints {checkpoints}: {sent} pieces before the fold");
        // The bits of a piece that was acknowledged, where the smaller filter has them.
        let mut there = elsewhere(0..0);
        for (offset, bits) in pieces(&filter, 16).into_iter().take(sent) {
            there.union_bytes(offset, &bits).unwrap();
        }
        let there = there.fold(2, 0.01).unwrap();
        let check = |keyspace: &Keyspace| {
            let entry = keyspace.get(b"a", 1).unwrap();
            assert!(has(&entry, 0..2 * EACH));
            let folded = header_of(&there);
            for (offset, bits) in pieces(&there, 480) {
                assert_eq!(unite(keyspace, b"a", (&folded, offset, &bits), None), Ok(0));
            }
        };
        let items = keyspace.get(b"a", 1).unwrap().items();
        check(&keyspace);
        drop((keyspace, log));
        let (keyspace, _log) = open(folder.path());
        assert_eq!(keyspace.get(b"a", 1).unwrap().items(), items);
        check(&keyspace);
    }
}
