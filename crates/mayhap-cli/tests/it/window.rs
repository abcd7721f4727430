//! `dedup --window`: lines that are remembered for a time, and then forgotten.

use crate::support::{
    fail, file, folder, json, json_and_talk, lines, numbers, run, start, stderr, succeed,
};
use mayhap_store::LiveFilter;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};

#[test]
fn a_line_comes_again_only_after_at_least_the_last_w_lines() {
    let folder = folder();
    let window = 2_800u64;
    let keys: Vec<u64> = numbers(3).take(60_000).map(|number| number % 4_000).collect();
    let input = lines("key", keys.iter().copied());
    for arguments in [
        vec!["dedup", "--window", "2800", "-p", "1e-9"],
        vec!["dedup", "--layout", "window:2800", "-p", "1e-9"],
        vec!["dedup", "--window", "2.8k", "-p", "1e-9", "--state", "seen"],
    ] {
        let kept = succeed(folder.path(), &arguments, &input);
        let mut kept = kept.split_inclusive(|&byte| byte == b'\n').peekable();
        // The line at which each key was last inserted, and the check that no kept key was inserted
        // lately.
        let (mut last, mut again) = (HashMap::new(), 0);
        for (at, key) in (0u64..).zip(&keys) {
            let line = lines("key", [*key]);
            let is_kept = kept.next_if(|next| **next == line[..]).is_some();
            match last.insert(*key, at) {
                None => assert!(is_kept, "{arguments:?}: line {at} was never there"),
                Some(before) if at - before <= window => {
                    assert!(!is_kept, "{arguments:?}: line {at} was there at {before}");
                }
                Some(_) => again += u32::from(is_kept),
            }
        }
        assert!(kept.next().is_none(), "in order, and no others");
        assert!(again > 1000, "{again} lines were forgotten");
    }
}

#[test]
fn repeated_prints_the_lines_that_are_still_remembered() {
    let folder = folder();
    let input = lines("key", (0..1000).chain(0..1000).chain([999, 998]));
    let repeats = succeed(folder.path(), &["dedup", "-d", "--window", "140", "-p", "1e-9"], &input);
    assert_eq!(repeats, lines("key", [999, 998]));
}

#[test]
fn a_window_of_time_needs_n_and_remembers_across_runs() {
    let folder = folder();
    let talk = fail(folder.path(), &["dedup", "--window", "7d"], b"a\n");
    assert!(talk.contains("-n is not given") && talk.contains("-n 10M"), "{talk}");
    for (value, message) in [("3x", "neither a number of keys nor a time"), ("0", "nothing")] {
        let talk = fail(folder.path(), &["dedup", "--window", value], b"a\n");
        assert!(talk.contains(message), "{talk}");
    }
    for extra in [["--layout", "blocked"], ["--mem", "1M"]] {
        fail(folder.path(), &[&["dedup", "--window", "10"], &extra[..]].concat(), b"a\n");
    }
    let arguments = ["dedup", "--window", "7d", "-n", "1000", "-p", "1e-9", "--state", "seen"];
    assert_eq!(succeed(folder.path(), &arguments, b"a\nb\na\n"), b"a\nb\n");
    assert_eq!(succeed(folder.path(), &["dedup", "--state", "seen"], b"b\nc\n"), b"c\n");
    let info = json(&succeed(folder.path(), &["info", "--json", "seen"], b""));
    assert_eq!(info["window_time"], 7 * 86_400_000);
    let talk = fail(folder.path(), &["dedup", "--state", "seen", "--window", "8d"], b"a\n");
    assert!(talk.contains("window:8d is given, but seen was created with"), "{talk}");
    let talk = fail(folder.path(), &["dedup", "--state", "seen", "--window", "10"], b"a\n");
    assert!(talk.contains("window:10 is given, but seen was created with"), "{talk}");
}

/// A saved window with times of this machine's clock.
fn state_of_time(path: &std::path::Path, millis_ago: i64) {
    let builder = mayhap::WindowBloomFilter::builder().window_time(3_600_000, 1000);
    let mut window = builder.target_fpp(1e-9).build().unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    window.insert_at("then", (now - millis_ago) as u64);
    mayhap_store::save(path, &window, "clock=unix-ms\n").unwrap();
}

#[test]
fn an_hour_is_forgotten_after_an_hour_and_a_clock_set_back_forgets_nothing() {
    let folder = folder();
    for (minutes_ago, kept) in [(30, "new\n"), (70, "then\nnew\n"), (-90, "new\n")] {
        state_of_time(&folder.path().join("seen"), minutes_ago * 60_000);
        let found = succeed(folder.path(), &["dedup", "--state", "seen"], b"then\nnew\nnew\n");
        assert_eq!(String::from_utf8(found).unwrap(), kept, "{minutes_ago} minutes ago");
    }
}

/// The log of a run that was killed has the times of its lines.
#[test]
fn lines_of_a_log_are_as_old_as_they_were() {
    let folder = folder();
    for (minutes_ago, kept) in [(30, "new\n"), (70, "then\nnew\n")] {
        let path = folder.path().join(format!("seen-{minutes_ago}"));
        let builder = mayhap::WindowBloomFilter::builder().window_time(3_600_000, 1000);
        let window = builder.target_fpp(1e-9).build().unwrap();
        let mut live = LiveFilter::create(&path, window, "clock=unix-ms\n").unwrap();
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
        let digest = live.filter().digest_function().digest("then");
        live.filter_mut().advance(now - minutes_ago * 60_000);
        live.filter_mut().insert_digest(digest);
        live.record(&[digest]).unwrap();
        // Without a checkpoint, as by a kill: the line is only in the log.
        drop(live);
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = succeed(folder.path(), &["dedup", "--state", name], b"then\nnew\nnew\n");
        assert_eq!(String::from_utf8(found).unwrap(), kept, "{minutes_ago} minutes ago");
    }
}

#[test]
fn a_repeat_makes_a_line_young_again_even_if_the_run_is_killed() {
    let folder = folder();
    let arguments = ["dedup", "--window", "1400", "-p", "1e-9", "--state", "seen"];
    let mut child = start(folder.path(), &arguments);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(&lines("key", (0..1000).chain(0..100))).unwrap();
    // A line after a pause proves that all before it are recorded.
    for end in ["key-999\n", "end\n", "of it\n"] {
        let mut line = String::new();
        while line != end {
            line.clear();
            stdout.read_line(&mut line).unwrap();
        }
        stdin.write_all(if end == "key-999\n" { b"end\n" } else { b"of it\n" }).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let input = lines("key", (5000..6000).chain(0..100).chain(900..1000));
    // The first hundred were seen 1,000 lines ago, and others of the thousand longer ago.
    let kept = succeed(folder.path(), &["dedup", "--state", "seen"], &input);
    assert!(kept == lines("key", 5000..6000));
}

#[test]
fn the_loss_of_a_window_is_as_predicted() {
    let folder = folder();
    // Distinct lines only, so each line dropped is one lost.
    for arguments in [
        &["dedup", "--json", "-p", "1%", "--window", "20k"][..],
        &["dedup", "--json", "-p", "1%", "--window", "20k", "--state", "seen"],
        // All arrive at once, in the time for which they were announced.
        &["dedup", "--json", "-p", "1%", "--window", "7d", "-n", "1M"],
    ] {
        let output = run(folder.path(), arguments, &lines("key", 0..400_000));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let summary = json_and_talk(&output.stderr).0;
        let number = |name: &str| summary[name].as_f64().unwrap();
        let (lost, expected) = (number("lines_dropped"), number("expected_lost_lines"));
        let sigma = number("expected_lost_lines_sigma");
        assert!(expected > 100.0, "{arguments:?}: {expected}");
        assert!((lost - expected).abs() < 4.0 * sigma + 0.02 * expected, "{lost} for {expected}");
        assert_eq!(summary["layout"], "window");
    }
}

#[test]
fn a_window_is_held_to_the_memory_limit() {
    let folder = folder();
    file(folder.path(), "in", b"a\n");
    let arguments = ["dedup", "--window", "10G", "--max-memory", "1M", "in"];
    let talk = fail(folder.path(), &arguments, b"");
    assert!(talk.contains("above the limit of 977 KiB"), "{talk}");
}

#[test]
fn check_reports_how_long_ago_a_key_came() {
    let folder = folder();
    let folder = folder.path();
    let create = ["create", "-q", "--layout", "window:1400", "-p", "1e-9", "last.mayhap"];
    succeed(folder, &create, b"");
    succeed(folder, &["add", "-q", "last.mayhap"], &lines("key", 0..1000));
    let ages = succeed(folder, &["check", "--age", "last.mayhap"], &lines("key", 0..1010));
    let ages = String::from_utf8(ages).unwrap();
    assert_eq!(ages.lines().count(), 1000, "absent keys have no age");
    for (i, line) in ages.lines().enumerate() {
        let (age, key) = line.split_once('\t').unwrap();
        let (least, most) = age.split_once("..").unwrap();
        let (least, most): (usize, usize) = (least.parse().unwrap(), most.parse().unwrap());
        assert_eq!(key, format!("key-{i}"));
        assert!((least..=most).contains(&(999 - i)), "{line}: {} later keys", 999 - i);
        assert!(most - least <= 100, "{line}: generations have 100 keys");
    }
    // A query makes no key young again, and an insertion does.
    let one = |key: &str| {
        String::from_utf8(succeed(folder, &["check", "--age", "last.mayhap"], key.as_bytes()))
    };
    assert_eq!(one("key-0\n").unwrap(), ages.lines().next().unwrap().to_owned() + "\n");
    succeed(folder, &["add", "-q", "last.mayhap"], b"key-0\n");
    assert!(one("key-0\n").unwrap().starts_with("0.."), "{:?}", one("key-0\n"));
    // Ages by the clock, in its units.
    let path = folder.join("hour.mayhap");
    state_of_time(&path, 30 * 60_000);
    let hour = succeed(folder, &["check", "--age", "hour.mayhap"], b"then\n");
    let hour = String::from_utf8(hour).unwrap();
    assert!(hour.ends_with(" min\tthen\n"), "{hour}");
    // Exit codes, the summary, and filters without ages.
    assert_eq!(run(folder, &["check", "--age", "last.mayhap"], b"x\n").status.code(), Some(1));
    let output = run(folder, &["check", "--age", "--json", "-q", "last.mayhap"], b"key-1\nx\n");
    let summary = json(&output.stderr);
    assert_eq!((&summary["lines_selected"], &summary["lines_read"]), (&1.into(), &2.into()));
    assert!(output.stdout.is_empty());
    succeed(folder, &["create", "-q", "-n", "100", "plain.mayhap"], b"");
    let talk = fail(folder, &["check", "--age", "plain.mayhap"], b"a\n");
    assert!(talk.contains("does not record when its keys arrived"), "{talk}");
    let both = ["check", "--age", "-f", "last.mayhap", "-f", "hour.mayhap"];
    assert!(fail(folder, &both, b"a\n").contains("--age is for one window"));
}

/// A clock that was ahead for one line, by a day or a century: the message, and the keys forgotten.
#[test]
fn a_time_ahead_of_the_clock_is_said_and_does_not_stop_the_window() {
    let folder = folder();
    let folder = folder.path();
    let hours = |hours: i64| hours * 3_600_000;
    for ahead in [hours(24), hours(24 * 36_500)] {
        let path = folder.join("seen");
        state_of_time(&path, -ahead);
        let info = String::from_utf8(succeed(folder, &["info", "seen"], b"")).unwrap();
        assert!(info.contains("behind; once keys have come for 7.5 min"), "{info}");
        let shown = json(&succeed(folder, &["info", "--json", "seen"], b""));
        let behind = shown["clock_behind"].as_u64().unwrap().abs_diff(ahead as u64);
        assert!(behind < 600_000, "{shown}");
        // The first run reports it, and does not know better yet.
        let output = run(folder, &["dedup", "--state", "seen"], b"then\nalarm\n");
        assert_eq!((&output.stdout[..], output.status.code()), (&b"alarm\n"[..], Some(0)));
        let talk = stderr(&output);
        assert!(talk.contains("behind the latest time of the window"), "{talk}");
        let output = run(folder, &["dedup", "--state", "seen"], b"then\nalarm\n");
        assert_eq!(&output.stdout[..], b"");
        assert!(!stderr(&output).contains("behind the latest"), "{}", stderr(&output));
        // The clock was ahead for one line, some minutes ago.
        for (minutes, kept) in [(10, ""), (120, "before\nahead\nalarm\n")] {
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
            let then = now - minutes * 60_000;
            let builder = mayhap::WindowBloomFilter::builder().window_time(3_600_000, 1000);
            let mut window = builder.target_fpp(1e-9).build().unwrap();
            for (key, time) in [("before", then), ("ahead", then + ahead), ("alarm", then)] {
                window.insert_at(key, time as u64);
            }
            std::fs::remove_file(&path).unwrap();
            mayhap_store::save(&path, &window, "clock=unix-ms\n").unwrap();
            let lines = b"before\nahead\nalarm\n";
            let found = succeed(folder, &["dedup", "--state", "seen"], lines);
            assert_eq!(String::from_utf8(found).unwrap(), kept, "{minutes} minutes ago");
        }
        std::fs::remove_file(&path).unwrap();
    }
}

/// What the manual page of dedup says of small windows.
#[test]
fn a_small_window_forgets_after_whole_lines() {
    let folder = folder();
    for (window, most) in [("6", 7), ("14", 15), ("15", 18), ("28", 30)] {
        for (between, printed) in [(most - 1, 1), (most, 2)] {
            let others = lines("other", 0..between);
            let input = [&b"x\n"[..], &others, b"x\n"].concat();
            let output = succeed(folder.path(), &["dedup", "-q", "--window", window], &input);
            let found = output.split(|&byte| byte == b'\n').filter(|line| line == b"x").count();
            assert_eq!(found, printed, "--window {window}, {between} lines later");
        }
    }
    let manual = succeed(folder.path(), &["man", "dedup"], b"");
    let manual = String::from_utf8(manual).unwrap().replace('\n', " ");
    assert!(manual.contains("older than 7 lines"), "{manual}");
}
