//! Items by their digests over HTTP, as with `BF.MADDHASH` and `BF.MEXISTSHASH`.

use crate::command::Server as Commands;
use crate::http::Server;
use crate::http_guard::basic;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap::DigestFunction;
use mayhap_server::config::{Config, Rights, Users};
use mayhap_server::metrics::Counter;
use serde_json::json;
use std::sync::Arc;

/// The digests of these items, 8 bytes each, by the function of unkeyed filters.
fn digests(items: &[&str]) -> Vec<u8> {
    let digest = |item: &&str| DigestFunction::xxh3(0).digest(item.as_bytes()).get().to_le_bytes();
    items.iter().flat_map(digest).collect()
}

#[test]
fn digests_are_added_and_looked_up_as_the_commands_do_it() {
    let (mut commands, server) = (Commands::new(), Server::plain());
    commands.line("BF.RESERVE f 0.000001 100 KEYED no");
    let made = server.send("PUT /v1/filters/f", &json!({ "keyed": false, "target_fpp": 1e-6 }));
    assert_eq!(made.json()["digest"], "xxh3:0000000000000000");
    for (verb, command, items, bits) in [
        ("add", "BF.MADDHASH", &["a", "b", "a"][..], [true, true, false]),
        ("check", "BF.MEXISTSHASH", &["b", "c", "a"], [true, false, true]),
    ] {
        let digests = digests(items);
        let byte: u8 = bits.iter().enumerate().map(|(i, &bit)| u8::from(bit) << i).sum();
        let answer = commands.ask(&[command.into(), b"f".to_vec(), digests.clone()]);
        assert_eq!(answer, [&b"$1\r\n"[..], &[byte], b"\r\n"].concat());
        let body = json!({ "digests_base64": STANDARD.encode(&digests) });
        let answer = server.send(&format!("POST /v1/filters/f/{verb}"), &body).json();
        let member = if verb == "add" { "new" } else { "present" };
        assert_eq!(answer[member], json!(bits), "{answer}");
    }
    let found =
        server.send("POST /v1/filters/f/check", &json!({ "items": ["a", "b", "c"] })).json();
    assert_eq!(found["present"], json!([true, true, false]));
    let total = |counter| server.shared.metrics.total(counter);
    assert_eq!((total(Counter::ItemsAdded), total(Counter::ItemsFound)), (3, 4));
}

#[test]
fn digests_of_keyed_filters_need_an_admin_and_bad_ones_are_refused() {
    let mut users = Users::new().unwrap();
    users.add("admin", b"a password", Rights::ALL).unwrap();
    let both = Rights { read: true, write: true, ..Rights::NONE };
    users.add("both", b"a password", both).unwrap();
    let config = Config { users: Arc::new(users), max_word_bytes: 64, ..Config::default() };
    let server = Server::start(config);
    let send = |user: &str, line: &str, body: &serde_json::Value| {
        let login = basic(user, "a password");
        let headers = [("Content-Type", "application/json"), ("Authorization", &*login)];
        let line = line.replacen(' ', " /v1/filters/", 1);
        server.ask(&line, &headers, body.to_string().as_bytes())
    };
    send("both", "PUT keyed", &json!({}));
    send("both", "PUT open", &json!({ "keyed": false }));
    let one = json!({ "digests_base64": STANDARD.encode([7; 8]) });
    for (user, line, status) in [
        ("both", "POST keyed/add", 403),
        ("both", "POST keyed/check", 200),
        ("both", "POST open/add", 200),
        ("admin", "POST keyed/add", 200),
        ("both", "POST none/add", 404),
        // The commands have none there either.
        ("both", "POST open/remove", 400),
        ("both", "POST open/age", 400),
    ] {
        let answer = send(user, line, &one);
        assert_eq!(answer.status, status, "{user} {line}: {}", answer.text());
    }
    for (body, problem) in [
        (json!({ "digests_base64": "*" }), "digests_base64 is not base64"),
        (json!({ "digests_base64": STANDARD.encode([7; 9]) }), "digests are 8 bytes each"),
        (json!({ "digests_base64": STANDARD.encode([7; 72]) }), "(max_word_bytes)"),
        (json!({ "digests_base64": "", "items": [] }), "give either items or digests_base64"),
    ] {
        for verb in ["add", "check"] {
            let refused = send("admin", &format!("POST open/{verb}"), &body);
            assert_eq!(refused.status, 400, "{body}");
            assert!(refused.text().contains(problem), "{body}: {}", refused.text());
        }
    }
}
