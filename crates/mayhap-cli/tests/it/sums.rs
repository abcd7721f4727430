//! `push --merge` and `merge` with filters that `mayhap serve` keeps: their bits go there, and come
//! from there, piece by piece.

use crate::places::Serve;
use crate::support::{fail, folder, json, lines, run, start, succeed};
use std::path::Path;

fn held(folder: &Path, name: &str, keys: &[u8]) -> usize {
    let output = run(folder, &["check", "-c", name], keys);
    String::from_utf8(output.stdout).unwrap().trim().replace(',', "").parse().unwrap()
}

fn create(folder: &Path, names: &[&str], items: &str) {
    for name in names {
        let plain = ["create", "-q", name, "--layout", "blocked", "--seed", "0", "-p", "1%", "-n"];
        let plain = [&plain[..], &[items]].concat();
        succeed(folder, &plain, b"");
    }
}

/// While others add to it.
#[test]
fn the_keys_of_files_go_into_a_filter_on_serve() {
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let (there, new) = (serve.url("there"), serve.url("new"));
    create(folder, &[&there, "a", "b"], "1M");
    let [first, a, b, more] = [0, 1, 2, 3].map(|i| lines("key", i * 30_000..(i + 1) * 30_000));
    succeed(folder, &["add", "-q", &there], &first);
    succeed(folder, &["add", "-q", "a"], &a);
    succeed(folder, &["add", "-q", "b"], &b);
    let mut merging = start(folder, &["push", "-q", "--merge", "a", &there]);
    succeed(folder, &["add", "-q", &there], &more);
    assert!(merging.wait().unwrap().success());
    for keys in [&first, &a, &more] {
        assert_eq!(held(folder, &there, keys), 30_000);
    }
    let pushed = json(&succeed(folder, &["push", "--json", "--merge", "b", &there], b""));
    assert_eq!((&pushed["merged"], &pushed["url"]), (&true.into(), &there.clone().into()));
    assert_eq!(held(folder, &there, &b), 30_000);
    // Where there is none, one like it is made.
    succeed(folder, &["push", "-q", "--merge", "a", &new], b"");
    succeed(folder, &["merge", "-q", "-o", &new, "b", &there], b"");
    for keys in [&first, &a, &b, &more] {
        assert_eq!(held(folder, &new, keys), 30_000);
    }
    // Back to a file.
    succeed(folder, &["merge", "-q", "-o", "sum", "a", &there], b"");
    for keys in [&first, &a, &b, &more] {
        assert_eq!(held(folder, "sum", keys), 30_000);
    }
    assert!(held(folder, "sum", &lines("none", 0..10_000)) < 200);
}

#[test]
fn what_does_not_fit_or_is_not_alike_is_refused_before_it_is_sent() {
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let there = serve.url("there");
    create(folder, &["file"], "1000");
    create(folder, &["other"], "9000");
    // The command and the server choose sizes of their own.
    succeed(folder, &["push", "-q", "file", &there], b"");
    let (first, more) = (lines("key", 0..900), lines("more", 0..900));
    succeed(folder, &["add", "-q", &there], &first);
    succeed(folder, &["add", "-q", "file"], &more);
    for arguments in [["push", "--merge", "file", &there], ["merge", "-o", &there, "file"]] {
        let error = fail(folder, &arguments, b"");
        assert!(error.contains("1,000"), "{error}");
        assert!(held(folder, &there, &more) < 100);
    }
    let error = fail(folder, &["push", "--merge", "other", &there], b"");
    assert!(error.contains("num_bits") && error.contains("--like"), "{error}");
    succeed(folder, &["push", "-q", "--merge", "--overfill", "file", &there], b"");
    assert_eq!(held(folder, &there, &more), 900);
    // The same keys once more need no room.
    succeed(folder, &["create", "-q", &serve.url("grows"), "-n", "1000"], b"");
    let error = fail(folder, &["push", "--merge", "file", &serve.url("grows")], b"");
    assert!(error.contains("managed by its server") && error.contains("BF.MERGE"), "{error}");
}
