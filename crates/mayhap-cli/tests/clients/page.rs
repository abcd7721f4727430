//! docs/server.md: its shell examples are run as they are.
//!
//! A block `sh` is followed by a block `text`, its output; `...` in it is any text. Python and
//! JavaScript are run by `make test-interop`.

use crate::server::Server;
use std::process::Command;
use test_servers::ready;

/// The blocks of a kind, in their order.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let start = format!("```{kind}\n");
    page.split(&start[..]).skip(1).map(|rest| rest.split("```").next().unwrap().into()).collect()
}

/// Whether a line is the expected one.
fn fits(expected: &str, line: &str) -> bool {
    let (first, others) = match expected.split_once("...") {
        None => return expected == line,
        Some((first, others)) => (first, others),
    };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let (middle, last) = others.rsplit_once("...").unwrap_or(("", others));
    for part in middle.split("...") {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn assert_fits(expected: &str, shown: &str) {
    let same = expected.lines().count() == shown.lines().count()
        && expected.lines().zip(shown.lines()).all(|(expected, line)| fits(expected, line));
    assert!(same, "expected\n{expected}\nbut it is\n{shown}");
}

#[test]
fn the_first_use_is_as_the_page_of_the_server_says() {
    if !ready(&["redis-cli", "curl"]) {
        return;
    }
    let page = include_str!("../../../../docs/server.md");
    let begin = blocks(page, "console").remove(0);
    let (command, said) = begin.split_once('\n').unwrap();
    assert_eq!(command, "$ mayhap serve --data filters --http 8080");
    let server = Server::start_on("filters", &[]);
    let here = |text: &str| {
        text.replace("6380", &server.port.to_string()).replace("8080", &server.http.to_string())
    };
    let says: Vec<String> = std::fs::read_to_string(server.path().join("said"))
        .unwrap()
        .lines()
        .map(|line| line.split_once(' ').unwrap().1.to_owned())
        .collect();
    assert_fits(&here(said), &says.join("\n"));

    let (scripts, shown) = (blocks(page, "sh"), blocks(page, "text"));
    assert_eq!((scripts.len(), shown.len()), (3, 3));
    for (script, expected) in scripts.iter().zip(shown) {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{}", here(script))])
            .current_dir(server.path())
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        assert_fits(&expected, &String::from_utf8(output.stdout).unwrap());
    }
}

#[test]
fn an_expected_line_can_fail_to_fit() {
    assert!(fits("a", "a") && fits("a...", "abc") && fits("...b...d", "abcd") && fits("...", ""));
    assert!(!fits("a", "ab") && !fits("a...", "b") && !fits("...c", "cd") && !fits("a...b", "a"));
}
