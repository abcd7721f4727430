//! Files and lines are short enough to be read.

use crate::{check, files, read, shown};
use tidy::workspace;

const MAX_FILE_LINES: usize = 500;
const MAX_COLUMNS: usize = 100;

#[test]
fn no_file_is_longer_than_500_lines() {
    let long = files(".rs").into_iter().filter_map(|path| {
        let lines = read(&path).lines().count();
        (lines > MAX_FILE_LINES).then(|| format!("{}: {lines} lines", shown(&path)))
    });
    check("a file has at most 500 lines", &long.collect::<Vec<_>>());
}

#[test]
fn no_line_is_longer_than_100_columns() {
    let mut long = Vec::new();
    for path in files(".rs").into_iter().chain(files(".md")) {
        // A table has a line a row, in comments too, and a link cannot be broken.
        let is_free = |line: &str| {
            let text = line.trim_start_matches("//! ").trim_start_matches("/// ");
            text.starts_with('|') || line.contains("](http")
        };
        let recorded = path.starts_with(workspace().join("bench/results"));
        for (i, line) in read(&path).lines().enumerate() {
            if line.chars().count() > MAX_COLUMNS && !recorded && !is_free(line.trim_start()) {
                long.push(format!("{}:{}: {} columns", shown(&path), i + 1, line.chars().count()));
            }
        }
    }
    check("a line has at most 100 columns", &long);
}

#[test]
fn clippy_refuses_functions_of_more_than_70_lines() {
    let settings = read(&workspace().join("clippy.toml"));
    assert!(settings.lines().any(|line| line == "too-many-lines-threshold = 70"), "{settings}");
}

#[test]
fn no_crate_compiles_the_source_of_another() {
    let mut found = Vec::new();
    for path in files(".rs") {
        let home = home(&path);
        for (i, line) in read(&path).lines().enumerate() {
            let Some(there) = line.trim().strip_prefix("#[path = \"") else { continue };
            let there = path.parent().unwrap().join(there.trim_end_matches("\"]"));
            let there = there.canonicalize().unwrap_or(there);
            if !there.starts_with(home.canonicalize().unwrap()) {
                found.push(format!("{}:{}", shown(&path), i + 1));
            }
        }
    }
    check("#[path] stays in its crate", &found);
}

/// The folder of the manifest that a file belongs to.
fn home(path: &std::path::Path) -> std::path::PathBuf {
    let is_home = |folder: &&std::path::Path| folder.join("Cargo.toml").exists();
    path.ancestors().skip(1).find(is_home).unwrap().to_path_buf()
}
