//! HTTP and the commands: the same requests have the same answers, errors and rights.

use crate::command::Server as Commands;
use crate::http::{Server, kept};
use crate::http_guard::basic;
use crate::http_pairs::Same::{Answer, Done, Error, Made, Refusal};
use crate::http_pairs::{NEW, PAIRS};
use mayhap_engine::durable::Policy;
use mayhap_engine::keyspace::{Hash, Keyspace, Shape, Spec};
use mayhap_server::Config;
use mayhap_server::config::{Rights, Users};
use mayhap_server::metrics::Counter;
use serde_json::{Value, json};
use std::sync::Arc;

/// The most bytes of a filter.
const LIMIT: u64 = 64 << 20;

/// A filter of each kind.
fn fill(keyspace: &Keyspace) {
    let (capacity, target_fpp) = (1_000, 1e-6);
    for (name, shape) in [
        ("plain", Shape::Growing { capacity, target_fpp, expansion: 2 }),
        ("fixed", Shape::Fixed { capacity, target_fpp, layout: None }),
        ("counts", Shape::Counting { capacity, target_fpp }),
        ("recent", Shape::Window { items: capacity, time_ms: 0, target_fpp, refresh: true }),
        ("half", Shape::Clearing { capacity, target_fpp, at: 0.5 }),
    ] {
        let spec = Spec { shape, hash: Hash::Keyed };
        keyspace.create(name.as_bytes(), spec, 1, None).unwrap();
    }
}

/// The first answer of RESP3 in these bytes, as JSON; advances past it.
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

/// Objects as lists of their values, which is the form of command answers.
fn bare(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(bare).collect(),
        Value::Object(members) => members.values().map(bare).collect(),
        value => value.clone(),
    }
}

/// `GET NAME` as `GET /v1/filters/NAME`; a path with a leading slash stays.
pub(crate) fn full(line: &str) -> String {
    let (method, path) = line.split_once(' ').unwrap();
    let root = if path.starts_with('/') { "" } else { "/v1/filters/" };
    format!("{method} {root}{path}")
}

#[test]
fn both_answer_alike() {
    let mut commands = Commands::with(Config::default(), |limits| limits.max_filter_bytes = LIMIT);
    let http = Server::limited(LIMIT);
    commands.session.info.resp3 = true;
    fill(&commands.shared.keyspace);
    fill(&http.shared.keyspace);
    for &(same, command, line, body) in PAIRS.iter().chain(NEW) {
        let answer = commands.line(command);
        let answer = value(&mut &*answer);
        let found = http.ask(&full(line), &[("Content-Type", "application/json")], body.as_bytes());
        let (status, found) = match found.status {
            204 => (204, Value::Null),
            status => (status, found.json()),
        };
        match same {
            Answer(member) => {
                let member = bare(&found[member]);
                assert_eq!((status, &member), (200, &answer), "{command}, {line}: {found}");
            }
            Done(expected) => {
                assert!(answer == json!(1) || answer == json!("OK"), "{command}: {answer}");
                assert_eq!(status, expected, "{line}: {found}");
            }
            Made => {
                assert_eq!((status, &answer), (201, &json!("OK")), "{command}, {line}: {found}");
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

#[test]
fn both_create_the_same_filters() {
    let mut commands = Commands::with(Config::default(), |limits| limits.max_filter_bytes = LIMIT);
    let http = Server::limited(LIMIT);
    for &(same, command, line, body) in NEW {
        let made = commands.line(command) == "+OK\r\n";
        let json_type = [("Content-Type", "application/json")];
        let status = http.ask(&full(line), &json_type, body.as_bytes()).status;
        assert_eq!((made, status == 201), (matches!(same, Made), made), "{command}, {line}");
    }
    let specs = |keyspace: &Keyspace| -> Vec<(Arc<[u8]>, Spec)> {
        keyspace.all().into_iter().map(|(name, entry)| (name, entry.spec)).collect()
    };
    let made = specs(&http.shared.keyspace);
    assert_eq!(specs(&commands.shared.keyspace), made);
    let spec = |name: &str| made.iter().find(|(other, _)| **other == *name.as_bytes()).unwrap().1;
    assert_eq!(spec("fix"), spec("zero"));
    assert_eq!(spec("seed"), spec("seed64"));
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
    ("EXPIRE @ 100", "PUT @/expiry", r#"{"expires_in":"100s"}"#),
    ("PERSIST @", "DELETE @/expiry", ""),
    ("RENAME @ shop:2", "POST @/rename", r#"{"to":"shop:2"}"#),
    ("RENAME shop:2 @", "POST shop:2/rename", r#"{"to":"@"}"#),
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
fn removed_filters_are_absent_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    {
        let server = kept(folder.path(), Policy::No);
        let shape = Shape::Counting { capacity: 1_000, target_fpp: 1e-6 };
        let spec = Spec { shape, hash: Hash::Keyed };
        server.shared.keyspace.create(b"c", spec, 1, server.shared.log.as_deref()).unwrap();
        server.send("POST /v1/filters/c/add", &json!({ "items": ["a", "b", "c"] }));
        let items = json!({ "items": ["a", "c", "d"] });
        let removed = server.send("POST /v1/filters/c/remove", &items).json();
        assert_eq!(removed, json!({ "present": [true, true, false], "removed": 2, "staying": 0 }));
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
        let shape = Shape::Window { items: 1_000, time_ms, target_fpp: 1e-6, refresh: true };
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

#[test]
fn an_option_that_is_not_as_it_should_be_is_named() {
    let server = Server::plain();
    for (option, values) in [
        ("capacity", vec![json!(0), json!(-1), json!(1.5), json!("1"), json!(true), json!([1])]),
        ("target_fpp", vec![json!(0), json!(1), json!(-0.1), json!("1%"), json!({})]),
        ("expansion", vec![json!(-1), json!(32_769), json!(1u64 << 40), json!("2")]),
        ("tightening", vec![json!(0), json!(1), json!("0.5")]),
        ("fixed", vec![json!(1), json!("true")]),
        ("scale_to", vec![json!(0), json!(-1), json!("9")]),
        ("keyed", vec![json!(0), json!("yes")]),
        ("seed", vec![json!(-1), json!("short"), json!("x".repeat(33)), json!(["x"])]),
        ("seed_base64", vec![json!("*"), json!("AAAA"), json!(0)]),
        ("counting", vec![json!(1), json!([])]),
        (
            "window",
            vec![json!(0), json!("0s"), json!("30m"), json!("soon"), json!(1.5), json!("5")],
        ),
        ("refresh", vec![json!(0), json!("no")]),
        ("clear_at", vec![json!(0), json!(1.01), json!(-0.5), json!("50%")]),
        ("layout", vec![json!("Blocked"), json!("narrow"), json!(1)]),
    ] {
        for value in values {
            let refused = server.send("PUT /v1/filters/no", &json!({ option: value }));
            let problem = refused.json()["error"].as_str().unwrap().to_owned();
            assert_eq!(refused.status, 400, "{option} {value}: {problem}");
            assert!(problem.starts_with(&format!("{option} must be ")), "{value}: {problem}");
        }
        // Unset, as with the default.
        let name = format!("PUT /v1/filters/{option}");
        assert_eq!(server.send(&name, &json!({ option: null })).status, 201, "{option}");
    }
    let seeds = json!({ "seed": "x".repeat(32), "seed_base64": "AAAA" });
    assert!(server.send("PUT /v1/filters/no", &seeds).text().contains("either seed or"));
    assert_eq!(server.get("/v1/filters/no").status, 404);
}
