//! Files of every kind, and the verbs that create, fill and query them.

use crate::support::{fail, folder, held, json, json_and_talk, lines, run, stderr, succeed};
use mayhap::{DigestFunction, WindowBloomFilter};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const HOUR: u64 = 3_600_000;

fn info(folder: &Path, name: &str) -> serde_json::Value {
    json(&succeed(folder, &["info", "--json", name], b""))
}

#[test]
fn a_window_of_keys_holds_the_last_and_forgets_the_rest() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "w", "--layout", "window:1k", "-p", "1e-9"], b"");
    for run in 0..5 {
        let added =
            succeed(folder, &["add", "--json", "w"], &lines("key", run * 1000..(run + 1) * 1000));
        assert_eq!(json(&added)["new"], 1000);
    }
    let again = succeed(folder, &["add", "--json", "w"], &lines("key", 4990..5000));
    assert_eq!(json(&again)["already_there"], 10);
    let last = lines("key", 4000..5000);
    assert!(held(folder, "w", &last) == last);
    assert_eq!(held(folder, "w", &lines("key", 0..3900)), b"");
    let info = info(folder, "w");
    assert_eq!(
        (info["kind"].as_str(), info["window_items"].as_u64()),
        (Some("window"), Some(1000))
    );
    assert_eq!(info["health"], "ok");
    let text = String::from_utf8(succeed(folder, &["info", "w"], b"")).unwrap();
    assert!(text.contains("window      the last 1,000 keys"), "{text}");
}

#[test]
fn a_window_of_time_goes_by_the_clock() {
    let folder = folder();
    let folder = folder.path();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let function = DigestFunction::default();
    let window = || {
        let window = WindowBloomFilter::builder().window_time(24 * HOUR, 100).target_fpp(1e-9);
        let mut window = window.build().unwrap();
        window.insert_digest_at(function.digest(b"old".as_slice()), now - 30 * HOUR);
        window.insert_digest_at(function.digest(b"young".as_slice()), now - 2 * HOUR);
        window
    };
    mayhap_store::save(&folder.join("w"), &window(), "clock=unix-ms\n").unwrap();
    assert_eq!(held(folder, "w", b"old\nyoung\nnever\n"), b"young\n");
    succeed(folder, &["add", "w"], b"new\n");
    assert_eq!(held(folder, "w", b"old\nyoung\nnew\n"), b"young\nnew\n");
    let text = String::from_utf8(succeed(folder, &["info", "w"], b"")).unwrap();
    assert!(text.contains("the last 1 d; older than 1.1 d"), "{text}");

    // Another program's clock: queried as of its latest time, and not changed.
    mayhap_store::save(&folder.join("foreign"), &window(), "").unwrap();
    assert_eq!(held(folder, "foreign", b"old\nyoung\nnever\n"), b"young\n");
    assert!(fail(folder, &["add", "foreign"], b"new\n").contains("unknown unit"));

    succeed(folder, &["create", "made", "--layout", "window:7d", "-n", "1k"], b"");
    succeed(folder, &["add", "made"], b"a\n");
    assert_eq!(held(folder, "made", b"a\nb\n"), b"a\n");
    assert_eq!(info(folder, "made")["window_time"], 7 * 24 * HOUR);
}

#[test]
fn numbers_that_a_kind_has_no_use_for_are_refused_with_the_next_step() {
    let folder = folder();
    for (arguments, message) in [
        (&["--layout", "window:7d"][..], "add -n 10M for 10 million keys in the time"),
        (&["--layout", "window:10", "-n", "11"], "omit -n"),
        (&["--layout", "window:10", "--mem", "1M"], "--mem does not size a window"),
        (&["--layout", "window:"], "window:10M for the last"),
        (&["--layout", "window:3x"], "window:10M for the last"),
        (&["--layout", "window:0"], "remembers nothing"),
        (&["--layout", "widow"], "there are blocked, standard"),
        (&["--layout", "fuse"], "mayhap build --layout fuse"),
        (&["--layout", "compact"], "neither -n nor --mem"),
        (&["--layout", "compact", "-n", "10M", "--mem", "1M"], "--mem is 977 KiB, must be from"),
        (&["--layout", "counting"], "neither -n nor --mem"),
        (&["--layout", "scalable", "--mem", "1M"], "--mem does not size a scalable"),
        (&["--layout", "window:10G", "--max-memory", "1M"], "above the limit of 977 KiB"),
    ] {
        let talk = fail(folder.path(), &[&["create", "f"], arguments].concat(), b"");
        let talk = talk.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(talk.contains(message), "{arguments:?}: {talk}");
        assert!(!folder.path().join("f").exists());
    }
    let refused =
        ["create", "f", "--layout", "window:10G", "--max-memory", "1M", "--new-key-file", "k"];
    fail(folder.path(), &refused, b"");
    assert!(!folder.path().join("k").exists());
}

#[test]
fn a_keyed_kind_needs_its_key_and_tells_its_numbers_without() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "w", "--layout", "window:1k", "--new-key-file", "k"], b"");
    succeed(folder, &["add", "w", "--key-file", "k"], b"a\n");
    assert_eq!(succeed(folder, &["check", "w", "--key-file", "k"], b"a\nb\n"), b"a\n");
    assert!(fail(folder, &["check", "w"], b"a\n").contains("--key-file"));
    let info = info(folder, "w");
    assert_eq!((info["inserted_items"].as_u64(), info["estimated_fpp"].as_f64()), (Some(1), None));
}

#[test]
fn a_scalable_file_grows_and_stops_at_its_limit() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "s", "--layout", "scalable", "-n", "100", "-p", "1e-6"], b"");
    let added = succeed(folder, &["add", "--json", "s"], &lines("key", 0..3000));
    assert_eq!(json(&added)["new"], 3000);
    let added = succeed(folder, &["add", "--json", "s"], &lines("key", 2000..4000));
    assert_eq!((&json(&added)["new"], &json(&added)["expected_items"]), (&1000.into(), &().into()));
    let all = lines("key", 0..4000);
    assert!(held(folder, "s", &all) == all);
    assert_eq!(held(folder, "s", &lines("other", 0..4000)), b"");
    let before = info(folder, "s");
    let layers = before["layers"].as_array().unwrap();
    let counts: u64 = layers.iter().map(|layer| layer["inserted_items"].as_u64().unwrap()).sum();
    assert!(layers.len() > 1 && counts == 4000);

    let arguments = ["add", "s", "--max-memory", "100k"];
    let talk = fail(folder, &arguments, &lines("key", 4000..50_000));
    assert!(talk.contains("the filter is full (") && talk.contains("above 97.7 KiB)"), "{talk}");
    let after = info(folder, "s");
    assert!(after["inserted_items"].as_u64().unwrap() > 4000, "the keys that had room are saved");
    // The limit was for one run only.
    succeed(folder, &["add", "s"], &lines("key", 4000..50_000));
    assert!(info(folder, "s")["inserted_items"].as_u64().unwrap() >= 49_990);
}

#[test]
fn which_names_the_sets_of_each_line() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "100", "-p", "1e-9", "-o", "a"], b"one\ntwo\n");
    succeed(folder, &["create", "b", "--layout", "scalable", "-p", "1e-9"], b"");
    succeed(folder, &["add", "b"], b"two\nthree\n");
    succeed(folder, &["build", "--seed", "7", "-n", "100", "-p", "1e-9", "-o", "c"], b"two\n");
    let sets = ["which", "-f", "a", "-f", "b", "-f", "c"];
    let input = b"one\ntwo\nthree\nfour\n";
    assert_eq!(succeed(folder, &sets, input), b"a\tone\na,b,c\ttwo\nb\tthree\n");
    let all = succeed(folder, &[&sets[..], &["-a"]].concat(), input);
    assert_eq!(all, b"a\tone\na,b,c\ttwo\nb\tthree\n\tfour\n");
    let none = run(folder, &sets, b"four\n");
    assert_eq!((none.status.code(), none.stdout), (Some(1), Vec::new()));
    let quiet = run(folder, &[&sets[..], &["-q"]].concat(), input);
    assert_eq!((quiet.status.code(), quiet.stdout), (Some(0), Vec::new()));
    assert!(fail(folder, &["which"], input).contains("no filter is given"));
}

#[test]
fn which_answers_the_same_from_many_filters_their_matrix_and_a_matrix_file() {
    let folder = folder();
    let folder = folder.path();
    let names: Vec<String> = (0..70).map(|set| format!("{set}")).collect();
    let mut matrix = mayhap::BloomMatrix::builder()
        .num_sets(70)
        .expected_items(100)
        .target_fpp(0.01)
        .build()
        .unwrap();
    let mut sets = vec!["which"];
    for (set, name) in names.iter().enumerate() {
        let keys = lines("key", set as u64 * 40..set as u64 * 40 + 100);
        let arguments = ["build", "-n", "100", "-p", "1%", "--layout", "blocked", "-o", name];
        succeed(folder, &arguments, &keys);
        for key in keys.split(|&byte| byte == b'\n').filter(|key| !key.is_empty()) {
            matrix.insert(set, key);
        }
        sets.extend(["-f", name]);
    }
    let input = lines("key", 0..3000);
    let one_by_one = run(folder, &[&sets[..], &["--json", "--max-memory", "0"]].concat(), &input);
    let at_once = run(folder, &[&sets[..], &["--json"]].concat(), &input);
    assert_eq!(json_and_talk(&one_by_one.stderr).0["queried_as"], "filters");
    assert_eq!(json_and_talk(&at_once.stderr).0["queried_as"], "matrix");
    assert_eq!(
        json_and_talk(&one_by_one.stderr).0["sets"],
        json_and_talk(&at_once.stderr).0["sets"]
    );
    assert!(at_once.stdout == one_by_one.stdout && !at_once.stdout.is_empty());
    for line in at_once.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let (sets, key) = std::str::from_utf8(line).unwrap().split_once('\t').unwrap();
        let key: u64 = key.strip_prefix("key-").unwrap().parse().unwrap();
        let sets: Vec<u64> = sets.split(',').map(|set| set.parse().unwrap()).collect();
        let holds = |set: u64| (set * 40..set * 40 + 100).contains(&key);
        assert!((0..70).filter(|&set| holds(set)).all(|set| sets.contains(&set)), "{key}");
    }

    mayhap_store::save(&folder.join("m"), &matrix, "").unwrap();
    let output = succeed(folder, &["which", "m"], &lines("key", [0, 45]));
    let numbers: Vec<String> = output
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| String::from_utf8_lossy(line).split('\t').next().unwrap().to_string())
        .collect();
    assert!(numbers[0].split(',').any(|set| set == "0"), "{numbers:?}");
    assert!(["0", "1"].iter().all(|set| numbers[1].split(',').any(|named| named == *set)));
    assert_eq!(info(folder, "m")["num_sets"], 70);
    assert!(fail(folder, &["check", "m"], b"a\n").contains("mayhap which m"));
}

#[test]
fn what_was_added_to_a_counting_file_can_be_removed() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "c", "--layout", "counting", "-n", "1000", "-p", "1e-6"], b"");
    succeed(folder, &["add", "c"], &lines("key", 0..600));
    succeed(folder, &["add", "c"], &lines("key", 0..100));
    let gone = succeed(folder, &["remove", "--json", "c"], &lines("key", 0..300));
    assert_eq!((&json(&gone)["removed"], &json(&gone)["items"]), (&300.into(), &400.into()));
    let rest: Vec<u8> = [lines("key", 0..100), lines("key", 300..600)].concat();
    assert!(held(folder, "c", &lines("key", 0..600)) == rest);
    let absent = succeed(folder, &["remove", "--json", "c"], &lines("other", 0..10));
    assert_eq!(json(&absent)["not_there"], 10);
    let counting = info(folder, "c");
    assert_eq!(counting["saturated_counters"], 0);
    let bits = |name: &str| counting[name].as_u64().unwrap();
    assert!(bits("num_bits") >= bits("num_counters") * 4);
    assert_eq!(bits("num_bits"), bits("num_bytes") * 8);
    let full = run(folder, &["add", "c"], &lines("more", 0..1000));
    assert_eq!(full.status.code(), Some(2));
    assert!(
        stderr(&full).contains("the filter is full (1,000 of 1,000 keys)"),
        "{}",
        stderr(&full)
    );
    assert_eq!(info(folder, "c")["inserted_items"], 1000);

    succeed(folder, &["create", "plain", "-n", "10"], b"");
    let talk = fail(folder, &["remove", "plain"], b"a\n");
    assert!(talk.contains("create --layout compact"), "{talk}");
}

#[test]
fn a_fuse_file_is_built_of_all_keys_and_never_changes() {
    let folder = folder();
    let folder = folder.path();
    let keys = [lines("key", 0..5000), lines("key", 0..100)].concat();
    let built = succeed(folder, &["build", "--json", "--layout", "fuse", "-o", "f"], &keys);
    assert_eq!((&json(&built)["new"], &json(&built)["already_there"]), (&5000.into(), &100.into()));
    assert!(held(folder, "f", &keys) == keys);
    // Half a line of them is expected.
    let wrong = held(folder, "f", &lines("other", 0..5000));
    assert!(wrong.len() <= 4 * b"other-4999\n".len(), "{wrong:?}");
    // 1e-4 is 13.29 bits; 14 in 4 of 11 segments are a little more.
    let bits = info(folder, "f")["fingerprint_bits"].as_f64().unwrap();
    assert!((13.36..13.37).contains(&bits), "{bits}");
    let small = ["build", "--layout", "fuse", "-p", "1%", "-o", "small"];
    succeed(folder, &small, &keys);
    let (large, small) = (info(folder, "f"), info(folder, "small"));
    assert!(large["num_bits"].as_u64() > small["num_bits"].as_u64(), "{large} and {small}");
    assert!((0.9e-4..=1e-4).contains(&large["estimated_fpp"].as_f64().unwrap()), "{large}");
    assert!((0.9e-2..=1e-2).contains(&small["estimated_fpp"].as_f64().unwrap()), "{small}");
    assert!(fail(folder, &["add", "f"], b"a\n").contains("which never changes"));
    for (arguments, message) in [
        (["-n", "10"], "omit them"),
        (["-p", "1e-10"], "cannot keep the rate 1e-10"),
        (["--max-memory", "100k"], "above the limit of 97.7 KiB"),
    ] {
        let build = ["build", "--layout", "fuse", "-o", "none", "--new-key-file", "k"];
        let talk = fail(folder, &[&build[..], &arguments].concat(), &keys);
        assert!(talk.contains(message), "{arguments:?}: {talk}");
        assert!(!folder.join("none").exists());
    }
}

#[test]
fn a_frozen_set_is_a_ribbon_filter_of_the_fewest_bits() {
    let folder = folder();
    let folder = folder.path();
    let keys = [lines("key", 0..20_000), lines("key", 0..100)].concat();
    succeed(folder, &["build", "--layout", "fuse", "-p", "1%", "-o", "fuse"], &keys);
    let built = succeed(folder, &["build", "--json", "--frozen", "-p", "1%", "-o", "f"], &keys);
    let built = json(&built);
    assert_eq!((&built["new"], &built["already_there"]), (&20_000.into(), &100.into()));
    assert!(held(folder, "f", &keys) == keys);
    let (small, large) = (info(folder, "f"), info(folder, "fuse"));
    assert_eq!(small["kind"], "ribbon");
    let bits = |info: &serde_json::Value| info["num_bits"].as_f64().unwrap() / 20_000.0;
    assert!(bits(&small) < 6.9 && bits(&large) > 8.0, "{small} and {large}");
    let width = small["fingerprint_bits"].as_f64().unwrap();
    assert!((6.7199..6.7201).contains(&width), "{width}");
    assert!((0.009_999..=0.01).contains(&small["estimated_fpp"].as_f64().unwrap()), "{small}");
    succeed(folder, &["build", "-q", "--layout", "ribbon", "-p", "1%", "-o", "named"], &keys);
    let bytes = |name| std::fs::read(folder.join(name)).unwrap();
    assert!(bytes("f") == bytes("named"), "--frozen is --layout ribbon");
    let both = ["build", "--frozen", "--layout", "blocked", "-o", "both"];
    assert!(fail(folder, &both, &keys).contains("--layout"));
    assert!(fail(folder, &["add", "f"], b"a\n").contains("which never changes"));
    assert!(fail(folder, &["shrink", "f", "-p", "5%"], b"").contains("is a ribbon filter"));
    assert!(fail(folder, &["merge", "-o", "m", "f", "named"], b"").contains("is a ribbon filter"));
    let low = ["build", "--frozen", "-o", "none", "-p", "1e-10"];
    assert!(fail(folder, &low, &keys).contains("a ribbon filter cannot keep the rate 1e-10"));
    assert!(!folder.join("none").exists());
}

#[test]
fn build_makes_and_fills_every_kind() {
    let folder = folder();
    let folder = folder.path();
    let keys = lines("key", 0..2000);
    crate::support::file(folder, "keys", &keys);
    for (layout, kind) in [
        ("compact", "compact"),
        ("counting", "counting"),
        ("scalable", "scalable"),
        ("window:5k", "window"),
        ("fuse", "fuse"),
        ("ribbon", "ribbon"),
    ] {
        succeed(folder, &["build", "--layout", layout, "-o", layout, "keys"], b"");
        assert_eq!(info(folder, layout)["kind"], kind);
        assert!(held(folder, layout, &keys) == keys, "{layout}");
    }
    for layout in ["window:5k", "scalable", "compact", "counting"] {
        let arguments = ["dedup", "--layout", layout, "-n", "5k", "-p", "1e-6"];
        assert!(succeed(folder, &arguments, &[&keys[..], &keys].concat()) == keys, "{layout}");
    }
}

#[test]
fn a_set_that_never_changes_is_no_state_of_a_dedup() {
    let folder = folder();
    succeed(folder.path(), &["build", "-o", "s", "--layout", "fuse"], b"a\n");
    let talk = fail(folder.path(), &["dedup", "--state", "s"], b"a\n");
    assert!(talk.contains("s is a fuse or ribbon filter") && talk.contains("hint: "), "{talk}");
    assert!(!folder.path().join("s.log").exists(), "nothing is left beside it");
}

#[test]
fn a_damaged_or_cut_file_of_any_kind_is_refused() {
    let folder = folder();
    let folder = folder.path();
    let keys = lines("key", 0..500);
    crate::support::file(folder, "keys", &keys);
    for layout in ["compact", "counting", "scalable", "window:5k", "fuse"] {
        succeed(folder, &["build", "--layout", layout, "-o", "f", "--force", "keys"], b"");
        let whole = std::fs::read(folder.join("f")).unwrap();
        for at in [9, 30, 100, 4096 + 100, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            crate::support::file(folder, "bad", &bytes);
            crate::support::file(folder, "cut", &whole[..at]);
            for arguments in [["check", "bad"], ["info", "bad"], ["check", "cut"], ["info", "cut"]]
            {
                let talk = fail(folder, &arguments, b"a\n");
                assert!(talk.starts_with("mayhap: "), "{layout} {arguments:?} {at}: {talk}");
            }
        }
    }
}
