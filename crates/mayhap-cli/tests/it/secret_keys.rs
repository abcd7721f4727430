//! `--key-file` for an existing filter: its own key is honoured, and any other one is refused, by
//! every verb, even where no key is hashed. An unkeyed filter is never taken for a keyed one, and
//! refused commands have changed nothing.

use crate::support::{file, folder, json, lines, mayhap, run, stderr, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const KEY: &str = "000102030405060708090a0b0c0d0e0f\n";
const OTHER: &str = "ffffffffffffffffffffffffffffffff\n";
const KEYS: u64 = 200;

/// The filters, by the options of their creation.
const FILTERS: [(&str, &[&str]); 3] =
    [("public", &[]), ("seeded", &["--seed", "7"]), ("keyed", &["--key-file", "key"])];

const LAYOUTS: [&str; 7] =
    ["blocked", "standard", "scalable", "compact", "counting", "window:1k", "fuse"];

/// A verb by its words; F is the filter.
type Verb = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Verbs with the layouts that they apply to: all if none is given.
const VERBS: &[Verb] = &[
    ("check", &["check", "F"], &[]),
    ("check two", &["check", "-f", "F", "-f", "F"], &[]),
    ("filter", &["filter", "F"], &[]),
    ("which", &["which", "-f", "F"], &[]),
    ("info", &["info", "F"], &[]),
    ("info two", &["info", "F", "F"], &[]),
    ("info fast", &["info", "--fast", "F"], &[]),
    ("verify", &["verify", "F"], &[]),
    ("bench", &["bench", "--seconds", "0.01", "F"], &["blocked"]),
    (
        "add",
        &["add", "F"],
        &["blocked", "standard", "scalable", "compact", "counting", "window:1k"],
    ),
    ("remove", &["remove", "F"], &["compact", "counting"]),
    ("dedup", &["dedup", "--state", "F", "-o", "out", "--force"], &["blocked", "standard"]),
    ("merge", &["merge", "-o", "out", "--force", "F", "F"], &["blocked", "standard", "scalable"]),
    ("clear", &["clear", "--force", "F"], &["blocked", "scalable", "compact", "counting"]),
    ("delete", &["delete", "--force", "F"], &["blocked", "fuse"]),
    ("grow", &["grow", "F"], &["blocked", "standard", "scalable", "compact"]),
    (
        "grow -o",
        &["grow", "-o", "out", "--force", "F"],
        &["blocked", "standard", "scalable", "compact"],
    ),
    ("shrink", &["shrink", "F"], &["blocked", "standard"]),
    ("shrink -o", &["shrink", "-o", "out", "--force", "F"], &["blocked", "standard"]),
    (
        "grow to fuse",
        &["grow", "-o", "out", "--force", "--layout", "fuse", "-p", "1%", "F"],
        &["blocked"],
    ),
];

/// All files of the folder with their bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let named = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()));
    // Locks are not contents.
    named.filter(|(name, _)| !name.contains("mayhap-l")).collect()
}

/// Rebuilds the filter.
fn build(folder: &Path, layout: &str, options: &[&str]) {
    for name in ["f", "f.digests", "f.log", "out", "out.digests"] {
        let _ = fs::remove_file(folder.join(name));
    }
    let keeps = matches!(layout, "blocked" | "standard" | "scalable");
    let digests: &[&str] = if keeps { &["--keep-digests"] } else { &[] };
    let size: &[&str] = match layout {
        "window:1k" => &["--layout", layout, "-p", "1e-9"],
        "fuse" => &["--layout", layout, "-p", "1%"],
        _ => &["--layout", layout, "-n", "1k", "-p", "1e-9"],
    };
    let words = [&["build", "-q", "-o", "f"], size, options, digests, &["keys"]].concat();
    succeed(folder, &words, b"");
}

/// All keys are found in this filter, opened as its creator opens it.
fn holds_all(folder: &Path, name: &str, is_keyed: bool, what: &str) {
    let key: &[&str] = if is_keyed { &["--key-file", "key"] } else { &[] };
    let found = run(folder, &[&["check", "-c", name], key].concat(), &lines("key", 0..KEYS));
    assert_eq!(found.stdout, format!("{KEYS}\n").as_bytes(), "{what}: {}", stderr(&found));
}

#[test]
fn a_key_file_is_honoured_or_refused_by_every_verb() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "key", KEY.as_bytes());
    file(folder, "other", OTHER.as_bytes());
    file(folder, "keys", &lines("key", 0..KEYS));
    let (all, input) = (crate::borders::is_whole(), lines("key", 0..KEYS));
    let sample = ["blocked", "compact", "counting", "scalable"];
    for layout in LAYOUTS.into_iter().filter(|layout| all || sample.contains(layout)) {
        for (name, options) in FILTERS {
            build(folder, layout, options);
            let image = contents(folder);
            for (verb, words, layouts) in VERBS {
                if !layouts.is_empty() && !layouts.contains(&layout) {
                    continue;
                }
                for given in ["", "key", "other"] {
                    let what = format!("{verb} of a {name} {layout} filter, key {given:?}");
                    let key: &[&str] = if given.is_empty() { &[] } else { &["--key-file", given] };
                    let words: Vec<&str> =
                        words.iter().map(|&word| if word == "F" { "f" } else { word }).collect();
                    let output = run(folder, &[&words, key].concat(), &input);
                    let is_keyed = name == "keyed";
                    if !given.is_empty() && (given == "other" || !is_keyed) {
                        let text = stderr(&output);
                        assert_eq!(output.status.code(), Some(2), "{what}: {text}");
                        assert_eq!(output.stdout, b"", "{what}");
                        let why = if is_keyed { "wrong secret key" } else { "has none" };
                        assert!(text.contains(why) && text.contains("f: "), "{what}: {text}");
                        assert!(text.contains("--key-file"), "{what}: {text}");
                        assert_eq!(contents(folder), image, "{what} has changed something");
                        continue;
                    }
                    // Without its key, a keyed one shows its header, and is merged or deleted.
                    let blind =
                        ["info", "info two", "info fast", "merge", "delete", "grow"].contains(verb);
                    if is_keyed && given.is_empty() && !blind {
                        assert_eq!(output.status.code(), Some(2), "{what}");
                        assert_eq!(contents(folder), image, "{what} has changed something");
                        continue;
                    }
                    let code = output.status.code();
                    if is_keyed && given.is_empty() && code == Some(2) {
                        assert_eq!(contents(folder), image, "{what} has changed something");
                        continue;
                    }
                    assert_eq!(code, Some(0), "{what}: {}", stderr(&output));
                    if folder.join("out").exists() && *verb != "dedup" {
                        holds_all(folder, "out", is_keyed, &what);
                    }
                    if !["remove", "clear", "delete"].contains(verb) {
                        holds_all(folder, "f", is_keyed, &what);
                    }
                    build(folder, layout, options);
                }
            }
        }
    }
}

/// Filters that are queried together may differ: the key is for the keyed ones.
#[test]
fn a_key_is_for_those_of_several_filters_that_have_one() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "key", KEY.as_bytes());
    for (name, options) in FILTERS {
        let build = [&["build", "-q", "-o", name, "-n", "100", "-p", "1e-9"], options].concat();
        succeed(folder, &build, format!("{name}\n").as_bytes());
    }
    let guava = ["build", "-q", "-o", "guava", "--format", "guava", "-n", "9", "-p", "1e-9"];
    succeed(folder, &guava, b"guava\n");
    let all = b"public\nseeded\nkeyed\nguava\nnone\n";
    let key = ["--key-file", "key"];
    let four = ["-f", "public", "-f", "keyed", "-f", "guava", "-f", "seeded"];
    let found = succeed(folder, &[&["check"], &four[..], &key].concat(), all);
    assert_eq!(found, b"public\nseeded\nkeyed\nguava\n");
    let found = succeed(folder, &[&["which"], &four[..], &key].concat(), all);
    assert_eq!(String::from_utf8(found).unwrap().lines().count(), 4);
    succeed(folder, &[&["info", "public", "keyed"], &key[..]].concat(), b"");
    for verb in [&["check"][..], &["which"]] {
        let none = ["-f", "public", "-f", "guava", "--key-file", "key"];
        let output = run(folder, &[verb, &none].concat(), all);
        let text = stderr(&output);
        assert!(output.status.code() == Some(2) && text.contains("has none"), "{text}");
    }
    for words in [
        &["check", "guava"][..],
        &["filter", "guava"],
        &["add", "guava"],
        &["info", "guava"],
        &["verify", "guava"],
        &["merge", "-o", "out", "guava", "guava"],
    ] {
        let output = run(folder, &[words, &key].concat(), b"more\n");
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.contains("guava: a secret key is given, but"), "{words:?}: {text}");
    }
}

/// A state that is to be unkeyed is not run as a keyed one, whatever other options are given.
#[test]
fn a_public_state_is_not_deduplicated_with_a_key() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "key", KEY.as_bytes());
    succeed(folder, &["create", "-q", "-n", "100", "s"], b"");
    let output = run(folder, &["dedup", "--state", "s", "--key-file", "key"], b"a\n");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]));
    let text = stderr(&output);
    assert!(text.contains("the filter has none") && text.contains("omit --key-file"), "{text}");
    let mut fresh = mayhap(folder);
    fresh.args(["create", "-q", "-n", "9", "--new-key-file", "key", "t"]);
    assert_eq!(fresh.output().unwrap().status.code(), Some(2), "a key is never replaced");
    assert_eq!(json(&succeed(folder, &["info", "--json", "s"], b""))["inserted_items"], 0);
}
