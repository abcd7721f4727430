//! One word for one idea: the glossary of CONTRIBUTING.md.

use crate::{files, read, shown};
use std::path::Path;

/// Words that others replace, and how often product code may still have them.
const REPLACED: [(&[&str], usize); 1] = [(&["told", "asked"], 20)];

/// What the glossary is for: product code.
fn is_counted(path: &Path) -> bool {
    let name = shown(path);
    name.starts_with("crates/") && name.contains("/src/") && !name.contains("/tests/")
}

#[test]
fn words_that_the_glossary_replaces_stay_rare() {
    for (words, limit) in REPLACED {
        let mut found = Vec::new();
        for path in files(".rs").into_iter().filter(|path| is_counted(path)) {
            for (i, line) in read(&path).lines().enumerate() {
                let mut in_line = line.split(|c: char| !c.is_alphanumeric() && c != '_');
                if in_line.any(|word| words.iter().any(|other| word.eq_ignore_ascii_case(other))) {
                    found.push(format!("{}:{}", shown(&path), i + 1));
                }
            }
        }
        assert!(
            found.len() <= limit,
            "{words:?} stand in {} lines, at most {limit} may:\n{}",
            found.len(),
            found.join("\n")
        );
    }
}
