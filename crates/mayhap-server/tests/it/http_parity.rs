//! HTTP and the commands: the same requests have the same answers, errors and rights.

use crate::command::Server as Commands;
use crate::http::{Server, kept};
use crate::http_guard::basic;
use mayhap_server::Config;
use mayhap_server::config::{Rights, Users};
use mayhap_server::durable::Policy;
use mayhap_server::keyspace::{Hash, Keyspace, Shape, Spec};
use mayhap_server::metrics::Counter;
use serde_json::{Value, json};
use std::sync::Arc;

/// What is the same of a request in both forms.
#[derive(Debug, Clone, Copy)]
enum Same {
    /// The answer, which over HTTP is this member of the JSON.
    Answer(&'static str),
    /// The error; over HTTP it has this status.
    Error(u16),
    /// Only that there is an error: the words are those of `RedisBloom`.
    Refusal(u16),
}
use Same::{Answer, Error, Refusal};

type Pair = (Same, &'static str, &'static str, &'static str);

/// Requests in order, each as a command and over HTTP, to servers with the filters of [`fill`].
const PAIRS: &[Pair] = &[
    (Answer("new"), "BF.MADD counts a b b", "POST counts/add", r#"{"items":["a","b","b"]}"#),
    (Answer("present"), "BF.MEXISTS counts a c", "POST counts/check", r#"{"items":["a","c"]}"#),
    (Refusal(404), "BF.INFO none", "GET none", ""),
    // Removals: each once, and from counting filters alone.
    (
        Answer("present"),
        "BF.REM counts b c a b",
        "POST counts/remove",
        r#"{"items":["b","c","a","b"]}"#,
    ),
    (Answer("present"), "BF.MEXISTS counts a b", "POST counts/check", r#"{"items":["a","b"]}"#),
    (Error(409), "BF.REM plain a", "POST plain/remove", r#"{"items":["a"]}"#),
    (Error(409), "BF.REM fixed a", "POST fixed/remove", r#"{"items":["a"]}"#),
    (Error(409), "BF.REM recent a", "POST recent/remove", r#"{"items":["a"]}"#),
    (Refusal(404), "BF.REM none a", "POST none/remove", r#"{"items":["a"]}"#),
    // Ages, of windows alone.
    (Answer("new"), "BF.MADD recent a b c", "POST recent/add", r#"{"items":["a","b","c"]}"#),
    (Answer("ages"), "BF.AGE recent a c x", "POST recent/age", r#"{"items":["a","c","x"]}"#),
    (Error(409), "BF.AGE plain a", "POST plain/age", r#"{"items":["a"]}"#),
    (Error(409), "BF.AGE counts a", "POST counts/age", r#"{"items":["a"]}"#),
    (Refusal(404), "BF.AGE none a", "POST none/age", r#"{"items":["a"]}"#),
    // Several filters; one that is not there has nothing, one that is named twice has it twice.
    (Answer("new"), "BF.MADD plain a x", "POST plain/add", r#"{"items":["a","x"]}"#),
    (
        Answer("which"),
        "BF.WHICH 5 recent none plain counts plain a x z",
        "POST /v1/which",
        r#"{"names":["recent","none","plain","counts","plain"],"items":["a","x","z"]}"#,
    ),
    (
        Answer("which"),
        "BF.WHICH 3 fixed plain recent a b",
        "POST /v1/which",
        r#"{"match":"[fpr]*","items":["a","b"]}"#,
    ),
];

/// A filter of each kind.
fn fill(keyspace: &Keyspace) {
    let (capacity, error) = (1_000, 1e-6);
    for (name, shape) in [
        ("plain", Shape::Growing { capacity, error, expansion: 2 }),
        ("fixed", Shape::Fixed { capacity, error, layout: None }),
        ("counts", Shape::Counting { capacity, error }),
        ("recent", Shape::Window { items: capacity, time_ms: 0, error }),
    ] {
        let spec = Spec { shape, hash: Hash::Keyed };
        keyspace.create(name.as_bytes(), spec, 1, None).unwrap();
    }
}

/// The first answer of RESP3 in these bytes, as JSON; they go on behind it.
fn value(answer: &mut &str) -> Value {
    let (line, rest) = answer.split_once("\r\n").unwrap();
    *answer = rest;
    let (kind, text) = line.split_at(1);
    match kind {
        "+" => json!(text),
        "-" => json!({ "error": text.strip_prefix("ERR ").unwrap_or(text) }),
        ":" => json!(text.parse::<i64>().unwrap()),
        "#" => json!(text == "t"),
        "_" => Value::Null,
        "$" => {
            let (bulk, rest) = answer.split_at(text.parse().unwrap());
            *answer = &rest[2..];
            json!(bulk)
        }
        "*" => (0..text.parse::<usize>().unwrap()).map(|_| value(answer)).collect(),
        _ => panic!("{line}"),
    }
}

/// Objects as lists of their values, which is what commands answer.
fn bare(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(bare).collect(),
        Value::Object(members) => members.values().map(bare).collect(),
        value => value.clone(),
    }
}

/// `GET NAME` as `GET /v1/filters/NAME`; what begins with a slash stays.
fn full(line: &str) -> String {
    let (method, path) = line.split_once(' ').unwrap();
    let root = if path.starts_with('/') { "" } else { "/v1/filters/" };
    format!("{method} {root}{path}")
}

#[test]
fn both_answer_alike() {
    let (mut commands, http) = (Commands::new(), Server::plain());
    commands.session.resp3 = true;
    fill(&commands.shared.keyspace);
    fill(&http.shared.keyspace);
    for &(same, command, line, body) in PAIRS {
        let answer = commands.line(command);
        let answer = value(&mut &*answer);
        let found = http.ask(&full(line), &[("Content-Type", "application/json")], body.as_bytes());
        let (status, found) = (found.status, found.json());
        match same {
            Answer(member) => {
                let member = bare(&found[member]);
                assert_eq!((status, &member), (200, &answer), "{command}, {line}: {found}");
            }
            Error(expected) => {
                assert_eq!((status, &found), (expected, &answer), "{command}, {line}");
            }
            Refusal(expected) => {
                assert!(answer["error"].is_string(), "{command}: {answer}");
                assert_eq!(status, expected, "{line}: {found}");
            }
        }
    }
}

/// Users of every sort, each with its password.
fn users() -> Config {
    let mut users = Users::new().unwrap();
    for (name, rights) in [
        ("eye", Rights { read: true, ..Rights::NONE }),
        ("hand", Rights { write: true, ..Rights::NONE }),
        ("both", Rights { read: true, write: true, ..Rights::NONE }),
        ("shop", Rights { prefix: Some(Arc::from(&b"shop:"[..])), ..Rights::ALL }),
    ] {
        users.add(name, b"a password", rights).unwrap();
    }
    Config { users: Arc::new(users), ..Config::default() }
}

/// Requests in both forms, `@` for the name of a filter.
const RIGHTS: &[(&str, &str, &str)] = &[
    ("BF.RESERVE @ 0.01 100", "PUT @", "{}"),
    ("BF.MADD @ a", "POST @/add", r#"{"items":["a"]}"#),
    ("BF.MEXISTS @ a", "POST @/check", r#"{"items":["a"]}"#),
    ("BF.REM @ a", "POST @/remove", r#"{"items":["a"]}"#),
    ("BF.AGE @ a", "POST @/age", r#"{"items":["a"]}"#),
    ("BF.WHICH 1 @ a", "POST /v1/which", r#"{"names":["@"],"items":["a"]}"#),
    ("BF.INFO @", "GET @", ""),
    ("DEL @", "DELETE @", ""),
];

#[test]
fn both_refuse_the_same_users() {
    let http = Server::start(users());
    let mut refused = 0;
    for user in ["eye", "hand", "both", "shop"] {
        let login = basic(user, "a password");
        let headers = [("Content-Type", "application/json"), ("Authorization", &*login)];
        for name in ["other", "shop:1", "shop", "Shop:1"] {
            for (command, line, body) in RIGHTS {
                let mut commands = Commands::with(users(), |_| {});
                let login = [&b"AUTH"[..], user.as_bytes(), b"a password"];
                assert_eq!(commands.ask(&login.map(<[u8]>::to_vec)), b"+OK\r\n");
                let answer = commands.line(&command.replace('@', name));
                let is_refused = answer.starts_with("-NOPERM ");
                let line = full(&line.replace('@', name));
                let status = http.ask(&line, &headers, body.replace('@', name).as_bytes()).status;
                assert_eq!(
                    status == 403,
                    is_refused,
                    "{user}: {command} {answer}, {line} {status}"
                );
                refused += usize::from(is_refused);
            }
        }
    }
    assert!(refused > 40, "{refused}");
}

#[test]
fn what_was_removed_is_not_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    {
        let server = kept(folder.path(), Policy::No);
        let shape = Shape::Counting { capacity: 1_000, error: 1e-6 };
        let spec = Spec { shape, hash: Hash::Keyed };
        server.shared.keyspace.create(b"c", spec, 1, server.shared.log.as_deref()).unwrap();
        server.send("POST /v1/filters/c/add", &json!({ "items": ["a", "b", "c"] }));
        let items = json!({ "items": ["a", "c", "d"] });
        let removed = server.send("POST /v1/filters/c/remove", &items).json();
        assert_eq!(removed, json!({ "present": [true, true, false], "removed": 2 }));
        assert_eq!(server.shared.metrics.total(Counter::Writes), 2);
    }
    let server = kept(folder.path(), Policy::No);
    let found =
        server.send("POST /v1/filters/c/check", &json!({ "items": ["a", "b", "c"] })).json();
    assert_eq!(found["present"], json!([false, true, false]));
}

#[test]
fn ages_have_their_unit_and_are_counted_as_queries() {
    let server = Server::plain();
    for (name, time_ms, unit) in [("items", 0, "items"), ("time", 60_000, "ms")] {
        let shape = Shape::Window { items: 1_000, time_ms, error: 1e-6 };
        let spec = Spec { shape, hash: Hash::Keyed };
        server.shared.keyspace.create(name.as_bytes(), spec, 1, None).unwrap();
        let line = |verb| format!("POST /v1/filters/{name}/{verb}");
        server.send(&line("add"), &json!({ "items": ["a"] }));
        let ages = server.send(&line("age"), &json!({ "items": ["a", "b", "c"] })).json();
        assert_eq!((&ages["unit"], &ages["found"]), (&json!(unit), &json!(1)), "{ages}");
        let age = &ages["ages"][0];
        assert!(age["at_least"].as_u64() <= age["at_most"].as_u64(), "{ages}");
        assert_eq!(ages["ages"][1], Value::Null);
    }
    let total = |counter| server.shared.metrics.total(counter);
    assert_eq!((total(Counter::Reads), total(Counter::ItemsFound)), (2, 2));
    assert_eq!(total(Counter::ItemsAbsent), 4);
}
