//! Filters on a server: every verb that takes a URL, against a real Redis.

use crate::support::{fail, file, folder, json, lines, mayhap, run, stderr, succeed};
use std::path::Path;
use std::process::Stdio;
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, RedisServer, ready};

/// A server that keeps a log, so that nothing is warned of; `None` where there is no Redis.
pub(crate) fn server() -> Option<RedisServer> {
    let options = RedisOptions { appendonly: true, ..RedisOptions::default() };
    ready(&["redis-server"]).then(|| RedisServer::start(&options).unwrap())
}

/// The URL of a filter.
pub(crate) fn url(server: &RedisServer, name: &str) -> String {
    format!("{}/0/{name}", server.url())
}

/// The JSON that a verb prints.
fn told(folder: &Path, arguments: &[&str], input: &[u8]) -> serde_json::Value {
    json(&succeed(folder, arguments, input))
}

/// The body of a filter file: the bytes between the header and the checksums.
fn body(folder: &Path, name: &str) -> Vec<u8> {
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let blocks = mayhap_store::load(&folder.join(name), None).unwrap().filter.params().num_bytes();
    bytes[4096..4096 + blocks as usize].to_vec()
}

#[test]
fn what_is_added_on_a_server_is_found_there() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let (folder, keys) = (folder.path(), lines("key", 0..3000));
    succeed(folder, &["create", &url, "-n", "10k", "-p", "1e-6"], b"");
    // A second one finds the first, and one with other numbers is refused.
    let again = run(folder, &["create", &url, "-n", "10k", "-p", "1e-6"], b"");
    assert!(again.status.success() && stderr(&again).contains("exists already"));
    let other = fail(folder, &["create", &url, "-n", "20k", "-p", "1e-6"], b"");
    assert!(other.contains("exists with num_bits"), "{other}");
    let added = told(folder, &["add", "--json", &url], &keys);
    assert_eq!((added["new"].as_u64(), added["already_there"].as_u64()), (Some(3000), Some(0)));
    let added = told(folder, &["add", "--json", &url], &lines("key", 2000..4000));
    assert_eq!((added["new"].as_u64(), added["already_there"].as_u64()), (Some(1000), Some(1000)));
    let asked = lines("key", 3900..4100);
    assert_eq!(succeed(folder, &["check", &url], &asked), lines("key", 3900..4000));
    assert_eq!(succeed(folder, &["check", "-v", &url], &asked), lines("key", 4000..4100));
    assert_eq!(succeed(folder, &["check", "-c", &url], &asked), b"100\n");
    assert_eq!(succeed(folder, &["filter", &url], &asked), lines("key", 3900..4000));
    let quiet = run(folder, &["check", "-q", &url], b"none\n");
    assert_eq!((quiet.status.code(), stderr(&quiet)), (Some(1), String::new()));
}

#[test]
fn a_bitmap_whose_size_would_overflow_is_not_created() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "bits"));
    // 7 n is a negative number of 32 bits, and a filter of |m| bits would be too small.
    let create = ["create", &url, "--format", "magnuss-redis", "-n", "386433243", "-p", "1%"];
    let talk = fail(folder.path(), &create, b"");
    assert!(talk.contains("number of bits is 3902537"), "{talk}");
    assert!(talk.contains("hint: choose fewer keys (-n) or a higher rate (-p)"), "{talk}");
    assert_eq!(server.cli(&["KEYS", "*"]).unwrap(), "");
}

#[test]
fn a_filter_on_a_server_is_asked_beside_files() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let folder = folder.path();
    succeed(folder, &["build", "-q", "-n", "1000", "-o", "f", "-"], &lines("key", 0..2));
    succeed(folder, &["create", "-q", &url, "-n", "1000"], b"");
    succeed(folder, &["add", "-q", &url], b"key-1\nkey-2\n");
    let both = ["-f", "f", "-f", &url];
    let tagged = [&["check", "--tag"], &both[..]].concat();
    let expected = format!("f\tkey-0\nf\tkey-1\n{url}\tkey-1\n{url}\tkey-2\n");
    assert_eq!(succeed(folder, &tagged, &lines("key", 0..4)), expected.into_bytes());
    let names = [&["check", "-l"], &both[..]].concat();
    assert_eq!(succeed(folder, &names, b"key-2\n"), format!("{url}\n").into_bytes());
    let which = [&["which"], &both[..]].concat();
    let expected = format!("f\tkey-0\nf,{url}\tkey-1\n{url}\tkey-2\n");
    assert_eq!(succeed(folder, &which, &lines("key", 0..4)), expected.into_bytes());
}

#[test]
fn key_options_are_kept_on_the_server() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "users"));
    let folder = folder.path();
    let made = ["create", "-q", &url, "-n", "1000", "--field", "2", "--delim", ",", "--lower"];
    succeed(folder, &made, b"");
    succeed(folder, &["add", "-q", &url], b"1,Alice\n2,bob\n");
    assert_eq!(succeed(folder, &["check", &url], b"x,ALICE\nAlice,x\n"), b"x,ALICE\n");
    let error = fail(folder, &["check", "--field", "3", &url], b"");
    assert!(error.contains("--field 3 is given"), "{error}");
    succeed(folder, &["pull", "-q", &url, "f"], b"");
    assert_eq!(succeed(folder, &["check", "f"], b"x,ALICE\nAlice,x\n"), b"x,ALICE\n");
}

#[test]
fn a_secret_key_is_asked_for_and_kept_secret() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "keyed"));
    let folder = folder.path();
    succeed(folder, &["create", "-q", &url, "-n", "1000", "--new-key-file", "k"], b"");
    succeed(folder, &["add", "-q", "--key-file", "k", &url], b"a\n");
    assert_eq!(succeed(folder, &["check", "--key-file", "k", &url], b"a\nb\n"), b"a\n");
    let error = fail(folder, &["check", &url], b"a\n");
    assert!(error.contains("--key-file"), "{error}");
    succeed(folder, &["pull", "-q", "--key-file", "k", &url, "f"], b"");
    assert_eq!(succeed(folder, &["check", "--key-file", "k", "f"], b"a\nb\n"), b"a\n");
}

#[test]
fn what_is_pushed_and_pulled_has_the_same_bytes() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let folder = folder.path();
    for (i, layout) in ["blocked", "standard"].into_iter().enumerate() {
        let (name, pulled) = (format!("f{i}"), format!("g{i}"));
        let made = ["build", "-q", "-n", "200k", "-p", "1%", "--layout", layout, "-o", &name];
        succeed(folder, &made, &lines("key", 0..50_000));
        succeed(folder, &["push", "--force", "--ttl", "1h", &name, &url], b"");
        succeed(folder, &["pull", &url, &pulled], b"");
        assert!(body(folder, &name) == body(folder, &pulled), "{layout}: the bits differ");
        let (from, to) = (mayhap_store::read_header(&folder.join(&name)).unwrap(), pulled);
        let to = mayhap_store::read_header(&folder.join(to)).unwrap();
        assert_eq!(from.params().unwrap(), to.params().unwrap());
        let info = told(folder, &["info", "--json", &url], b"");
        let ttl = info["ttl_ms"].as_u64().unwrap();
        assert!(ttl > 0 && ttl <= 3_600_000, "{ttl}");
        assert_eq!(info["layout"], layout);
    }
    let error = fail(folder, &["pull", &url, "g0"], b"");
    assert!(error.contains("g0") && error.contains("--force"), "{error}");
}

#[test]
fn a_push_refuses_switches_or_merges_what_is_there() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let folder = folder.path();
    for (name, from) in [("a", 0), ("b", 1000)] {
        let made = ["build", "-q", "-n", "10k", "-p", "1e-6", "--layout", "blocked", "-o", name];
        succeed(folder, &made, &lines("key", from..from + 1000));
    }
    let asked = lines("key", 0..2000);
    succeed(folder, &["push", "a", &url], b"");
    let error = fail(folder, &["push", "b", &url], b"");
    assert!(error.contains("exists already") && error.contains("--merge"), "{error}");
    assert_eq!(succeed(folder, &["check", &url], &asked), lines("key", 0..1000));
    succeed(folder, &["push", "--force", "b", &url], b"");
    assert_eq!(succeed(folder, &["check", &url], &asked), lines("key", 1000..2000));
    succeed(folder, &["push", "--merge", "a", &url], b"");
    assert_eq!(succeed(folder, &["check", &url], &asked), asked);
    succeed(folder, &["build", "-q", "-n", "20k", "-o", "c"], b"x\n");
    let error = fail(folder, &["push", "--merge", "c", &url], b"");
    assert!(error.contains("cannot be merged") && error.contains("--like"), "{error}");
    let lower =
        ["build", "-q", "-n", "10k", "-p", "1e-6", "--layout", "blocked", "--lower", "-o", "l"];
    succeed(folder, &lower, b"x\n");
    let error = fail(folder, &["push", "--merge", "l", &url], b"");
    assert!(error.contains("differ in key options"), "{error}");
    succeed(folder, &["build", "-q", "-n", "10", "--layout", "counting", "-o", "d"], b"x\n");
    let error = fail(folder, &["push", "d", &url], b"");
    assert!(error.contains("counting") && error.contains("mayhap build"), "{error}");
    let mut damaged = std::fs::read(folder.join("a")).unwrap();
    damaged[5000] ^= 1;
    file(folder, "damaged", &damaged);
    let error = fail(folder, &["push", "--force", "damaged", &url], b"");
    assert!(error.contains("damaged"), "{error}");
    assert_eq!(succeed(folder, &["check", &url], &asked), asked);
    let error = fail(folder, &["push", "--shard-size", "4KiB", "--force", "e", &url], b"");
    assert!(error.contains("cannot open e"), "{error}");
}

#[test]
fn a_merge_reads_from_a_server_and_writes_to_one() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "all"));
    let folder = folder.path();
    for (name, from) in [("a", 0), ("b", 1000)] {
        let made = ["build", "-q", "-n", "10k", "-p", "1e-6", "--layout", "blocked", "-o", name];
        succeed(folder, &made, &lines("key", from..from + 1000));
    }
    let asked = lines("key", 0..3000);
    succeed(folder, &["merge", "-q", "-o", &url, "a"], b"");
    assert_eq!(succeed(folder, &["check", &url], &asked), lines("key", 0..1000));
    succeed(folder, &["add", "-q", &url], b"key-2999\n");
    let merged = told(folder, &["merge", "--json", "-o", &url, "b"], b"");
    assert!(merged["items"].as_u64().unwrap().abs_diff(2001) < 20, "{merged}");
    let all = [lines("key", 0..2000), b"key-2999\n".to_vec()].concat();
    assert_eq!(succeed(folder, &["check", &url], &asked), all);
    succeed(folder, &["merge", "-q", "-o", "c", &url, "a"], b"");
    assert_eq!(succeed(folder, &["check", "c"], &asked), all);
}

#[test]
fn info_and_verify_tell_what_the_server_has() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let folder = folder.path();
    let keys = lines("key", 0..20_000);
    file(folder, "keys", &keys);
    succeed(folder, &["create", "-q", &url, "-n", "20k", "-p", "1%"], b"");
    succeed(folder, &["add", "-q", &url, "keys"], b"");
    let info = told(folder, &["info", "--json", &url], b"");
    let items = info["estimated_items"].as_f64().unwrap();
    assert!((items - 20_000.0).abs() < 200.0, "{items}");
    assert_eq!(info["server_keeps"], "log");
    let found = told(folder, &["verify", "--json", &url, "keys"], b"");
    assert_eq!((&found["verdict"], &found["checksums"]), (&"good".into(), &"none".into()));
    let rate = found["measured_fpp"].as_f64().unwrap();
    assert!((0.008..0.012).contains(&rate), "{rate}");
    let output = run(folder, &["verify", &url, "-"], b"surely-not-there-1\nsurely-not-2\nx3\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn adding_warns_at_80_percent_and_stops_at_100() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "small"));
    let folder = folder.path();
    succeed(folder, &["create", "-q", &url, "-n", "1000", "-p", "0.1%"], b"");
    let half = run(folder, &["add", &url], &lines("key", 0..700));
    assert!(!stderr(&half).contains("full ("), "{}", stderr(&half));
    // Keys added by others count.
    let error = fail(folder, &["add", &url], &lines("key", 650..2000));
    assert!(error.contains("80 % full") && error.contains("the filter is full"), "{error}");
    let held = run(folder, &["check", "-c", &url], &lines("key", 0..2000)).stdout;
    let held: u64 = String::from_utf8(held).unwrap().trim().parse().unwrap();
    // By the estimate, within four of its standard deviations.
    assert!(held.abs_diff(1000) < 40, "{held}");
    let more = run(folder, &["add", "--overfill", &url], &lines("key", 650..2000));
    assert!(more.status.success(), "{}", stderr(&more));
}

#[test]
fn two_that_share_a_state_print_every_line_once() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "shared"));
    let folder = folder.path();
    let input = lines("line", (0..40_000).map(|i| i % 20_000));
    file(folder, "in", &input);
    let dedup = || {
        let arguments = ["dedup", "--state", &url, "-n", "100k", "-p", "1e-9", "in"];
        let mut command = mayhap(folder);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let all = [dedup(), dedup()].map(|child| child.wait_with_output().unwrap());
    let mut printed = Vec::new();
    for output in &all {
        assert!(output.status.success(), "{}", stderr(output));
        printed.extend(output.stdout.split_inclusive(|&byte| byte == b'\n'));
    }
    printed.sort_unstable();
    let mut expected: Vec<&[u8]> = input.split_inclusive(|&byte| byte == b'\n').collect();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(printed.len(), expected.len());
    assert_eq!(printed, expected);
    let error = fail(folder, &["dedup", "--state", &url, "-n", "7", "in"], b"");
    assert!(error.contains("-n 7 is given"), "{error}");
    let repeats = succeed(folder, &["dedup", "-d", "--state", &url], b"line-1\nnew\n");
    assert_eq!(repeats, b"line-1\n");
}

#[test]
fn a_cluster_is_pushed_to_asked_and_pulled_from() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let options = ClusterOptions { masters: 3, replicas: 0, ..ClusterOptions::default() };
    let cluster = RedisCluster::start(&options).unwrap();
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    let (folder, url) = (folder(), format!("redis+cluster://{}/seen", hosts.join(",")));
    let folder = folder.path();
    let made = ["build", "-q", "-n", "300k", "-p", "1e-6", "--layout", "blocked", "-o", "f"];
    succeed(folder, &made, &lines("key", 0..10_000));
    succeed(folder, &["push", "f", &url], b"");
    let keys = cluster.nodes().iter().map(|node| node.cli(&["DBSIZE"]).unwrap());
    assert!(keys.clone().all(|count| count != "0"), "{:?}", keys.collect::<Vec<_>>());
    let asked = lines("key", 9_000..11_000);
    assert_eq!(succeed(folder, &["check", &url], &asked), lines("key", 9_000..10_000));
    succeed(folder, &["pull", "-q", &url, "g"], b"");
    assert!(body(folder, "f") == body(folder, "g"), "the bits differ");
    // Without the word cluster there is an error.
    let one = format!("redis://{}/0/seen", hosts[0]);
    let error = fail(folder, &["add", "--timeout", "2s", &one], b"a\n");
    assert!(error.contains("cluster"), "{error}");
}
