//! What is told of a filter in a store, and what is refused when one is created: as by a server
//! with filters of its own.

use super::{Client, config, redis, users};
use mayhap_server::{Config, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Requests whose answers depend on the number of bits, or on counts that the layout does not have.
const OF_BITS: [&str; 9] =
    ["size", "digest", "fpp", "fill", "fillalarm", "foldfactor", "foldsize", "foldfpp", "distinct"];
const FIELDS: [&str; 14] = [
    "capacity",
    "filters",
    "items",
    "expansion",
    "error",
    "tightening",
    "maxscaledcapacity",
    "kind",
    "requested",
    "overcapacity",
    "forgottenearly",
    "clears",
    "clockjumps",
    "ahead",
];

#[test]
fn the_fields_of_a_filter_are_those_of_a_filter_of_the_servers_own() {
    let Some(redis) = redis() else { return };
    let own = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    let front = Server::start(config(&redis.url())).unwrap();
    let (mut own, mut front) = (Client::of(&own), Client::of(&front));
    for hello in ["HELLO 2", "HELLO 3"] {
        for layout in ["blocked", "standard"] {
            own.ask(hello);
            front.ask(hello);
            let name = format!("{layout}{}", &hello[6..]);
            for client in [&mut own, &mut front] {
                let reserve = format!("BF.RESERVE {name} 0.001 1000 NONSCALING LAYOUT {layout}");
                assert_eq!(client.ask(&reserve), "+OK\r\n");
                client.ask(&format!("BF.MADD {name} a b c"));
            }
            for field in FIELDS {
                let words = format!("BF.INFO {name} {field}");
                assert_eq!(front.ask(&words), own.ask(&words), "{words}");
            }
            for field in OF_BITS {
                let words = format!("BF.INFO {name} {field}");
                let answers = [front.ask(&words), own.ask(&words)];
                assert!(answers.iter().all(|answer| !answer.starts_with('-')), "{answers:?}");
            }
            let digest = front.ask(&format!("BF.INFO {name} digest"));
            assert!(digest.ends_with("$21\r\nxxh3:0000000000000000\r\n"), "{digest}");
            let store = front.ask(&format!("BF.INFO {name} store"));
            assert!(store.contains(&format!("redis://127.0.0.1:{}", redis.port())), "{store}");
            assert_eq!(own.ask(&format!("BF.INFO {name} store")), "-Invalid information value\r\n");
        }
    }
}

#[test]
fn digests_are_added_and_looked_up_as_in_a_filter_of_the_servers_own() {
    let Some(redis) = redis() else { return };
    let own = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    let front = Server::start(config(&redis.url())).unwrap();
    let (mut own, mut front) = (Client::of(&own), Client::of(&front));
    for client in [&mut own, &mut front] {
        client.ask("BF.RESERVE f 0.000001 1000 NONSCALING KEYED no");
    }
    let word = |count: u8| "12345678".repeat(usize::from(count)) + "abcdefgh" + "ABCDEFGH";
    for words in [
        format!("BF.MADDHASH f {}", word(0)),
        format!("BF.MADDHASH f {}", word(4)),
        format!("BF.MEXISTSHASH f {}hgfedcba", word(4)),
        "BF.MADDHASH f 1234567".to_owned(),
        "BF.MADDHASH f".to_owned(),
        "BF.CARD f".to_owned(),
    ] {
        assert_eq!(front.ask(&words), own.ask(&words), "{words}");
    }
    for words in [["BF.MADDHASH", "f", ""], ["BF.MEXISTSHASH", "f", ""]] {
        assert_eq!(front.ask_all(&[&words]), own.ask_all(&[&words]), "{words:?}");
        let refused = front.ask_all(&[&[words[0], "none", ""]]);
        assert!(refused.starts_with("-ERR not found"), "{refused}");
    }
    // The client chooses the bits, which the key is there to prevent.
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("key");
    std::fs::write(&key_file, [7; 16]).unwrap();
    let keyed = Config {
        key_file: Some(key_file),
        insecure_key_file: true,
        users: users(),
        ..config(&redis.url())
    };
    let keyed = Server::start(keyed).unwrap();
    let mut client = Client::of(&keyed);
    client.ask("AUTH writer long-enough-password");
    assert_eq!(client.ask("BF.RESERVE shop:f 0.01 100"), "+OK\r\n");
    let refused = client.ask("BF.MADDHASH shop:f 12345678");
    assert!(refused.starts_with("-NOPERM"), "{refused}");
    assert_eq!(client.ask("BF.MEXISTSHASH shop:f 12345678"), "$1\r\n\0\r\n");
}

/// The status and the text of the answer to this request on the filter x.
fn send(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let method = if path.is_empty() { "PUT" } else { "POST" };
    let head = format!(
        "{method} /v1/filters/x{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json"
    );
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    (text[9..12].parse().unwrap(), text.split("\r\n\r\n").nth(1).unwrap().to_owned())
}

/// An error without the lowest rate, which is that of the kind of filter.
fn masked(answer: &str) -> String {
    let Some((before, rest)) = answer.split_once("number of items, ") else { return answer.into() };
    let (lowest, after) = rest.split_once(';').unwrap();
    assert!(lowest.parse::<f64>().unwrap() < 1e-15, "{answer}");
    format!("{before}{after}")
}

#[test]
fn sizes_and_rates_are_refused_as_for_a_filter_of_the_servers_own() {
    let Some(redis) = redis() else { return };
    for (max_filter_bytes, max_memory) in [(Some(1 << 20), None), (None, Some(1 << 20))] {
        let limits = Config {
            max_filter_bytes,
            max_memory,
            port: 0,
            http_port: Some(0),
            ..Config::default()
        };
        let own = Server::start(limits.clone()).unwrap();
        let store = config(&redis.url()).store;
        let front = Server::start(Config { store, ..limits }).unwrap();
        let https = [&front, &own].map(|server| server.http_addresses()[0]);
        let (mut own, mut front) = (Client::of(&own), Client::of(&front));
        for words in [
            "BF.RESERVE x 1e-300 100 NONSCALING LAYOUT blocked",
            "BF.RESERVE x 1e-300 1000000 NONSCALING LAYOUT blocked",
            "BF.RESERVE x 0.01 1000000000000000000 NONSCALING LAYOUT blocked",
            "BF.RESERVE x 0.01 9223372036854775807 NONSCALING LAYOUT blocked",
            "BF.RESERVE x 1e-18 9223372036854775807 NONSCALING LAYOUT blocked",
            "BF.RESERVE x 0.01 9223372036854775808 NONSCALING LAYOUT blocked",
            "BF.RESERVE x 0 10 NONSCALING LAYOUT blocked",
            "BF.RESERVE x 1 10 NONSCALING LAYOUT blocked",
            "BF.RESERVE x nan 10 NONSCALING LAYOUT blocked",
            "BF.INSERT x ERROR 1e-300 CAPACITY 100 NONSCALING LAYOUT blocked ITEMS a",
            "BF.INSERT x ERROR 1e-300 CAPACITY 1000000 NONSCALING LAYOUT blocked ITEMS a",
            "BF.INSERT x CAPACITY 1000000000000000000 NONSCALING LAYOUT blocked ITEMS a",
            "BF.INSERT x CAPACITY 0 NONSCALING LAYOUT blocked ITEMS a",
            "BF.INSERT x CAPACITY 100 ERROR 2 NONSCALING LAYOUT blocked ITEMS a",
            "BF.INSERT x CAPACITY 100 NONSCALING EXPANSION 2 ITEMS a",
            // Sizes do not matter where there is a filter.
            "BF.INSERT x ERROR 1e-300 CAPACITY 100 NONSCALING LAYOUT blocked ITEMS b",
            "BF.INSERT x CAPACITY 1000000000000000000 NONSCALING LAYOUT blocked ITEMS b",
            "BF.INSERT x CAPACITY 1000000000000000000 NONSCALING LAYOUT blocked",
        ] {
            assert_eq!(masked(&front.ask(words)), masked(&own.ask(words)), "{words}");
        }
        // Sizes differ, since the store sets fewer bits for a key; the limit does not.
        for words in [
            "BF.RESERVE y 0.01 1000000 NONSCALING LAYOUT blocked",
            "BF.INSERT y CAPACITY 1000000 ITEMS a",
        ] {
            let refused = front.ask(words);
            let start = "-ERR Insufficient memory to create filter: the filter would take ";
            assert!(refused.starts_with(start), "{words}: {refused}");
            assert!(refused.contains("above the limit of 1048576 (max_filter_bytes)"), "{refused}");
        }
        assert_eq!(front.ask("EXISTS y"), ":0\r\n");
        for client in [&mut own, &mut front] {
            assert_eq!(client.ask("DEL x"), ":1\r\n");
        }
        for body in [
            r#"{"capacity":100,"target_fpp":1e-300,"fixed":true,"layout":"blocked"}"#,
            r#"{"capacity":1000000000000000000,"target_fpp":0.01,"fixed":true,"layout":"blocked"}"#,
            r#"{"capacity":1000000,"target_fpp":1e-300,"fixed":true,"layout":"blocked"}"#,
            r#"{"capacity":0,"fixed":true,"layout":"blocked"}"#,
            r#"{"capacity":10,"target_fpp":0,"fixed":true,"layout":"blocked"}"#,
        ] {
            let [front, own] = https.map(|http| send(http, "", body));
            assert!(front.0 >= 400, "{body}: {front:?}");
            assert_eq!((front.0, masked(&front.1)), (own.0, masked(&own.1)), "{body}");
        }
    }
}

#[test]
fn a_size_does_not_matter_over_http_where_there_is_a_filter() {
    let Some(redis) = redis() else { return };
    let limits = Config { max_filter_bytes: Some(1 << 20), ..config(&redis.url()) };
    let front = Server::start(limits).unwrap();
    let http = front.http_addresses()[0];
    let [large, none] = [
        r#"{"items":["a"],"create":{"capacity":1000000000000000000,"fixed":true}}"#,
        r#"{"items":["a"],"create":{"fixed":true}}"#,
    ];
    for body in [large, none] {
        let refused = send(http, "/add", body);
        assert_eq!(refused.0, if body == large { 507 } else { 400 }, "{body}: {refused:?}");
    }
    assert_eq!(send(http, "", r#"{"capacity":100}"#).0, 201);
    for body in [large, none] {
        assert_eq!(send(http, "/add", body).0, 200, "{body}");
    }
}
