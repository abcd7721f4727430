//! Filters in a store over HTTP: the same filters as of Redis clients, the same answers as of a
//! server with filters of its own.

use super::{Client, config, redis, users};
use crate::http::{Answer, Server as Plain, ask};
use mayhap_server::{Config, Running, Server};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use test_servers::RedisServer;

/// The answer to `METHOD path` with a body in JSON, if it has one.
pub(super) fn send(front: &Running, line: &str, body: &Value) -> Answer {
    send_as(front, line, body, &[])
}

pub(super) fn send_as(front: &Running, line: &str, body: &Value, more: &[(&str, &str)]) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let headers = [&[("Content-Type", "application/json")], more].concat();
    ask(front.http_addresses()[0], line, &headers, body.as_bytes())
}

/// The answer to `GET path`.
pub(super) fn get(front: &Running, path: &str) -> Answer {
    send(front, &format!("GET {path}"), &Value::Null)
}

pub(super) fn problem(answer: &Answer) -> String {
    answer.json()["error"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

#[test]
fn clients_of_http_and_of_redis_use_the_same_filter() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    let made = send(&front, "PUT /v1/filters/f", &json!({ "capacity": 1000, "target_fpp": 1e-6 }));
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    for (member, value) in [
        ("name", json!("f")),
        ("path", json!("/v1/filters/f")),
        ("kind", json!("mayhap blocked")),
        ("capacity", json!(1000)),
        ("items", json!(0)),
        ("shards", json!(2)),
        ("target_fpp", json!(1e-6)),
        ("keyed", json!(false)),
        ("digest", json!("xxh3:0000000000000000")),
        ("expires_at", Value::Null),
        ("pull", json!(format!("mayhap pull {}/0/f", redis.url()))),
    ] {
        assert_eq!(made[member], value, "{member} of {made}");
    }
    assert!(made.get("items_checked").is_none() && made.get("layers").is_none(), "{made}");

    let items = json!({ "items": ["a", "b", "a"] });
    let added = send(&front, "POST /v1/filters/f/add", &items).json();
    assert_eq!(added, json!({ "new": [true, true, false], "added": 2 }));
    assert_eq!(client.ask("BF.MEXISTS f a b c"), "*3\r\n:1\r\n:1\r\n:0\r\n");
    assert_eq!(client.ask("BF.ADD f c"), ":1\r\n");
    let items = json!({ "items_base64": ["Yw==", "eA=="] });
    let found = send(&front, "POST /v1/filters/f/check", &items).json();
    assert_eq!(found, json!({ "present": [true, false], "found": 1 }));
    let one = send(&front, "POST /v1/filters/f/add", &json!({ "items": ["d"] })).json();
    assert_eq!(one, json!({ "new": [true], "added": 1 }));
    let none = send(&front, "POST /v1/filters/f/check", &json!({ "items": [] })).json();
    assert_eq!(none, json!({ "present": [], "found": 0 }));

    let seen = get(&front, "/v1/filters/f").json();
    assert_eq!((&seen["items"], &seen["fill_ratio"]), (&json!(4), &Value::Null));
    let measured = get(&front, "/v1/filters/f?measure=true").json();
    assert!(measured["fill_ratio"].as_f64().is_some_and(|fill| fill > 0.0), "{measured}");
    assert!(measured["estimated_fpp"].as_f64().is_some_and(|rate| rate < 1e-6), "{measured}");
    assert_eq!(
        get(&front, "/v1/filters").json()["filters"],
        json!([
            { "name": "f", "path": "/v1/filters/f", "kind": "mayhap" },
        ])
    );

    assert_eq!(send(&front, "DELETE /v1/filters/f", &Value::Null).status, 204);
    assert_eq!(client.ask("EXISTS f"), ":0\r\n");
    assert_eq!(get(&front, "/v1/filters").json()["filters"], json!([]));
    // A filter of a Redis client, with a name that a path escapes.
    assert_eq!(client.ask("BF.RESERVE a/é:% 0.01 100"), "+OK\r\n");
    let seen = get(&front, "/v1/filters/a%2F%C3%A9:%25").json();
    assert_eq!((&seen["name"], &seen["capacity"]), (&json!("a/é:%"), &json!(100)));
    front.shut_down().unwrap();
}

/// The user at the store may create filters, but not look at their bits.
#[test]
fn a_filter_that_cannot_be_described_was_created_all_the_same() {
    let Some(redis) = redis() else { return };
    let rules = ["ACL", "SETUSER", "front", "on", ">pw", "~*", "+@all", "-bitcount", "-pttl"];
    redis.cli(&rules).unwrap();
    let front =
        Server::start(config(&redis.url().replace("redis://", "redis://front:pw@"))).unwrap();
    let body = json!({ "capacity": 100 });
    let made = send(&front, "PUT /v1/filters/f", &body);
    assert_eq!(made.status, 201, "{made:?}");
    let row = made.json();
    assert_eq!((&row["name"], &row["path"]), (&json!("f"), &json!("/v1/filters/f")));
    let problem_of = |answer: &Answer| answer.json()["problem"].as_str().unwrap().to_owned();
    assert!(problem_of(&made).contains("refused"), "{row}");
    assert_eq!(send(&front, "PUT /v1/filters/f", &body).status, 409);
    let added = send(&front, "POST /v1/filters/f/add", &json!({ "items": ["a"] }));
    assert_eq!(added.json()["added"], 1, "{added:?}");
    for (line, body, name) in [
        ("PUT /v1/filters/f/expiry", json!({ "expires_in": "1h" }), "f"),
        ("DELETE /v1/filters/f/expiry", Value::Null, "f"),
        ("POST /v1/filters/f/rename", json!({ "to": "g" }), "g"),
    ] {
        let changed = send(&front, line, &body);
        assert_eq!(changed.status, 200, "{line}: {changed:?}");
        assert_eq!(changed.json()["name"], name, "{line}");
        assert!(problem_of(&changed).contains("refused"), "{line}: {changed:?}");
    }
}

/// A filter that was never created, and one that was lost, are the same here.
#[test]
fn of_a_name_without_a_filter_nothing_is_said() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let items = json!({ "items": ["a"] });
    let none = || {
        for (line, body) in [
            ("POST /v1/filters/f/check", &items),
            ("POST /v1/filters/f/add", &items),
            ("GET /v1/filters/f", &Value::Null),
            ("GET /v1/filters/f?measure=true", &Value::Null),
        ] {
            let answer = send(&front, line, body);
            assert_eq!(answer.status, 404, "{line}: {answer:?}");
            let text = problem(&answer);
            assert!(text.contains("nothing can be said of its keys; create it with PUT"), "{text}");
        }
    };
    none();
    let create = json!({ "items": ["a"], "create": { "capacity": 100 } });
    let added = send(&front, "POST /v1/filters/f/add", &create).json();
    assert_eq!(added, json!({ "new": [true], "added": 1 }));
    assert_eq!(send(&front, "POST /v1/filters/f/check", &items).json()["found"], 1);
    redis.flush().unwrap();
    none();
    assert_eq!(send(&front, "DELETE /v1/filters/f", &Value::Null).status, 404);
}

#[test]
fn requests_are_judged_as_by_a_server_with_filters_of_its_own() {
    let Some(redis) = redis() else { return };
    let limits =
        Config { max_words: 3, max_word_bytes: 16, max_name_bytes: 20, ..Config::default() };
    let plain = Plain::start(limits.clone());
    let front = Server::start(Config {
        max_words: 3,
        max_word_bytes: 16,
        max_name_bytes: 20,
        ..config(&redis.url())
    })
    .unwrap();
    let fixed = json!({ "capacity": 100, "fixed": true });
    assert_eq!(plain.send("PUT /v1/filters/f", &fixed).status, 201);
    assert_eq!(send(&front, "PUT /v1/filters/f", &fixed).status, 201);
    for (line, kind, body) in [
        ("PUT /v1/filters/f", "application/json", r#"{"capacity": 100, "fixed": true}"#),
        ("PUT /v1/filters/g", "application/json", r#"{"capacity": 0}"#),
        ("PUT /v1/filters/g", "application/json", r#"{"capacity": 9, "target_fpp": 1}"#),
        ("PUT /v1/filters/g", "application/json", r#"{"capacity": 9, "what": 1}"#),
        ("PUT /v1/filters/g", "application/json", r#"{"capacity": 9, "layout": "standard"}"#),
        ("PUT /v1/filters/g", "application/json", "[]"),
        ("PUT /v1/filters/", "application/json", "{}"),
        ("PUT /v1/filters/%zz", "application/json", "{}"),
        ("PUT /v1/filters/123456789012345678901", "application/json", "{}"),
        ("POST /v1/filters/f/add", "application/json", r#"{"items": ["a", "b", "c", "d"]}"#),
        ("POST /v1/filters/f/add", "application/json", r#"{"items": ["12345678901234567"]}"#),
        ("POST /v1/filters/f/add", "application/json", r#"{"items": [], "items_base64": []}"#),
        ("POST /v1/filters/f/add", "application/json", r#"{"items_base64": ["?"]}"#),
        ("POST /v1/filters/f/add", "application/json", r#"{"digests_base64": "AAAA"}"#),
        ("POST /v1/filters/f/add", "application/json", "{}"),
        ("POST /v1/filters/f/add", "text/plain", r#"{"items": ["a"]}"#),
        ("POST /v1/filters/f/check", "application/json", r#"{"items": ["a"], "x": 1}"#),
        ("POST /v1/filters/f/check", "", r#"{"items": ["a"]}"#),
        ("POST /v1/filters/f/check", "application/json", r#"{"items": ["a"]"#),
        ("GET /v1/filters?limit=x", "", ""),
        ("GET /v1/filters?cursor=-1", "", ""),
        ("GET /v1/filters?what=1", "", ""),
        ("GET /v1/filters/f?measure=maybe", "", ""),
        ("DELETE /v1/filters", "", ""),
        ("GET /v1/nothing", "", ""),
    ] {
        let headers = [("Content-Type", kind)];
        let expected = plain.ask(line, &headers, body.as_bytes());
        let answer = ask(front.http_addresses()[0], line, &headers, body.as_bytes());
        assert!(expected.status >= 400, "{line} {body}: {expected:?}");
        assert_eq!(
            (answer.status, answer.text()),
            (expected.status, expected.text()),
            "{line} {body}"
        );
    }
    let long = format!("GET /v1/filters?match={}", "x".repeat(1025));
    let expected = plain.ask(&long, &[], b"");
    let answer = ask(front.http_addresses()[0], &long, &[], b"");
    assert_eq!((answer.status, answer.text()), (expected.status, expected.text()));
}

#[test]
fn what_the_layout_cannot_hold_is_refused_by_its_name_in_http() {
    let Some(redis) = redis() else { return };
    let limit = Some(1 << 20);
    let front = Server::start(Config { max_filter_bytes: limit, ..config(&redis.url()) }).unwrap();
    assert_eq!(send(&front, "PUT /v1/filters/f", &json!({ "capacity": 100 })).status, 201);
    let items = json!({ "items": ["a"] });
    for (line, name, body) in [
        ("POST /v1/filters/f/remove", "remove", items.clone()),
        ("POST /v1/filters/f/age", "age", items.clone()),
        ("POST /v1/filters/f/merge", "merge", json!({ "from": ["g"] })),
        ("POST /v1/filters/f/shrink", "shrink", json!({ "factor": 2 })),
        ("GET /v1/filters/f/file", "file", Value::Null),
        ("PUT /v1/filters/f/file", "file", Value::Null),
        ("POST /v1/which", "which", json!({ "items": ["a"], "names": ["f"] })),
    ] {
        let answer = send(&front, line, &body);
        let expected =
            format!("{name} is not served for filters in a store; use the command mayhap");
        assert_eq!(answer.status, 501, "{line}: {answer:?}");
        assert!(problem(&answer).starts_with(&expected), "{line}: {answer:?}");
    }
    for (option, name) in [
        (json!({ "expansion": 2 }), "expansion"),
        (json!({ "scale_to": 1000 }), "scale_to"),
        (json!({ "counting": true }), "counting"),
        (json!({ "window": 10 }), "window"),
        (json!({ "clear_at": 0.5 }), "clear_at"),
        (json!({ "layout": "compact" }), "layout compact"),
        (json!({ "seed": "x".repeat(32) }), "seed"),
        (json!({ "keyed": true }), "keyed"),
    ] {
        let mut create = option;
        create["capacity"] = json!(100);
        for (line, body) in [
            ("PUT /v1/filters/g", create.clone()),
            ("POST /v1/filters/g/add", json!({ "items": ["a"], "create": create })),
        ] {
            let answer = send(&front, line, &body);
            assert_eq!(answer.status, 501, "{line} {name}: {answer:?}");
            let expected = format!("{name} is not for filters in a store, which are plain");
            assert!(problem(&answer).starts_with(&expected), "{line}: {answer:?}");
        }
    }
    let unsized_one = send(&front, "PUT /v1/filters/g", &json!({}));
    assert!(problem(&unsized_one).starts_with("capacity is missing"), "{unsized_one:?}");
    assert_eq!(unsized_one.status, 400);
    let large = send(&front, "PUT /v1/filters/g", &json!({ "capacity": 10_000_000 }));
    assert!(problem(&large).contains("above the limit of 1048576 (max_filter_bytes)"), "{large:?}");
    assert_eq!(large.status, 507);
    for name in ["a%7Bb", "%FF"] {
        let answer = send(&front, &format!("PUT /v1/filters/{name}"), &json!({ "capacity": 9 }));
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(problem(&answer).contains('{'), "{answer:?}");
    }
    assert_eq!(get(&front, "/v1/filters/g").status, 404, "nothing was created");
    let standard = json!({ "capacity": 100, "fixed": true, "layout": "standard" });
    let made = send(&front, "PUT /v1/filters/g", &standard).json();
    assert_eq!(made["kind"], "mayhap standard");
}

/// A server with a secret key and users, and the folder of its key.
pub(super) fn guarded(redis: &RedisServer) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("key");
    std::fs::write(&key_file, [7; 16]).unwrap();
    let keyed = Config {
        key_file: Some(key_file),
        insecure_key_file: true,
        users: users(),
        ..config(&redis.url())
    };
    (Server::start(keyed).unwrap(), folder)
}

pub(super) const WRITER: (&str, &str) =
    ("Authorization", "Basic d3JpdGVyOmxvbmctZW5vdWdoLXBhc3N3b3Jk");
pub(super) const READER: (&str, &str) =
    ("Authorization", "Basic cmVhZGVyOmxvbmctZW5vdWdoLXBhc3N3b3Jk");

#[test]
fn rights_count_over_http() {
    let Some(redis) = redis() else { return };
    let (front, _folder) = guarded(&redis);
    let (size, items) = (json!({ "capacity": 100 }), json!({ "items": ["a"] }));
    let none = Value::Null;
    for (line, body) in [
        ("GET /v1/filters", &none),
        ("PUT /v1/filters/shop:f", &size),
        ("POST /v1/filters/shop:f/check", &items),
        ("GET /ui", &none),
        ("GET /ui/events?events=1", &none),
    ] {
        assert_eq!(send(&front, line, body).status, 401, "{line}");
    }
    for (line, body, of_writer, of_reader) in [
        ("PUT /v1/filters/shop:f", &size, 201, 403),
        ("PUT /v1/filters/other", &size, 403, 403),
        ("POST /v1/filters/shop:f/add", &items, 200, 403),
        ("POST /v1/filters/other/add", &items, 403, 403),
        ("POST /v1/filters/shop:f/check", &items, 200, 200),
        ("POST /v1/filters/other/check", &items, 403, 403),
        ("GET /v1/filters/shop:f", &none, 200, 200),
        ("GET /v1/filters/other", &none, 403, 403),
        ("GET /v1/filters/other/file", &none, 403, 403),
        ("POST /v1/filters/shop:f/remove", &items, 501, 403),
        ("DELETE /v1/filters/other", &none, 403, 403),
        ("GET /ui", &none, 200, 200),
        ("GET /ui/clients", &none, 403, 403),
        ("GET /ui/history?filter=other", &none, 403, 403),
    ] {
        assert_eq!(send_as(&front, line, body, &[WRITER]).status, of_writer, "{line}");
        assert_eq!(send_as(&front, line, body, &[READER]).status, of_reader, "{line}");
    }
}

#[test]
fn a_server_without_the_secret_key_says_nothing_and_no_user_sees_filters_of_others() {
    let Some(redis) = redis() else { return };
    let (front, _folder) = guarded(&redis);
    let (size, items) = (json!({ "capacity": 100 }), json!({ "items": ["a"] }));
    for (line, body) in [("PUT /v1/filters/shop:f", &size), ("POST /v1/filters/shop:f/add", &items)]
    {
        assert!(send_as(&front, line, body, &[WRITER]).status < 300, "{line}");
    }
    let seen = send_as(&front, "GET /v1/filters/shop:f", &Value::Null, &[READER]).json();
    assert_eq!((&seen["keyed"], &seen["items"]), (&json!(true), &json!(1)));
    assert!(seen["digest"].as_str().unwrap().starts_with("sip13:"), "{seen}");

    let plain = Server::start(config(&redis.url())).unwrap();
    assert_eq!(send(&plain, "PUT /v1/filters/other", &size).status, 201);
    let refused = send(&plain, "POST /v1/filters/shop:f/check", &items);
    assert!(refused.status == 409 && problem(&refused).contains("key"), "{refused:?}");
    let names = |front: &Running, more: &[_]| -> Vec<Value> {
        let list = send_as(front, "GET /v1/filters", &Value::Null, more).json();
        list["filters"].as_array().unwrap().iter().map(|filter| filter["name"].clone()).collect()
    };
    assert_eq!(names(&plain, &[]).len(), 2);
    for user in [WRITER, READER] {
        assert_eq!(names(&front, &[user]), ["shop:f"]);
    }
    let events = "GET /ui/events?events=1&filters=other,shop:f";
    let events = send_as(&front, events, &Value::Null, &[READER]).text();
    assert!(events.contains("\"shop:f\"") && !events.contains("\"other\""), "{events}");
}

#[test]
fn without_an_answer_of_the_store_http_answers_503_and_goes_on_after() {
    let Some(redis) = redis() else { return };
    let front = Server::start(Config { store_timeout_ms: 600, ..config(&redis.url()) }).unwrap();
    let (size, items) = (json!({ "capacity": 100 }), json!({ "items": ["a"] }));
    assert_eq!(send(&front, "PUT /v1/filters/f", &size).status, 201);
    assert_eq!(send(&front, "POST /v1/filters/f/add", &items).json()["added"], 1);
    let none = Value::Null;
    let requests = [
        ("GET /v1/filters", &none),
        ("GET /v1/filters/f", &none),
        ("POST /v1/filters/f/check", &items),
        ("POST /v1/filters/f/add", &items),
        ("POST /v1/filters/none/check", &items),
        ("PUT /v1/filters/g", &size),
        ("DELETE /v1/filters/g", &none),
    ];
    redis.pause().unwrap();
    let mut not_sent = 0;
    for _ in 0..3 {
        for (line, body) in requests {
            let answer = send(&front, line, body);
            assert_eq!(answer.status, 503, "{line}: {answer:?}");
            assert!(problem(&answer).starts_with("redis://"), "{line}: {answer:?}");
            not_sent += u32::from(problem(&answer).contains("this one was not sent"));
        }
    }
    assert!(not_sent > 0, "of 21 requests, eight in a row had no answer");
    assert_eq!(get(&front, "/healthz").status, 200);
    let events = get(&front, "/ui/events?events=1&filters=f").text();
    assert!(events.contains("\"is_lost\":true") && events.contains("\"problem\":"), "{events}");

    redis.resume().unwrap();
    let is_back = (0..100).any(|_| {
        // Requests are sent once a second until one has an answer.
        std::thread::sleep(Duration::from_millis(50));
        send(&front, "POST /v1/filters/f/check", &items).status == 200
    });
    assert!(is_back);
    assert_eq!(send(&front, "POST /v1/filters/f/check", &items).json()["found"], 1);
    assert_eq!(get(&front, "/v1/filters/f").json()["items"], 1);
    assert_eq!(get(&front, "/v1/filters").status, 200);
    let events = get(&front, "/ui/events?events=1&filters=f").text();
    assert!(!events.contains("is_lost") && !events.contains("\"problem\""), "{events}");
}
