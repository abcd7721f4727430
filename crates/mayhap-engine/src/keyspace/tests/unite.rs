//! Whatever fails and whenever the process dies: a filter that came in pieces has all that were
//! acknowledged, at its own size, and is not there before the first of them.

use super::whole::open;
use crate::durable::tests::disk::{Failing, Fault, Files, MemoryDisk};
use crate::keyspace::{Keyspace, PieceOf, Sender};
use mayhap::native::{HEADER_BYTES, encode};
use mayhap::{AnyFilter, Layout};

const PIECES: u64 = 6;
const PIECE: usize = 128;

/// 12 blocks, which no spec of the server would make for its capacity.
fn header() -> Vec<u8> {
    let builder = AnyFilter::builder().layout(Layout::Blocked).num_bytes(PIECES * PIECE as u64);
    let filter = builder.expected_items(77).build().unwrap();
    encode(&filter, "")[..HEADER_BYTES].to_vec()
}

/// Sends a piece, in which each word has the same bits; returns whether it was acknowledged.
fn send(keyspace: &Keyspace, log: &crate::durable::Log, index: u64) -> bool {
    let (header, bits) = (header(), [0b1000_0001; PIECE]);
    let piece = PieceOf { header: &header, offset: index * PIECE as u64, bits: &bits };
    keyspace.unite(b"set", (piece, Sender::Writer), 1, Some(log)).is_ok()
}

fn run(disk: &MemoryDisk, failing: Option<Failing>, checkpoints: bool) -> Vec<(usize, bool)> {
    let (keyspace, log) = open(disk);
    {
        let mut state = disk.state();
        (state.calls, state.failing) = (0, failing);
    }
    let mut done = Vec::new();
    for index in 0..PIECES {
        let acknowledged = send(&keyspace, &log, index);
        done.push((disk.state().events.len(), acknowledged));
        if !acknowledged {
            disk.state().failing = None;
            log.tick();
        }
        if checkpoints && index % 2 == 1 {
            log.checkpoint(&keyspace).unwrap();
        }
    }
    done
}

/// The pieces in a folder.
fn pieces_of(files: Files) -> Vec<u64> {
    let (keyspace, log) = open(&MemoryDisk::of(files));
    let Some(entry) = keyspace.get(b"set", 1) else { return Vec::new() };
    assert_eq!((entry.num_bytes(), entry.info().capacity), (PIECES * PIECE as u64, 77));
    let (header, bits) = (header(), [0b1000_0001; PIECE]);
    let there = (0..PIECES).filter(|&index| {
        let piece = PieceOf { header: &header, offset: index * PIECE as u64, bits: &bits };
        let new = keyspace.unite(b"set", (piece, Sender::Writer), 1, Some(&log)).unwrap();
        assert!(new == 0 || new == 2 * PIECE as u64, "a part of a piece: {new}");
        new == 0
    });
    there.collect()
}

#[test]
fn a_kill_between_pieces_leaves_all_that_were_acknowledged() {
    for checkpoints in [false, true] {
        let disk = MemoryDisk::default();
        let done = run(&disk, None, checkpoints);
        assert!(done.iter().all(|(_, acknowledged)| *acknowledged));
        let (mut files, mut counts) = (Files::default(), Vec::new());
        let events = disk.state().events.clone();
        for (at, event) in events.iter().enumerate() {
            files.apply(event);
            let acknowledged = done.iter().filter(|(end, _)| *end <= at + 1).count() as u64;
            let there = pieces_of(files.clone());
            assert!(there.iter().copied().eq(0..there.len() as u64), "{there:?}");
            assert!(there.len() as u64 >= acknowledged, "{there:?} of {acknowledged} at {at}");
            counts.push(there.len() as u64);
        }
        assert!(counts.is_sorted() && counts.last() == Some(&PIECES), "{counts:?}");
    }
}

#[test]
fn a_piece_that_the_log_refuses_is_none_after_a_restart_too() {
    let mut refused = 0;
    for fault in [Fault::NoSpace, Fault::Full, Fault::Io] {
        for (from, all) in (0..6).flat_map(|from| [(from, false), (from, true)]) {
            let disk = MemoryDisk::default();
            let done = run(&disk, Some(Failing { fault, from, all }), false);
            let acknowledged: Vec<u64> =
                (0..).zip(&done).filter(|(_, (_, done))| *done).map(|(index, _)| index).collect();
            let there = pieces_of(disk.files());
            assert_eq!(there, acknowledged, "{fault:?} at call {from}, all {all}");
            refused += done.len() - acknowledged.len();
        }
    }
    println!("{refused} refused");
    assert!(refused > 5, "{refused}");
}
