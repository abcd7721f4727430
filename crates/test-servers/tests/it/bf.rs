//! The stand-in answers in the words of the servers that it imitates.

use test_servers::{BfServer, Dialect, Error};

/// Sends commands in their typed form; each is followed by its answer, the lines joined by `|`.
fn check(server: &BfServer, cases: &[(&str, &str)]) {
    for (command, expected) in cases {
        let words: Vec<&str> = command.split(' ').collect();
        let answer = match server.cli(&words) {
            Ok(answer) => answer,
            Err(Error::Refused { answer, .. }) => format!("-{answer}"),
            Err(error) => panic!("{command}: {error}"),
        };
        assert_eq!(answer.replace('\n', "|"), *expected, "{command}");
    }
}

fn start(dialect: Dialect) -> BfServer {
    BfServer::start(dialect).unwrap()
}

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const RANGE: &str = "-ERR error rate must be in the range (0.000000, 1.000000)";
const CAPACITY: &str = "-ERR capacity must be in the range [1, 1073741824]";
const UNKNOWN: &str = "-ERR unknown command";

#[test]
fn redisbloom_has_its_words() {
    let server = start(Dialect::RedisBloom);
    let info = "Capacity|100|Size|240|Number of filters|1|Number of items inserted|2|\
                Expansion rate|2";
    check(
        &server,
        &[
            ("BF.RESERVE f 0.01 100", "OK"),
            ("bf.reserve f 0.01 100", "-ERR item exists"),
            ("BF.RESERVE g x 100", "-ERR bad error rate"),
            ("BF.RESERVE g 1 100", RANGE),
            ("BF.RESERVE g 0.01 x", "-ERR bad capacity"),
            ("BF.RESERVE g 0.01 0", CAPACITY),
            ("BF.RESERVE g 0.01 100 EXPANSION", "-ERR no expansion"),
            ("BF.RESERVE g 0.01 100 EXPANSION x", "-ERR bad expansion"),
            ("BF.RESERVE g 0.01 100 NONSCALING EXPANSION 2", "-Nonscaling filters cannot expand"),
            ("BF.RESERVE g 0.01", "-ERR wrong number of arguments for 'bf.reserve' command"),
            ("BF.ADD f a", "1"),
            ("BF.MADD f a b", "0|1"),
            ("BF.INSERT f NOCREATE ITEMS a b", "0|0"),
            ("BF.INSERT f ITEM a", "-Unknown argument received"),
            ("BF.INSERT f CAPACITY 0 ITEMS a", "-Bad capacity"),
            ("BF.INSERT none NOCREATE ITEMS a", "-ERR not found"),
            ("BF.INSERT f", "-ERR wrong number of arguments for 'bf.insert' command"),
            ("BF.MEXISTS f a c", "1|0"),
            ("BF.CARD f", "2"),
            ("BF.CARD none", "0"),
            ("BF.INFO f", info),
            ("BF.INFO f items", "2"),
            ("BF.INFO f ERROR", "-Invalid information value"),
            ("BF.INFO none", "-ERR not found"),
            ("TYPE f", "MBbloom--"),
            ("SET text 1", "OK"),
            ("BF.ADD text a", WRONG),
            // Reading commands ignore the type.
            ("BF.EXISTS text a", "0"),
            ("BF.SCANDUMP f x", "-Second argument must be numeric"),
            ("BF.SCANDUMP none 0", "-ERR not found"),
            ("BF.SCANDUMP f 999999", "0|"),
            ("BF.LOADCHUNK new 1 header", "-ERR received bad data"),
            ("BF.LOADCHUNK new 2 bits", "-ERR not found"),
            ("BF.LOADCHUNK f 999999 bits", "-ERR invalid offset - no link found"),
            ("BF.MERGE a b", "-ERR unknown command 'BF.MERGE', with args beginning with: 'a' 'b' "),
        ],
    );
    assert_eq!(server.names(), ["f", "text"]);
}

#[test]
fn valkey_bloom_has_its_words() {
    let server = start(Dialect::Valkey);
    let size = server.cli(&["BF.RESERVE", "f", "0.01", "100"]).and_then(|_| {
        // A bare value.
        server.cli(&["BF.INFO", "f", "SIZE"])
    });
    let info = format!(
        "Capacity|100|Size|{}|Number of filters|1|Number of items inserted|2|Error rate|0.01|\
         Expansion rate|2|Tightening ratio|0.5|Max scaled capacity|26214300",
        size.unwrap()
    );
    check(
        &server,
        &[
            ("BF.RESERVE f 0.01 100", "-ERR item exists"),
            ("BF.RESERVE g 1 100", "-ERR (0 < error rate range < 1)"),
            ("BF.RESERVE g NaN 100", "-ERR (0 < error rate range < 1)"),
            ("BF.RESERVE g 0.01 0", "-ERR (capacity should be larger than 0)"),
            ("BF.RESERVE g 0.001 100000000", "-ERR operation exceeds bloom object memory limit"),
            ("BF.RESERVE g 0.01 100 EXPANSION", "-ERROR"),
            ("BF.RESERVE g 0.01 100 EXPANSION 0", "-ERR bad expansion"),
            ("BF.RESERVE g 0.01 100 COUNTING", "-ERROR"),
            (
                "BF.RESERVE g 0.01 100 NONSCALING 2",
                "-ERR wrong number of arguments for 'BF.RESERVE' command",
            ),
            ("BF.MADD f a b a", "1|1|0"),
            ("BF.INSERT f ITEM a", "-ERR unknown argument received"),
            ("BF.INFO f", &info),
            ("BF.INFO f ERROR", "0.01"),
            ("BF.INFO f FPP", "-ERR invalid information value"),
            ("BF.INSERT empty", ""),
            ("BF.CARD empty", "0"),
            ("TYPE f", "bloomfltr"),
            ("SET text 1", "OK"),
            ("BF.EXISTS text a", WRONG),
            (
                "BF.SCANDUMP f 0",
                &format!("{UNKNOWN} 'BF.SCANDUMP', with args beginning with: 'f' '0' "),
            ),
        ],
    );
    assert_eq!(server.names(), ["empty", "f", "text"]);
}

#[test]
fn a_full_filter_ends_an_answer_with_its_error() {
    for dialect in [Dialect::RedisBloom, Dialect::Valkey] {
        let server = start(dialect);
        let full = "-ERR non scaling filter is full";
        check(
            &server,
            &[
                ("BF.RESERVE f 0.01 2 NONSCALING", "OK"),
                ("BF.MADD f a b", "1|1"),
                ("BF.ADD f c", full),
                ("BF.ADD f a", "0"),
                ("BF.MADD f a c d", full),
                ("BF.CARD f", "2"),
            ],
        );
        // A growing filter gets a layer of twice the size.
        check(&server, &[("BF.RESERVE g 0.001 2", "OK"), ("BF.MADD g a b c", "1|1|1")]);
        check(&server, &[("BF.INFO g FILTERS", "2"), ("BF.INFO g CAPACITY", "6")]);
    }
}

#[test]
fn names_expire_move_and_go() {
    let server = start(Dialect::Valkey);
    check(
        &server,
        &[
            ("BF.ADD f a", "1"),
            ("TTL f", "-1"),
            ("TTL none", "-2"),
            ("EXPIRE none 10", "0"),
            ("EXPIRE f 1000", "1"),
            ("RENAME none f", "-ERR no such key"),
            ("RENAME f g", "OK"),
            ("EXISTS f g", "1"),
            ("RENAMENX g g", "0"),
            ("PERSIST g", "1"),
            ("PERSIST g", "0"),
            ("HGETALL g", WRONG),
            ("HGETALL f", ""),
            ("PEXPIRE g 0", "1"),
            ("EXISTS g", "0"),
            ("BF.ADD h a", "1"),
            ("DEL h none", "1"),
            ("SELECT 0", "OK"),
            ("SELECT 1", "-ERR DB index is out of range"),
            ("CONFIG GET appendonly", "appendonly|yes"),
            ("PING", "PONG"),
            ("GET", "-ERR wrong number of arguments for 'get' command"),
        ],
    );
    assert!(server.names().is_empty());
    let long = "x".repeat(200);
    let words =
        format!("{UNKNOWN} '{}', with args beginning with: '{}' ", &long[..128], &long[..128]);
    check(&server, &[(&format!("{long} {long} y"), &words)]);
    server.calls();
    check(&server, &[("BF.ADD f a", "1"), ("EXISTS f", "1")]);
    assert_eq!(server.calls(), ["BF.ADD"]);
    server.drop_next_reply();
    check(&server, &[("BF.CARD f", "1")]);
    assert!(matches!(server.cli(&["BF.ADD", "f", "b"]), Err(Error::Io { .. })));
    check(&server, &[("BF.CARD f", "2"), ("BF.ADD f c", "1")]);
}
