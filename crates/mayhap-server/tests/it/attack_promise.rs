//! The promised rate through a socket, by `BF.RESERVE`, `BF.ADD` and `BF.EXISTS` alone, as a
//! client of another server would measure it.

use crate::attack::at_most;
use crate::command::Server;
use crate::support::{Raw, options, request};
use mayhap_server::net::Live;
use std::io::Read;
use std::sync::Arc;

const ABSENT: u64 = 200_000;
const PIPELINE: u64 = 500;

/// error, capacity, expansion, items, and how many times the promise the measured rate
/// of `RedisBloom` 8.8 is; from 200,000 absent items too.
const ROWS: [(&str, u32, u32, u64, &str); 11] = [
    ("0.01", 1, 1, 500, "52"),
    ("0.01", 1, 2, 5_000, "4.0"),
    ("0.01", 10, 1, 1_000, "5.7"),
    ("0.01", 10, 2, 10_000, "2.8"),
    ("0.000001", 10, 2, 10_000, "3035"),
    ("0.000001", 1, 2, 1_000, "21080"),
    ("0.01", 100, 2, 100_000, "1.1"),
    ("0.001", 100, 2, 100_000, "1.6"),
    ("0.01", 1_000, 4, 300_000, "0.9"),
    ("0.01", 100_000, 2, 100_000, "0.35-1.0"),
    ("0.001", 100_000, 2, 100_000, "0.35-1.0"),
];

/// How many of these answers are 1; all of them are 1 or 0.
fn ones(raw: &mut Raw, command: &str, name: &str, keys: std::ops::Range<u64>) -> u64 {
    let mut ones = 0;
    for start in keys.clone().step_by(PIPELINE as usize) {
        let end = keys.end.min(start + PIPELINE);
        let bytes: Vec<u8> =
            (start..end).flat_map(|i| request(&[command, name, &format!("item:{i}")])).collect();
        raw.send(bytes);
        let mut answers = vec![0; 4 * (end - start) as usize];
        raw.socket.read_exact(&mut answers).unwrap();
        for answer in answers.chunks(4) {
            assert!(answer == b":1\r\n" || answer == b":0\r\n", "{}", answer.escape_ascii());
            ones += u64::from(answer[1] == b'1');
        }
    }
    ones
}

#[test]
fn the_promised_rate_holds_through_a_socket() {
    let engine = Arc::new(Live(Server::new().shared));
    let server = mayhap_server::net::Loops::start(options(), engine).unwrap();
    let mut raw = Raw::connect(server.address().unwrap());
    println!("error     capacity  expansion  items   ours    RedisBloom  swallowed");
    for (row, (error, capacity, expansion, items, theirs)) in ROWS.into_iter().enumerate() {
        let name = &format!("f{row}");
        let reserve = format!("BF.RESERVE {name} {error} {capacity} EXPANSION {expansion}");
        raw.call(&reserve.split(' ').collect::<Vec<_>>(), "+OK\r\n");
        let new = ones(&mut raw, "BF.ADD", name, 0..items);
        assert_eq!(ones(&mut raw, "BF.EXISTS", name, 0..items), items, "an item is lost");
        let first = 1 << 40;
        let wrong = ones(&mut raw, "BF.EXISTS", name, first..first + ABSENT);
        let (promised, swallowed) = (error.parse().unwrap(), items - new);
        println!(
            "{error:9} {capacity:8}  {expansion:9}  {items:6}  {:.2} x  {theirs:>8} x  {swallowed}",
            wrong as f64 / ABSENT as f64 / promised
        );
        assert!(at_most(wrong, ABSENT, promised), "{reserve}: {wrong}");
        assert!(at_most(swallowed, items, promised), "{reserve}: {swallowed} of {items}");
        raw.call(&["BF.CARD", name], &format!(":{new}\r\n"));
    }
    server.stop();
    server.join().unwrap();
}
