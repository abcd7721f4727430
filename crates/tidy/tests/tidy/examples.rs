//! Every example of the documentation can fail.

use crate::{check, files, read, shown};

/// Examples of functions whose effect no program can see: the file and a name in the example.
const WITHOUT_ASSERTION: [(&str, &str); 1] =
    [("crates/mayhap/src/bits/owned.rs", "advise_huge_pages")];

#[test]
fn every_example_asserts_something_and_is_run() {
    let mut findings = Vec::new();
    let mut seen = 0;
    for path in files(".rs") {
        let name = shown(&path);
        if !name.starts_with("crates/mayhap") || !name.contains("/src/") {
            continue;
        }
        for (line, tag, example) in examples(&read(&path)) {
            seen += 1;
            let is_allowed = WITHOUT_ASSERTION
                .iter()
                .any(|(file, what)| *file == name && example.contains(what));
            if tag.contains("no_run") || tag.contains("ignore") {
                findings.push(format!("{name}:{line}: is not run"));
            } else if !example.contains("assert") && !is_allowed {
                findings.push(format!("{name}:{line}: asserts nothing"));
            }
        }
    }
    assert!(seen > 200, "{seen} examples: the search finds too few");
    check("an example is run and can fail", &findings);
}

/// The Rust examples in the comments of a file: the line where each begins, its tag, its text.
fn examples(text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(line) = line.strip_prefix("///").or(line.strip_prefix("//!")) else {
            open = None;
            continue;
        };
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(tag), None) => open = Some((i + 1, tag.to_owned(), String::new())),
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some((_, _, example))) => *example += line,
            (None, None) => {}
        }
    }
    let is_rust = |tag: &str| {
        tag.is_empty()
            || ["rust", "no_run", "ignore", "should_panic"].iter().any(|t| tag.contains(t))
    };
    found.retain(|(_, tag, _)| is_rust(tag));
    found
}
