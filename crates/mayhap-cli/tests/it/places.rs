//! Every verb on a filter in every place: it works, or refuses in the words that are documented.

use crate::remote::{server, url};
use crate::support::{
    fail, file, folder, json, lines, mayhap, run, start_serving, stderr, succeed,
};
use std::path::Path;
use std::process::Child;
use test_servers::{BfServer, ClusterOptions, Dialect, RedisCluster, ready};

/// `mayhap serve`, ended when this is dropped.
pub(crate) struct Serve {
    child: Child,
    port: u16,
}

impl Serve {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut command = mayhap(folder);
        command.args(["serve", "--data", "data", "--port", "0"]);
        let (child, port, mut stderr) = start_serving(command, "Redis clients: 127.0.0.1:");
        let port = port.parse().unwrap();
        // Its later output is read, so that it never waits for a reader.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, port }
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("redis://127.0.0.1:{}/0/{name}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A filter somewhere.
struct Place {
    name: &'static str,
    path: String,
    /// The further arguments of `create`.
    create: &'static [&'static str],
    /// The arguments of all other verbs.
    flags: &'static [&'static str],
}

/// The result of a verb in each of [`PLACES`]: empty if it works, else a part of the refusal.
struct Row {
    verb: &'static str,
    arguments: &'static [&'static str],
    expected: [&'static str; PLACES.len()],
}

/// The columns; a cluster has the filters of `native`.
const PLACES: [&str; 8] =
    ["file", "native", "serve", "counting", "redisbloom", "valkey", "redisson", "magnuss"];

const WORKS: &str = "";
const NO_REMOVAL: &str = "only a compact or counting filter of mayhap serve can";
const OTHER_THERE: &str = "holds a filter of another system";
const STRING: &str = "this is a string, maybe a bare bitmap";
const LOST_UNKNOWN: &str = "lost lines is unknown";
const NO_MERGE: &str = "a filter of RedisBloom or valkey-bloom, which cannot merge filters";
const NO_COPY: &str = "RedisBloom and mayhap serve copy whole filters, valkey-bloom does not";
const NOT_EMPTIED: &str = "cannot be emptied: delete it and create it again";
const KEYS_LOST: &str = "could not be recovered";
const NO_FILTER: &str = "no filter";
/// `P` is the place, `FLAGS` its flags; `keys`, `one` and `plain` are files.
const ROWS: &[Row] = &[
    row("create", &["create", "P", "-n", "1000", "-p", "1%", "CREATE"], [WORKS; 8]),
    row("add", &["add", "P", "FLAGS", "keys"], [WORKS; 8]),
    row("check", &["check", "P", "FLAGS", "keys"], [WORKS; 8]),
    row("filter", &["filter", "P", "FLAGS", "keys"], [WORKS; 8]),
    row("which", &["which", "-f", "P", "FLAGS", "keys"], [WORKS; 8]),
    row("info", &["info", "P", "FLAGS"], [WORKS; 8]),
    row("verify", &["verify", "P", "FLAGS", "--samples", "100k", "keys"], [WORKS; 8]),
    row(
        "dedup",
        &["dedup", "--state", "P", "one"],
        [WORKS, WORKS, WORKS, WORKS, LOST_UNKNOWN, WORKS, LOST_UNKNOWN, STRING],
    ),
    row(
        "pull",
        &["pull", "P", "FLAGS", "pulled-PLACE"],
        ["is not the URL", WORKS, WORKS, WORKS, WORKS, NO_COPY, WORKS, WORKS],
    ),
    row(
        "push",
        &["push", "--force", "plain", "P"],
        ["is not the URL", WORKS, WORKS, WORKS, OTHER_THERE, OTHER_THERE, OTHER_THERE, OTHER_THERE],
    ),
    row(
        "merge",
        &["merge", "FORCE", "-o", "P", "plain"],
        [
            WORKS,
            WORKS,
            WORKS,
            WORKS,
            NO_MERGE,
            NO_MERGE,
            "one of Redisson",
            "a string, not a filter",
        ],
    ),
    row(
        "ttl",
        &["ttl", "P", "FLAGS", "1h"],
        ["files do not expire", WORKS, WORKS, WORKS, WORKS, WORKS, WORKS, WORKS],
    ),
    row(
        "clear",
        &["clear", "--force", "P", "FLAGS"],
        [WORKS, WORKS, WORKS, WORKS, NOT_EMPTIED, NOT_EMPTIED, WORKS, WORKS],
    ),
    // A filter that was not emptied has its keys.
    row(
        "clear with no keys",
        &["clear", "P", "FLAGS"],
        [WORKS, WORKS, WORKS, WORKS, KEYS_LOST, KEYS_LOST, WORKS, WORKS],
    ),
    row("add again", &["add", "P", "FLAGS", "keys"], [WORKS; 8]),
    row("clear unforced", &["clear", "P", "FLAGS"], [KEYS_LOST; 8]),
    row("delete unforced", &["delete", "P", "FLAGS"], ["would be deleted"; 8]),
    row("delete", &["delete", "--force", "P", "FLAGS"], [WORKS; 8]),
    row(
        "info of none",
        &["info", "P", "FLAGS"],
        [
            "o such file",
            NO_FILTER,
            NO_FILTER,
            NO_FILTER,
            NO_FILTER,
            NO_FILTER,
            NO_FILTER,
            NO_FILTER,
        ],
    ),
];

const fn row(
    verb: &'static str,
    arguments: &'static [&'static str],
    expected: [&'static str; PLACES.len()],
) -> Row {
    Row { verb, arguments, expected }
}

/// The expected result of a verb in a place.
fn expected(row: &Row, place: &str) -> &'static str {
    let column = match place {
        "cluster" => "native",
        "compact" => "counting",
        place => place,
    };
    row.expected[PLACES.iter().position(|name| *name == column).unwrap()]
}

fn arguments(row: &Row, place: &Place) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    for &word in row.arguments {
        match word {
            // Keys for a filter on a server are added to it.
            "FORCE" if place.name == "file" => arguments.push("--force".into()),
            "FORCE" => {}
            "P" => arguments.push(place.path.clone()),
            "CREATE" => arguments.extend(place.create.iter().map(|&word| word.to_owned())),
            "FLAGS" => arguments.extend(place.flags.iter().map(|&word| word.to_owned())),
            word => arguments.push(word.replace("PLACE", place.name)),
        }
    }
    arguments
}

/// Runs all rows on a place, in turn.
fn check(folder: &Path, place: &Place) {
    for row in ROWS {
        let arguments = arguments(row, place);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = run(folder, &words, b"");
        let said = stderr(&output);
        let (verb, at) = (row.verb, place.name);
        match expected(row, at) {
            WORKS => assert!(output.status.success(), "{verb} on {at}: {said}"),
            words => {
                assert_eq!(output.status.code(), Some(2), "{verb} on {at}: {said}");
                assert!(said.contains(words), "{verb} on {at} says {said:?}, not {words:?}");
                assert!(!said.contains("unknown command"), "{verb} on {at}: {said}");
            }
        }
        // Numbers that a server does not report are unknown.
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(!printed.contains("NaN") && !said.contains("NaN"), "{verb} on {at}: {printed}");
        // A filter that works has the keys, and nothing is new the second time.
        match verb {
            "check" | "filter" => assert_eq!(output.stdout, lines("key", 0..500), "{verb} {at}"),
            "which" => assert_eq!(output.stdout.split(|&b| b == b'\n').count(), 501, "{at}"),
            "pull" if output.status.success() => {
                let file = std::fs::read(folder.join(format!("pulled-{at}"))).unwrap();
                assert!(file.iter().any(|&byte| byte != 0), "{at}: an empty file");
            }
            _ => {}
        }
    }
}

/// The files that the rows name.
fn files(folder: &Path) {
    file(folder, "keys", &lines("key", 0..500));
    file(folder, "one", b"one\n");
}

const MAGNUSS: &[&str] = &["--format", "magnuss-redis", "--bits", "9600", "--hashes", "7"];

#[test]
fn every_verb_works_or_refuses_in_every_place() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    files(folder);
    // Like the filters in Redis: merged filters have to be alike.
    let like = url(&redis, "like");
    succeed(folder, &["create", "-q", &like, "-n", "1000", "-p", "1%", "--seed", "0"], b"");
    succeed(folder, &["pull", "-q", &like, "plain"], b"");
    let place = |name, path: String, create, flags| Place { name, path, create, flags };
    for place in [
        place("file", "file".into(), &[], &[]),
        place("native", url(&redis, "native"), &[], &[]),
        place("serve", serve.url("seen"), &[], &[]),
        place("counting", serve.url("counting"), &["--layout", "counting"], &[]),
        place("compact", serve.url("compact"), &["--layout", "compact"], &[]),
        place("redisson", url(&redis, "redisson"), &["--format", "redisson"], &[]),
        place("magnuss", url(&redis, "magnuss"), MAGNUSS, MAGNUSS),
    ] {
        check(folder, &place);
    }
    assert_eq!(redis.cli(&["KEYS", "*native*"]).unwrap(), "", "all keys of it are deleted");
    assert_eq!(redis.cli(&["KEYS", "*redisson*"]).unwrap(), "");
}

#[test]
fn every_verb_works_or_refuses_on_redisbloom_and_valkey_bloom() {
    for (name, dialect) in [("redisbloom", Dialect::RedisBloom), ("valkey", Dialect::Valkey)] {
        let server = BfServer::start(dialect).unwrap();
        let folder = folder();
        let folder = folder.path();
        files(folder);
        succeed(folder, &["create", "-q", "plain", "-n", "1000", "-p", "1%"], b"");
        let (path, create) = (format!("{}/0/{name}", server.url()), &["--format", "redisbloom"]);
        for kind in ["compact", "counting", "window:1000"] {
            let create = ["create", &path, "-n", "1000", "--format", "redisbloom"];
            let said = fail(folder, &[&create[..], &["--layout", kind]].concat(), b"");
            assert!(said.contains("have plain filters only"), "{kind}: {said}");
        }
        check(folder, &Place { name, path, create, flags: &[] });
        assert!(server.names().is_empty(), "all keys of it are deleted");
    }
}

#[test]
fn a_filter_of_redisbloom_moves_as_its_dump() {
    let folder = folder();
    let folder = folder.path();
    let (server, serve) = (BfServer::start(Dialect::RedisBloom).unwrap(), Serve::start(folder));
    let at = |name: &str| format!("{}/0/{name}", server.url());
    let (keys, others) = (lines("key", 0..1000), lines("other", 0..20_000));
    let made = ["-n", "300", "-p", "1%", "--format", "redisbloom"];
    succeed(folder, &[&["create", "-q", &at("a")][..], &made].concat(), b"");
    succeed(folder, &["add", "-q", &at("a")], &keys);
    succeed(folder, &["pull", "-q", &at("a"), "f"], b"");
    succeed(folder, &["push", "-q", "--ttl", "1h", "f", &at("b")], b"");
    succeed(folder, &["push", "-q", "f", &serve.url("c")], b"");
    succeed(folder, &["pull", "-q", &serve.url("c"), "g"], b"");
    assert_eq!(std::fs::read(folder.join("f")).unwrap(), std::fs::read(folder.join("g")).unwrap());
    let queries = [keys.clone(), others].concat();
    let answers = succeed(folder, &["check", "f"], &queries);
    assert!(answers.starts_with(&keys) && answers.len() < keys.len() + 20_000, "of 1 %");
    for place in [at("a"), at("b"), serve.url("c")] {
        assert!(succeed(folder, &["check", &place], &queries) == answers, "{place}");
    }
    let left = json(&succeed(folder, &["ttl", "--json", &at("b")], b""));
    assert!((3_000_000..=3_600_000).contains(&left["ttl_ms"].as_u64().unwrap()), "{left}");
    let taken = fail(folder, &["push", "f", &at("b")], b"");
    assert!(taken.contains("exists already"), "{taken}");
    succeed(folder, &["push", "-q", "--force", "f", &at("b")], b"");
    let merged = fail(folder, &["push", "--merge", "f", &at("b")], b"");
    assert!(merged.contains(NO_MERGE) && !merged.contains("BF.MERGE"), "{merged}");
    assert_eq!(server.names(), ["a", "b"]);
    // Its words for a server that takes no dumps.
    let valkey = BfServer::start(Dialect::Valkey).unwrap();
    let refused = fail(folder, &["push", "f", &format!("{}/0/a", valkey.url())], b"");
    assert!(refused.contains(NO_COPY) && !refused.contains("unknown command"), "{refused}");
    assert!(valkey.names().is_empty());
}

/// A line that ends with a carriage return is a repeat if its key is there with it too, also where
/// the server hashes the keys.
#[test]
fn lines_with_carriage_returns_pass_where_the_server_hashes_keys() {
    let folder = folder();
    let server = BfServer::start(Dialect::Valkey).unwrap();
    server.cli(&["BF.RESERVE", "seen", "0.0001", "1000"]).unwrap();
    server.cli(&["BF.ADD", "seen", "c\r"]).unwrap();
    let url = format!("{}/0/seen", server.url());
    let list = b"a\r\nb\nc\r\na\r\nb\n";
    let output = succeed(folder.path(), &["dedup", "-q", "--state", &url], list);
    assert_eq!(output, b"a\r\nb\n");
}

#[test]
fn every_verb_works_or_refuses_on_a_cluster() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let options = ClusterOptions { masters: 3, replicas: 0, ..ClusterOptions::default() };
    let cluster = RedisCluster::start(&options).unwrap();
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    let at = |name: &str| format!("redis+cluster://{}/{name}", hosts.join(","));
    let folder = folder();
    let folder = folder.path();
    files(folder);
    succeed(folder, &["create", "-q", &at("like"), "-n", "1000", "-p", "1%"], b"");
    succeed(folder, &["pull", "-q", &at("like"), "plain"], b"");
    check(folder, &Place { name: "cluster", path: at("seen"), create: &[], flags: &[] });
    let (create, flags) = (&["--format", "redisson"][..], &[][..]);
    check(folder, &Place { name: "redisson", path: at("users"), create, flags });
    check(folder, &Place { name: "magnuss", path: at("bits"), create: MAGNUSS, flags: MAGNUSS });
}

#[test]
fn keys_are_removed_on_a_server_only_where_they_are_counted() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    files(folder);
    for layout in ["counting", "compact"] {
        let users = serve.url(layout);
        succeed(folder, &["create", "-q", &users, "-n", "1000", "--layout", layout], b"");
        succeed(folder, &["add", "-q", &users, "keys"], b"");
        let removed = succeed(folder, &["remove", "--json", &users], &lines("key", 400..600));
        let removed = json(&removed);
        assert_eq!((&removed["removed"], &removed["not_there"]), (&100.into(), &100.into()));
        let left = succeed(folder, &["check", &users], &lines("key", 0..600));
        assert_eq!(left, lines("key", 0..400), "{layout}");
    }
    let growing = serve.url("seen");
    succeed(folder, &["create", "-q", &growing, "-n", "1000"], b"");
    let refusals = [(growing, &[][..], NO_REMOVAL), (url(&redis, "b"), MAGNUSS, "")];
    for (path, flags, words) in refusals {
        succeed(folder, &[&["create", "-q", &path, "-n", "1000"], flags].concat(), b"");
        let said = fail(folder, &[&["remove", &path], flags, &["one"]].concat(), b"");
        let words = if words.is_empty() { "cannot be freed of single keys" } else { words };
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_filter_moves_between_a_file_a_server_and_redis() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let (there, native, back) = (serve.url("a"), url(&redis, "a"), serve.url("b"));
    let keys = lines("key", 0..1000);
    let made = ["-n", "1000", "-p", "1%", "--layout", "blocked", "--seed", "0"];
    succeed(folder, &[&["create", "-q", &there][..], &made].concat(), b"");
    // By digests, as it has no secret key.
    let info = json(&succeed(folder, &["info", "--json", &there], b""));
    assert_eq!(info["keys_sent"], "keys, as digests");
    succeed(folder, &["add", "-q", &there], &keys);
    succeed(folder, &["pull", "-q", &there, "f"], b"");
    succeed(folder, &["push", "-q", "f", &native], b"");
    succeed(folder, &["pull", "-q", &native, "g"], b"");
    succeed(folder, &["push", "-q", "g", &back], b"");
    let others = lines("other", 0..20_000);
    let queries = [keys.clone(), others].concat();
    let answers = succeed(folder, &["check", "f"], &queries);
    assert!(answers.starts_with(&keys) && answers.len() < keys.len() + 20_000, "of 1 %");
    for place in [&there, &native, &"g".to_owned(), &back] {
        assert!(succeed(folder, &["check", place], &queries) == answers, "{place}");
    }
    let taken = fail(folder, &["push", "g", &back], b"");
    assert!(taken.contains("exists already"), "{taken}");
    succeed(folder, &["push", "-q", "--force", "--ttl", "1h", "g", &back], b"");
    let left = json(&succeed(folder, &["ttl", "--json", &back], b""));
    assert!((3_000_000..=3_600_000).contains(&left["ttl_ms"].as_u64().unwrap()), "{left}");
}

#[test]
fn a_wrong_name_is_never_taken_for_a_filter() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    redis.cli(&["RPUSH", "list", "a"]).unwrap();
    redis.cli(&["SET", "text", "a"]).unwrap();
    for (name, words) in [("list", "something other than a filter"), ("text", STRING)] {
        for verb in ["delete", "clear"] {
            let said = fail(folder, &[verb, "--force", &url(&redis, name)], b"");
            assert!(said.contains(words), "{said}");
        }
        assert_ne!(redis.cli(&["EXISTS", name]).unwrap(), "0");
    }
    file(folder, "keys", b"a\n");
    let said = fail(folder, &["delete", "--force", "keys"], b"");
    assert!(said.contains("not a mayhap filter"), "{said}");
    assert!(folder.join("keys").exists());
}
