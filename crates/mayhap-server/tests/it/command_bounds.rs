//! Costs of requests: no answer is larger than the bound in its row of the table, and none is built
//! that is too large to be sent. That the rows are right is asserted by `execute` itself, in every
//! test of this crate.

use crate::command::{Server, all_commands};
use mayhap_engine::keyspace::Spec;
use mayhap_server::Config;
use mayhap_server::command::After;

/// The limit of docs/commands.md.
const MAX_ANSWER_BYTES: usize = 64 << 20;
const LONG: usize = 60_000;

/// A unique name of this length.
fn name(number: usize, bytes: usize) -> Vec<u8> {
    let mut name = format!("{number}:").into_bytes();
    name.resize(bytes, b'n');
    name
}

/// A server whose names may be long.
fn server() -> Server {
    Server::with(Config::default(), |options| options.max_name_bytes = LONG)
}

fn words(command: &str, more: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    command.split(' ').map(|word| word.as_bytes().to_vec()).chain(more).collect()
}

fn text(answer: &[u8]) -> String {
    String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned()
}

#[test]
fn an_answer_that_repeats_names_is_refused_before_it_is_built() {
    let mut server = server();
    let long = name(0, LONG);
    assert_eq!(server.ask(&words("BF.ADD", [long.clone(), b"a".to_vec()])), b":1\r\n");
    // Half a megabyte of request; 16 · 256 · 60,000 bytes of names.
    let names = std::iter::repeat_n(long.clone(), 16);
    let items = std::iter::repeat_n(b"a".to_vec(), 256);
    let answer = server.ask(&words("BF.WHICH 16", names.chain(items)));
    let refused = "-ERR the answer would have 2";
    assert!(text(&answer).starts_with(refused), "{}", text(&answer));
    assert!(text(&answer).contains("above the limit of 67108864"), "{}", text(&answer));
    // An answer at the limit is sent.
    let names = std::iter::repeat_n(long.clone(), 4);
    let items = std::iter::repeat_n(b"a".to_vec(), 256);
    let answer = server.ask(&words("BF.WHICH 4", names.chain(items)));
    assert_eq!(answer.len(), 6 + 256 * (4 + 4 * (8 + LONG + 2)));
    assert!(answer.len() <= MAX_ANSWER_BYTES);
}

#[test]
fn a_list_of_all_names_is_refused_before_it_is_built_and_a_scan_ends_its_page() {
    let mut server = server();
    let filters = MAX_ANSWER_BYTES / LONG + 2;
    for number in 0..filters {
        let (keyspace, name) = (&server.shared.keyspace, name(number, LONG));
        keyspace.create(&name, Spec::growing(10, 0.1, 2), server.turn.work.now, None).unwrap();
    }
    let answer = server.line("KEYS *");
    assert!(answer.starts_with("-ERR the answer would have "), "{answer}");
    assert_eq!(server.line("KEYS 7:*").len(), 4 + 8 + LONG + 2);
    let (mut cursor, mut seen) = (String::from("0"), 0);
    loop {
        let answer = server.line(&format!("SCAN {cursor} COUNT 10000"));
        assert!(answer.len() < 2 << 20, "a page of {} bytes", answer.len());
        seen += answer.matches("nnn\r\n").count();
        cursor = answer.lines().nth(2).unwrap().to_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen, filters);
}

/// With more commands than exist, or names of maximum length, each row has to keep its bound
/// (`debug_assert` in `execute`).
#[test]
fn every_row_answers_no_more_than_it_says() {
    const { assert!(cfg!(debug_assertions), "tests hold rows to their bounds") };
    let commands = all_commands(&mut Server::new());
    let mut tried = 0;
    for command in commands.iter().filter(|name| *name != "shutdown") {
        for count in [0, 1, 2, 3, 4, 7, 40, 3_000] {
            for word in ["f", "0", "1", "2", "*", "usage", "list", "info", "docs", "getkeys", "get"]
            {
                let mut server = server();
                server.session.info.resp3 = count % 2 == 1;
                for request in ["BF.ADD f 1", "BF.ADD 1 f", "BF.ADD 0 f", "BF.ADD * f"] {
                    assert_eq!(server.line(request).len(), 4, "{request}");
                }
                server.session.info.name = vec![b'c'; 1024];
                let second = (count > 0).then(|| word.as_bytes().to_vec());
                let rest = ["bf.merge", "1", "f", "2"].iter().cycle().take(count.max(1) - 1);
                let rest = rest.map(|word| word.as_bytes().to_vec());
                assert!(server.answers(&words(command, second.into_iter().chain(rest))));
                tried += 1;
            }
        }
    }
    assert!(tried > 60 * 80);
}

/// While the buffers are full of unread answers, no large one is built.
#[test]
fn a_large_answer_needs_room_among_the_buffers_of_all() {
    let config = Config { max_buffer_bytes: Some(100_000), ..Config::default() };
    let mut server = Server::with(config, |options| options.max_name_bytes = LONG);
    for number in 0..3 {
        let request = words("BF.ADD", [name(number, LONG), b"a".to_vec()]);
        assert!(server.ask(&request).starts_with(b":1") || number == 2);
    }
    let answer = server.line("KEYS *");
    assert!(answer.contains("(max_buffer_bytes)"), "{}", text(answer.as_bytes()));
    assert!(server.line("KEYS 1*").starts_with("*1\r\n"));
}

/// In a loop these are left to a worker thread, because of their cost.
#[test]
fn requests_above_a_share_leave_the_loop_and_are_checked_before() {
    let mut server = Server::new();
    for name in ["a", "b", "c", "d"] {
        // Just below 1 MiB each.
        assert_eq!(server.line(&format!("BF.RESERVE {name} 0.001 400000")), "+OK\r\n");
    }
    let bytes = server.shared.keyspace.get(b"a", server.turn.work.now).unwrap().num_bytes();
    assert!((800_000..1 << 20).contains(&bytes), "{bytes}");
    assert_eq!(server.line("BF.RESERVE big 0.001 20000000"), "+OK\r\n");
    let items =
        |command: &str, n: usize| (0..n).fold(command.to_owned(), |line, i| format!("{line} {i}"));
    server.turn.hurried = true;
    let mut later = |line: &str| {
        server.line(line);
        server.after == After::Later
    };
    // Too long for a loop although each filter is small: their sum is not.
    assert!(later("BF.MERGE e a b c d"));
    // An error needs no work.
    assert!(!later("BF.MERGE a b c d big big big"));
    assert!(!later("BF.MERGE a none"));
    assert!(later("BF.SCANDUMP a 0"));
    assert!(!later("BF.SCANDUMP a 1"));
    assert!(later("BF.INFO big FILL"));
    assert!(!later("BF.INFO big") && !later("BF.INFO a FILL"));
    assert!(later("DEL big"));
    assert!(later("RENAME a big"));
    assert!(!later("DEL a"));
    assert!(later(&items("BF.WHICH 200", 400)));
    assert!(!later(&items("BF.WHICH 2", 400)));
    assert!(later("FLUSHALL") && later("SAVE"));
    assert!(!later(&items("BF.MADD b", 5_000)));
    assert!(later(&items("BF.MADD b", 40_000)));
}

#[test]
fn the_turn_counts_work_and_scans_cost_as_much_as_their_pattern() {
    let mut server = Server::new();
    for number in 0..5_000 {
        let name = format!("name:{number}");
        server.shared.keyspace.create(name.as_bytes(), Spec::growing(10, 0.1, 2), 1, None).unwrap();
    }
    server.turn.hurried = true;
    let mut later = |line: &str| {
        server.line(line);
        server.after == After::Later
    };
    assert!(later("KEYS *"));
    assert!(later("SCAN 0 COUNT 10000 MATCH *a*b*c*d*e*"));
    assert!(later("INFO bloom") && later("INFO everything"));
    // As documented, `all` is without the section that visits all filters.
    assert!(!later("INFO all") && !later("INFO"));
    assert!(!later("SCAN 0 COUNT 100 MATCH name:*"));
    assert!(!server.line("INFO all").contains("# Bloom"));
    let before = server.turn.work_ns;
    server.line("SCAN 0 COUNT 1000 MATCH name:1*");
    assert!(server.turn.work_ns - before >= 1_000 * 200);
}

#[test]
fn info_and_new_sizes_count_their_time() {
    let mut server = server();
    server.turn.work_ns = 0;
    server.ask(&words("INFO all", []));
    assert!(server.turn.work_ns >= 100_000, "{}", server.turn.work_ns);
    server.turn.work_ns = 0;
    server.ask(&words("BF.RESERVE sized 1e-6 123457", []));
    // The estimate of every creation, and the measured time of this one.
    assert!(server.turn.work_ns > 10_000 + 64 * 4, "{}", server.turn.work_ns);
}

#[test]
fn a_large_filter_is_created_outside_of_the_loop() {
    let mut server = server();
    for command in [
        "BF.RESERVE large 0.000001 10000000",
        "BF.INSERT large ERROR 0.000001 CAPACITY 10000000 ITEMS a",
    ] {
        server.ask(&words("DEL large", []));
        server.turn.work_ns = 0;
        server.ask(&words(command, []));
        // More than a connection's share of a turn, which is a millisecond.
        assert!(server.turn.work_ns > 10_000_000, "{command}: {}", server.turn.work_ns);
    }
}
