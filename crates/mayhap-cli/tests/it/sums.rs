//! `push --merge` and `merge` with filters that `mayhap serve` keeps: their bits go there, and come
//! from there, piece by piece.

use crate::places::Serve;
use crate::support::{fail, folder, json, lines, run, start, stderr, succeed};
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
    assert!(error.contains("is a scalable filter, and only the bits of plain"), "{error}");
    assert!(error.contains("BF.MERGE"), "{error}");
}

fn with<'a>(arguments: &[&'a str], key: &[&'a str]) -> Vec<&'a str> {
    [arguments, key].concat()
}

/// Also of one that was made there, whose size the server chooses: at least that for 2,048 keys.
#[test]
fn a_file_is_made_like_a_filter_on_serve_and_merges_with_it() {
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let (open, keyed) = (serve.url("open"), serve.url("keyed"));
    let key = ["--key-file", "data/key"];
    create(folder, &[&open], "1000");
    succeed(folder, &["create", "-q", &keyed, "--layout", "standard", "-n", "1000"], b"");
    for (name, key) in [(&open, &[][..]), (&keyed, &key)] {
        succeed(folder, &with(&["create", "-q", "--force", "--like", name, "f"], key), b"");
        succeed(folder, &with(&["add", "-q", "f"], key), b"in the file\n");
        succeed(folder, &["add", "-q", name], b"there\n");
        succeed(folder, &with(&["push", "-q", "--merge", "f", name], key), b"");
        assert_eq!(held(folder, name, b"in the file\nthere\n"), 2, "{name}");
        succeed(folder, &with(&["merge", "-q", "-o", "both", "f", name], key), b"");
        let found =
            succeed(folder, &with(&["check", "both"], key), b"in the file\nthere\nnowhere\n");
        assert_eq!(found, b"in the file\nthere\n", "{name}");
        std::fs::remove_file(folder.join("both")).unwrap();
        // And on the server itself, like the file and like the filter there.
        for (i, model) in ["f", name].into_iter().enumerate() {
            let other = format!("{name}{i}");
            let made = with(&["create", &other, "--like", model, "--ttl", "7d"], key);
            succeed(folder, &made, b"");
            succeed(folder, &["add", "-q", &other], b"more\n");
            let again = run(folder, &made, b"");
            let said = stderr(&again);
            assert!(again.status.success() && said.contains("unchanged"), "{said}");
            assert_eq!(held(folder, &other, b"more\nthere\n"), 1, "{other}");
            let info = json(&succeed(folder, &["info", "--json", &other], b""));
            assert!(info["ttl_ms"].as_u64().unwrap() > 6 * 86_400_000, "{info}");
            let error = fail(folder, &with(&made, &["--force"]), b"");
            assert!(error.contains("exists already") && error.contains("delete"), "{error}");
        }
    }
    let error = fail(folder, &["create", "g", "--like", &keyed], b"");
    assert!(error.contains("the filter is keyed") && error.contains("--key-file"), "{error}");
    succeed(folder, &["create", "-q", &serve.url("grows"), "-n", "1000"], b"");
    let error = fail(folder, &["create", "g", "--like", &serve.url("grows")], b"");
    assert!(error.contains("is a scalable filter"), "{error}");
    let error = fail(folder, &["create", "g", "--like", &serve.url("none")], b"");
    assert!(error.contains("there is no filter none"), "{error}");
    let error = fail(folder, &["create", &serve.url("grows"), "--like", &open], b"");
    assert!(error.contains("exists already"), "{error}");
    let error = fail(folder, &["merge", "-o", "g", &serve.url("none"), &open], b"");
    assert!(error.contains("there is no filter none"), "{error}");
    assert!(!folder.join("g").exists());
}

/// A dump of a small filter is one chunk, of the short or the packed form.
#[test]
fn filters_whose_dump_is_one_chunk_are_pulled_and_move() {
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    // One key and few keys: short; a few thousand: packed. One that is empty, too.
    for (name, items, count) in
        [("empty", "1", 0), ("one", "1", 1), ("few", "1000", 500), ("packed", "8000", 5_000)]
    {
        let (there, keys) = (serve.url(name), lines("key", 0..count));
        create(folder, &[&there], items);
        succeed(folder, &["add", "-q", &there], &keys);
        for verb in ["pull", "move"] {
            let file = format!("{name}-{verb}");
            let output = run(folder, &[verb, &there, &file], b"");
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert!(!said.contains("1 values") && !said.contains("1 blocks"), "{said}");
            succeed(folder, &["verify", "-q", &file], b"");
            assert_eq!(held(folder, &file, &keys), count as usize, "{file}");
            // A second time, it has all of them already.
            succeed(folder, &["move", "-q", &there, &file], b"");
            // And back, under another name, from there to a third one, and into the first.
            let (back, third) = (serve.url(&format!("{file}-back")), serve.url(&file));
            succeed(folder, &["move", "-q", &file, &back], b"");
            succeed(folder, &["move", "-q", &back, &third], b"");
            succeed(folder, &["add", "-q", "--overfill", &file], b"more\n");
            succeed(folder, &["move", "-q", &file, &third], b"");
            assert_eq!(held(folder, &third, &keys), count as usize, "{file}");
            assert_eq!(held(folder, &third, b"more\n"), 1, "{file}");
            succeed(folder, &["merge", "-q", "--overfill", "-o", "sum", &there, &third], b"");
            assert_eq!(held(folder, "sum", b"more\n"), 1, "{file}");
            std::fs::remove_file(folder.join("sum")).unwrap();
        }
    }
}
