//! What documents name exists, and a folder's map names all of its files.

use crate::{check, files, read, shown};
use std::collections::BTreeSet;
use std::path::Path;
use tidy::workspace;

/// Names of Rust files in backticks.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let in_ticks = text.split('`').skip(1).step_by(2);
    in_ticks.filter(|name| {
        name.strip_suffix(".rs").is_some()
            && name.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c))
    })
}

#[test]
fn every_rust_file_that_a_comment_or_a_page_names_exists() {
    let all: BTreeSet<String> = files(".rs").iter().map(|path| shown(path)).collect();
    // A comment speaks of its own crate, unless it names the crate.
    let exists = |name: &str, home: &str| {
        let name = name.trim_start_matches("./");
        let is_it = |path: &String| path == name || path.ends_with(&format!("/{name}"));
        all.iter().any(|path| is_it(path) && (path.starts_with(home) || name.starts_with("mayhap")))
    };
    let mut missing = Vec::new();
    for path in files(".rs").into_iter().chain(files(".md")) {
        let text = read(&path);
        let is_rust = path.extension().is_some_and(|ending| ending == "rs");
        let name_of_file = shown(&path);
        let mut home: Vec<&str> = name_of_file.splitn(3, '/').take(2).collect();
        home.push("");
        let home = if is_rust { home.join("/") } else { String::new() };
        for (i, line) in text.lines().enumerate() {
            if is_rust && !line.trim_start().starts_with("//") {
                continue;
            }
            for name in named(line).filter(|name| !exists(name, &home)) {
                missing.push(format!("{}:{}: `{name}`", shown(&path), i + 1));
            }
        }
    }
    check("a file that is named exists", &missing);
}

#[test]
fn a_map_of_a_folder_names_all_of_its_files() {
    let mut missing = Vec::new();
    for path in files(".rs") {
        let is_root = path.ends_with("mod.rs") || path.ends_with("lib.rs");
        if !is_root || shown(&path).contains("/tests/") {
            continue;
        }
        let text = read(&path);
        let docs: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let names: BTreeSet<&str> = named(&docs).collect();
        if names.is_empty() {
            continue;
        }
        for module in text.lines().filter_map(declared) {
            let (file, folder) = (format!("{module}.rs"), format!("`{module}/`"));
            let is_folder = path.parent().unwrap().join(module).is_dir();
            let is_named = names.contains(file.as_str()) || docs.contains(&folder);
            if !(is_named || is_folder && docs.contains(&format!("{module}/"))) {
                missing.push(format!("{}: {module}", shown(&path)));
            }
        }
    }
    check("a map names every module of its folder", &missing);
}

/// The module that a line declares, unless it is for tests.
fn declared(line: &str) -> Option<&str> {
    let name = line.strip_suffix(';')?;
    let name = name.strip_prefix("pub ").or(name.strip_prefix("pub(crate) ")).unwrap_or(name);
    name.strip_prefix("mod ").filter(|name| *name != "tests")
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    let mut missing = Vec::new();
    for path in files(".md") {
        for (i, line) in read(&path).lines().enumerate() {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let there = link.split('#').next().unwrap_or_default();
                let is_outside = there.is_empty() || there.contains("://");
                if !is_outside && !exists_from(&path, there) {
                    missing.push(format!("{}:{}: {link}", shown(&path), i + 1));
                }
            }
        }
    }
    check("a link leads to a file", &missing);
}

fn exists_from(page: &Path, link: &str) -> bool {
    page.parent().unwrap_or(&workspace()).join(link).exists()
}
