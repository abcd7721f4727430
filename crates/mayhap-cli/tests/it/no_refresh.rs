//! `--no-refresh`: a line that comes all the time is new once in each window.

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
    // Forgotten when 140 to 150 others came after it, and new with the next one.
    assert!((12..=15).contains(&alarms(&first)), "{}", alarms(&first));
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
