//! Several filters over HTTP: the answers, and that no answer is built that is too large.

use crate::command::Server as Commands;
use crate::http::Server;
use crate::http_guard::basic;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_engine::keyspace::{Keyspace, Spec};
use mayhap_server::config::{Config, Rights, Users};
use mayhap_server::metrics::Counter;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

/// Bytes of a long name.
const LONG: usize = 60_000;

fn fill(keyspace: &Keyspace, name: &[u8], items: &[&str]) {
    let entry = keyspace.create(name, Spec::growing(100, 1e-6, 2), 1, None).unwrap();
    for item in items {
        entry.insert(item.as_bytes(), &mut mayhap_engine::Work::default()).unwrap();
    }
}

#[test]
fn names_that_are_no_text_are_answered_in_base64() {
    let server = Server::plain();
    fill(&server.shared.keyspace, b"text \"\n", &["a"]);
    fill(&server.shared.keyspace, b"\xFF\0", &["a", "b"]);
    let which = |body: Value| server.send("POST /v1/which", &body).json();
    let (text, bytes) = (STANDARD.encode(b"text \"\n"), STANDARD.encode(b"\xFF\0"));
    let items = ["a", "b", "c"];
    for names in [json!({ "match": "*" }), json!({ "names_base64": [&text, &bytes] })] {
        let mut body = names.clone();
        body["items"] = json!(items);
        let wanted = json!({ "which_base64": [[&text, &bytes], [&bytes], []] });
        assert_eq!(which(body), wanted, "{names}");
    }
    let items = json!(items.map(|item| STANDARD.encode(item)));
    let found = which(json!({ "names": ["text \"\n"], "items_base64": items }));
    assert_eq!(found, json!({ "which": [["text \"\n"], [], []] }));
    assert_eq!(server.shared.metrics.total(Counter::Reads), 3);
    assert_eq!(server.shared.metrics.total(Counter::ItemsFound), 3 + 3 + 1);
}

#[test]
fn a_pattern_finds_the_filters_that_the_user_may_see_and_no_more_than_words() {
    let mut users = Users::new().unwrap();
    let shop = Rights { prefix: Some(Arc::from(&b"shop:"[..])), ..Rights::ALL };
    users.add("shop", b"a password", shop).unwrap();
    users.add("all", b"a password", Rights::ALL).unwrap();
    let server =
        Server::start(Config { users: Arc::new(users), max_words: 4, ..Config::default() });
    for name in ["shop:1", "other", "shop:2", "x", "y"] {
        fill(&server.shared.keyspace, name.as_bytes(), &["a"]);
    }
    let which = |user: &str, pattern: &str| {
        let login = basic(user, "a password");
        let headers = [("Content-Type", "application/json"), ("Authorization", &*login)];
        let body = json!({ "match": pattern, "items": ["a"] }).to_string();
        server.ask("POST /v1/which", &headers, body.as_bytes())
    };
    assert_eq!(which("shop", "*").json(), json!({ "which": [["shop:1", "shop:2"]] }));
    assert_eq!(which("all", "*:?").json(), json!({ "which": [["shop:1", "shop:2"]] }));
    assert_eq!(which("all", "none").json(), json!({ "which": [[]] }));
    let many = which("all", "*");
    assert_eq!(many.status, 400);
    assert!(many.text().contains("more than 4 names") && many.text().contains("(max_words)"));
}

#[test]
fn requests_that_are_not_as_they_should_be_are_refused() {
    let server = Server::plain();
    for body in [
        json!({}),
        json!({ "items": ["a"] }),
        json!({ "names": ["f"] }),
        json!({ "names": ["f"], "match": "*", "items": [] }),
        json!({ "names": ["f"], "names_base64": [], "items": [] }),
        json!({ "names_base64": ["*"], "items": [] }),
        json!({ "names": ["f"], "items": [], "items_base64": [] }),
        json!({ "names": "f", "items": [] }),
        json!({ "names": ["f"], "items": [], "more": 1 }),
    ] {
        assert_eq!(server.send("POST /v1/which", &body).status, 400, "{body}");
    }
    let long = server.send("POST /v1/which", &json!({ "match": "x".repeat(1025), "items": [] }));
    assert_eq!(long.status, 409, "{}", long.text());
    // The same limit and error as of the command.
    let body = json!({ "names": vec!["x"; 2_000], "items": vec!["x"; 600] });
    let refused = server.send("POST /v1/which", &body);
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"], "filters times items must be at most 1048576");
}

/// A body with `names` times a long name, and `items` items.
fn repeated(names: usize, items: usize) -> String {
    json!({ "names": vec!["n".repeat(LONG); names], "items": vec!["a"; items] }).to_string()
}

#[test]
fn an_answer_is_bounded_before_it_is_built_as_that_of_the_command_is() {
    let config = Config {
        max_name_bytes: LONG as u32,
        max_buffer_bytes: Some(256 << 20),
        ..Config::default()
    };
    let server = Server::start(config.clone());
    let mut commands = Commands::with(config, |options| options.max_name_bytes = LONG);
    for keyspace in [&server.shared.keyspace, &commands.shared.keyspace] {
        fill(keyspace, &vec![b'n'; LONG], &["a"]);
    }
    let json_type = [("Content-Type", "application/json")];
    let ask = |body: &str| server.ask("POST /v1/which", &json_type, body.as_bytes());
    let refused = ask(&repeated(16, 256));
    let mut words = vec![b"BF.WHICH".to_vec(), b"16".to_vec()];
    words.resize(2 + 16, vec![b'n'; LONG]);
    words.resize(2 + 16 + 256, b"a".to_vec());
    let by_command = String::from_utf8(commands.ask(&words)).unwrap();
    for text in [refused.text(), by_command] {
        assert!(text.contains("the answer would have 2"), "{text}");
        assert!(text.contains("above the limit of 67108864; request less"), "{text}");
    }
    assert_eq!(refused.status, 400);
    // An answer at the limit is sent, and its memory is released once it is sent.
    let whole = ask(&repeated(4, 256));
    let lists = 256 * ("[],".len() + 4 * (LONG + "\"\",".len()) - 1) - 1;
    assert_eq!(whole.body.len(), "{\"which\":[]}\n".len() + lists);
    while server.shared.clients.buffered_bytes() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn an_unread_answer_counts_against_the_buffers_of_all() {
    let server = Server::start(Config {
        max_name_bytes: LONG as u32,
        max_buffer_bytes: Some(40 << 20),
        ..Config::default()
    });
    fill(&server.shared.keyspace, &vec![b'n'; LONG], &["a"]);
    let (host, body) = (server.address, repeated(2, 256));
    let mut silent = TcpStream::connect(host).unwrap();
    let head = format!(
        "POST /v1/which HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    silent.write_all(head.as_bytes()).unwrap();
    while server.shared.clients.buffered_bytes() < 2 * 256 * LONG {
        std::thread::yield_now();
    }
    let refused =
        server.ask("POST /v1/which", &[("Content-Type", "application/json")], body.as_bytes());
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("(max_buffer_bytes)"), "{}", refused.text());
    drop(silent);
    while server.shared.clients.buffered_bytes() > 0 {
        std::thread::yield_now();
    }
}
