//! `verify`: checks a filter against its own claims.

use crate::support::{fail, file, folder, json, lines, run, stderr, succeed};
use mayhap::{BloomMatrix, Digest, DigestFunction};
use mayhap_store::LiveFilter;
use std::path::Path;
use std::process::Output;

fn verify(folder: &Path, arguments: &[&str]) -> Output {
    run(folder, &[&["verify", "--json"], arguments].concat(), b"")
}

#[test]
fn sound_filters_of_all_kinds_are_good_and_keep_their_rate() {
    let folder = folder();
    let folder = folder.path();
    let keys = lines("key", 0..2000);
    file(folder, "keys", &keys);
    let windows = ["window:2k", "window:7d"];
    let others = ["blocked", "standard", "compact", "counting", "scalable", "fuse", "ribbon"];
    for layout in others.into_iter().chain(windows) {
        let size: &[&str] = match layout {
            "fuse" | "ribbon" => &["-p", "1%"],
            "window:2k" => &["-p", "2%"],
            // All keys arrive at once: much of the room is for keys of other days.
            "window:7d" => &["-n", "60k", "-p", "2%"],
            _ => &["-n", "2000", "-p", "2%"],
        };
        let build = ["build", "--force", "-o", "f", "--layout", layout, "keys"];
        succeed(folder, &[&build[..], size].concat(), b"");
        let output = verify(folder, &["f", "keys"]);
        let report = json(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{layout}: {report} {}", stderr(&output));
        let number = |name: &str| report[name].as_f64().unwrap();
        assert_eq!((&report["verdict"], &report["checksums"]), (&"good".into(), &"good".into()));
        assert_eq!(report["rate_verdict"], "as predicted", "{layout}");
        assert!(number("false_positives") > 0.0, "{layout}: {report}");
        assert!((number("measured_fpp") / number("estimated_fpp") - 1.0).abs() < 0.2, "{report}");
        assert!(number("fpp_low") < number("measured_fpp"), "{report}");
        assert_eq!((&report["keys_read"], &report["keys_absent"]), (&2000.into(), &0.into()));
    }
    let text = String::from_utf8(succeed(folder, &["verify", "f"], b"")).unwrap();
    assert!(text.contains("verdict     good") && text.contains("random digests, seed 1"), "{text}");
    assert_eq!(succeed(folder, &["verify", "-q", "f"], b""), b"");
}

#[test]
fn an_empty_filter_and_one_that_is_full_of_keys_are_good() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "empty", "-n", "100"], b"");
    let report = json(&verify(folder, &["empty"]).stdout);
    assert_eq!((&report["verdict"], &report["false_positives"]), (&"good".into(), &0.into()));
    // At its capacity its rate may be a little above, by chance, and it is sound.
    for seed in 0..20 {
        let seed = seed.to_string();
        let arguments = ["build", "--force", "-n", "1000", "-p", "1%", "--seed", &seed, "-o", "f"];
        succeed(folder, &arguments, &lines("key", 0..1000));
        let output = verify(folder, &["f"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn an_overfilled_filter_is_above_what_was_asked() {
    let folder = folder();
    let folder = folder.path();
    for (layout, items, rate) in [("blocked", 3000, "1%"), ("counting", 3000, "1%")] {
        let arguments =
            ["build", "--force", "--overfill", "-n", "1000", "-p", rate, "--layout", layout];
        let arguments = [&arguments[..], &["-o", "f"]].concat();
        succeed(folder, &arguments, &lines("key", 0..items));
        let output = verify(folder, &["f"]);
        let report = json(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{report}");
        assert_eq!(report["rate_verdict"], "above the target");
    }
    // Too low a rate to be measured: it is computed from the bits.
    let arguments = ["build", "--overfill", "-n", "1000", "-p", "1e-9", "-o", "low"];
    succeed(folder, &arguments, &lines("key", 0..1500));
    let report = json(&verify(folder, &["low", "--samples", "1000"]).stdout);
    assert_eq!(report["rate_verdict"], "above the target", "{report}");
    let output = run(folder, &["verify", "low"], b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("overfilled: 1,500 keys of 1,000"), "{text}");
    assert!(text.contains("verdict     off"), "{text}");
}

#[test]
fn damage_is_off_and_what_is_no_filter_is_an_error() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "10k", "-o", "f"], &lines("key", 0..100));
    let whole = std::fs::read(folder.join("f")).unwrap();
    for at in [30, 4090, 4096 + 17, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        file(folder, "flipped", &bytes);
        let output = verify(folder, &["flipped"]);
        let report = json(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "byte {at}: {report}");
        assert_eq!((&report["checksums"], &report["verdict"]), (&"damaged".into(), &"off".into()));
        assert!(report["damage"].as_str().unwrap().contains("flipped: "), "{report}");
    }
    file(folder, "cut", &whole[..whole.len() - 1]);
    assert_eq!(verify(folder, &["cut"]).status.code(), Some(1));
    file(folder, "text", b"text\n");
    assert!(fail(folder, &["verify", "text"], b"").contains("looks like text"));
    fail(folder, &["verify", "absent"], b"");
    fail(folder, &["verify", "f", "absent"], b"");
    fail(folder, &["verify"], b"");
    assert!(fail(folder, &["verify", "f", "--samples", "0"], b"").contains("--samples is 0"));
    let keyed = ["build", "-n", "10", "-o", "keyed", "--new-key-file", "k"];
    succeed(folder, &keyed, b"a\n");
    assert!(fail(folder, &["verify", "keyed"], b"").contains("--key-file"));
    file(folder, "a", b"a\n");
    succeed(folder, &["verify", "keyed", "--key-file", "k", "a"], b"");
}

#[test]
fn a_damaged_log_of_a_state_is_off() {
    let folder = folder();
    let folder = folder.path();
    let filter = mayhap::AnyFilter::builder().expected_items(100).target_fpp(1e-6).build().unwrap();
    let path = folder.join("seen");
    let mut live = LiveFilter::create(&path, filter, "").unwrap();
    for key in ["a", "b", "c"] {
        live.record(&[DigestFunction::default().digest(key)]).unwrap();
    }
    drop(live);
    file(folder, "keys", b"a\nb\nc\n");
    succeed(folder, &["verify", "seen", "keys"], b"");
    let log = folder.join("seen.log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[64 + 48] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let output = verify(folder, &["seen"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(json(&output.stdout)["damage"].as_str().unwrap().contains("seen.log"));
}

#[test]
fn keys_that_are_absent_are_counted_and_the_first_are_shown() {
    let folder = folder();
    let folder = folder.path();
    let build = ["build", "-n", "100", "-p", "1e-9", "-o", "f", "--crlf"];
    succeed(folder, &build, b"a\nb\r\nc\n");
    let absent = b"a\r\nb\nx\xFF\xC3\xA4\n\x1B[31m\nc\n";
    let output = run(folder, &["verify", "--json", "f", "-"], absent);
    let report = json(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert_eq!((&report["keys_read"], &report["keys_absent"]), (&5.into(), &2.into()));
    let shown = serde_json::json!([r#"line 3: "x\xFFä""#, r#"line 4: "\u{1b}[31m""#]);
    assert_eq!(report["first_absent"], shown);
    let output = run(folder, &["verify", "f", "-"], &lines("other", 0..100_000));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("100,000 of 100,000 are absent"), "{text}");
    assert_eq!(text.matches("absent      line").count(), 5, "{text}");
    let long = [vec![b'y'; 1000], b"\n".to_vec()].concat();
    let text = String::from_utf8(run(folder, &["verify", "f", "-"], &long).stdout).unwrap();
    assert!(text.contains(r#"yyy"..."#) && text.lines().all(|line| line.len() < 200), "{text}");
}

#[test]
fn samples_and_seed_are_those_asked_for() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "1000", "-p", "1%", "-o", "f"], &lines("key", 0..900));
    let report = |arguments: &[&str]| json(&verify(folder, &[&["f"], arguments].concat()).stdout);
    let first = report(&["--samples", "1M", "--seed", "7"]);
    assert_eq!((&first["samples"], &first["seed"]), (&1_000_000.into(), &7.into()));
    assert_eq!(report(&["--samples", "1M", "--seed", "7"]), first);
    let second = report(&["--samples", "1M", "--seed", "8"]);
    assert_ne!(second["false_positives"], first["false_positives"]);
    // Enough for 5 %, which 1 % of 1,048,576 gives.
    let default = report(&[]);
    assert_eq!(default["samples"], 1_048_576);
}

#[test]
fn each_set_of_a_matrix_keeps_its_rate() {
    let folder = folder();
    let folder = folder.path();
    let matrix = |overfilled: bool| {
        let builder = BloomMatrix::builder().num_sets(600).expected_items(100).target_fpp(0.01);
        let mut matrix = builder.build().unwrap();
        let function = DigestFunction::default();
        for set in 0..600 {
            let keys = if overfilled && set == 599 { 0..300u64 } else { 0..90 };
            let digest = |key| function.digest(format!("{set}-{key}").as_bytes());
            let digests: Vec<Digest> = keys.map(digest).collect();
            matrix.insert_digests(set, &digests);
        }
        mayhap_store::save(&folder.join("m"), &matrix, "").unwrap();
    };
    matrix(false);
    file(folder, "keys", b"3-7\n599-0\n");
    let output = verify(folder, &["m", "keys"]);
    let report = json(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert_eq!((&report["sets_off"], &report["fpp_low"]), (&0.into(), &serde_json::Value::Null));
    file(folder, "keys", &lines("never", 0..1000));
    let report = json(&verify(folder, &["m", "keys"]).stdout);
    // Most are in one of 600 sets by mistake, at this rate, but not all.
    assert!((10..200).contains(&report["keys_absent"].as_u64().unwrap()), "{report}");
    matrix(true);
    let output = verify(folder, &["m"]);
    let report = json(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert_eq!(
        (&report["sets_off"], &report["rate_verdict"]),
        (&1.into(), &"above the target".into())
    );
}
