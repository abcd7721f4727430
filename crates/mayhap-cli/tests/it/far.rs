//! A server that is far away: the number of times that the command waits for it is counted.

use crate::remote::url;
use crate::support::{file, folder, json, lines, run, stderr, succeed};
use std::path::Path;
use std::time::Duration;
use test_servers::{Line, RedisOptions, RedisServer, Trips, ready};

/// The keys of a run, and the minimum of each round trip.
const KEYS: u64 = 150_000;
const KEYS_A_TRIP: u64 = 16_384;
const ATTEMPTS: usize = 5;

/// A server with an empty filter of this name, and 50 ms away, each way.
fn far(name: &str, folder: &Path) -> Option<(RedisServer, Line, String)> {
    // A server that writes nothing to the disk: only the connection takes time.
    if !ready(&["redis-server"]) {
        return None;
    }
    let server = RedisServer::start(&RedisOptions::default()).unwrap();
    let create = ["create", "-q", &url(&server, name), "-n", "200k", "-p", "1e-6"];
    succeed(folder, &create, b"");
    let line = Line::start(server.port(), Duration::from_millis(50)).unwrap();
    let far = format!("{}/0/{name}", line.url());
    Some((server, line, far))
}

/// The round trips of a command with this file, beyond the number for one key.
fn trips_beyond_one_key(folder: &Path, line: &Line, arguments: &[&str], list: &str) -> Trips {
    let of = |list: &str| {
        line.trips();
        let output = run(folder, &[arguments, &[list]].concat(), b"");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        (line.trips(), output)
    };
    let (one, _) = of("one");
    let (all, output) = of(list);
    if arguments[0] == "dedup" {
        assert!(output.stdout == std::fs::read(folder.join(list)).unwrap(), "{arguments:?}");
    }
    Trips { count: all.count - one.count, ..all }
}

#[test]
fn tens_of_thousands_of_keys_go_with_each_round_trip() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "one", b"just-one\n");
    file(folder, "keys", &lines("k", 0..KEYS));
    file(folder, "absent", &lines("absent", 0..KEYS));
    // The most commands at once: of a query one for each key, of an insertion one for four keys of
    // a shard; of two batches of 16,384 keys.
    for (verb, arguments, list, most) in [
        ("add", &["add", "-q"][..], "keys", 2 * KEYS_A_TRIP / 4),
        ("check", &["check", "-c"], "keys", 2 * KEYS_A_TRIP),
        ("check", &["check", "-c"], "absent", 2 * KEYS_A_TRIP),
        ("filter", &["filter", "-q"], "keys", 2 * KEYS_A_TRIP),
        ("dedup", &["dedup", "-q", "--state"], "keys", 2 * KEYS_A_TRIP / 4),
    ] {
        // On a slow or busy machine a burst arrives in parts, each a round trip of its own here: a
        // sixteenth at once is enough, since the round trips are counted as well.
        let mut bursts = Vec::new();
        loop {
            let Some((server, line, far)) = far("far", folder) else { return };
            if verb != "add" && verb != "dedup" {
                succeed(folder, &["add", "-q", &url(&server, "far"), "keys"], b"");
            }
            let words = [arguments, &[far.as_str()]].concat();
            let trips = trips_beyond_one_key(folder, &line, &words, list);
            if verb == "add" || verb == "dedup" {
                let held = succeed(folder, &["check", "-c", &url(&server, "far"), "keys"], b"");
                assert_eq!(held, format!("{KEYS}\n").as_bytes(), "{verb}");
            }
            let is_few = trips.count <= 2 * KEYS.div_ceil(KEYS_A_TRIP);
            if is_few && trips.most_commands >= most / 16 {
                break;
            }
            bursts.push(trips);
            assert!(bursts.len() < ATTEMPTS, "{verb} {list}: {bursts:?}");
        }
    }
}

#[test]
fn a_pipe_is_gathered_while_a_round_trip_is_waited_for() {
    let folder = folder();
    let folder = folder.path();
    let Some((server, line, far)) = far("piped", folder) else { return };
    let keys = lines("k", 0..KEYS);
    line.trips();
    let added = run(folder, &["add", "--json", &far], &keys);
    assert_eq!(json(&added.stdout)["lines_read"], KEYS, "{}", stderr(&added));
    // A pipe delivers 64 KiB at once: 8,000 keys.
    let trips = line.trips();
    assert!(trips.count <= KEYS / 4_096, "{trips:?}");
    let held = succeed(folder, &["check", "-c", &url(&server, "piped")], &keys);
    assert_eq!(held, format!("{KEYS}\n").as_bytes());
}

#[test]
fn what_is_gathered_is_cut_as_each_list_is() {
    let folder = folder();
    let folder = folder.path();
    let Some((server, line, far)) = far("cut", folder) else { return };
    // Lists that end their lines in different ways, with and without a mark, and lines without key.
    file(folder, "lf", b"a\tx\nb\ty\nnone\n");
    file(folder, "crlf", b"\xEF\xBB\xBFz\tx\r\nz\tw\r\n");
    file(folder, "more", b"\xEF\xBB\xBFv\tv\nq\ty\r\n");
    let lists = ["lf", "crlf", "more", "lf"];
    let state = url(&server, "fields");
    let create = ["create", "-q", &state, "-n", "1k", "-p", "1e-9", "--field", "2"];
    succeed(folder, &create, b"");
    let far = far.replace("/cut", "/fields");
    let dedup = succeed(folder, &[&["dedup", "--state", &far][..], &lists].concat(), b"");
    let expected: &[u8] = b"a\tx\nb\ty\nnone\nz\tw\r\n\xEF\xBB\xBFv\tv\nnone\n";
    assert_eq!(dedup.escape_ascii().to_string(), expected.escape_ascii().to_string());
    let found = succeed(folder, &[&["check", "--skip-bad", &far][..], &lists].concat(), b"");
    let expected: &[u8] =
        b"a\tx\nb\ty\n\xEF\xBB\xBFz\tx\r\nz\tw\r\n\xEF\xBB\xBFv\tv\nq\ty\r\na\tx\nb\ty\n";
    assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string());
    drop(line);
}
