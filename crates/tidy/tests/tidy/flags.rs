//! Libraries do not know the options of the command: their errors carry data, and each host words
//! its own hints.

use crate::{check, files, read, shown};

/// The command itself, and programs for tests, which start others.
const WITH_OPTIONS: [&str; 4] = ["mayhap-cli", "test-data", "test-servers", "tidy"];
/// The errors of the server's settings, which are read from options, too; and a reply that clients
/// know.
const OF_SERVER: [&str; 4] = [
    "crates/mayhap-server/src/command/server.rs",
    "crates/mayhap-server/src/config/key_file.rs",
    "crates/mayhap-server/src/config/load.rs",
    "crates/mayhap-server/src/config/value_error.rs",
];

/// The options in a line, such as `--key-file`; not in a comment, nor in a word like `xn--a`.
fn options(line: &str) -> Vec<&str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return Vec::new();
    }
    let starts = line.match_indices("--").filter(|(at, _)| {
        let before = line[..*at].chars().next_back();
        let is_word = before.is_some_and(|c| c.is_alphanumeric() || c == '-');
        !is_word && line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
    });
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let option = |(at, _)| {
        let rest: &str = &line[at..];
        &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())]
    };
    starts.map(option).collect()
}

#[test]
fn no_library_names_an_option_of_the_command() {
    let mut found = Vec::new();
    for path in files(".rs") {
        let name = shown(&path);
        let Some((package, rest)) = name.strip_prefix("crates/").and_then(|it| it.split_once('/'))
        else {
            continue;
        };
        let has_options = WITH_OPTIONS.contains(&package) || OF_SERVER.contains(&&*name);
        if has_options || !rest.starts_with("src/") || rest.contains("/tests") {
            continue;
        }
        let text = read(&path);
        // Tests stand at the end of a file.
        let product = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").enumerate();
        for (i, line) in product {
            found.extend(options(line).iter().map(|option| format!("{name}:{}: {option}", i + 1)));
        }
    }
    check("a library names no option of the command", &found);
}

#[test]
fn an_option_is_found_in_text_and_nowhere_else() {
    assert_eq!(options("    \"give it --key-file, or (--no-lock)\","), ["--key-file", "--no-lock"]);
    assert!(options("x--; xn--bcher; a --- b; // as --x").len() == 1);
    assert!(options("/// With `--force`").is_empty() && options("x -- y").is_empty());
}
