//! The move of docs/server.md, from `mayhap serve` to Redis and back, while keys arrive.

use crate::places::Serve;
use crate::remote::{server, url};
use crate::support::{folder, lines, succeed};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// A program that inserts keys, each into all filters that it has at the moment, until it is ended.
struct Writer<'a> {
    folder: &'a Path,
    filters: Mutex<Vec<String>>,
    /// Keys that every filter of their moment has acknowledged.
    keys: Mutex<Vec<u8>>,
    is_ended: AtomicBool,
}

impl Writer<'_> {
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
    let writer = Writer {
        folder,
        filters: Mutex::new(vec![old.clone()]),
        keys: Mutex::default(),
        is_ended: AtomicBool::new(false),
    };
    thread::scope(|scope| {
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
        writer.is_ended.store(true, Ordering::Relaxed);
    });
    let keys = writer.keys.into_inner().unwrap();
    assert!(succeed(folder, &["check", &new], &keys) == keys, "keys are lost");
    // Back, with a pause.
    succeed(folder, &["pull", "-q", &new, "three"], b"");
    succeed(folder, &["push", "-q", "--force", "three", &old], b"");
    assert!(succeed(folder, &["check", &old], &keys) == keys, "keys are lost on the way back");
}
