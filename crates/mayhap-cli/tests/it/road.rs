//! From one machine to more: filters that are like others, move, are listed, and leave no orphans.

use crate::places::Serve;
use crate::remote::{server, url};
use crate::support::{fail, folder, json, lines, mayhap, run, stderr, succeed};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, RedisServer, ready};

fn held(folder: &Path, name: &str, keys: std::ops::Range<u64>) -> usize {
    let output = run(folder, &["check", "-c", name], &lines("key", keys));
    String::from_utf8(output.stdout).unwrap().trim().replace(',', "").parse().unwrap()
}

#[test]
fn a_filter_like_another_merges_with_it_wherever_the_two_are() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let (on_server, copy) = (url(&redis, "like"), url(&redis, "copy"));
    succeed(
        folder,
        &["build", "-q", "-n", "20k", "-p", "0.1%", "-o", "f"],
        &lines("key", 0..9_000),
    );
    // Another k than in the file.
    succeed(folder, &["create", "-q", &on_server, "-n", "20k", "-p", "0.5%"], b"");
    let error = fail(folder, &["push", "--merge", "f", &on_server], b"");
    assert!(error.contains("mayhap create FILTER --like OTHER"), "{error}");
    succeed(folder, &["create", "-q", &copy, "--like", "f"], b"");
    succeed(folder, &["push", "-q", "--merge", "f", &copy], b"");
    assert_eq!(held(folder, &copy, 0..9_000), 9_000);
    succeed(folder, &["create", "-q", "g", "--like", &copy], b"");
    succeed(folder, &["create", "-q", "h", "--like", "f"], b"");
    assert_eq!(held(folder, "g", 0..10), 0);
    for name in ["g", "h"] {
        succeed(folder, &["merge", "-q", "--force", "-o", name, name, "f"], b"");
        assert_eq!(held(folder, name, 0..9_000), 9_000, "{name}");
    }
    let error = fail(folder, &["create", "i", "--like", "f", "-n", "5"], b"");
    assert!(error.contains("cannot be used with"), "{error}");
    succeed(folder, &["create", "-q", "s", "--layout", "scalable"], b"");
    let error = fail(folder, &["create", &url(&redis, "x"), "--like", "s"], b"");
    assert!(error.contains("s is a scalable filter"), "{error}");
}

#[test]
fn a_filter_moves_while_it_is_in_use_and_says_before_whether_it_can() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let (first, second) = (url(&redis, "first"), url(&redis, "second"));
    let size = ["-n", "300k", "-p", "0.1%"];
    succeed(folder, &[&["build", "-q", "-o", "f"], &size[..]].concat(), &lines("key", 0..50_000));
    let info = |name: &str| json(&succeed(folder, &["info", "--json", name], b""));
    assert_eq!(info("f")["can_move"], true);
    succeed(folder, &["move", "-q", "f", &first], b"");
    assert_eq!(held(folder, &first, 0..50_000), 50_000);
    assert_eq!(info(&first)["can_move"], true);
    // A server to a server, while keys arrive.
    succeed(folder, &["ttl", &first, "7d"], b"");
    let add = mayhap(folder).args(["add", "-q", &first]).stdin(Stdio::piped()).spawn();
    let mut add = add.unwrap();
    let mut stdin = add.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        for part in (50_000..150_000).step_by(10_000) {
            stdin.write_all(&lines("key", part..part + 10_000)).unwrap();
        }
    });
    let moved = run(folder, &["move", "--json", &first, &second], b"");
    assert!(matches!(moved.status.code(), Some(0 | 1)), "{}", stderr(&moved));
    writer.join().unwrap();
    assert!(add.wait().unwrap().success());
    let moved = json(&succeed(folder, &["move", "--json", &first, &second], b""));
    assert_eq!(moved["complete"], true, "{moved}");
    assert_eq!(held(folder, &second, 0..150_000), 150_000);
    assert!(info(&second)["ttl_ms"].as_u64().unwrap() > 6 * 86_400_000);
    // Back to files: a new one, and one that has other keys.
    succeed(folder, &["add", "-q", "f"], &lines("key", 200_000..201_000));
    for name in ["new", "f"] {
        succeed(folder, &["move", "-q", &second, name], b"");
        assert_eq!(held(folder, name, 0..150_000), 150_000, "{name}");
    }
    assert_eq!(held(folder, "f", 200_000..201_000), 1_000);
    let moved = json(&succeed(folder, &["move", "--json", "new", &second], b""));
    assert_eq!(
        (&moved["passes"], &moved["complete"]),
        (&1.into(), &true.into()),
        "nothing was new"
    );
}

#[test]
fn filters_that_cannot_move_are_refused_before_anything_is_copied() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let to = url(&redis, "to");
    for layout in ["counting", "window:1000"] {
        let name = layout.split(':').next().unwrap();
        succeed(folder, &["create", "-q", name, "-n", "1000", "--layout", layout], b"");
        let info = json(&succeed(folder, &["info", "--json", name], b""));
        assert_eq!(info["can_move"], false, "{layout}");
        let error = fail(folder, &["move", name, &to], b"");
        assert!(error.contains("only plain ones move to servers"), "{error}");
        assert!(error.contains("mayhap serve has empty ones of this kind"), "{error}");
    }
    succeed(folder, &["create", "-q", "small", "-n", "1000"], b"");
    succeed(folder, &["create", "-q", "large", "-n", "9000"], b"");
    let error = fail(folder, &["move", "small", "large"], b"");
    assert!(error.contains("num_bits is") && error.contains("--like"), "{error}");
    let error = fail(folder, &["move", &to, "x"], b"");
    assert!(error.contains("there is no filter to"), "{error}");
    let error = fail(folder, &["move", "none", &to], b"");
    assert!(error.contains("none"), "{error}");
    assert_eq!(run(folder, &["list", &server_url(&redis)], b"").status.code(), Some(1));
}

/// "Has all of it" would be true there, and the filter gone once the old place is deleted.
#[test]
fn a_place_is_recognized_by_other_addresses_of_its_server() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let (here, other) = (url(&redis, "f"), server().unwrap());
    succeed(folder, &["create", "-q", &here, "-n", "1000"], b"key\n");
    let again = here.replace("127.0.0.1", "localhost");
    assert_ne!(here, again);
    let config = vec![format!("replicaof 127.0.0.1 {}", redis.port())];
    let replica = RedisServer::start(&RedisOptions { config, ..RedisOptions::default() }).unwrap();
    let copy = url(&replica, "f");
    for _ in 0..200 {
        if run(folder, &["info", &copy], b"").status.success() {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    for (from, to) in [(&here, &again), (&again, &here), (&copy, &here)] {
        let error = fail(folder, &["move", from, to], b"");
        assert!(error.contains("are one filter: both addresses are of one server"), "{error}");
    }
    // Another database of it, and the same name on another server, are other places.
    let elsewhere = [here.replace("/0/", "/1/"), url(&other, "f")];
    for to in &elsewhere {
        let moved = json(&succeed(folder, &["move", "--json", &again, to], b""));
        assert_eq!(moved["complete"], true, "{to}");
    }
    let options = ClusterOptions { masters: 3, replicas: 0, ..ClusterOptions::default() };
    let cluster = RedisCluster::start(&options).unwrap();
    let [first, second] = [0, 1]
        .map(|at| format!("{}/f", cluster.urls()[at].replace("redis://", "redis+cluster://")));
    succeed(folder, &["move", "-q", &here, &first], b"");
    let error = fail(folder, &["move", &first, &second], b"");
    assert!(error.contains("both addresses are of one server"), "{error}");
}

fn server_url(redis: &RedisServer) -> String {
    format!("{}/0", redis.url())
}

#[test]
fn filters_are_listed_and_values_of_none_are_found_and_deleted() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let whole = server_url(&redis);
    for name in ["a", "b"] {
        succeed(folder, &["create", "-q", &url(&redis, name), "-n", "1000"], b"");
    }
    let listed = succeed(folder, &["list", &whole], b"");
    assert_eq!(String::from_utf8(listed).unwrap(), "a\tmayhap\nb\tmayhap\n");
    let one = run(folder, &["list", "--max", "1", "--json", &whole], b"");
    assert_eq!(json(&one.stdout)["name"], "a");
    assert!(stderr(&one).contains("more than 1 filter"), "{}", stderr(&one));
    assert_eq!(run(folder, &["orphans", &whole], b"").status.code(), Some(1));
    redis.cli(&["DEL", "{a}:meta"]).unwrap();
    let found = succeed(folder, &["orphans", &whole], b"");
    assert_eq!(String::from_utf8(found).unwrap(), "a\t1 value\n");
    let deleted = json(&succeed(folder, &["orphans", "--delete", "--json", &whole], b""));
    assert_eq!((&deleted["name"], &deleted["deleted"]), (&"a".into(), &1.into()));
    assert_eq!(run(folder, &["orphans", &whole], b"").status.code(), Some(1));
    assert!(held(folder, &url(&redis, "b"), 0..10) == 0);
    let error = fail(folder, &["list", &url(&redis, "b")], b"");
    assert!(error.contains("names a filter"), "{error}");
}

/// It shows filters and no values, also where it stands in front of a store that has such values.
#[test]
fn of_a_server_of_mayhap_it_is_not_said_that_there_are_no_values_without_a_filter() {
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let error = fail(folder, &["orphans", &format!("redis://127.0.0.1:{}", serve.port())], b"");
    assert!(error.contains("is mayhap serve, which shows no values of a store"), "{error}");
    assert!(error.contains("hint: name the Redis or Valkey server"), "{error}");
}

/// The limit is below the size of the filter.
#[test]
fn a_filter_larger_than_memory_is_pulled_pushed_and_moved() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let folder = folder();
    let folder = folder.path();
    let (large, other) = (url(&redis, "large"), url(&redis, "other"));
    succeed(folder, &["create", "-q", &large, "--mem", "448MiB", "-p", "1%"], b"");
    succeed(folder, &["add", "-q", &large], &lines("key", 0..1_000));
    let limited = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 400000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_mayhap")]);
        let output = command.args(arguments).current_dir(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    };
    limited(&["pull", "-q", &large, "f"]);
    limited(&["push", "-q", "f", &other]);
    limited(&["push", "-q", "--merge", "f", &other]);
    redis.flush().unwrap();
    limited(&["move", "-q", "f", &other]);
    assert_eq!(held(folder, &other, 0..1_000), 1_000);
}
