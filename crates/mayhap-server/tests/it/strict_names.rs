//! `strict_names`: reading a name without a filter is an error, and not "surely not".

use crate::command::Server;
use crate::http;
use mayhap_server::Config;
use serde_json::json;

const READS: [&str; 10] = [
    "BF.EXISTS none a",
    "BF.MEXISTS none a b",
    "BF.MEXISTSHASH none 12345678",
    "BF.CARD none",
    "BF.WHICH 2 there none a",
    "BF.AGE none a",
    "BF.INFO none",
    "BF.INFO none ITEMS",
    "BF.SCANDUMP none 0",
    "BF.DEBUG none",
];

#[test]
fn a_missing_name_is_nothing_as_in_redisbloom_unless_names_are_strict() {
    let mut server = Server::new();
    server.line("BF.ADD there a");
    let answers = [
        ":0\r\n",
        "*2\r\n:0\r\n:0\r\n",
        "-ERR not found\r\n",
        ":0\r\n",
        "*1\r\n*1\r\n$5\r\nthere\r\n",
    ];
    for (line, answer) in READS.iter().zip(answers) {
        assert_eq!(server.line(line), answer, "{line}");
    }
    assert_eq!(
        server.line("CONFIG GET strict-names"),
        "*2\r\n$12\r\nstrict-names\r\n$5\r\nfalse\r\n"
    );
    assert_eq!(server.line("CONFIG SET strict-names yes"), "+OK\r\n");
    assert_eq!(
        server.line("CONFIG GET strict-names"),
        "*2\r\n$12\r\nstrict-names\r\n$4\r\ntrue\r\n"
    );
    for line in READS {
        assert_eq!(server.line(line), "-ERR not found\r\n", "{line}");
    }
    // Existing names, queries about names, and creations are as before.
    for (line, answer) in [
        ("BF.EXISTS there a", ":1\r\n"),
        ("BF.MEXISTS there b", "*1\r\n:0\r\n"),
        ("BF.CARD there", ":1\r\n"),
        ("EXISTS none there", ":1\r\n"),
        ("DEL none", ":0\r\n"),
        ("TTL none", ":-2\r\n"),
        ("BF.ADD new a", ":1\r\n"),
    ] {
        assert_eq!(server.line(line), answer, "{line}");
    }
    assert_eq!(server.line("CONFIG SET strict-names 0"), "+OK\r\n");
    assert_eq!(server.line("BF.EXISTS none a"), ":0\r\n");
    assert!(server.line("CONFIG SET strict-names maybe").contains("neither true nor false"));
}

#[test]
fn strict_names_hold_for_which_over_http_too() {
    for (strict_names, status) in [(false, 200), (true, 404)] {
        let server = http::Server::start(Config { strict_names, ..Config::default() });
        server.send("PUT /v1/filters/there", &json!({}));
        let body = json!({ "names": ["there", "none"], "items": ["a"] });
        assert_eq!(server.send("POST /v1/which", &body).status, status);
        let body = json!({ "names": ["there"], "items": ["a"] });
        assert_eq!(server.send("POST /v1/which", &body).status, 200);
        assert_eq!(server.send("POST /v1/filters/none/check", &json!({"items": []})).status, 404);
    }
}
