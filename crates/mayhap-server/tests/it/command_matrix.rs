//! T14: every command, and every path of HTTP, by every sort of user.
//!
//! The rights are repeated here by hand: a command or a path without a row here fails.

use crate::command::{Server, all_commands};
use crate::http;
use mayhap_server::Config;
use mayhap_server::config::{Rights, Users};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The right that a row needs: none, any, or this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Any,
    Read,
    Write,
    ReadAndWrite,
    Admin,
}

impl Needs {
    const fn is_given(self, rights: &Rights) -> bool {
        let Rights { read, write, admin, .. } = *rights;
        match self {
            Self::Nothing => true,
            Self::Any => read || write || admin,
            Self::Read => read,
            Self::Write => write,
            Self::ReadAndWrite => read && write,
            Self::Admin => admin,
        }
    }
}

const COMMANDS: &[(Needs, &str)] = &[
    (Needs::Nothing, "auth hello quit reset"),
    (
        Needs::Any,
        "acl client cluster command discard echo exec info lastsave module multi ping role select \
         time wait",
    ),
    (
        Needs::Read,
        "bf.age bf.card bf.debug bf.exists bf.info bf.mexists bf.mexistshash bf.scandump \
         bf.which cf.count cf.exists cf.info cf.mexists cf.scandump dbsize exists expiretime keys \
         memory object pexpiretime pttl randomkey scan touch ttl type",
    ),
    (
        Needs::Write,
        "bf.add bf.insert bf.loadchunk bf.madd bf.maddhash bf.mergechunk bf.rem bf.reserve cf.add \
         cf.addnx cf.compact cf.del cf.insert cf.insertnx cf.loadchunk cf.reserve del expire \
         expireat persist pexpire pexpireat rename renamenx unlink",
    ),
    (Needs::ReadAndWrite, "bf.merge copy"),
    (Needs::Admin, "bf.backup bgsave config flushall flushdb latency save shutdown slowlog"),
    // By their second word.
    (Needs::Admin, "client|list client|kill acl|list acl|users acl|getuser"),
];

/// Users with every set of rights, and one without any; the empty name means no login.
fn sorts() -> Vec<(String, Rights)> {
    let set = |bits: u8| Rights {
        read: bits & 1 != 0,
        write: bits & 2 != 0,
        admin: bits & 4 != 0,
        prefix: None,
    };
    (0..8).map(|bits| (format!("user{bits}"), set(bits))).collect()
}

fn config() -> Config {
    let mut users = Users::new().unwrap();
    for (name, rights) in sorts() {
        users.add(&name, b"a password", rights).unwrap();
    }
    Config { users: Arc::new(users), ..Config::default() }
}

#[test]
fn every_command_asks_for_its_right_of_every_sort_of_user() {
    let rows = COMMANDS.iter().flat_map(|(needs, names)| {
        names.split_whitespace().map(move |name| (name.replace('|', " "), *needs))
    });
    let rows: Vec<_> = rows.collect();
    let listed: BTreeSet<_> =
        rows.iter().map(|(name, _)| name.split(' ').next().unwrap().to_owned()).collect();
    let there: BTreeSet<_> = all_commands(&mut Server::new()).into_iter().collect();
    assert_eq!(listed, there, "each command has a row");
    let mut tried = 0;
    for (name, needs) in &rows {
        for (user, rights) in std::iter::once((String::new(), Rights::NONE)).chain(sorts()) {
            // Each number of words: one of them fits the command, and all are checked for the
            // right.
            let mut met = false;
            for more in ["", " a", " a b", " a b c", " 1 a b", " a b 0 c"] {
                let mut server = Server::with(config(), |_| {});
                if !user.is_empty() {
                    let request = [&b"AUTH"[..], user.as_bytes(), b"a password"];
                    assert_eq!(server.ask(&request.map(<[u8]>::to_vec)), b"+OK\r\n");
                }
                let answer = server.line(&format!("{name}{more}"));
                if answer.contains("wrong number of arguments") {
                    continue;
                }
                met = true;
                let is_refused = if user.is_empty() && name != "hello" {
                    answer.starts_with("-NOAUTH ")
                } else {
                    answer.starts_with("-NOPERM User ") || answer.starts_with("-NOAUTH Auth")
                };
                let is_given = needs.is_given(&rights);
                assert_eq!(is_refused, !is_given, "{name}{more} by {rights:?}: {answer}");
                tried += 1;
            }
            assert!(met, "{name} was never checked");
        }
    }
    assert!(tried >= 9 * rows.len());
}

/// Every command that takes names, with `@` for each of them, written by hand: the table must not
/// be its own judge.
const PLACES: &[&str] = &[
    "bf.add @ a",
    "bf.madd @ a b",
    "bf.insert @ ITEMS a",
    "bf.reserve @ 0.1 10",
    "bf.exists @ a",
    "bf.mexists @ a b",
    "bf.age @ a b",
    "bf.rem @ a",
    "bf.card @",
    "bf.info @",
    "bf.debug @",
    "bf.scandump @ 0",
    "bf.loadchunk @ 1 x",
    "bf.merge @ @ @",
    "bf.mergechunk @ x 0 x",
    "bf.maddhash @ abcdefgh",
    "bf.mexistshash @ abcdefgh",
    "bf.which 3 @ @ @ a b",
    "cf.reserve @ 10",
    "cf.add @ a",
    "cf.addnx @ a",
    "cf.insert @ ITEMS a",
    "cf.insertnx @ ITEMS a",
    "cf.exists @ a",
    "cf.mexists @ a b",
    "cf.count @ a",
    "cf.del @ a",
    "cf.info @",
    "cf.compact @",
    "cf.scandump @ 0",
    "cf.loadchunk @ 1 x",
    "del @ @ @",
    "unlink @ @ @",
    "exists @ @ @",
    "touch @ @ @",
    "type @",
    "rename @ @",
    "renamenx @ @",
    "memory usage @",
    "object encoding @",
    "copy @ @",
    "expire @ 100",
    "pexpire @ 100",
    "expireat @ 4000000000",
    "pexpireat @ 4000000000000",
    "persist @",
    "ttl @",
    "pttl @",
    "expiretime @",
    "pexpiretime @",
];

/// Commands without names.
const WITHOUT_NAMES: &str = "acl auth bf.backup bgsave client cluster command config dbsize \
    discard echo exec flushall flushdb hello info keys lastsave latency \
    module multi ping quit randomkey reset role save scan select \
    shutdown slowlog time wait";

#[test]
fn every_place_of_a_name_is_held_to_the_prefix_of_the_user() {
    let listed: BTreeSet<_> = PLACES
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .chain(WITHOUT_NAMES.split_whitespace())
        .map(str::to_owned)
        .collect();
    let there: BTreeSet<_> = all_commands(&mut Server::new()).into_iter().collect();
    assert_eq!(listed, there, "each command has a row");
    let mut users = Users::new().unwrap();
    let shop = Rights { prefix: Some(Arc::from(&b"shop:"[..])), ..Rights::ALL };
    users.add("shop", b"a password", shop).unwrap();
    users.add("all", b"a password", Rights::ALL).unwrap();
    let config = Config { users: Arc::new(users), ..Config::default() };
    let refused = "-NOPERM No permissions to access a key\r\n";
    let mut tried = 0;
    for line in PLACES {
        let places = line.matches('@').count();
        // All within the prefix, then each place outside in turn: of an existing filter, and of
        // none.
        for outside in std::iter::once(None).chain((0..places).map(Some)) {
            for name in ["other", "none", "shop", "Shop:1", ""] {
                let mut server = Server::with(config.clone(), |_| {});
                login(&mut server, "all");
                server.line("BF.ADD other a");
                server.line("BF.ADD shop:1 a");
                login(&mut server, "shop");
                let words = line.split(' ').scan(0, |at, word| {
                    let here = *at;
                    *at += usize::from(word == "@");
                    Some(match word {
                        "@" if outside == Some(here) => name.as_bytes().to_vec(),
                        "@" => format!("shop:{}", here + 1).into_bytes(),
                        word => word.as_bytes().to_vec(),
                    })
                });
                let request: Vec<_> = words.collect();
                let answer = String::from_utf8(server.ask(&request)).unwrap_or_default();
                assert_eq!(
                    answer == refused,
                    outside.is_some(),
                    "{line} {outside:?} {name}: {answer}"
                );
                if outside.is_some() {
                    login(&mut server, "all");
                    assert_eq!(server.line("DBSIZE"), ":2\r\n", "{line} {outside:?}");
                    assert_eq!(server.line("TTL other"), ":-1\r\n", "{line} {outside:?}");
                    assert_eq!(server.line("BF.CARD other"), ":1\r\n", "{line} {outside:?}");
                }
                tried += 1;
            }
        }
    }
    assert!(tried >= 5 * 2 * PLACES.len());
}

fn login(server: &mut Server, user: &str) {
    let request = [&b"AUTH"[..], user.as_bytes(), b"a password"];
    assert_eq!(server.ask(&request.map(<[u8]>::to_vec)), b"+OK\r\n");
}

/// The same over HTTP: in the path, and where a body has names.
#[test]
fn every_name_over_http_is_held_to_the_prefix_of_the_user() {
    use base64::Engine;
    let mut users = Users::new().unwrap();
    let shop = Rights { prefix: Some(Arc::from(&b"shop:"[..])), ..Rights::ALL };
    users.add("shop", b"a password", shop).unwrap();
    let server = http::Server::start(Config { users: Arc::new(users), ..Config::default() });
    let login = base64::engine::general_purpose::STANDARD.encode("shop:a password");
    let login = format!("Basic {login}");
    let ask = |line: &str, body: &str| {
        let kind =
            if line.ends_with("file") { "application/octet-stream" } else { "application/json" };
        let headers = [("Content-Type", kind), ("Authorization", &*login)];
        server.ask(line, &headers, body.as_bytes()).status
    };
    assert_eq!(ask("PUT /v1/filters/shop:1", "{}"), 201);
    let with_names = PATHS.iter().filter(|(_, line)| line.contains("{name}"));
    for (needs, line) in with_names.filter(|(needs, _)| *needs != Needs::Any) {
        for name in ["other", "shop", "Shop:1", "shop%3"] {
            let line = line.replace("{name}", name);
            let body = match line.rsplit('/').next().unwrap() {
                "add" | "check" | "remove" | "age" => r#"{"items":[]}"#,
                "merge" => r#"{"from":["shop:1"]}"#,
                _ => "{}",
            };
            let status = ask(&line, body);
            let expected = if name == "shop%3" { 400 } else { 403 };
            assert_eq!(status, expected, "{line} needs {needs:?}");
        }
    }
    for from in [r#"["other"]"#, r#"["shop:1","other"]"#, r#"["other","shop:1"]"#] {
        let status = ask("POST /v1/filters/shop:2/merge", &format!(r#"{{"from":{from}}}"#));
        assert_eq!(status, 403, "{from}");
    }
    for names in [r#"["other"]"#, r#"["shop:1","other"]"#, r#"["none","shop:1"]"#] {
        let status = ask("POST /v1/which", &format!(r#"{{"names":{names},"items":["a"]}}"#));
        assert_eq!(status, 403, "{names}");
    }
    assert_eq!(ask("POST /v1/which", r#"{"names":["shop:1"],"items":["a"]}"#), 200);
    for to in [r#""to":"other""#, r#""to":"shop""#, r#""to_base64":"b3RoZXI=""#] {
        assert_eq!(ask("POST /v1/filters/shop:1/rename", &format!("{{{to}}}")), 403, "{to}");
    }
    assert_eq!(ask("POST /v1/filters/shop:2/merge", r#"{"from":["shop:1"]}"#), 201);
    assert_eq!(server.shared.keyspace.len(), 2);
}

const PATHS: [(Needs, &str); 31] = [
    (Needs::Nothing, "GET /"),
    (Needs::Nothing, "GET /style.css"),
    (Needs::Nothing, "GET /healthz"),
    (Needs::Nothing, "GET /readyz"),
    (Needs::Nothing, "GET /openapi.json"),
    (Needs::Read, "GET /metrics"),
    (Needs::Read, "GET /ui"),
    (Needs::Read, "GET /ui/main.js"),
    (Needs::Read, "GET /ui/events?events=1"),
    (Needs::Read, "GET /ui/history?filter={name}"),
    (Needs::Admin, "GET /ui/clients"),
    (Needs::Admin, "GET /ui/slow"),
    (Needs::Read, "GET /v1/filters"),
    (Needs::Read, "GET /v1/filters/{name}"),
    (Needs::Write, "PUT /v1/filters/{name}"),
    (Needs::Write, "DELETE /v1/filters/{name}"),
    (Needs::Write, "POST /v1/filters/{name}/add"),
    (Needs::Read, "POST /v1/filters/{name}/check"),
    (Needs::Write, "POST /v1/filters/{name}/remove"),
    (Needs::Read, "POST /v1/filters/{name}/age"),
    (Needs::ReadAndWrite, "POST /v1/filters/{name}/merge"),
    (Needs::Write, "PUT /v1/filters/{name}/expiry"),
    (Needs::Write, "DELETE /v1/filters/{name}/expiry"),
    (Needs::Write, "POST /v1/filters/{name}/rename"),
    (Needs::Write, "POST /v1/filters/{name}/shrink"),
    (Needs::Read, "POST /v1/which"),
    (Needs::Read, "GET /v1/filters/{name}/file"),
    (Needs::Write, "PUT /v1/filters/{name}/file"),
    (Needs::Write, "PUT /v1/filters/{name}/file?replace=true"),
    // Not ours, so it is not revealed without a login either.
    (Needs::Any, "GET /none"),
    (Needs::Any, "GET /v1/filters/{name}/none"),
];

#[test]
fn every_path_asks_for_its_right_of_every_sort_of_user() {
    use base64::Engine;
    let server = http::Server::start(config());
    let description = server.get("/openapi.json").json();
    let paths = description["paths"].as_object().unwrap();
    let methods = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
        methods.map(|method| format!("{} {path}", method.to_uppercase())).collect::<Vec<_>>()
    };
    for line in paths.iter().flat_map(methods) {
        assert!(PATHS.iter().any(|(_, row)| *row == line), "{line} has no row");
    }
    for (needs, line) in PATHS {
        let line = line.replace("{name}", "f");
        for (user, rights) in std::iter::once((String::new(), Rights::NONE)).chain(sorts()) {
            let login =
                base64::engine::general_purpose::STANDARD.encode(format!("{user}:a password"));
            let login = format!("Basic {login}");
            let kind = if line.ends_with("file") {
                "application/octet-stream"
            } else {
                "application/json"
            };
            let all = [("Content-Type", kind), ("Authorization", &*login)];
            let headers = if user.is_empty() { &all[..1] } else { &all[..] };
            let body: &[u8] = match line.rsplit('/').next().unwrap() {
                "add" | "check" | "remove" | "age" => br#"{"items":[]}"#,
                "merge" => br#"{"from":["f"]}"#,
                "which" => br#"{"names":["f"],"items":[]}"#,
                _ => b"{}",
            };
            let status = server.ask(&line, headers, body).status;
            let expected = match (user.is_empty(), needs) {
                (true, Needs::Nothing) => 0,
                (true, _) => 401,
                (false, Needs::Any) => 404,
                (false, _) if needs.is_given(&rights) => 0,
                (false, _) => 403,
            };
            let is_refused = matches!(status, 401 | 403);
            assert_eq!(is_refused, matches!(expected, 401 | 403), "{line} {rights:?}: {status}");
            assert!(!is_refused || status == expected, "{line} {rights:?}: {status}");
        }
    }
}
