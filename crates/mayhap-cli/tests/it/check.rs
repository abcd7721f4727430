//! `build`, `create`, `add`, `check` and `info`.

use crate::support::{fail, file, folder, json, lines, mayhap, run, stderr, succeed};

#[test]
fn check_exits_like_grep() {
    // The paper cut: DCSO bloom and poppy exit 0 for hit and miss alike.
    let folder = folder();
    succeed(folder.path(), &["build", "-n", "100", "-p", "1e-9", "-o", "f"], b"a\nb\n");
    for (arguments, code, stdout) in [
        (vec!["check", "f"], 0, "b\na\n"),
        (vec!["check", "-v", "f"], 0, "x\n"),
        (vec!["check", "-c", "f"], 0, "2\n"),
        (vec!["check", "-vc", "f"], 0, "1\n"),
        (vec!["check", "-q", "f"], 0, ""),
        (vec!["check", "-f", "f"], 0, "b\na\n"),
        (vec!["check", "--tag", "f"], 0, "f\tb\nf\ta\n"),
    ] {
        let output = run(folder.path(), &arguments, b"b\nx\na\n");
        let found = (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap());
        assert_eq!(found, (Some(code), stdout.into()), "{arguments:?} {}", stderr(&output));
    }
    for (arguments, stdout) in [
        (vec!["check", "f"], ""),
        (vec!["check", "-c", "f"], "0\n"),
        (vec!["check", "-q", "f"], ""),
    ] {
        let output = run(folder.path(), &arguments, b"x\ny\n");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout);
    }
    assert_eq!(run(folder.path(), &["check", "-v", "f"], b"a\n").status.code(), Some(1));
    fail(folder.path(), &["check"], b"");
    fail(folder.path(), &["check", "absent"], b"a\n");
    fail(folder.path(), &["check", "f", "absent"], b"");
}

#[test]
fn several_filters_are_asked_at_once() {
    let folder = folder();
    let build = |name: &str, extra: &[&str], input: &[u8]| {
        let arguments = [&["build", "-n", "100", "-p", "1e-9", "-o", name], extra].concat();
        succeed(folder.path(), &arguments, input);
    };
    build("f", &[], b"a\nb\n");
    build("g", &["--seed", "5"], b"b\nc\n");
    let check = |arguments: &[&str]| {
        let arguments = [&["check", "-f", "f", "-f", "g"], arguments].concat();
        String::from_utf8(succeed(folder.path(), &arguments, b"a\nb\nc\nx\n")).unwrap()
    };
    assert_eq!(check(&[]), "a\nb\nc\n");
    assert_eq!(check(&["-v"]), "x\n");
    assert_eq!(check(&["--tag"]), "f\ta\nf\tb\ng\tb\ng\tc\n");
    assert_eq!(check(&["--tag", "-v"]), "g\ta\nf\tc\nf\tx\ng\tx\n");
    assert_eq!(check(&["-c"]), "3\n");
    assert_eq!(check(&["-c", "--tag"]), "f\t2\ng\t2\n");
    let summary = json(check(&["-c", "--json"]).as_bytes());
    assert_eq!((&summary["lines_read"], &summary["lines_selected"]), (&4.into(), &3.into()));
    assert_eq!(summary["filters"][1]["maybe_present"], 2);
    let summary = json(check(&["-vc", "--tag", "--json"]).as_bytes());
    assert_eq!(summary["lines_selected"], 3);
}

#[test]
fn key_options_stand_in_the_file_and_are_applied_again() {
    let folder = folder();
    let arguments = ["build", "-n", "10", "-p", "1e-9", "-o", "f", "-0", "--crlf"];
    succeed(folder.path(), &arguments, b"a\r\0b\0");
    assert_eq!(succeed(folder.path(), &["check", "f"], b"a\0b\r\0c\0"), b"a\0b\r\0");
    succeed(folder.path(), &["check", "-q", "f", "-0", "--crlf"], b"a\0");
    succeed(folder.path(), &["add", "f"], b"d\0");
    succeed(folder.path(), &["check", "-q", "f"], b"d\r\0");
    succeed(folder.path(), &["build", "-n", "10", "-o", "plain"], b"a\n");
    let talk = fail(folder.path(), &["check", "plain", "-0"], b"a\n");
    assert!(talk.contains("-0 is given, but plain was created without -0"), "{talk}");
    // The default may be named.
    succeed(folder.path(), &["add", "plain", "--crlf"], b"a\r\n");
    let talk = fail(folder.path(), &["check", "-f", "f", "-f", "plain"], b"");
    assert!(talk.contains("f and plain extract keys differently"), "{talk}");
}

#[test]
fn unknown_key_options_are_refused() {
    let folder = folder();
    let filter = mayhap::AnyFilter::builder().expected_items(10).target_fpp(0.01).build().unwrap();
    mayhap_store::save(&folder.path().join("f"), &filter, "lower=yes\n").unwrap();
    for arguments in [["check", "f"], ["add", "f"], ["info", "f"]] {
        let talk = fail(folder.path(), &arguments, b"a\n");
        assert!(talk.contains(r#"key option "lower=yes", which is unknown"#), "{talk}");
    }
}

#[test]
fn add_says_what_changed_and_stops_when_full() {
    let folder = folder();
    succeed(folder.path(), &["create", "f", "-n", "100", "-p", "1e-9"], b"");
    let output = run(folder.path(), &["add", "f"], &lines("key", (0..50).chain(0..10)));
    let talk = stderr(&output);
    assert!(talk.contains("50 new, 10 already there (60 lines"), "{talk}");
    let output = run(folder.path(), &["add", "--json", "f"], &lines("key", 40..60));
    let summary = json(&output.stdout);
    assert_eq!((&summary["new"], &summary["already_there"]), (&10.into(), &10.into()));
    let output = run(folder.path(), &["add", "--json", "f"], &lines("key", 50..500));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(json(&output.stdout)["items"], 100);
    let talk = stderr(&output);
    assert!(
        talk.contains(r#"{"level":"warning""#) && talk.contains("stopped after 50 lines"),
        "{talk}"
    );
    // Earlier keys are saved, nothing else is.
    let found = succeed(folder.path(), &["check", "f"], &lines("key", 0..500));
    assert_eq!(found, lines("key", 0..100));
    succeed(folder.path(), &["add", "--overfill", "f"], &lines("key", 100..200));
    let found = succeed(folder.path(), &["check", "f"], &lines("key", 0..200));
    assert_eq!(found, lines("key", 0..200));
}

#[test]
fn info_tells_the_truth_about_an_overfilled_filter() {
    // The paper cut: `show` of DCSO bloom prints p = 0.001 at 100 % false positives.
    let folder = folder();
    let arguments = ["build", "-n", "100", "-p", "0.1%", "--overfill", "-o", "f"];
    succeed(folder.path(), &arguments, &lines("key", 0..50_000));
    let info = json(&succeed(folder.path(), &["info", "--json", "f"], b""));
    assert!(info["estimated_fpp"].as_f64().unwrap() > 0.99, "{info}");
    assert_eq!((&info["target_fpp"], &info["expected_items"]), (&0.001.into(), &100.into()));
    assert_eq!((&info["health"], &info["headroom_items"]), (&"over capacity".into(), &0.into()));
    let text = String::from_utf8(succeed(folder.path(), &["info", "f"], b"")).unwrap();
    assert!(text.contains("over capacity"), "{text}");
}

#[test]
fn check_warns_of_an_overfilled_filter_that_it_maps_and_not_of_one_with_room() {
    let folder = folder();
    succeed(folder.path(), &["create", "-n", "5000", "-p", "1%", "f"], b"");
    succeed(folder.path(), &["add", "f"], &lines("key", 0..1_000));
    let output = run(folder.path(), &["check", "f"], b"key-1\n");
    assert_eq!((output.stdout.as_slice(), stderr(&output)), (&b"key-1\n"[..], String::new()));
    succeed(folder.path(), &["add", "--overfill", "f"], &lines("key", 1_000..20_000));
    let text = stderr(&run(folder.path(), &["check", "f"], b"key-1\n"));
    assert!(text.contains("f: it is overfilled (") && text.contains(" of 5,000 keys): "), "{text}");
}

#[test]
fn info_shows_asked_against_actual() {
    let folder = folder();
    let arguments = ["build", "-n", "10k", "-p", "1%", "--seed", "9", "-o", "f"];
    succeed(folder.path(), &arguments, &lines("key", 0..5000));
    let info = json(&succeed(folder.path(), &["info", "--json", "f"], b""));
    let number = |name: &str| info[name].as_f64().unwrap();
    assert!(number("estimated_items_low") < 5000.0 && 5000.0 < number("estimated_items_high"));
    assert!((number("estimated_items") - number("inserted_items")).abs() < 100.0, "{info}");
    assert!(number("estimated_fpp") > 0.0 && number("estimated_fpp") < 0.005, "{info}");
    assert_eq!((&info["digest_seed"], &info["checksums"]), (&9.into(), &"good".into()));
    assert_eq!(
        info["headroom_items"],
        10_000
            - info["estimated_items"].as_f64().unwrap().max(number("inserted_items")).round()
                as u64
    );
    let fast = json(&succeed(folder.path(), &["info", "--fast", "--json", "f"], b""));
    assert_eq!(fast["checksums"], "not checked");
}

#[test]
fn the_rate_asked_for_is_the_rate_got() {
    // The paper cut: poppy measured 2.2e-6 where 1e-6 was requested; a rate here that can be
    // counted.
    let folder = folder();
    for layout in ["blocked", "standard"] {
        let arguments =
            ["build", "-n", "100k", "-p", "0.1%", "--layout", layout, "-o", "f", "--force"];
        succeed(folder.path(), &arguments, &lines("key", 0..100_000));
        let count = succeed(folder.path(), &["check", "-c", "f"], &lines("absent", 0..500_000));
        let count: f64 = String::from_utf8(count).unwrap().trim().parse().unwrap();
        assert!(count < 500.0 + 4.0 * 500f64.sqrt(), "{layout}: {count} of 500 expected");
        assert!(count > 300.0, "{layout}: {count} is too good to be true");
    }
}

#[test]
fn build_counts_files_and_asks_for_n_on_a_pipe() {
    let folder = folder();
    file(folder.path(), "in", b"a\nb\nc");
    let output = run(folder.path(), &["build", "--json", "-o", "f", "in"], b"");
    assert_eq!(json(&output.stdout)["expected_items"], 3);
    let compact = ["build", "-o", "g", "--layout", "compact"];
    let talk = fail(folder.path(), &compact, b"a\n");
    assert!(talk.contains("-n must be given") && talk.contains("-n 10M"), "{talk}");
    let output = run(folder.path(), &["build", "--json", "-o", "h"], b"a\nb\n");
    assert_eq!(json(&output.stdout)["num_bytes"], 64, "{}", stderr(&output));
    let talk = fail(folder.path(), &["build", "-n", "2", "-o", "g", "in"], b"");
    assert!(talk.contains("the filter is full") && talk.contains("nothing was written"));
    assert!(!folder.path().join("g").exists());
    // A missing folder is noticed before the work, not after it.
    let talk = fail(folder.path(), &["build", "-o", "no/such/folder", "absent"], b"");
    assert!(talk.contains("cannot create no/such/folder"), "{talk}");
}

#[test]
fn build_makes_room_for_distinct_keys_also_from_a_redirected_file() {
    let folder = folder();
    let input = lines("key", (0..5000).map(|i| i % 700));
    let compressed = zstd::encode_all(&*input, 1).unwrap();
    for (name, contents) in [("plain", &input), ("zst", &compressed)] {
        let path = file(folder.path(), name, contents);
        let output = mayhap(folder.path())
            .args(["build", "--json", "--force", "-o", "f"])
            .stdin(std::fs::File::open(path).unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains("counted 5,000 lines with 700 distinct keys"));
        let summary = json(&output.stdout);
        assert_eq!(summary["expected_items"], 700, "{name}");
        // The first pass has not used the input up.
        assert_eq!(summary["lines_read"], 5000, "{name}");
        assert!(summary["new"].as_u64().unwrap() >= 698, "{name}: {summary}");
    }
}

#[test]
fn an_existing_filter_is_only_replaced_by_force() {
    let folder = folder();
    file(folder.path(), "f", b"precious");
    for arguments in [vec!["build", "-n", "5", "-o", "f"], vec!["create", "f", "-n", "5"]] {
        let talk = fail(folder.path(), &arguments, b"a\n");
        assert!(talk.contains("f exists already") && talk.contains("--force"), "{talk}");
        assert_eq!(std::fs::read(folder.path().join("f")).unwrap(), b"precious");
    }
    succeed(folder.path(), &["create", "f", "-n", "5", "--force"], b"");
    succeed(folder.path(), &["info", "f"], b"");
}

#[test]
fn secret_keys_are_made_privately_and_needed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let arguments = ["build", "-n", "100", "-p", "1e-9", "-o", "f", "--new-key-file", "k"];
    succeed(folder.path(), &arguments, b"a\n");
    let key = folder.path().join("k");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let talk = fail(folder.path(), &["check", "f"], b"a\n");
    assert!(talk.contains("needs the secret key") && talk.contains("--key-file"), "{talk}");
    assert_eq!(succeed(folder.path(), &["check", "f", "--key-file", "k"], b"a\nb\n"), b"a\n");
    let text = std::fs::read_to_string(&key).unwrap();
    let bytes = u128::from_str_radix(text.trim(), 16).unwrap().to_be_bytes();
    file(folder.path(), "raw", &bytes);
    assert_eq!(succeed(folder.path(), &["check", "f", "--key-file", "raw"], b"a\n"), b"a\n");
    file(folder.path(), "other", &[b'0'; 32]);
    let talk = fail(folder.path(), &["check", "f", "--key-file", "other"], b"a\n");
    assert!(talk.contains("wrong secret key"), "{talk}");
    file(folder.path(), "bad", b"zz");
    let talk = fail(folder.path(), &["check", "f", "--key-file", "bad"], b"a\n");
    assert!(talk.contains("not a secret key") && talk.contains("32 hex digits"), "{talk}");
    // Without the key the numbers are shown, and the key is never in the file.
    let info = String::from_utf8(succeed(folder.path(), &["info", "f"], b"")).unwrap();
    assert!(info.contains("sip13") && info.contains("unknown without --key-file"), "{info}");
    let arguments = ["create", "g", "-n", "5", "--new-key-file", "k"];
    fail(folder.path(), &arguments, b"");
    assert_eq!(std::fs::read_to_string(&key).unwrap(), text);
}
