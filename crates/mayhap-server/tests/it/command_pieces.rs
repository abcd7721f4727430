//! Filters that come in pieces with `BF.MERGECHUNK`.

use crate::command::{Server, words};
use mayhap::native::{HEADER_BYTES, encode, encode_short};
use mayhap::{AnyFilter, CountingBloomFilter, DigestFunction, Layout, ScalableBloomFilter};
use mayhap_server::Config;
use mayhap_server::command::After;
use mayhap_server::config::{Rights, Users};
use std::sync::Arc;

/// A filter elsewhere, with keys of its own.
fn elsewhere(layout: Layout, keys: u64) -> AnyFilter {
    let builder = AnyFilter::builder().layout(layout).expected_items(20_000).target_fpp(0.01);
    let mut filter = builder.build().unwrap();
    for key in 0..keys {
        filter.insert(&*key.to_string());
    }
    filter
}

fn header(filter: &AnyFilter) -> Vec<u8> {
    encode(filter, "")[..HEADER_BYTES].to_vec()
}

/// Its bits in pieces of 64 blocks, with their offsets.
fn pieces(filter: &AnyFilter) -> Vec<(u64, Vec<u8>)> {
    let chunks = filter.blocks().chunks(64).zip((0..).step_by(4096));
    let bytes = |chunk: &[mayhap::Block]| {
        chunk.iter().flat_map(|block| block.0).flat_map(u64::to_le_bytes).collect()
    };
    chunks.map(|(chunk, offset)| (offset, bytes(chunk))).collect()
}

fn send(server: &mut Server, name: &str, (header, offset, bits): (&[u8], u64, &[u8])) -> String {
    let mut request = words(&format!("BF.MERGECHUNK {name}"));
    request.extend([header.to_vec(), offset.to_string().into_bytes(), bits.to_vec()]);
    String::from_utf8(server.ask(&request)).unwrap()
}

#[test]
fn a_filter_comes_in_pieces_and_is_united_with_more() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let mut server = Server::new();
        let (filter, mut sent) = (elsewhere(layout, 9_000), 0);
        let header = header(&filter);
        for (offset, bits) in pieces(&filter) {
            let answer = send(&mut server, "f", (&header, offset, &bits));
            sent += answer.trim_end()[1..].parse::<u64>().unwrap();
            assert_eq!(send(&mut server, "f", (&header, offset, &bits)), ":0\r\n");
        }
        assert_eq!(sent, filter.count_ones());
        for key in 0..9_000 {
            assert_eq!(server.line(&format!("BF.EXISTS f {key}")), ":1\r\n");
        }
        let kind = server.line("BF.INFO f KIND");
        assert!(kind.contains(layout.name()), "{kind}");
        assert!(server.line("BF.INFO f CAPACITY").contains(":20000\r\n"));
        let card: u64 = server.line("BF.CARD f").trim_end()[1..].parse().unwrap();
        assert!(card.abs_diff(9_000) < 200, "{card}");
        // It takes keys, and pieces of others like it.
        assert_eq!(server.line("BF.ADD f here"), ":1\r\n");
        let more = elsewhere(layout, 10_000);
        for (offset, bits) in pieces(&more).into_iter().rev() {
            assert!(send(&mut server, "f", (&header, offset, &bits)).starts_with(':'));
        }
        for key in ["here", "9999", "0"] {
            assert_eq!(server.line(&format!("BF.EXISTS f {key}")), ":1\r\n");
        }
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut server = Server::new();
    let filter = elsewhere(Layout::Blocked, 100);
    let (good, bits) = (header(&filter), [0xff; 64]);
    let counting = CountingBloomFilter::builder().expected_items(99).target_fpp(0.1).build();
    let counting = encode(&counting.unwrap(), "");
    let grows = ScalableBloomFilter::new(10, 0.1, DigestFunction::default()).unwrap();
    let lines = encode(&filter, "trim=yes");
    // More than a header: the log would have the bits that follow, and a restart their keys.
    let (whole, mut longer) = (encode(&filter, ""), good.clone());
    longer.extend([0; 64]);
    let small = AnyFilter::builder().expected_items(100).target_fpp(0.01).build().unwrap();
    let short = encode_short(&small, "").unwrap();
    let mut broken = good.clone();
    broken[25] ^= 1;
    for (header, offset, bits, expected) in [
        (&good[..], 1, &bits[..], "-ERR 64 bytes at 1 are not blocks of 64 bytes"),
        (&good, 0, &bits[1..], "-ERR 63 bytes at 0 are not blocks"),
        (&good, 0, &[], "-ERR 0 bytes at 0 are not blocks"),
        (&good, 1 << 40, &bits, "-ERR 64 bytes at 1099511627776 are not"),
        (&good[..100], 0, &bits, "-ERR received bad data: "),
        (&broken, 0, &bits, "-ERR received bad data: "),
        (&whole, 0, &bits, "-ERR received bad data: the header has"),
        (&longer, 0, &bits, "-ERR received bad data: the header has 4160 bytes, not 4096"),
        (&short, 0, &bits, "-ERR received bad data: the header has 200 bytes, not 4096"),
        (&lines[..HEADER_BYTES], 0, &bits, "-ERR received bad data: the filter's keys are"),
        (&counting[..HEADER_BYTES], 0, &bits, "-ERR a counting filter does not take pieces"),
        (&encode(&grows, "")[..HEADER_BYTES], 0, &bits, "-ERR a scalable filter does not take"),
    ] {
        for name in ["none", "f"] {
            let answer = send(&mut server, name, (header, offset, bits));
            assert!(answer.starts_with(expected), "{answer} {expected}");
            assert_eq!(server.line("EXISTS none"), ":0\r\n", "{expected}");
        }
        if offset == 1 {
            assert_eq!(send(&mut server, "f", (&good, 0, &[0; 64])), ":0\r\n");
        }
    }
    for (options, kind) in [
        ("", "scalable"),
        ("COUNTING", "counting"),
        ("LAYOUT compact", "compact"),
        ("WINDOW 100", "window"),
        ("CLEARAT 0.5", "clearing"),
    ] {
        let name = if options.is_empty() { "scalable" } else { kind };
        assert_eq!(server.line(&format!("BF.RESERVE {name} 0.01 100 {options}")), "+OK\r\n");
        let answer = send(&mut server, name, (&good, 0, &bits));
        assert!(answer.starts_with(&format!("-ERR a {kind} filter does not take")), "{answer}");
        assert_eq!(server.line(&format!("BF.CARD {name}")), ":0\r\n");
    }
    // One of another size, and of another digest.
    server.line("BF.RESERVE small 0.01 100 NONSCALING LAYOUT blocked KEYED no");
    let answer = send(&mut server, "small", (&good, 0, &bits));
    assert!(answer.starts_with("-ERR the filters differ in num_bits: "), "{answer}");
    assert_eq!(server.line("BF.CARD small"), ":0\r\n");
    assert_eq!(server.line("BF.CARD f"), ":0\r\n");
}

/// A piece is a list of bits that the sender chooses.
#[test]
fn a_reader_sends_no_piece_and_a_writer_none_of_a_keyed_filter() {
    let mut users = Users::new().unwrap();
    let rights = |write, admin| Rights { read: true, write, admin, prefix: None };
    for (name, rights) in
        [("reader", rights(false, false)), ("writer", rights(true, false)), ("all", Rights::ALL)]
    {
        users.add(name, b"secret", rights).unwrap();
    }
    let mut server = Server::with(Config { users: Arc::new(users), ..Config::default() }, |_| {});
    server.line("AUTH all secret");
    server.line("BF.RESERVE keyed 0.01 100 NONSCALING");
    let entry = server.shared.keyspace.get(b"keyed", 1).unwrap();
    let file = server.shared.keyspace.begin_dump(&entry, 1).unwrap();
    let keyed = file.bytes()[..HEADER_BYTES].to_vec();
    let plain = header(&elsewhere(Layout::Blocked, 0));
    for (user, plain_may, keyed_may) in
        [("reader", false, false), ("writer", true, false), ("all", true, true)]
    {
        assert_eq!(server.line(&format!("AUTH {user} secret")), "+OK\r\n");
        for (header, may, name) in [(&plain, plain_may, "plain"), (&keyed, keyed_may, "keyed")] {
            let answer = send(&mut server, name, (header, 0, &[0; 64]));
            assert_eq!(answer == ":0\r\n", may, "{user} {name} {answer}");
            assert_eq!(answer.starts_with("-NOPERM "), !may, "{user} {name} {answer}");
        }
    }
}

/// In a loop a large piece is left to a worker thread, and so is the last one of a large filter.
#[test]
fn pieces_that_take_long_leave_the_loop() {
    let mut server = Server::new();
    let builder = AnyFilter::builder().layout(Layout::Blocked).num_bytes(8 << 20);
    let filter = builder.target_fpp(0.01).build().unwrap();
    let header = header(&filter);
    server.turn.hurried = true;
    let mut later = |offset, bits: &[u8]| {
        send(&mut server, "f", (&header, offset, bits));
        server.after == After::Later
    };
    assert!(!later(0, &vec![1; 64 << 10]));
    assert!(later(0, &vec![1; 1 << 20]));
    assert!(!later((8 << 20) - 128, &[1; 64]));
    assert!(later((8 << 20) - 64, &[1; 64]));
}
