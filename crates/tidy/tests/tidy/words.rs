//! One word for one idea: the glossary of CONTRIBUTING.md.

use crate::{check, files, read, shown};
use std::path::Path;
use tidy::workspace;

/// Lines of product code that may have a word though the glossary replaces it: in a few it has
/// another meaning.
const MOST: usize = 10;

/// The words that the glossary replaces: each row may end with `(not: one, another)`.
fn replaced() -> Vec<String> {
    let page = read(&workspace().join("CONTRIBUTING.md"));
    let lists = page.lines().filter(|line| line.starts_with('|')).filter_map(|row| {
        let (_, list) = row.split_once("(not: ")?;
        Some(list.split(')').next()?.to_owned())
    });
    let words: Vec<String> =
        lists.flat_map(|list| list.split(", ").map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(words.len() > 3, "the glossary replaces {words:?}");
    words
}

/// Whether a file is product code, which the glossary is for.
fn is_counted(path: &Path) -> bool {
    let name = shown(path);
    name.starts_with("crates/") && name.contains("/src/") && !name.contains("/tests/")
}

/// Whether a line has a word, or some words after one another.
fn has(line: &str, word: &str) -> bool {
    let mut rest = line;
    while let Some(at) = rest.find(word) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        if !before.ends_with(is_part) && !after.starts_with(is_part) {
            return true;
        }
        rest = after;
    }
    false
}

#[test]
fn words_that_the_glossary_replaces_stay_rare() {
    let lines: Vec<(String, String)> = files(".rs")
        .into_iter()
        .filter(|path| is_counted(path))
        .flat_map(|path| {
            let text = read(&path).to_lowercase();
            let numbered = text.lines().enumerate();
            let place = |i: usize| format!("{}:{}", shown(&path), i + 1);
            numbered.map(|(i, line)| (place(i), line.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    let mut found = Vec::new();
    for word in replaced() {
        let places = lines.iter().filter(|(_, line)| has(line, &word)).map(|(place, _)| &**place);
        let places: Vec<&str> = places.collect();
        if places.len() > MOST {
            found.push(format!("{word}: {} lines: {}", places.len(), places.join(" ")));
        }
    }
    check("words that the glossary replaces stay rare", &found);
}

#[test]
fn a_word_is_found_whole_and_nowhere_else() {
    assert!(has("// as it was told:", "told") && has("so many of them", "so many"));
    assert!(!has("a toldot, untold and told_by", "told"));
}
