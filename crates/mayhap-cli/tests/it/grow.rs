//! Filters that grow without their keys: no key that was ever added is missing.

use crate::support::{fail, file, folder, json, lines, mayhap, numbers, run, stderr, succeed};
use crate::turns::names;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

/// Builds a filter with digests, so small that it takes most keys for repeats.
fn build(folder: &Path, more: &[&str], keys: &[u8]) {
    file(folder, "keys", keys);
    let build = ["build", "-q", "-o", "f", "--keep-digests", "keys"];
    succeed(folder, &[&build, more].concat(), b"");
}

fn holds_all(folder: &Path, name: &str, keys: &[u8]) {
    let found = run(folder, &["check", name], keys).stdout;
    let (found, all) = (found.split(|&b| b == b'\n').count(), keys.split(|&b| b == b'\n').count());
    assert_eq!(found, all, "{name} has lost keys");
}

#[test]
fn keys_that_were_taken_for_repeats_are_in_the_filter_that_has_grown() {
    let folder = folder();
    let folder = folder.path();
    let (built, added) = (lines("built", 0..5000), lines("added", 0..5000));
    let both = [&built[..], &added].concat();
    for (layout, small) in [("blocked", "2k"), ("standard", "2k"), ("scalable", "100")] {
        let _ = fs::remove_file(folder.join("f"));
        let _ = fs::remove_file(folder.join("f.digests"));
        build(folder, &["-n", small, "-p", "30%", "--layout", layout, "--overfill"], &built);
        succeed(folder, &["add", "-q", "--overfill", "f"], &added);
        let before = json(&succeed(folder, &["info", "--json", "f"], b""));
        assert!(before["inserted_items"].as_u64().unwrap() < 9_900, "{layout}: {before}");
        let grown = json(&succeed(folder, &["grow", "--json", "-p", "1e-9", "f"], b""));
        assert_eq!(grown["distinct_items"], 10_000, "{layout}: {grown}");
        assert_eq!(grown["after"]["layout"], layout);
        holds_all(folder, "f", &both);
        let output = run(folder, &["check", "-c", "f"], &lines("absent", 0..10_000));
        assert_eq!(output.stdout, b"0\n", "{layout}: {}", stderr(&output));
        let after = json(&succeed(folder, &["info", "--json", "f"], b""));
        assert_eq!((&after["digests"], &after["target_fpp"]), (&"there".into(), &1e-9.into()));
        // It continues with its digests, also through another verb.
        succeed(folder, &["dedup", "-q", "--state", "f", "-o", "new"], &lines("more", 0..5000));
        succeed(folder, &["grow", "-q", "-n", "1M", "f"], b"");
        holds_all(folder, "f", &[&both[..], &lines("more", 0..5000)].concat());
        fs::remove_file(folder.join("new")).unwrap();
        assert_eq!(names(folder), ["f", "f.digests", "keys"]);
    }
}

/// From the start, and into another file with digests of its own.
#[test]
fn digests_are_kept_from_the_first_key_and_beside_another_filter() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "-q", "--keep-digests", "-n", "1k", "-p", "30%", "f"], b"");
    assert_eq!(names(folder), ["f", "f.digests"]);
    let keys = lines("key", 0..5000);
    succeed(folder, &["add", "-q", "--overfill", "f"], &keys);
    let other = ["grow", "-q", "--keep-digests", "-p", "1e-9", "-o", "g", "f"];
    succeed(folder, &other, b"");
    assert_eq!(names(folder), ["f", "f.digests", "g", "g.digests"]);
    let more = lines("more", 0..1000);
    succeed(folder, &["add", "-q", "g"], &more);
    succeed(folder, &["grow", "-q", "-p", "1e-6", "g"], b"");
    holds_all(folder, "g", &[&keys[..], &more].concat());
    let talk = fail(folder, &other, b"");
    assert!(talk.contains("exists"), "{talk}");
    for refused in [
        &["create", "--keep-digests", "-n", "9", "--layout", "counting", "c"][..],
        &["create", "--keep-digests", "-n", "9", "--layout", "compact", "c"],
        &["create", "--keep-digests", "--layout", "window:10", "c"],
        &["create", "--keep-digests", "-n", "9", "--format", "guava", "c"],
        &["grow", "--keep-digests", "-o", "h", "--layout", "fuse", "f"],
        &["grow", "--keep-digests", "f"],
    ] {
        let talk = fail(folder, refused, b"");
        assert!(talk.contains("--keep-digests") || talk.contains("--output"), "{talk}");
    }
    assert_eq!(names(folder), ["f", "f.digests", "g", "g.digests"]);
}

#[test]
fn a_filter_of_another_kind_has_the_same_keys_and_cuts_them_alike() {
    let folder = folder();
    let folder = folder.path();
    build(folder, &["-p", "1e-6", "--lower", "--seed", "7"], &lines("KEY", 0..3000));
    let image = fs::read(folder.join("f")).unwrap();
    for layout in ["blocked", "standard", "scalable", "compact", "counting", "fuse", "ribbon"] {
        let is_frozen = matches!(layout, "fuse" | "ribbon");
        let rate: &[&str] = if is_frozen { &["-p", "1e-4"] } else { &["-n", "1M"] };
        let grow = ["grow", "-q", "f", "-o", "g", "--force", "--layout", layout];
        succeed(folder, &[&grow, rate].concat(), b"");
        holds_all(folder, "g", &lines("Key", 0..3000));
        let info = json(&succeed(folder, &["info", "--json", "g"], b""));
        let is_it = info["layout"] == layout || info["kind"] == layout;
        assert!(is_it && info["inserted_items"] == 3000, "{info}");
        assert_eq!((&info["digest_seed"], &info["digests"]), (&7.into(), &"none".into()), "{info}");
    }
    assert_eq!(fs::read(folder.join("f")).unwrap(), image, "the first one stays as it is");
    // In place too: a fuse filter can become a plain one again.
    succeed(folder, &["grow", "-q", "f", "--layout", "fuse", "-p", "1%"], b"");
    holds_all(folder, "f", &lines("Key", 0..3000));
    succeed(folder, &["grow", "-q", "f", "--layout", "blocked", "-n", "10k"], b"");
    succeed(folder, &["add", "-q", "f"], &lines("key", 2000..4000));
    holds_all(folder, "f", &lines("key", 0..4000));
}

#[test]
fn a_keyed_filter_grows_with_its_key_and_nobody_else_reads_its_digests() {
    let folder = folder();
    let folder = folder.path();
    build(folder, &["-p", "1%", "--new-key-file", "k"], &lines("key", 0..100));
    let mode = fs::metadata(folder.join("f.digests")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fail(folder, &["grow", "f"], b"");
    assert!(text.contains("--key-file"), "{text}");
    succeed(folder, &["grow", "-q", "f", "--key-file", "k", "-n", "1k"], b"");
    let found = run(folder, &["check", "-c", "f", "--key-file", "k"], &lines("key", 0..100));
    assert_eq!(found.stdout, b"100\n");
}

/// Not only once the filter grows.
#[test]
fn nothing_is_added_to_a_filter_whose_digests_are_damaged() {
    let folder = folder();
    let folder = folder.path();
    build(folder, &["-p", "1%"], &lines("key", 0..1000));
    let whole = fs::read(folder.join("f.digests")).unwrap();
    let filter = fs::read(folder.join("f")).unwrap();
    for (at, found_at) in [(0, 0), (33, 0), (500, 64)] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        file(folder, "f.digests", &damaged);
        for verb in [
            &["add", "f"][..],
            &["dedup", "--state", "f"],
            &["grow", "f"],
            &["freeze", "-o", "g", "f"],
        ] {
            let text = fail(folder, verb, b"new\n");
            let said = format!("f.digests: is damaged at byte {found_at}; restore it with");
            assert!(text.contains(&said), "byte {at}, {verb:?}: {text}");
            assert!(text.contains("or remove f.digests to continue without it"), "{text}");
        }
        let info = json(&succeed(folder, &["info", "--json", "f"], b""));
        assert_eq!(info["digests"], "damaged", "byte {at}");
        let verified = run(folder, &["verify", "--json", "f"], b"");
        let found = json(&verified.stdout);
        assert_eq!((verified.status.code(), &found["checksums"]), (Some(1), &"good".into()));
        assert!(found["damage"].as_str().unwrap().contains("f.digests: is damaged"), "{found}");
        assert_eq!(fs::read(folder.join("f")).unwrap(), filter, "byte {at}");
        assert_eq!(fs::read(folder.join("f.digests")).unwrap(), damaged, "byte {at}");
    }
    // Replaced together with its filter, as sound digests are.
    succeed(folder, &["build", "-q", "--force", "--keep-digests", "-o", "f", "keys"], b"");
    succeed(folder, &["grow", "-q", "f"], b"");
    succeed(folder, &["verify", "-q", "f"], b"");
    assert_eq!(names(folder), ["f", "f.digests", "keys"]);
}

#[test]
fn what_would_lose_keys_is_refused() {
    let folder = folder();
    let folder = folder.path();
    build(folder, &["-p", "1%"], &lines("key", 0..1000));
    for (arguments, said) in [
        (&["-n", "999"][..], "has 1,000 distinct keys, but the new filter would be for 999"),
        (&["--layout", "window:1k"], "a window needs the order of its keys"),
        (&["--layout", "matrix"], "a matrix needs the set of each key"),
        (&["--layout", "compact"], "compact or counting in another file, with -o"),
        (&["--layout", "counting"], "counting in another file, with -o"),
        (&["--layout", "fuse", "-n", "1M"], "omit them"),
    ] {
        let text = fail(folder, &[&["grow", "f"], arguments].concat(), b"");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
    let text = fail(folder, &["grow", "redis://127.0.0.1:1/0/x"], b"");
    assert!(text.contains("but digests are kept beside files"), "{text}");
    // A program that knows nothing of digests changes the filter.
    succeed(folder, &["build", "-q", "-o", "other", "-n", "1k", "-p", "1%"], b"key\n");
    fs::rename(folder.join("other"), folder.join("f")).unwrap();
    for verb in [&["grow", "f"][..], &["add", "f", "keys"], &["dedup", "--state", "f", "keys"]] {
        let text = fail(folder, verb, b"");
        assert!(text.contains("f.digests: lacks keys of f, or belongs"), "{verb:?}: {text}");
    }
    let info = succeed(folder, &["info", "f"], b"");
    let info = String::from_utf8(info).unwrap();
    assert!(info.contains("1,000 kept in 6") && info.contains("of another filter"), "{info}");
    fs::remove_file(folder.join("f.digests")).unwrap();
    succeed(folder, &["add", "-q", "f", "keys"], b"");
    let text = fail(folder, &["grow", "f"], b"");
    assert!(text.contains("mayhap build --keep-digests -o f KEYS"), "{text}");
    for layout in ["compact", "counting", "window:1k", "fuse", "matrix"] {
        let build = ["build", "-o", "g", "--keep-digests", "-n", "1k", "--layout", layout, "keys"];
        assert!(fail(folder, &build, b"").contains("--keep-digests is given"), "{layout}");
    }
    let build = ["build", "-o", "g", "--keep-digests", "-p", "1%", "--format", "guava", "keys"];
    assert!(fail(folder, &build, b"").contains("--keep-digests is given"));
    assert_eq!(names(folder), ["f", "keys"]);
}

#[test]
fn digests_go_with_their_filter() {
    let folder = folder();
    let folder = folder.path();
    let replaces: [&[&str]; 4] = [
        &["build", "--force", "-o", "f", "keys"],
        &["create", "--force", "-n", "1k", "f"],
        &["clear", "--force", "f"],
        &["merge", "--force", "-o", "f", "f", "f"],
    ];
    for replace in replaces {
        build(folder, &["--force", "-n", "1k"], &lines("key", 0..100));
        let output = run(folder, replace, b"");
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{replace:?}: {text}");
        assert!(text.contains("f.digests: removed"), "{replace:?}: {text}");
        assert_eq!(names(folder), ["f", "keys"], "{replace:?}");
    }
    build(folder, &["--force", "-n", "1k"], &lines("key", 0..100));
    succeed(folder, &["delete", "--force", "f"], b"");
    assert_eq!(names(folder), ["keys"]);
    // Digests of a removed filter, and files of other programs.
    file(folder, "f.digests", b"notes");
    fail(folder, &["build", "-o", "f", "--keep-digests", "--force", "keys"], b"");
    assert_eq!(fs::read(folder.join("f.digests")).unwrap(), b"notes");
}

/// Keys of each command, and the parts in which they are written.
const KEYS: u64 = 2000;
const PARTS: usize = 8;

/// A command, its keys, and the part after which it is killed.
type Work = (&'static [&'static str], Vec<u8>, usize);

/// Adds keys, and is killed after the part of this number; returns whether it succeeded.
fn add(folder: &Path, verb: &[&str], keys: &[u8], kill_at: usize) -> bool {
    let mut command = mayhap(folder);
    command.args(verb).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for (part, bytes) in keys.chunks(keys.len().div_ceil(PARTS)).enumerate() {
        if part == kill_at {
            child.kill().unwrap();
        }
        if stdin.write_all(bytes).is_err() {
            break;
        }
    }
    drop(stdin);
    if kill_at == PARTS {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let is_killed = output.status.code().is_none();
    assert!(is_killed || output.status.success(), "{verb:?}: {}", stderr(&output));
    !is_killed
}

#[test]
fn whoever_is_killed_no_acknowledged_key_is_missing_after_growing() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(18);
    println!("SEED={seed}");
    let mut random = numbers(seed);
    let (mut killed, mut found) = (0, 0);
    for round in 0..10 {
        let folder = folder();
        let folder = folder.path();
        // So small that a tenth of the keys are taken for repeats.
        build(folder, &["-n", "2k", "-p", "10%"], &lines("first", 0..1000));
        let verbs: [&'static [&'static str]; 5] = [
            &["add", "-q", "--overfill", "f"],
            &["dedup", "-q", "--overfill", "--state", "f"],
            &["add", "-q", "--overfill", "f"],
            &["grow", "-q", "-n", "100k", "f"],
            &["add", "-q", "--overfill", "f"],
        ];
        let work: Vec<Work> = verbs
            .into_iter()
            .enumerate()
            .map(|(id, verb)| {
                let keys = lines(&format!("key-{round}-{id}"), 0..KEYS);
                let draw = random.next().unwrap() as usize;
                // Half of them are not killed.
                let kill_at =
                    if draw.is_multiple_of(2) { usize::MAX } else { draw / 2 % (PARTS + 1) };
                (verb, keys, kill_at)
            })
            .collect();
        let ended: Vec<bool> = std::thread::scope(|scope| {
            let start = work.iter().map(|(verb, keys, kill_at)| {
                scope.spawn(move || add(folder, verb, keys, *kill_at))
            });
            let threads: Vec<_> = start.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // The log that was left is in the new filter too.
        let known = run(folder, &["check", "f"], &all(&work)).stdout;
        succeed(folder, &["grow", "-q", "f", "-o", "g", "-n", "1M", "-p", "1e-9"], b"");
        succeed(folder, &["grow", "-q", "f", "-n", "1M", "-p", "1e-9"], b"");
        holds_all(folder, "f", &lines("first", 0..1000));
        for ((verb, keys, _), ended) in work.iter().zip(&ended) {
            killed += u64::from(!ended);
            if *ended && verb[0] != "grow" {
                holds_all(folder, "f", keys);
                holds_all(folder, "g", keys);
                found += KEYS;
            }
        }
        assert!(!known.is_empty());
        succeed(folder, &["verify", "-q", "f"], b"");
    }
    println!("{killed} commands killed, {found} keys there");
    assert!(killed >= 10 && found >= 10 * KEYS, "{killed} killed, {found} keys");
}

fn all(work: &[Work]) -> Vec<u8> {
    work.iter().flat_map(|(_, keys, _)| keys.iter().copied()).collect()
}
