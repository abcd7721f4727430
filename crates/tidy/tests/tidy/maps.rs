//! Files named in documents exist, and a folder's map names all of its files.

use crate::{check, files, read, shown};
use std::collections::BTreeSet;
use std::path::Path;
use tidy::workspace;

/// The fewest modules of a folder that need a map.
const FEWEST: usize = 3;

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
    // A comment is about its own crate, unless it names another.
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

/// A module is named by the folder that declares it, or else by ARCHITECTURE.md.
#[test]
fn a_map_names_every_file() {
    let page = read(&workspace().join("ARCHITECTURE.md"));
    let in_page: BTreeSet<&str> = page.split('`').skip(1).step_by(2).collect();
    let mut missing = Vec::new();
    for path in files(".rs") {
        let is_root = path.ends_with("mod.rs") || path.ends_with("lib.rs");
        if !is_root || !shown(&path).starts_with("crates/") || shown(&path).contains("/tests/") {
            continue;
        }
        let text = read(&path);
        // The map of a crate is a comment beside its modules: its documentation is for users.
        let is_map = |line: &&str| line.starts_with("//");
        let docs: String = text.lines().filter(is_map).collect();
        let names: BTreeSet<&str> = named(&docs).collect();
        let modules: Vec<&str> = product_modules(&text).collect();
        if names.is_empty() && modules.len() < FEWEST {
            continue;
        }
        let folder = path.parent().unwrap();
        for module in modules {
            let (file, below) = (format!("{module}.rs"), format!("{module}/"));
            let here = folder.strip_prefix(workspace()).unwrap_or(folder).display();
            let whole = [format!("{here}/{file}"), format!("{here}/{below}")];
            let is_here = names.contains(&*file)
                || docs.contains(&format!("`{below}`"))
                || folder.join(module).is_dir() && docs.contains(&below);
            let ends = |name: &&str| whole.iter().any(|whole| whole.ends_with(*name));
            if !is_here
                && !in_page
                    .iter()
                    .filter(|name| name.len() >= file.len().min(below.len()))
                    .any(ends)
            {
                missing.push(format!("{}: {module}", shown(&path)));
            }
        }
    }
    check("a map names every file", &missing);
}

/// The modules that a file declares, without those for tests.
fn product_modules(text: &str) -> impl Iterator<Item = &str> {
    let lines = std::iter::once("").chain(text.lines()).zip(text.lines());
    lines
        .filter(|(before, _)| !before.starts_with("#[cfg(test)]"))
        .filter_map(|(_, line)| declared(line))
}

/// The module that a line declares, unless it is for tests.
fn declared(line: &str) -> Option<&str> {
    let name = line.strip_suffix(';')?;
    let name = name.strip_prefix("pub ").or(name.strip_prefix("pub(crate) ")).unwrap_or(name);
    name.strip_prefix("mod ").filter(|name| *name != "tests")
}

#[test]
fn the_index_names_all_files_as_they_are() {
    let page = read(&workspace().join("ARCHITECTURE.md"));
    let is = tidy::all_files().unwrap();
    let missing = is.lines().filter(|line| !page.lines().any(|of_page| of_page == *line));
    let mut findings: Vec<String> = missing.map(str::to_owned).collect();
    if !page.ends_with(&is) {
        findings.push("the page does not end with it".into());
    }
    check("ARCHITECTURE.md ends with what `cargo run -p tidy -- --files` prints", &findings);
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
