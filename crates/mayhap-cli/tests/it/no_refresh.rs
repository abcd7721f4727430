//! `--no-refresh`: a recurring line is new once in each window.

use crate::support::{fail, folder, held, lines, succeed};

/// 2,000 different lines, and after each fifth one the same.
fn input() -> Vec<u8> {
    let mut input = Vec::new();
    for i in 0..2_000 {
        input.extend(format!("other-{i}\n").into_bytes());
        if i % 5 == 4 {
            input.extend(b"alarm\n");
        }
    }
    input
}

fn alarms(output: &[u8]) -> usize {
    let lines = output.split(|&byte| byte == b'\n');
    lines.filter(|line| *line == b"alarm").count()
}

#[test]
fn a_line_that_comes_all_the_time_is_new_once_in_each_window() {
    let folder = folder();
    let folder = folder.path();
    let window = ["dedup", "--window", "140", "-p", "1e-9"];
    let renewed = succeed(folder, &window, &input());
    assert_eq!(alarms(&renewed), 1);
    let first = succeed(folder, &[&window[..], &["--no-refresh"]].concat(), &input());
    // Forgotten after 140 to 150 further lines, its own repeats among them, and new with the next
    // one.
    assert!((16..=17).contains(&alarms(&first)), "{}", alarms(&first));
    assert_eq!(first.len() - renewed.len(), (alarms(&first) - 1) * b"alarm\n".len());
}

/// The state and its log, in two runs and a third that adds.
#[test]
fn a_state_has_what_was_inserted_and_no_repeats() {
    let folder = folder();
    let folder = folder.path();
    let state = ["dedup", "--window", "140", "-p", "1e-9", "--no-refresh", "--state", "seen"];
    let (input, mut alarms_in_all) = (input(), 0);
    for part in input.split_inclusive(|&byte| byte == b'\n').collect::<Vec<_>>().chunks(800) {
        alarms_in_all += alarms(&succeed(folder, &state, &part.concat()));
    }
    let whole = [&state[..6], &[]].concat();
    assert_eq!(alarms_in_all, alarms(&succeed(folder, &whole, &input)));
    // Thirty again, with and without; then a hundred others.
    std::fs::copy(folder.join("seen"), folder.join("renewed")).unwrap();
    for (name, more) in [("seen", &["--no-refresh"][..]), ("renewed", &[])] {
        let add = [&["add", "-q", name], more].concat();
        succeed(folder, &add, &lines("other", 1_900..1_930));
        succeed(folder, &add, &lines("more", 0..100));
        let old = held(folder, name, &lines("other", 1_900..1_930));
        let expected = if more.is_empty() { lines("other", 1_900..1_930) } else { Vec::new() };
        assert_eq!(old, expected, "{name}");
    }
}

#[test]
fn it_is_for_windows() {
    let folder = folder();
    let folder = folder.path();
    for more in [&["-n", "100"][..], &["--state", "new", "-n", "100"], &["--state", "new"]] {
        let talk = fail(folder, &[&["dedup", "--no-refresh"], more].concat(), b"a\n");
        assert!(talk.contains("--no-refresh is for windows"), "{more:?}: {talk}");
    }
    assert!(!folder.join("new").exists());
    succeed(folder, &["create", "-q", "plain", "-n", "100"], b"");
    let talk = fail(folder, &["add", "--no-refresh", "plain"], b"a\n");
    assert!(talk.contains("not for blocked"), "{talk}");
    let both = ["dedup", "-n", "9", "--no-refresh", "--clear-at", "1/2"];
    assert!(fail(folder, &both, b"").contains("cannot be used with"));
}

/// A few recurring lines: the window moves with every line.
#[test]
fn few_lines_that_come_all_the_time_are_new_once_in_each_window() {
    let folder = folder();
    let folder = folder.path();
    let window = ["dedup", "-q", "--window", "1000", "-p", "1e-9"];
    let input = lines("key", (0..30_000).map(|i| i % 10));
    let count = |output: Vec<u8>| output.split(|&byte| byte == b'\n').count() - 1;
    // 1,000 to 1,080 lines later.
    let first = [&window[..], &["--no-refresh"]].concat();
    let kept = count(succeed(folder, &first, &input));
    assert!((270..=300).contains(&kept), "{kept} of 30,000 lines");
    // The next run continues the state, even if it has no new line.
    let state = [&first[..], &["--state", "seen"]].concat();
    let parts = input.split_inclusive(|&byte| byte == b'\n').collect::<Vec<_>>();
    let parts: Vec<usize> =
        parts.chunks(300).map(|part| count(succeed(folder, &state, &part.concat()))).collect();
    assert_eq!((parts.iter().sum::<usize>(), parts[1]), (kept, 0), "{parts:?}");
    // The same for `add`: 1,100 repeats, and the first key is forgotten.
    succeed(folder, &["create", "-q", "w", "--layout", "window:1000", "-p", "1e-9"], b"");
    let add = ["add", "-q", "--no-refresh", "w"];
    succeed(folder, &add, &lines("key", 0..10));
    for _ in 0..11 {
        succeed(folder, &add, &lines("key", (0..100).map(|i| 1 + i % 9)));
    }
    assert_eq!(held(folder, "w", &lines("key", 0..1)), b"");
    // With refresh, too, earlier lines are older.
    let once = [&b"once\n"[..], &lines("key", (0..5_000).map(|i| i % 10)), b"once\n"].concat();
    assert_eq!(count(succeed(folder, &window, &once)), 12);
}
