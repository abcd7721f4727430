//! Filters on a server where something is wrong: no server, no password, a killed push, a signal.

use crate::remote::{server, url};
use crate::support::{
    closes_after_a_line, fail, file, folder, json, lines, mayhap, run, send_signal, start, stderr,
    succeed,
};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;
use std::time::Duration;
use test_servers::{Line, RedisOptions, RedisServer, ready};

/// Verbs with the arguments in which they take the URL.
fn ways(url: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["add", url],
        vec!["check", url],
        vec!["check", "-f", url],
        vec!["filter", url],
        vec!["which", "-f", url],
        vec!["info", url],
        vec!["verify", url],
        vec!["create", url, "-n", "10"],
        vec!["dedup", "--state", url, "-n", "10"],
        vec!["merge", "-o", "x", url],
        vec!["merge", "-o", url, "f"],
        vec!["push", "f", url],
        vec!["pull", url, "x"],
    ]
}

#[test]
fn a_server_that_is_not_there_is_named_in_every_verb() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-q", "-n", "10", "-o", "f"], b"a\n");
    for way in ways("redis://user:hidden@127.0.0.1:1/0/seen") {
        let error = fail(folder, &[&way[..], &["--timeout", "1s"]].concat(), b"a\n");
        let refused = "mayhap: redis://127.0.0.1:1 refuses connections, tried for ";
        assert!(error.contains(refused), "{error}");
        assert!(
            error.contains("hint: is it running there?") && !error.contains("hidden"),
            "{error}"
        );
    }
    assert!(!folder.join("x").exists());
}

#[test]
fn a_url_where_none_can_be_is_refused_with_the_next_step() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-q", "-n", "10", "-o", "f"], b"a\n");
    let url = "redis://:hidden@127.0.0.1:1/0/seen";
    for (way, hint) in [
        (vec!["ttl", "f"], "--layout window:7d"),
        (vec!["build", "-o", url], "mayhap push"),
        (vec!["build", "-o", "x", url], "name a file"),
        (vec!["convert", "--to", "guava", "-o", "x", url], "mayhap pull"),
        (vec!["detect", url], "mayhap pull"),
        (vec!["check", "f", url], "name a file"),
        (vec!["check", "--confirm", url, "f"], "name a file"),
        (vec!["which", url], "-f"),
        (vec!["bench", url], "mayhap info"),
        (vec!["dedup", url], "name a file"),
        (vec!["dedup", "-o", url], "name a file"),
        (vec!["filter", "--rest", url, "f"], "name a file"),
        (vec!["push", url, "f"], "mayhap pull"),
        (vec!["push", "f", "g"], "for example"),
        (vec!["pull", "f", url], "push"),
        (vec!["info", "redis://127.0.0.1/0"], "append the name of the filter"),
        (vec!["info", "redis://127.0.0.1/seen"], "the database comes before"),
        (vec!["man", url], "mayhap info"),
    ] {
        let error = fail(folder, &way, b"a\n");
        assert!(error.contains(hint), "{way:?}: {error}");
        assert!(!error.contains("hidden") && !error.contains("o such file"), "{way:?}: {error}");
    }
}

#[test]
fn the_password_comes_from_the_url_or_the_environment_and_is_never_printed() {
    if !ready(&["redis-server"]) {
        return;
    }
    let password = Some("pass@word".into());
    let options = RedisOptions { password, appendonly: true, ..RedisOptions::default() };
    let server = RedisServer::start(&options).unwrap();
    let folder = folder();
    let folder = folder.path();
    let with = url(&server, "seen");
    assert!(with.contains("pass%40word"));
    let without = format!("redis://127.0.0.1:{}/0/seen", server.port());
    let made = run(folder, &["create", "--json", &with, "-n", "100"], b"");
    let talk = String::from_utf8(made.stdout.clone()).unwrap() + &stderr(&made);
    assert!(made.status.success() && talk.contains(&without), "{talk}");
    assert!(!talk.contains("pass"), "{talk}");
    let error = fail(folder, &["info", &without], b"");
    assert!(error.contains("refuses") && error.contains("REDISCLI_AUTH"), "{error}");
    let by_environment = |password: &str| {
        let mut command = mayhap(folder);
        command.args(["info", &without]).env("REDISCLI_AUTH", password).output().unwrap()
    };
    assert!(by_environment("pass@word").status.success());
    let wrong = by_environment("wrong-one");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(!stderr(&wrong).contains("wrong-one"), "{}", stderr(&wrong));
    // Unknown arguments are not repeated either.
    let error = fail(folder, &["info", "f", &with], b"");
    assert!(!error.contains("pass%40word"), "{error}");
}

#[test]
fn a_key_of_another_type_is_named() {
    let Some(server) = server() else { return };
    let folder = folder();
    server.cli(&["SET", "{seen}:meta", "x"]).unwrap();
    let url = url(&server, "seen");
    for way in [vec!["add", &*url], vec!["create", &url, "-n", "10"], vec!["info", &url]] {
        let error = fail(folder.path(), &way, b"a\n");
        assert!(error.contains("{seen}:meta holds something other"), "{way:?}: {error}");
    }
    assert_eq!(server.cli(&["DBSIZE"]).unwrap(), "1");
}

#[test]
fn a_server_that_keeps_nothing_is_warned_of_once() {
    if !ready(&["redis-server"]) {
        return;
    }
    let server = RedisServer::start(&RedisOptions::default()).unwrap();
    let (folder, url) = (folder(), url(&server, "seen"));
    let made = run(folder.path(), &["create", &url, "-n", "10"], b"");
    assert!(stderr(&made).starts_with("warning: redis://"), "{}", stderr(&made));
    let asked = run(folder.path(), &["check", "-f", &url, "-f", &url], b"a\n");
    assert_eq!(stderr(&asked).matches("keeps nothing").count(), 1, "{}", stderr(&asked));
    let quiet = run(folder.path(), &["-q", "check", &url], b"a\n");
    assert_eq!(stderr(&quiet), "");
}

/// Pushes one of two files of a size that takes a while to send, and begins to push the other one
/// in its place.
fn push_over_another(folder: &Path, url: &str) -> Child {
    for (name, from) in [("old", 0), ("new", 1000)] {
        let made =
            ["build", "-q", "--mem", "96MiB", "-n", "10M", "--layout", "blocked", "-o", name];
        succeed(folder, &made, &lines("key", from..from + 500));
    }
    succeed(folder, &["push", "-q", "old", url], b"");
    start(folder, &["push", "--force", "new", url])
}

#[test]
fn a_push_that_is_killed_leaves_the_old_filter() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let folder = folder.path();
    let mut child = push_over_another(folder, &url);
    while server.cli(&["EXISTS", "{seen}:next"]).unwrap() != "1" {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it ended before it was killed");
    let asked = lines("key", 0..2000);
    assert_eq!(succeed(folder, &["check", &url], &asked), lines("key", 0..500));
    // Its leftovers are in the way until they expire or are removed.
    let error = fail(folder, &["push", "--force", "--timeout", "1s", "new", &url], b"");
    assert!(error.contains("--discard-unfinished"), "{error}");
    succeed(folder, &["push", "-q", "--force", "--discard-unfinished", "new", &url], b"");
    assert_eq!(succeed(folder, &["check", &url], &asked), lines("key", 1000..1500));
}

#[test]
fn readers_see_the_old_filter_or_the_new_one() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let folder = folder.path();
    let mut child = push_over_another(folder, &url);
    let (mut olds, mut asked) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let output = run(folder, &["check", "-c", &url], &lines("key", 0..500));
        let found = String::from_utf8(output.stdout.clone()).unwrap();
        let found: u64 = found.trim().parse().unwrap_or_else(|_| panic!("{}", stderr(&output)));
        assert!(found == 500 || found == 0, "{found} of 500 keys");
        asked += 1;
        olds += u64::from(found == 500);
    }
    assert!(child.wait().unwrap().success());
    assert!(olds > 0, "none of {asked} saw the old one");
    assert_eq!(
        succeed(folder, &["check", &url], &lines("key", 900..1100)),
        lines("key", 1000..1100)
    );
}

#[test]
fn a_signal_ends_an_add_and_keeps_what_was_acknowledged() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let folder = folder.path();
    succeed(folder, &["create", "-q", &url, "-n", "100k", "-p", "1e-6"], b"");
    let mut child = start(folder, &["add", "--json", &url]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&lines("key", 0..5000)).unwrap();
    // Until the server has the keys sent; the input stays open.
    let count = || {
        let output = run(folder, &["check", "-c", &url], &lines("key", 0..5000));
        String::from_utf8(output.stdout).unwrap().trim().parse::<u64>().unwrap()
    };
    while count() < 1000 {}
    send_signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let told = json(&output.stdout);
    assert_eq!(told["complete"], false);
    assert!(count() >= told["new"].as_u64().unwrap() && told["new"].as_u64().unwrap() >= 1000);
}

#[test]
fn a_closed_pipe_is_quiet_on_a_server_too() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let path = file(folder.path(), "in", &lines("key", 0..50_000));
    closes_after_a_line(
        folder.path(),
        &["dedup", "--state", &url, "-n", "100k", path.to_str().unwrap()],
    );
}

#[test]
fn a_dedup_that_loses_its_server_prints_what_may_be_recorded() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let mut child = start(
        folder.path(),
        &["dedup", "--state", &url, "-n", "10k", "-p", "1e-9", "--timeout", "2s"],
    );
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    stdin.write_all(b"first\n").unwrap();
    let mut line = [0; 6];
    stdout.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"first\n");
    server.kill();
    stdin.write_all(b"second\n").unwrap();
    drop(stdin);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*rest), (Some(2), &b"second\n"[..]));
    assert!(stderr(&output).contains("refuses connections, tried for 2."), "{}", stderr(&output));
}

#[test]
fn every_verb_begins_again_where_a_push_comes_between_two_of_its_steps() {
    let Some(server) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let line = Line::start(server.port(), Duration::ZERO).unwrap();
    let (near, far) = (url(&server, "seen"), format!("{}/0/seen", line.url()));
    let build = ["build", "-q", "-p", "1e-6", "--layout", "blocked"];
    for (name, items, keys) in [("old", "1k", 0..500), ("new", "50k", 0..5_000)] {
        let keys = lines("key", keys);
        succeed(folder, &[&build[..], &["-n", items, "-o", name]].concat(), &keys);
    }
    file(folder, "keys", &lines("key", 0..5_000));
    for (words, step) in [
        (&["check", "-c", &far, "keys"][..], "BITCOUNT"),
        (&["check", "-c", &far, "keys"], "HGETALL"),
        (&["filter", "-q", &far, "keys"], "BITCOUNT"),
        (&["info", &far], "BITCOUNT"),
        (&["add", "-q", &far, "keys"], "BITCOUNT"),
        (&["dedup", "-q", "--state", &far, "keys"], "BITCOUNT"),
        (&["verify", "--samples", "1k", &far, "keys"], "BITCOUNT"),
        (&["pull", "-q", "--force", &far, "pulled"], "GETRANGE"),
        (&["merge", "-q", "--force", "-o", "merged", &far], "GETRANGE"),
    ] {
        succeed(folder, &["push", "-q", "--force", "old", &near], b"");
        let (at, to) = (folder.to_owned(), near.clone());
        let push = move || drop(succeed(&at, &["push", "-q", "--force", "new", &to], b""));
        line.before(step, 0, push);
        let output = run(folder, words, b"");
        assert!(line.is_done(), "{words:?} sends no {step}");
        assert_eq!(output.status.code(), Some(0), "{words:?} {step}: {}", stderr(&output));
        // It reads the whole new filter.
        match words[0] {
            "check" => assert_eq!(output.stdout, b"5000\n", "{step}"),
            "pull" | "merge" => {
                let file = words.iter().find(|word| ["pulled", "merged"].contains(word)).unwrap();
                let found = succeed(folder, &["check", "-c", file, "keys"], b"");
                assert_eq!(found, b"5000\n", "{words:?}");
            }
            _ => {}
        }
    }
}

/// An `add` during another client's push reports the number of keys that went into the replaced
/// filter.
#[test]
fn keys_that_went_into_a_filter_that_was_replaced_are_an_error_with_their_number() {
    let Some(server) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let url = url(&server, "seen");
    file(folder, "others", &lines("o", 0..100));
    succeed(
        folder,
        &["build", "-q", "--layout", "blocked", "-n", "50000", "-o", "f", "others"],
        b"",
    );
    for verb in [&["add", &url][..], &["dedup", "--state", &url, "-n", "50000"]] {
        succeed(folder, &["push", "--force", "f", &url], b"");
        let mut child = start(folder, verb);
        let mut input = child.stdin.take().unwrap();
        input.write_all(&lines("k", 0..1_000)).unwrap();
        let there = |key: &str| {
            let line = format!("{key}\n");
            run(folder, &["check", "-q", &url], line.as_bytes()).status.success()
        };
        let came = (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            there("k-999")
        });
        assert!(came, "nothing is added while more may arrive");
        succeed(folder, &["push", "--force", "f", &url], b"");
        input.write_all(&lines("k", 1_000..2_000)).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("1,000 keys of this run went into the old one"), "{said}");
        assert!(said.contains("run it again"), "{said}");
        assert!(there("k-1999") && !there("k-500"));
    }
    // No later key is lost, and none with the new filter.
    let output = run(folder, &["add", &url], &lines("k", 0..2_000));
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_server_that_evicts_keys_is_a_warning_where_a_filter_is_made() {
    let options = RedisOptions {
        maxmemory: Some("100mb".into()),
        maxmemory_policy: Some("allkeys-lru".into()),
        ..RedisOptions::default()
    };
    if !ready(&["redis-server"]) {
        return;
    }
    let server = RedisServer::start(&options).unwrap();
    let folder = folder();
    let folder = folder.path();
    let url = url(&server, "seen");
    succeed(folder, &["build", "-q", "--layout", "blocked", "-n", "10", "-o", "f"], b"a\n");
    for (verb, warns) in [
        (vec!["create", &url, "-n", "10"], true),
        (vec!["push", "--force", "f", &url], true),
        (vec!["add", &url], false),
    ] {
        let said = stderr(&run(folder, &verb, b"b\n"));
        assert_eq!(said.contains("maxmemory-policy allkeys-lru"), warns, "{verb:?}: {said}");
    }
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "volatile-lru"]).unwrap();
    for (ttl, warns) in [(&[][..], false), (&["--ttl", "1h"], true)] {
        let verb = [&["create", "--force", &url, "-n", "10"], ttl].concat();
        let said = stderr(&run(folder, &verb, b""));
        assert_eq!(said.contains("maxmemory-policy volatile-lru"), warns, "{said}");
    }
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    let said = stderr(&run(folder, &["create", "--force", &url, "-n", "10", "--ttl", "1h"], b""));
    assert!(!said.contains("maxmemory-policy"), "{said}");
}

#[test]
fn certificates_of_client_and_authority_are_named_by_options() {
    if !ready(&["redis-server"]) {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-server/tests/data/tls");
    let at = |name: &str| tls.join(name).display().to_string();
    let files = ["server.pem", "server.key", "client.pem"].map(|name| tls.join(name));
    let options = RedisOptions { tls: Some(files), ..RedisOptions::default() };
    let redis = RedisServer::start(&options).unwrap();
    let url = format!("rediss://localhost:{}/0/seen", redis.tls_port().unwrap());
    let (ca, cert, key) = (at("ca.pem"), at("client.pem"), at("client.key"));
    let with = ["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key];
    succeed(folder, &[&["create", "-q", &url, "-n", "100"], &with[..]].concat(), b"");
    succeed(folder, &[&["add", "-q", &url], &with[..]].concat(), b"a\n");
    assert_eq!(succeed(folder, &[&["check", &url], &with[..]].concat(), b"a\nb\n"), b"a\n");
    let error = fail(folder, &["info", &url, "--tls-ca", &ca], b"");
    assert!(error.contains("--tls-cert FILE"), "{error}");
    let error = fail(folder, &["info", &url], b"");
    assert!(error.contains("UnknownIssuer") && error.contains("--tls-ca FILE"), "{error}");
    let error = fail(folder, &["info", &url, "--tls-cert", &cert], b"");
    assert!(error.contains("--tls-key"), "{error}");
    let error = fail(folder, &["info", "redis://127.0.0.1:1/0/seen", "--tls-ca", &ca], b"");
    assert!(error.contains("redis://127.0.0.1:1 is without TLS"), "{error}");
    let error = fail(folder, &["info", &url, "--tls-ca", &key], b"");
    assert!(error.contains("the authority has no certificate"), "{error}");
}
