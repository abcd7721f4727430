//! A filter without room: one rule, one sentence and one exit code, for every verb that would fill
//! it.

use crate::remote::{server, url};
use crate::support::{fail, file, first_of_each, folder, json, lines, run, stderr, succeed};
use std::fs;
use std::path::{Path, PathBuf};

/// Golden files of the formats.
fn golden(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mayhap-formats/tests/golden");
    fs::read(folder.join(name)).unwrap()
}

/// Runs a command that has to end for lack of room: with exit code 2, one sentence and a next step
/// that names the way on. The sentence.
fn ends_full(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    let talk = fail(folder, arguments, input);
    let sentence = talk.lines().find(|line| line.starts_with("mayhap: the filter is full ("));
    let sentence = sentence.unwrap_or_else(|| panic!("{arguments:?}: {talk}")).to_owned();
    let is_whole =
        sentence.contains("; stopped after ") || sentence.ends_with("nothing was written");
    assert!(is_whole, "{arguments:?}: {sentence}");
    let hint = talk.lines().find(|line| line.starts_with("hint: ")).unwrap_or_default();
    let way_on = hint.contains("--overfill") || hint.contains("--max-memory");
    assert!(way_on, "{arguments:?}: {talk}");
    sentence
}

/// A filter that holds a multiple of the 100 keys that it was made for.
fn build(folder: &Path, name: &str, keys: std::ops::Range<u64>, more: &[&str]) {
    let build = ["build", "-q", "--overfill", "-n", "100", "-p", "1e-9", "-o", name];
    succeed(folder, &[&build[..], more].concat(), &lines("key", keys));
}

#[test]
fn every_verb_ends_in_the_same_way_when_there_is_no_room() {
    let folder = folder();
    let folder = folder.path();
    let many = lines("key", 0..500);
    file(folder, "many", &many);
    let create = ["create", "-q", "-n", "100", "-p", "1e-9"];
    for (name, more) in [("f", &[][..]), ("c", &["--layout", "counting"]), ("s", &[])] {
        succeed(folder, &[&create[..], more, &[name]].concat(), b"");
    }
    succeed(folder, &["dedup", "-q", "--state", "s"], b"key-0\n");
    for (arguments, lines) in [
        (&["add", "f", "many"][..], 100),
        (&["add", "c", "many"], 100),
        (&["add", "s", "many"], 100),
        (&["dedup", "-n", "100", "-p", "1e-9", "many"], 100),
        (&["dedup", "-n", "100", "-p", "1e-9", "--state", "new", "many"], 100),
        (&["dedup", "--state", "s", "many"], 100),
        (&["build", "-n", "100", "-p", "1e-9", "-o", "b", "many"], 100),
        (&["build", "-n", "100", "-p", "1e-9", "--layout", "counting", "-o", "b", "many"], 100),
    ] {
        let sentence = ends_full(folder, arguments, b"");
        let expected = format!("(100 of 100 keys); stopped after {lines} lines");
        assert!(sentence.contains(&expected), "{arguments:?}: {sentence}");
    }
    assert!(!folder.join("b").exists());
    // A filter that grows is full when it may not.
    let grows = ["dedup", "-q", "-p", "1e-9", "--max-memory", "8MiB"];
    let sentence = ends_full(folder, &grows, &lines("key", 0..3_000_000));
    assert!(sentence.contains("above 8.00 MiB); stopped after "), "{sentence}");
    succeed(folder, &["create", "-q", "g", "--layout", "scalable", "-n", "1k", "-p", "1%"], b"");
    let sentence =
        ends_full(folder, &["add", "-q", "--max-memory", "4KiB", "g"], &lines("key", 0..50_000));
    assert!(sentence.contains("above 4.00 KiB); stopped after "), "{sentence}");
    let held = json(&succeed(folder, &["info", "--json", "g"], b""))["inserted_items"].as_u64();
    assert!(held >= Some(1000), "earlier keys are saved: {held:?}");
}

#[test]
fn a_filter_that_is_over_full_takes_nothing_and_says_so() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "f", 0..490, &[]);
    build(folder, "c", 0..490, &["--layout", "counting"]);
    let before = [fs::read(folder.join("f")).unwrap(), fs::read(folder.join("c")).unwrap()];
    for name in ["f", "c"] {
        let info = json(&succeed(folder, &["info", "--json", name], b""));
        let count = |number: &str| info[number].as_u64();
        let keys = count("distinct_items").or(count("inserted_items")).unwrap();
        assert!(keys > 400, "{keys}");
        // Present keys, absent keys: its answers about either are worthless.
        for input in [lines("key", 0..10), lines("other", 0..10)] {
            let add = ends_full(folder, &["add", name], &input);
            let expected = format!("({keys} of 100 keys); stopped after 0 lines");
            assert!(add.contains(&expected), "{name}: {add}");
            let dedup = run(folder, &["dedup", "--state", name], &input);
            assert_eq!((dedup.status.code(), dedup.stdout.len()), (Some(2), 0), "{name}");
            assert!(stderr(&dedup).contains(&expected), "{}", stderr(&dedup));
        }
    }
    let after = [fs::read(folder.join("f")).unwrap(), fs::read(folder.join("c")).unwrap()];
    assert!(before == after, "nothing was added");
    // There is always room for no keys, which merges the log into the file.
    succeed(folder, &["add", "f", "/dev/null"], b"");
    succeed(folder, &["add", "--overfill", "f"], &lines("other", 0..10));
    assert_eq!(
        succeed(folder, &["dedup", "--state", "f", "--overfill"], b"new-one\n"),
        b"new-one\n"
    );
}

#[test]
fn repeats_in_a_long_batch_pass_and_the_first_new_key_ends_it() {
    let folder = folder();
    let folder = folder.path();
    // 100 keys, 10 present ones, 1 new one, 200 present ones: in one batch of more than 64.
    let input = lines("key", (0..100).chain(0..10).chain([1000]).chain((0..200).map(|i| i % 100)));
    file(folder, "in", &input);
    for (arguments, stopped) in [
        (&["dedup", "-n", "100", "-p", "1e-9", "in"][..], 110),
        (&["dedup", "-n", "100", "-p", "1e-9", "--state", "s", "in"], 110),
        (&["dedup", "-n", "100", "-p", "1e-9", "--layout", "counting", "in"], 110),
        (&["build", "-n", "100", "-p", "1e-9", "-o", "f", "in"], 110),
    ] {
        let sentence = ends_full(folder, arguments, b"");
        let expected = format!("stopped after {stopped} lines");
        assert!(sentence.ends_with(&expected), "{arguments:?}: {sentence}");
    }
    let printed = run(folder, &["dedup", "-n", "100", "-p", "1e-9", "in"], b"").stdout;
    assert_eq!(printed, lines("key", 0..100));
    // The new key is the first of its batch, the 64th, and the 65th.
    for old in [0, 63, 64, 65, 128, 1023, 1024, 1100] {
        let repeats = (0..old).map(|i| i % 100);
        let input = lines("key", (0..100).chain(repeats).chain([5000, 1, 2]));
        let sentence = ends_full(folder, &["dedup", "-n", "100", "-p", "1e-9"], &input);
        let expected = format!("stopped after {} lines", crate::support::grouped(100 + old));
        assert!(sentence.ends_with(&expected), "{old}: {sentence}");
        // And none where there is none.
        let input = lines("key", (0..100).chain((0..old).map(|i| i % 100)));
        let kept = succeed(folder, &["dedup", "-n", "100", "-p", "1e-9"], &input);
        assert!(kept == first_of_each(&input), "{old}");
    }
}

#[test]
fn a_merge_that_would_be_over_full_is_not_written() {
    let folder = folder();
    let folder = folder.path();
    for layout in ["blocked", "standard", "counting"] {
        build(folder, "a", 0..90, &["--force", "--layout", layout]);
        build(folder, "b", 90..190, &["--force", "--layout", layout]);
        let merge = ["merge", "-o", "all", "a", "b"];
        let sentence = ends_full(folder, &merge, b"");
        assert!(sentence.ends_with("of 100 keys); nothing was written"), "{layout}: {sentence}");
        assert!(!folder.join("all").exists(), "{layout}");
        // Over one of its parts, which stays.
        let before = fs::read(folder.join("a")).unwrap();
        ends_full(folder, &["merge", "--force", "-o", "a", "a", "b"], b"");
        assert!(fs::read(folder.join("a")).unwrap() == before, "{layout}");
        assert!(fs::read_dir(folder).unwrap().count() == 2, "{layout}: nothing is left behind");
        succeed(folder, &[&merge[..], &["--overfill"]].concat(), b"");
        let all = lines("key", 0..190);
        assert_eq!(succeed(folder, &["check", "all"], &all), all, "{layout}");
        fs::remove_file(folder.join("all")).unwrap();
        // A union that fits is written: one has most keys of the other.
        build(folder, "b", 5..95, &["--force", "--layout", layout]);
        if layout != "counting" {
            succeed(folder, &["merge", "-q", "-o", "all", "a", "b"], b"");
            fs::remove_file(folder.join("all")).unwrap();
        }
    }
    // A filter of another system: 1,001 additions into one that was made for 1,000.
    file(folder, "g", &golden("magnuss/classic_a.ser"));
    file(folder, "h", &golden("magnuss/classic_a.ser"));
    let talk = stderr(&run(folder, &["merge", "-o", "gh", "g", "h"], b""));
    assert!(
        talk.contains("the filter is full (") && talk.contains("nothing was written"),
        "{talk}"
    );
    assert!(!folder.join("gh").exists());
    succeed(folder, &["merge", "--overfill", "-o", "gh", "g", "h"], b"");
}

#[test]
fn a_push_that_would_over_fill_sends_nothing() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "seen"));
    let folder = folder.path();
    let make = |name: &str, keys: std::ops::Range<u64>| {
        let build = ["build", "-q", "--force", "-n", "1000", "-p", "1e-6", "-o", name];
        succeed(folder, &[&build[..], &["--layout", "blocked"]].concat(), &lines("key", keys));
    };
    make("a", 0..800);
    make("b", 700..1600);
    succeed(folder, &["push", "-q", "a", &url], b"");
    for arguments in [&["push", "--merge", "b", &url][..], &["merge", "-o", &url, "b"]] {
        let sentence = ends_full(folder, arguments, b"");
        assert!(sentence.ends_with("of 1,000 keys); nothing was written"), "{sentence}");
        let none = run(folder, &["check", "-c", &url], &lines("key", 800..1600)).stdout;
        assert_eq!(none, b"0\n", "{arguments:?}");
    }
    // Keys already inside take no room, and a union that fits is sent.
    succeed(folder, &["push", "-q", "--merge", "a", &url], b"");
    make("c", 600..900);
    succeed(folder, &["push", "-q", "--merge", "c", &url], b"");
    let all = lines("key", 0..900);
    assert_eq!(succeed(folder, &["check", &url], &all), all);
    succeed(folder, &["push", "-q", "--merge", "--overfill", "b", &url], b"");
    let all = lines("key", 0..1600);
    assert_eq!(succeed(folder, &["check", &url], &all), all);
    // The filter is overfull now.
    let sentence = ends_full(folder, &["add", &url], b"key-1\n");
    assert!(sentence.ends_with("stopped after 0 lines"), "{sentence}");
    let merged = ["merge", "-o", "all", &url, "a"];
    assert!(ends_full(folder, &merged, b"").ends_with("nothing was written"));
    assert!(!folder.join("all").exists());
}

#[test]
fn what_is_no_key_needs_no_room_in_a_full_filter_on_a_server() {
    let Some(server) = server() else { return };
    let (folder, url) = (folder(), url(&server, "users"));
    let folder = folder.path();
    let create = ["create", "-q", &url, "-n", "100", "-p", "1%", "--format", "redisson"];
    succeed(folder, &create, b"");
    let hex = |numbers: std::ops::Range<u64>| -> String {
        numbers.fold(String::new(), |lines, number| format!("{lines}{number:04x}\n"))
    };
    let add = ["add", "--key-type", "hex", &url];
    // Its fill follows from its bits, of which the last keys set fewer than most.
    let is_full = |round: u64| {
        let keys = hex(1000 * round..1000 * round + 1000);
        ends_full(folder, &add, keys.as_bytes()).ends_with("stopped after 0 lines")
    };
    assert!((0..20).any(is_full));
    let there = hex(0..2) + "no hex\n" + &hex(2..4);
    let output = run(folder, &add, there.as_bytes());
    let talk = stderr(&output);
    assert!(output.status.success(), "{talk}");
    assert!(talk.contains("1 line is no key for ") && talk.contains("(first: line 3: "), "{talk}");
    // A new key does.
    let sentence = ends_full(folder, &add, b"no hex\nffff\n");
    assert!(sentence.ends_with("stopped after 1 line"), "{sentence}");
}

#[test]
fn a_filter_that_cannot_keep_any_rate_is_not_made() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "in", b"a\n");
    for arguments in [
        &["create", "f", "-n", "10M", "--mem", "1M"][..],
        &["create", "f", "-n", "10M", "--mem", "1M", "--layout", "standard"],
        &["create", "f", "-n", "10M", "--mem", "1M", "--layout", "counting"],
        &["build", "-o", "f", "-n", "10M", "--mem", "1M", "in"],
        &["dedup", "-n", "10M", "--mem", "1M", "in"],
        &["dedup", "--state", "f", "-n", "10M", "--mem", "1M", "in"],
        &["bench", "-n", "10M", "--mem", "1M"],
    ] {
        let talk = fail(folder, arguments, b"");
        let problem = "mayhap: 10,000,000 keys in 977 KiB would have a rate of ";
        assert!(talk.contains(problem), "{arguments:?}: {talk}");
        assert!(talk.contains("hint: omit --mem for 2") && talk.contains("-p "), "{talk}");
        assert!(!folder.join("f").exists(), "{arguments:?}");
    }
    // The rate that the hint names is one that can be kept, and asking for it is consent.
    let talk = fail(folder, &["create", "f", "-n", "10M", "--mem", "1M"], b"");
    let rate = talk.split("-p ").last().unwrap().trim();
    succeed(folder, &["create", "f", "-n", "10M", "--mem", "1M", "-p", rate], b"");
    // Few bits per key are a user's choice.
    succeed(folder, &["create", "g", "-n", "10M", "--mem", "5M"], b"");
    let talk = fail(folder, &["create", "h", "-n", "10M", "--mem", "5M", "-p", "1%"], b"");
    assert!(talk.contains("rate"), "{talk}");
}

#[test]
fn a_filter_that_clears_itself_is_asked_for_and_says_each_time() {
    let folder = folder();
    let folder = folder.path();
    // 8 bits a key of 80, cleared at a use rate of 0.8: with the ninth key.
    let whole = golden("bloomfileter/bf_autoclear_0_8.obj");
    file(folder, "f", &whole);
    let facts = json(&succeed(folder, &["info", "--json", "f"], b""))["facts"].clone();
    let room = 8 - facts["use_count"].as_u64().unwrap() / 8;
    assert!((1..8).contains(&room), "{room}");
    let keys = lines("key", 0..20);
    let first: Vec<u8> = lines("key", 0..room);
    let sentence = ends_full(folder, &["add", "f"], &keys);
    assert!(
        sentence.ends_with(&format!("(8 of 8 keys); stopped after {room} lines")),
        "{sentence}"
    );
    assert_eq!(run(folder, &["check", "f"], &first).stdout, first, "none was forgotten");
    // Keys already inside do not clear it either.
    succeed(folder, &["add", "f"], &first);
    assert_eq!(run(folder, &["check", "f"], &first).stdout, first);
    ends_full(folder, &["add", "f"], b"new-one\n");
    assert_eq!(run(folder, &["check", "f"], &first).stdout, first);
    file(folder, "f", &whole);
    let output = run(folder, &["add", "--overfill", "f"], &keys);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let cleared = stderr(&output).matches("f was full and cleared itself").count();
    // Once with the first key that has no room, and then with each eighth.
    assert_eq!(cleared as u64, (20 - room).div_ceil(8), "{}", stderr(&output));
    // A filter that does not clear itself never reports clearing.
    file(folder, "g", &golden("bloomfileter/bf_small_100.obj"));
    let talk = stderr(&run(folder, &["add", "g"], &keys));
    assert!(!talk.contains("cleared"), "{talk}");
}
