//! The source is as described in ARCHITECTURE.md and CONTRIBUTING.md.

mod architecture;
mod atomics;
mod changelog;
mod circles;
mod examples;
mod files;
mod flags;
mod licences;
mod manifests;
mod maps;
mod shape;
mod unsafe_code;
mod words;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tidy::workspace;

/// Files of the workspace with this ending, without generated ones.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&workspace(), ending, &mut found);
    found.sort();
    assert!(found.len() > 10, "{} files end in {ending}: the search finds too few", found.len());
    found
}

fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    const NOT_OURS: [&str; 5] = [".git", "target", "node_modules", "corpus", "golden"];
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (name, path) = (entry.file_name(), entry.path());
        if entry.file_type().unwrap().is_dir() {
            if !NOT_OURS.iter().any(|skipped| name == *skipped) {
                walk(&path, ending, found);
            }
        } else if name.to_str().is_some_and(|name| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// A path as messages show it: below the workspace.
fn shown(path: &Path) -> String {
    path.strip_prefix(workspace()).unwrap_or(path).display().to_string()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", shown(path)))
}

/// All crates that any target or feature of the workspace needs, as `cargo metadata` has them.
fn all_packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().clone();
    assert!(packages.len() > 100, "{} packages are too few", packages.len());
    packages
}

/// Fails with all findings, each on a line.
fn check(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}: {} findings\n{}", findings.len(), findings.join("\n"));
}
