//! The index of all files in ARCHITECTURE.md: a folder with its subject and the names in it.

use std::fs;
use std::io;
use std::path::Path;

/// The columns of the page.
const WIDTH: usize = 100;
/// Files that every crate or folder has, or that are tests.
const LEFT_OUT: [&str; 4] = ["lib", "main", "mod", "tests"];

/// The index of the product code of a crate: a line for each folder, the folders in order, wrapped
/// for the page. `shown` is the path of `src` as the page has it.
///
/// # Errors
///
/// Of the file system.
pub fn index(src: &Path, shown: &str) -> io::Result<String> {
    let mut names = Vec::new();
    let mut folders = Vec::new();
    for entry in fs::read_dir(src)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            folders.push((name, path));
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && !LEFT_OUT.contains(&&*name)
        {
            names.push(name);
        }
    }
    names.sort();
    folders.sort();
    let mut page = String::new();
    if !names.is_empty() {
        let subject = subject(src);
        let between = if subject.is_empty() { "" } else { ": " };
        page = wrapped(&format!("* `{shown}/` {subject}{between}{}", names.join(", ")));
    }
    for (name, path) in folders {
        page += &index(&path, &format!("{shown}/{name}"))?;
    }
    Ok(page)
}

/// The first sentence of the comment at the head of a folder (in its module or its crate).
fn subject(folder: &Path) -> String {
    let head =
        ["mod.rs", "lib.rs"].iter().find_map(|name| fs::read_to_string(folder.join(name)).ok());
    let head = head.unwrap_or_default();
    let lines = head.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let words: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let text = words.join(" ");
    let sentence = text.split(". ").next().unwrap_or_default();
    sentence.trim_end_matches(['.', ':']).to_owned()
}

/// A text as an item of a list, in lines of the page's width.
fn wrapped(text: &str) -> String {
    let mut page = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            page += &line;
            page.push('\n');
            line = " ".into();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    page += &line;
    page.push('\n');
    page
}
