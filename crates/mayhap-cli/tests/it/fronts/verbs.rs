//! Verbs of the command at the URL of a server in front of a store: as at that of any `mayhap
//! serve`.

use crate::remote::{server, url};
use crate::support::{fail, folder, json, lines, mayhap, run, start_serving, stderr, succeed};
use std::path::Path;
use std::process::Child;

struct Front {
    child: Child,
    port: u16,
}

impl Front {
    fn start(folder: &Path, store: &str) -> Self {
        let mut command = mayhap(folder);
        command.args(["serve", "--store", store, "--port", "0"]);
        let (child, port, mut stderr) = start_serving(command, "Redis clients: 127.0.0.1:");
        // Its later output is read, so that it never waits for a reader.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, port: port.parse().unwrap() }
    }

    fn url(&self, name: &str) -> String {
        format!("redis://127.0.0.1:{}/0/{name}", self.port)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_filter_is_described_as_what_it_is() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let front = Front::start(folder, &redis.url());
    let (own, there) = (url(&redis, "seen"), front.url("seen"));
    succeed(folder, &["create", "-q", &own, "-n", "1000", "-p", "0.1%", "--seed", "0"], b"");
    let keys = lines("key", 0..500);
    succeed(folder, &["add", "-q", &there], &keys);
    let text = String::from_utf8(succeed(folder, &["info", &there], b"")).unwrap();
    for words in ["takes more keys, at a rising rate", "kind", "blocked", "0.1 %", "1,000 keys"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for false_word in ["accepts no more", "another system"] {
        assert!(!text.contains(false_word), "{text}");
    }
    let there_in_json = json(&succeed(folder, &["info", "--json", &there], b""));
    let own_in_json = json(&succeed(folder, &["info", "--json", &own], b""));
    for field in ["target_fpp", "expected_items", "headroom_items", "health", "ttl_ms"] {
        assert!(there_in_json.get(field).is_some(), "{field}: {there_in_json}");
        assert_eq!(there_in_json[field], own_in_json[field], "{field}");
    }
    assert_eq!(there_in_json["server_kind"], "blocked");
    assert_eq!(there_in_json["can_move"], false);
    // Present keys are found, by their digests; others are not.
    let found = run(folder, &["check", "-c", &there], &lines("key", 0..1_000));
    assert_eq!(found.stdout, run(folder, &["check", "-c", &own], &lines("key", 0..1_000)).stdout);
    let listed = succeed(folder, &["list", front.url("").trim_end_matches("/0/")], b"");
    assert!(String::from_utf8(listed).unwrap().starts_with("seen\t"));
    succeed(folder, &["verify", "-q", "--samples", "1000", &there], b"");
}

#[test]
fn lines_are_deduplicated_by_a_filter_there_again_and_again() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let front = Front::start(folder, &redis.url());
    let state = front.url("new");
    let dedup = ["dedup", "-q", "--state", &*state, "-n", "10k", "-p", "1e-6"];
    let first = succeed(folder, &dedup, &lines("key", 0..100));
    assert_eq!(first, lines("key", 0..100));
    let second = succeed(folder, &dedup, &lines("key", 50..150));
    assert_eq!(second, lines("key", 100..150));
    let third = succeed(folder, &["dedup", "-q", "--state", &state], &lines("key", 0..200));
    assert_eq!(third, lines("key", 150..200));
    let refused = fail(folder, &["dedup", "-q", "--state", &state, "-p", "1e-3"], b"key\n");
    assert!(refused.contains("-p"), "{refused}");
}

#[test]
fn a_filter_there_is_renamed_and_emptied_and_nothing_is_left() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let front = Front::start(folder, &redis.url());
    let (one, two) = (front.url("one"), front.url("two"));
    succeed(folder, &["create", "-q", &one, "-n", "1000"], b"");
    succeed(folder, &["add", "-q", &one], &lines("key", 0..100));
    succeed(folder, &["rename", "-q", &one, "two"], b"");
    let gone = fail(folder, &["check", &one], b"key-1\n");
    assert!(gone.contains("there is no filter one"), "{gone}");
    succeed(folder, &["check", "-q", &two], b"key-1\n");
    succeed(folder, &["clear", "-q", "--force", &two], b"");
    let absent = run(folder, &["check", &two], b"key-1\n");
    assert_eq!(absent.status.code(), Some(1), "{}", stderr(&absent));
    assert_eq!(succeed(folder, &["list", &redis.url()], b""), b"two\tmayhap\n");
}
