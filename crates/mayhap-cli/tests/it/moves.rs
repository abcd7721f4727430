//! Moves from `mayhap serve` and to it, while keys arrive: those of docs/server.md, by `pull` and
//! `push`, and those of `mayhap move`.

use crate::places::Serve;
use crate::remote::{server, url};
use crate::support::{fail, folder, json, lines, run, start, stderr, succeed};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use test_servers::{ClusterOptions, RedisCluster, ready};

/// A program that inserts keys, each into all filters that it has at the moment, until it is ended.
struct Writer<'a> {
    folder: &'a Path,
    filters: Mutex<Vec<String>>,
    /// Keys that every filter of their moment has acknowledged.
    keys: Mutex<Vec<u8>>,
    is_ended: AtomicBool,
}

/// Ends the program, also where an assertion fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a> Writer<'a> {
    fn new(folder: &'a Path, filter: &str) -> Self {
        let (filters, keys) = (Mutex::new(vec![filter.to_owned()]), Mutex::default());
        Self { folder, filters, keys, is_ended: AtomicBool::new(false) }
    }

    fn run(&self) {
        for i in 0.. {
            if self.is_ended.load(Ordering::Relaxed) {
                break;
            }
            let batch = lines("key", i * 50..(i + 1) * 50);
            // Held over the insertion: a filter that is added has all later keys.
            let filters = self.filters.lock().unwrap_or_else(PoisonError::into_inner);
            for filter in filters.iter() {
                succeed(self.folder, &["add", "-q", filter], &batch);
            }
            self.keys.lock().unwrap().extend_from_slice(&batch);
        }
    }

    /// Returns when 2000 more keys have arrived.
    fn wait(&self, thread: &ScopedJoinHandle<'_, ()>) {
        let start = self.keys.lock().unwrap().len();
        while self.keys.lock().unwrap().len() < start + 2000 {
            assert!(!thread.is_finished(), "the writer failed");
            thread::yield_now();
        }
    }
}

#[test]
fn a_move_while_keys_arrive_loses_none() {
    let Some(server) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let (old, new) = (serve.url("name"), url(&server, "name"));
    let create = ["create", "-q", &old, "--layout", "blocked", "--seed", "0", "-n", "1M"];
    succeed(folder, &create, b"");
    let writer = Writer::new(folder, &old);
    thread::scope(|scope| {
        let _end = End(&writer.is_ended);
        let thread = scope.spawn(|| writer.run());
        writer.wait(&thread);
        succeed(folder, &["pull", "-q", &old, "one"], b"");
        succeed(folder, &["push", "-q", "one", &new], b"");
        writer.wait(&thread);
        writer.filters.lock().unwrap().push(new.clone());
        writer.wait(&thread);
        succeed(folder, &["pull", "-q", &old, "two"], b"");
        succeed(folder, &["push", "-q", "--merge", "two", &new], b"");
        *writer.filters.lock().unwrap() = vec![new.clone()];
        writer.wait(&thread);
    });
    let keys = writer.keys.into_inner().unwrap();
    assert!(succeed(folder, &["check", &new], &keys) == keys, "keys are lost");
    // Back, with a pause.
    succeed(folder, &["pull", "-q", &new, "three"], b"");
    succeed(folder, &["push", "-q", "--force", "three", &old], b"");
    assert!(succeed(folder, &["check", &old], &keys) == keys, "keys are lost on the way back");
}

/// The number of these keys that a filter has.
fn held(folder: &Path, name: &str, keys: &[u8]) -> usize {
    let output = run(folder, &["check", "-c", name], keys);
    String::from_utf8(output.stdout).unwrap().trim().replace(',', "").parse().unwrap()
}

/// From each place to `mayhap serve` and back, while a program inserts: it is told of the new place
/// after the first run, and the second one has what came meanwhile.
#[test]
fn a_filter_moves_to_serve_and_back_and_no_key_is_lost() {
    let Some(redis) = server() else { return };
    if !ready(&["redis-server"]) {
        return;
    }
    let cluster = RedisCluster::start(&ClusterOptions::default()).unwrap();
    let folder = folder();
    let folder = folder.path();
    let (other, serve) = (folder.join("other"), Serve::start(folder));
    std::fs::create_dir(&other).unwrap();
    let first = Serve::start(&other);
    let node = cluster.nodes()[0].port();
    let places = [
        ("file", folder.join("f").display().to_string()),
        ("serve", first.url("name")),
        ("redis", url(&redis, "moves")),
        ("cluster", format!("redis+cluster://127.0.0.1:{node}/moves")),
    ];
    for (from, old) in places {
        let new = serve.url(from);
        let create = ["create", "-q", &old, "--layout", "blocked", "--seed", "0", "-n", "1M"];
        succeed(folder, &create, b"");
        let writer = Writer::new(folder, &old);
        thread::scope(|scope| {
            let _end = End(&writer.is_ended);
            let thread = scope.spawn(|| writer.run());
            writer.wait(&thread);
            // Exit code 1: keys kept arriving.
            run(folder, &["move", "-q", &old, &new], b"");
            writer.wait(&thread);
            *writer.filters.lock().unwrap() = vec![new.clone()];
            writer.wait(&thread);
            let moved = json(&succeed(folder, &["move", "--json", &old, &new], b""));
            assert_eq!(moved["complete"], true, "{from}: {moved}");
        });
        let keys = writer.keys.into_inner().unwrap();
        assert!(succeed(folder, &["check", &new], &keys) == keys, "{from}: keys are lost");
        assert!(held(folder, &new, &lines("none", 0..10_000)) < 200, "{from}");
        succeed(folder, &["move", "-q", &new, &old], b"");
        assert!(succeed(folder, &["check", &old], &keys) == keys, "{from}: lost on the way back");
        let moved = json(&succeed(folder, &["move", "--json", &old, &new], b""));
        assert_eq!(moved["passes"], 1, "{from}: nothing was new: {moved}");
    }
}

/// What the command has said is there after a kill of the server; of a move that was killed
/// nothing is seen, and the next one completes it.
#[test]
fn a_move_to_serve_survives_kills_of_both_sides() {
    let folder = folder();
    let folder = folder.path();
    let keys = lines("key", 0..50_000);
    succeed(
        folder,
        &["build", "-q", "-o", "f", "--mem", "48MiB", "-p", "1%", "--seed", "0"],
        &keys,
    );
    let serve = Serve::start(folder);
    let (new, unfinished) = (serve.url("new"), serve.url("new:moving"));
    let mut killed = start(folder, &["move", "-q", "f", &new]);
    while !run(folder, &["info", &unfinished], b"").status.success()
        && killed.try_wait().unwrap().is_none()
    {
        thread::yield_now();
    }
    killed.kill().unwrap();
    let was_killed = killed.wait().unwrap().code().is_none();
    println!("killed while it ran: {was_killed}");
    let exists = |name: &str| run(folder, &["info", name], b"").status.success();
    assert_eq!((exists(&unfinished), exists(&new)), (was_killed, !was_killed));
    if was_killed {
        let error = fail(folder, &["check", &new], &keys);
        assert!(error.contains("there is no filter"), "{error}");
    }
    succeed(folder, &["move", "-q", "f", &new], b"");
    drop(serve);
    let serve = Serve::start(folder);
    let new = serve.url("new");
    assert!(succeed(folder, &["check", &new], &keys) == keys);
    let error = fail(folder, &["check", &serve.url("new:moving")], &keys);
    assert!(error.contains("there is no filter"), "{error}");
}

/// As a plain one, which has the keys of later layers too, while its own rate allows that.
#[test]
fn a_growing_filter_moves_while_it_has_hardly_more_than_its_first_layer() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    for (place, old) in [("serve", serve.url("grows")), ("file", "grows".to_owned())] {
        let (new, back) = (url(&redis, place), format!("back-{place}"));
        let create = ["create", "-q", &old, "--layout", "scalable", "--seed", "0", "-n", "20k"];
        let create = [&create[..], &["-p", "1%"]].concat();
        succeed(folder, &create, b"");
        let writer = Writer::new(folder, &old);
        thread::scope(|scope| {
            let _end = End(&writer.is_ended);
            let thread = scope.spawn(|| writer.run());
            writer.wait(&thread);
            run(folder, &["move", "-q", &old, &new], b"");
            writer.wait(&thread);
            *writer.filters.lock().unwrap() = vec![new.clone()];
            writer.wait(&thread);
        });
        let keys = writer.keys.into_inner().unwrap();
        let moved = json(&succeed(folder, &["move", "--json", &old, &new], b""));
        assert_eq!(moved["complete"], true, "{place}: {moved}");
        assert!(succeed(folder, &["check", &new], &keys) == keys, "{place}: keys are lost");
        succeed(folder, &["move", "-q", &new, &back], b"");
        assert!(succeed(folder, &["check", &back], &keys) == keys, "{place}: lost on the way back");
        assert!(held(folder, &new, &lines("none", 0..10_000)) < 150, "{place}");
        // It has grown twice, and says so before anything is copied.
        let more = lines("more", 0..70_000);
        succeed(folder, &["add", "-q", &old], &more);
        let to = url(&redis, "grown");
        let error = fail(folder, &["move", &old, &to], b"");
        assert!(error.contains("cannot become a plain filter of its first layer"), "{error}");
        assert!(error.contains("mayhap grow --layout blocked"), "{error}");
        assert_eq!(run(folder, &["info", &to], b"").status.code(), Some(2));
        succeed(folder, &["move", "-q", "-p", "99.9%", &old, &to], b"");
        assert_eq!(held(folder, &to, &more), 70_000, "{place}");
        succeed(folder, &["delete", "-q", "--force", &to], b"");
    }
}

#[test]
fn a_move_that_cannot_be_is_refused_before_anything_is_copied() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let to = serve.url("to");
    for (layout, kind) in [("counting", "counting"), ("window:1000", "window")] {
        let there = serve.url(kind);
        for name in [kind, &there] {
            succeed(folder, &["create", "-q", name, "-n", "1000", "--layout", layout], b"");
            let error = fail(folder, &["move", name, &to], b"");
            assert!(error.contains(&format!("is a {kind} filter, but only plain")), "{error}");
        }
    }
    succeed(folder, &["create", "-q", &serve.url("scalable"), "-n", "1000"], b"");
    let plain = ["--layout", "blocked", "--seed", "0", "-n"];
    succeed(folder, &[&["create", "-q", "small"], &plain[..], &["1000"]].concat(), b"");
    succeed(folder, &[&["create", "-q", "large"], &plain[..], &["9000"]].concat(), b"");
    succeed(folder, &["add", "-q", "small"], b"key\n");
    let error = fail(folder, &["move", "-p", "5%", "small", &to], b"");
    assert!(error.contains("-p, which is for growing filters"), "{error}");
    let error = fail(folder, &["move", "small", &serve.url("scalable")], b"");
    assert!(error.contains("is a scalable filter, and only the bits of plain"), "{error}");
    succeed(folder, &["create", "-q", "trims", "-n", "99", "--trim"], b"");
    let error = fail(folder, &["move", "trims", &to], b"");
    assert!(error.contains("the filter's keys are extracted from lines"), "{error}");
    for name in [&to, &serve.url("to:moving")] {
        assert!(!run(folder, &["info", name], b"").status.success(), "{name}");
    }
    // To itself.
    succeed(folder, &["move", "-q", "small", &serve.url("itself")], b"");
    let error = fail(folder, &["move", &serve.url("itself"), &serve.url("itself")], b"");
    assert!(error.contains("is the place where the filter is"), "{error}");
    let again = serve.url("itself").replace("127.0.0.1", "localhost");
    let error = fail(folder, &["move", &again, &serve.url("itself")], b"");
    assert!(error.contains("both addresses are of one server"), "{error}");
    // One that is there and unlike, and an unfinished one of another filter.
    succeed(folder, &["move", "-q", "large", &to], b"");
    let error = fail(folder, &["move", "small", &to], b"");
    assert!(error.contains("num_bits: ") && error.contains("--like"), "{error}");
    assert_eq!(held(folder, &to, b"key\n"), 0);
    succeed(folder, &["move", "-q", "large", &serve.url("next:moving")], b"");
    let next = serve.url("next");
    let error = fail(folder, &["move", "small", &next], b"");
    assert!(error.contains("--discard-unfinished FROM TO"), "{error}");
    succeed(folder, &["move", "-q", "--discard-unfinished", "small", &next], b"");
    assert_eq!(held(folder, &next, b"key\n"), 1);
    // The time to live moves with it, both ways.
    let ttl =
        |name: &str| json(&succeed(folder, &["info", "--json", name], b""))["ttl_ms"].as_u64();
    succeed(folder, &["ttl", &next, "7d"], b"");
    let (there, back) = (url(&redis, "lives"), serve.url("back"));
    succeed(folder, &["move", "-q", &next, &there], b"");
    succeed(folder, &["move", "-q", &there, &back], b"");
    for name in [&there, &back] {
        assert!(ttl(name).unwrap() > 6 * 86_400_000, "{name}");
    }
}

#[test]
fn a_move_says_which_key_it_needs_and_what_it_removes() {
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let (keyed, key) = (serve.url("keyed"), ["--key-file", "data/key"]);
    succeed(folder, &["create", "-q", &keyed, "-n", "1000", "--layout", "blocked"], b"");
    succeed(folder, &["add", "-q", &keyed], b"key\n");
    let error = fail(folder, &["move", &keyed, "f"], b"");
    assert!(error.contains(&format!("{keyed}: the filter is keyed")), "{error}");
    assert!(error.contains("hint: give its key with --key-file"), "{error}");
    succeed(folder, &[&["move", "-q", &keyed, "f"], &key[..]].concat(), b"");
    assert_eq!(succeed(folder, &[&["check", "f"], &key[..]].concat(), b"key\nno\n"), b"key\n");
    // There the server hashes with it.
    for verb in ["check", "add", "info"] {
        let error = fail(folder, &[&[verb, &keyed], &key[..]].concat(), b"");
        assert!(error.contains("a secret key is given, but the server hashes the keys"), "{error}");
        assert!(!error.contains("public"), "{error}");
    }
    let error = fail(folder, &[&["move", "f", "none/f"], &key[..]].concat(), b"");
    assert!(error.contains("there is no folder none") && error.contains("mkdir"), "{error}");
    let kept = ["build", "-q", "-o", "kept", "--keep-digests", "-n", "1000", "--seed", "0"];
    succeed(folder, &kept, b"one\n");
    succeed(folder, &["build", "-q", "-o", "more", "-n", "1000", "--seed", "0"], b"two\n");
    for removes in [true, false] {
        let moved = run(folder, &["move", "more", "kept"], b"");
        let said = stderr(&moved);
        assert_eq!(moved.status.code(), Some(0), "{said}");
        assert_eq!(said.contains("kept.digests: removed, since"), removes, "{said}");
    }
    assert_eq!(held(folder, "kept", b"one\ntwo\n"), 2);
}
