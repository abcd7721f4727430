//! The index of all files in ARCHITECTURE.md: each folder and each file with its subject.

use std::fs;
use std::io;
use std::path::Path;

/// The columns of the page.
const WIDTH: usize = 100;
/// A part before a colon of few words says too little alone.
const FEW_WORDS: usize = 4;
/// Files that every crate or folder has, or that are tests.
const LEFT_OUT: [&str; 4] = ["lib.rs", "main.rs", "mod.rs", "tests.rs"];

/// The index of the product code of a crate: each folder, and below it its files, by name. `shown`
/// is the path of `src` as the page has it.
///
/// # Errors
///
/// Of the file system.
pub fn index(src: &Path, shown: &str) -> io::Result<String> {
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in fs::read_dir(src)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            folders.push((name, path));
        } else if !LEFT_OUT.contains(&&*name) && path.extension().is_none_or(|kind| kind != "txt") {
            files.push((name, path));
        }
    }
    files.sort();
    folders.sort();
    let own = ["mod.rs", "lib.rs"].iter().find_map(|name| fs::read_to_string(src.join(name)).ok());
    let mut page = String::new();
    if own.is_some() || !files.is_empty() {
        page = wrapped("", &format!("`{shown}/` {}", subject(&own.unwrap_or_default())));
    }
    for (name, path) in files {
        let name = name.strip_suffix(".rs").unwrap_or(&name);
        page += &wrapped("  ", &format!("`{name}` {}", subject(&fs::read_to_string(path)?)));
    }
    for (name, path) in folders {
        page += &index(&path, &format!("{shown}/{name}"))?;
    }
    Ok(page)
}

/// The first sentence of the comment at the head of a file, without an explanation after a colon.
fn subject(text: &str) -> String {
    let head = |line| ["//!", "//", "/*"].iter().find_map(|mark| str::strip_prefix(line, mark));
    let lines = text.lines().map_while(head).map(|line| line.trim_end_matches("*/").trim());
    let words: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let text = words.join(" ");
    let sentence = text.split(". ").next().unwrap_or_default();
    let short = sentence.split(": ").next().filter(|part| part.split(' ').count() > FEW_WORDS);
    short.unwrap_or(sentence).trim_end_matches(['.', ':']).to_owned()
}

/// A text as an item of a list, in lines of the page's width.
fn wrapped(indent: &str, text: &str) -> String {
    let mut page = String::new();
    let mut line = format!("{indent}*");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            page += &line;
            page.push('\n');
            line = format!("{indent} ");
        }
        line.push(' ');
        line += word;
    }
    page += &line;
    page.push('\n');
    page
}
