//! The table of `bench/results/compare.md#mission`: each command runs as it is written, and prints
//! the text beside it.

use crate::pages::{line_matches, shell};
use crate::places::Serve;
use crate::support::folder;
use std::os::unix::fs::symlink;
use std::path::Path;
use test_servers::{RedisOptions, RedisServer, ready};

/// The servers that commands name.
const REDIS: &str = "127.0.0.1:6379";
const SERVE: &str = "-p 6380";

/// A line of the table.
#[derive(Debug)]
struct Row {
    id: String,
    command: String,
    /// Texts that each match a line of the output, in this order.
    prints: Vec<String>,
}

/// The rows that have to be there.
fn ids() -> Vec<String> {
    let of = |letter: char, count: u32| (1..=count).map(move |i| format!("{letter}{i}"));
    of('F', 9).chain(of('S', 10)).chain(of('U', 8)).collect()
}

/// The code spans of a cell that has nothing else and is not empty.
fn code(cell: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = cell.split('`').collect();
    // Text and code take turns, and text is first and last.
    let is_code = parts.iter().step_by(2).all(|text| text.trim().is_empty());
    let spans = parts.iter().skip(1).step_by(2).map(|&code| code.to_owned()).collect();
    (is_code && parts.len() % 2 == 1 && parts.len() > 1).then_some(spans)
}

/// Reads a line of the table; `\|` is a bar within a cell.
fn parse(line: &str) -> Result<Row, String> {
    let line = line.replace("\\|", "\0");
    let cells: Vec<String> = line.split('|').map(|cell| cell.replace('\0', "|")).collect();
    let [_, id, aim, texts, command, prints, _] = &cells[..] else {
        return Err(format!("{} cells, not 5: {line}", cells.len() - 2));
    };
    let id = id.trim().to_owned();
    if [aim, texts].iter().any(|cell| cell.trim().is_empty()) {
        return Err(format!("{id}: no aim, or no text that it is from"));
    }
    let command = match code(command).as_deref() {
        Some([command]) => command.clone(),
        _ => return Err(format!("{id}: no command, or more than one")),
    };
    let prints = code(prints).ok_or_else(|| format!("{id}: nothing that it prints"))?;
    if prints.iter().any(|text| text.trim_matches(['.', ' ']).is_empty()) {
        return Err(format!("{id}: any output would do"));
    }
    Ok(Row { id, command, prints })
}

/// Whether the output matches the row; white space counts as one space.
fn judge(row: &Row, output: &str) -> Result<(), String> {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = output.lines().map(squeezed);
    for text in &row.prints {
        let expected = squeezed(text);
        if !lines.any(|line| line_matches(&expected, &line)) {
            let Row { id, command, .. } = row;
            return Err(format!("{id}: no line {expected:?}\n$ {command}\n{output}"));
        }
    }
    Ok(())
}

/// The rows of the section of the page.
fn rows(page: &str) -> Vec<Result<Row, String>> {
    let (_, section) = page.split_once("\n## Mission\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| |");
    section.lines().filter(is_row).map(parse).collect()
}

#[test]
fn every_row_of_the_mission_is_shown_by_its_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("bench/results/compare.md")).unwrap();
    let rows: Vec<Row> = rows(&page).into_iter().map(Result::unwrap).collect();
    assert!(rows.iter().map(|row| &row.id).eq(&ids()), "{rows:?}");
    let shared = folder();
    shell(shared.path(), &format!("sh {} .", root.join("demo/fetch.sh").display()));
    let servers = ready(&["redis-server", "redis-cli"]).then(|| {
        let redis = RedisServer::start(&RedisOptions { appendonly: true, ..Default::default() });
        (redis.unwrap(), Serve::start(shared.path()))
    });
    let mut wrong = Vec::new();
    for row in &rows {
        let mut command = row.command.clone();
        if let Some((redis, serve)) = &servers {
            command = command.replace(REDIS, &format!("127.0.0.1:{}", redis.port()));
            command = command.replace(SERVE, &format!("-p {}", serve.port()));
        } else if command.contains(REDIS) || command.contains(SERVE) {
            continue;
        }
        let folder = folder();
        for list in ["urls.txt", "passwords.txt", "domains.txt", "words.txt"] {
            symlink(shared.path().join(list), folder.path().join(list)).unwrap();
        }
        let golden = root.join("crates/mayhap-formats/tests/golden");
        symlink(golden.canonicalize().unwrap(), folder.path().join("golden")).unwrap();
        wrong.extend(judge(row, &shell(folder.path(), &command)).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_row_that_shows_nothing_is_found_out() {
    let row = parse("| U1 | an aim | 1, 2 | `a \\| b` | `1 ...` `two` |").unwrap();
    assert_eq!((&*row.id, &*row.command, row.prints.len()), ("U1", "a | b", 2));
    for wrong in [
        "| U1 | an aim | 1 | | `1` |",
        "| U1 | an aim | 1 | `a` | |",
        "| U1 | an aim | 1 | `a` `b` | `1` |",
        "| U1 | an aim | 1 | as above | `1` |",
        "| U1 | an aim | 1 | `a` | works |",
        "| U1 | an aim | 1 | `a` | `...` |",
        "| U1 | an aim | | `a` | `1` |",
        "| U1 | an aim | 1 | `a | b` | `1` |",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
    for (output, is_right) in
        [("1\t x\ntwo\n", true), ("1 x\n\ntwo", true), ("two\n1 x\n", false), ("1 x\n", false)]
    {
        assert_eq!(judge(&row, output).is_ok(), is_right, "{output}");
    }
    let page = "# Page\n\n## Mission\n\n| | aim |\n|---|---|\n| U1 | x |\n\n## Next\n| U2 | x |\n";
    assert_eq!(rows(page).len(), 1);
}
