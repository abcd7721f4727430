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
    /// A new filter: `OK`, and its description.
    Made,
    /// Done by both: 1 or `OK`, and this status.
    Done(u16),
    /// The error; over HTTP it has this status.
    Error(u16),
    /// Only that there is an error: the words are those of `RedisBloom`.
    Refusal(u16),
}
use Same::{Answer, Done, Error, Made, Refusal};

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
    // Ends.
    (
        Done(200),
        "PEXPIREAT plain 4000000000000",
        "PUT plain/expiry",
        r#"{"expires_at":4000000000000}"#,
    ),
    (Answer("expires_at"), "PEXPIRETIME plain", "GET plain", ""),
    (Done(200), "EXPIRE counts 100", "PUT counts/expiry", r#"{"expires_in":"100s"}"#),
    (Done(200), "PERSIST counts", "DELETE counts/expiry", ""),
    (Done(204), "PEXPIREAT fixed 1", "PUT fixed/expiry", r#"{"expires_at":1}"#),
    (Refusal(404), "BF.INFO fixed", "GET fixed", ""),
    // Names.
    (Done(200), "RENAMENX counts other", "POST counts/rename", r#"{"to":"other"}"#),
    (Refusal(404), "RENAME counts other", "POST counts/rename", r#"{"to":"other"}"#),
    (Done(200), "RENAME recent other", "POST recent/rename", r#"{"to":"other","replace":true}"#),
    (Refusal(404), "BF.INFO recent", "GET recent", ""),
    (Answer("items"), "BF.CARD other", "GET other", ""),
];

/// The most bytes of a filter.
const LIMIT: u64 = 64 << 20;

/// Every option of a new filter, and all that contradict each other.
const NEW: &[Pair] = &[
    (Made, "BF.RESERVE new 0.01 100", "PUT new", r#"{"target_fpp":0.01,"capacity":100}"#),
    (Error(409), "BF.RESERVE new 0.01 100", "PUT new", r#"{"target_fpp":0.01,"capacity":100}"#),
    (
        Made,
        "BF.RESERVE grow 0.001 5000 EXPANSION 4",
        "PUT grow",
        r#"{"target_fpp":0.001,"capacity":5000,"expansion":4}"#,
    ),
    (
        Made,
        "BF.RESERVE scale 0.01 100 VALIDATESCALETO 1000000",
        "PUT scale",
        r#"{"target_fpp":0.01,"capacity":100,"scale_to":1000000}"#,
    ),
    (
        Refusal(507),
        "BF.RESERVE no 0.01 100 VALIDATESCALETO 1000000000",
        "PUT no",
        r#"{"target_fpp":0.01,"capacity":100,"scale_to":1000000000}"#,
    ),
    (
        Made,
        "BF.RESERVE fix 0.01 100 NONSCALING",
        "PUT fix",
        r#"{"target_fpp":0.01,"capacity":100,"fixed":true}"#,
    ),
    (
        Made,
        "BF.RESERVE zero 0.01 100 EXPANSION 0",
        "PUT zero",
        r#"{"target_fpp":0.01,"capacity":100,"expansion":0}"#,
    ),
    (
        Made,
        "BF.RESERVE auto 0.01 100 NONSCALING LAYOUT auto",
        "PUT auto",
        r#"{"target_fpp":0.01,"capacity":100,"fixed":true,"layout":"auto"}"#,
    ),
    (
        Made,
        "BF.RESERVE blocked 0.01 100 NONSCALING LAYOUT blocked",
        "PUT blocked",
        r#"{"target_fpp":0.01,"capacity":100,"fixed":true,"layout":"blocked"}"#,
    ),
    (
        Made,
        "BF.RESERVE standard 0.01 100 EXPANSION 0 LAYOUT standard",
        "PUT standard",
        r#"{"target_fpp":0.01,"capacity":100,"expansion":0,"layout":"standard"}"#,
    ),
    (
        Made,
        "BF.RESERVE count 0.01 100 COUNTING",
        "PUT count",
        r#"{"target_fpp":0.01,"capacity":100,"counting":true}"#,
    ),
    (
        Made,
        "BF.RESERVE last 0.01 100 WINDOW 1400",
        "PUT last",
        r#"{"target_fpp":0.01,"capacity":100,"window":1400}"#,
    ),
    (
        Made,
        "BF.RESERVE week 0.01 100 WINDOW 7d",
        "PUT week",
        r#"{"target_fpp":0.01,"capacity":100,"window":"7d"}"#,
    ),
    (
        Made,
        "BF.RESERVE open 0.01 100 KEYED no",
        "PUT open",
        r#"{"target_fpp":0.01,"capacity":100,"keyed":false}"#,
    ),
    (
        Made,
        "BF.RESERVE seed 0.01 100 SEED 0123456789abcdef0123456789abcdef",
        "PUT seed",
        r#"{"target_fpp":0.01,"capacity":100,"seed":"0123456789abcdef0123456789abcdef"}"#,
    ),
    (
        Made,
        "BF.RESERVE seed64 0.01 100 SEED 0123456789abcdef0123456789abcdef KEYED no",
        "PUT seed64",
        r#"{"target_fpp":0.01,"capacity":100,"keyed":false,
            "seed_base64":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}"#,
    ),
    // What contradicts itself.
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 NONSCALING VALIDATESCALETO 10",
        "PUT no",
        r#"{"fixed":true,"scale_to":10}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 NONSCALING EXPANSION 2",
        "PUT no",
        r#"{"fixed":true,"expansion":2}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 KEYED yes SEED 0123456789abcdef0123456789abcdef",
        "PUT no",
        r#"{"keyed":true,"seed":"0123456789abcdef0123456789abcdef"}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 COUNTING WINDOW 5",
        "PUT no",
        r#"{"counting":true,"window":5}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 COUNTING NONSCALING",
        "PUT no",
        r#"{"counting":true,"fixed":true}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 WINDOW 5 NONSCALING",
        "PUT no",
        r#"{"window":5,"fixed":true}"#,
    ),
    (Refusal(400), "BF.RESERVE no 0.1 9 LAYOUT blocked", "PUT no", r#"{"layout":"blocked"}"#),
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
pub(crate) fn full(line: &str) -> String {
    let (method, path) = line.split_once(' ').unwrap();
    let root = if path.starts_with('/') { "" } else { "/v1/filters/" };
    format!("{method} {root}{path}")
}

#[test]
fn both_answer_alike() {
    let mut commands = Commands::with(Config::default(), |limits| limits.max_filter_bytes = LIMIT);
    let http = Server::limited(LIMIT);
    commands.session.resp3 = true;
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

#[test]
fn an_option_that_is_not_as_it_should_be_is_named() {
    let server = Server::plain();
    for (option, values) in [
        ("capacity", vec![json!(0), json!(-1), json!(1.5), json!("1"), json!(true), json!([1])]),
        ("target_fpp", vec![json!(0), json!(1), json!(-0.1), json!("1%"), json!({})]),
        ("expansion", vec![json!(-1), json!(32_769), json!(1u64 << 40), json!("2")]),
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
        ("layout", vec![json!("Blocked"), json!("narrow"), json!(1)]),
    ] {
        for value in values {
            let refused = server.send("PUT /v1/filters/no", &json!({ option: value }));
            let problem = refused.json()["error"].as_str().unwrap().to_owned();
            assert_eq!(refused.status, 400, "{option} {value}: {problem}");
            assert!(problem.starts_with(&format!("{option} must be ")), "{value}: {problem}");
        }
        // Nothing is said by it.
        let name = format!("PUT /v1/filters/{option}");
        assert_eq!(server.send(&name, &json!({ option: null })).status, 201, "{option}");
    }
    let seeds = json!({ "seed": "x".repeat(32), "seed_base64": "AAAA" });
    assert!(server.send("PUT /v1/filters/no", &seeds).text().contains("either seed or"));
    assert_eq!(server.get("/v1/filters/no").status, 404);
}
