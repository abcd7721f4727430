//! `mayhap rename`: filters on servers get other names while they are in use.

use crate::places::Serve;
use crate::remote::{server, url};
use crate::support::{fail, folder, json, lines, mayhap, run, stderr, succeed};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use test_servers::{
    ClusterOptions, RedisCluster, RedisOptions, RedisSentinels, RedisServer, ready,
};

fn held(folder: &Path, name: &str, keys: &[u8], more: &[&str]) -> usize {
    let output = run(folder, &[&["check", "-c", name], more].concat(), keys);
    String::from_utf8(output.stdout).unwrap().trim().replace(',', "").parse().unwrap()
}

fn ttl(folder: &Path, name: &str) -> Option<u64> {
    json(&succeed(folder, &["ttl", "--json", name], b""))["ttl_ms"].as_u64()
}

#[test]
fn a_filter_is_renamed_on_each_server_and_keeps_its_keys_and_its_expiry() {
    let Some(redis) = server() else { return };
    let config = vec![format!("replicaof 127.0.0.1 {}", redis.port())];
    let _replica = RedisServer::start(&RedisOptions { config, ..RedisOptions::default() }).unwrap();
    let sentinels = RedisSentinels::start(&redis, "main").unwrap();
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let keys = lines("key", 0..5_000);
    let sentinel =
        |name: &str| format!("redis+sentinel://{}/main/{name}", sentinels.addresses()[0]);
    for place in ["redis", "sentinel", "serve"] {
        let named = |name: &str| match place {
            "redis" => url(&redis, name),
            "sentinel" => sentinel(name),
            _ => serve.url(name),
        };
        let (old, new, third) = (named("old"), named("new"), named("third"));
        succeed(folder, &["create", "-q", &old, "-n", "10k"], b"");
        succeed(folder, &["add", "-q", &old], &keys);
        succeed(folder, &["ttl", &old, "7d"], b"");
        let renamed = json(&succeed(folder, &["rename", "--json", &old, "new"], b""));
        assert_eq!(renamed, serde_json::json!({ "from": old, "to": new }), "{place}");
        assert_eq!(held(folder, &new, &keys, &[]), 5_000, "{place}");
        assert!(ttl(folder, &new).unwrap() > 6 * 86_400_000, "{place}");
        let error = fail(folder, &["check", &old], &keys);
        assert!(error.contains("there is no filter old"), "{place}: {error}");
        let error = fail(folder, &["rename", &old, "third"], b"");
        assert!(error.contains("there is no filter old"), "{place}: {error}");
        // By its URL, onto a name that is taken, and then onto one that is free.
        succeed(folder, &["create", "-q", &old, "-n", "99"], b"");
        let error = fail(folder, &["rename", &new, &old], b"");
        assert!(error.contains("the name old is taken"), "{place}: {error}");
        assert_eq!(held(folder, &new, &keys, &[]), 5_000, "{place}");
        assert_eq!(held(folder, &old, &keys, &[]), 0, "{place}");
        let renamed = run(folder, &["rename", &new, &third], b"");
        assert_eq!(stderr(&renamed), format!("{third}: renamed from {new}\n"), "{place}");
        for name in [&old, &third] {
            succeed(folder, &["delete", "-q", "--force", name], b"");
        }
    }
    let listed = run(folder, &["list", &format!("{}/0", redis.url())], b"");
    assert_eq!((listed.status.code(), &*listed.stdout), (Some(1), &b""[..]), "something is left");
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0", "a value is left");
}

#[test]
fn a_secret_key_stays_and_is_not_needed() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let (old, new) = (url(&redis, "old"), url(&redis, "new"));
    succeed(folder, &["create", "-q", &old, "-n", "1k", "--new-key-file", "key"], b"");
    succeed(folder, &["add", "-q", "--key-file", "key", &old], b"word\n");
    succeed(folder, &["rename", "-q", &old, "new"], b"");
    assert_eq!(held(folder, &new, b"word\nother\n", &["--key-file", "key"]), 1);
    let error = fail(folder, &["check", &new], b"word\n");
    assert!(error.contains("--key-file"), "{error}");
}

/// A command that adds keys when the name goes away ends with an error that says so; what it had
/// reported as added before is there.
#[test]
fn who_adds_under_the_old_name_is_told() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let (old, new) = (url(&redis, "old"), url(&redis, "new"));
    succeed(folder, &["create", "-q", &old, "-n", "100k"], b"");
    succeed(folder, &["add", "-q", &old], &lines("first", 0..20_000));
    let mut add = mayhap(folder)
        .args(["add", "--json", &old])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = add.stdin.take().unwrap();
    stdin.write_all(&lines("key", 0..60_000)).unwrap();
    while held(folder, &old, b"key-1\n", &[]) == 0 {
        assert!(add.try_wait().unwrap().is_none(), "it ended by itself");
    }
    succeed(folder, &["rename", "-q", &old, "new"], b"");
    // The pipe may be closed before all of it is read.
    let _ = stdin.write_all(&lines("key", 60_000..90_000));
    drop(stdin);
    let added = add.wait_with_output().unwrap();
    let error = stderr(&added);
    assert_eq!(added.status.code(), Some(2), "{error}");
    assert!(error.contains("was renamed"), "{error}");
    assert_eq!(held(folder, &new, &lines("first", 0..20_000), &[]), 20_000);
    assert_eq!(held(folder, &new, b"key-1\n", &[]), 1);
}

#[test]
fn what_cannot_be_renamed_is_refused_with_the_way_out() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "-q", "f", "-n", "99"], b"");
    let error = fail(folder, &["rename", "f", "g"], b"");
    assert!(error.contains("f is a file") && error.contains("mv FROM TO"), "{error}");
    let old = url(&redis, "old");
    succeed(folder, &["create", "-q", &old, "-n", "99"], b"");
    let error = fail(folder, &["rename", &old, "redis://:secret@127.0.0.1:1/0/new"], b"");
    assert!(error.contains("another server") && error.contains("mayhap move"), "{error}");
    assert!(!error.contains("secret"), "{error}");
    let error = fail(folder, &["rename", &old, "a{b"], b"");
    assert!(error.contains("cannot be the name of a filter"), "{error}");
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    // In a cluster it is a move.
    let cluster = RedisCluster::start(&ClusterOptions::default()).unwrap();
    let node = cluster.nodes()[0].port();
    let named = |name: &str| format!("redis+cluster://127.0.0.1:{node}/{name}");
    let (old, new) = (named("old"), named("new"));
    let keys = lines("key", 0..5_000);
    succeed(folder, &["create", "-q", &old, "-n", "10k"], b"");
    succeed(folder, &["add", "-q", &old], &keys);
    let error = fail(folder, &["rename", &old, "new"], b"");
    assert!(error.contains("use mayhap move FROM TO"), "{error}");
    assert_eq!(held(folder, &old, &keys, &[]), 5_000);
    assert_eq!(run(folder, &["check", "-q", &new], &keys).status.code(), Some(2));
    succeed(folder, &["move", "-q", &old, &new], b"");
    succeed(folder, &["delete", "-q", "--force", &old], b"");
    assert_eq!(held(folder, &new, &keys, &[]), 5_000);
}
