//! The shape of the source: modules, imports between files, lines.
//!
//! `source.rs` parses a crate into modules, `imports.rs` resolves which file uses which,
//! `circles.rs` finds the files that need each other, `lines.rs` counts product code, `index.rs`
//! lists all files. The checks themselves are in `tests/`; `cargo run -p tidy` prints the table of
//! sizes, with `--files` the index for ARCHITECTURE.md.

pub mod circles;
pub mod imports;
pub mod index;
pub mod lines;
pub mod source;

use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The top folder of the workspace.
///
/// # Panics
///
/// If this crate is moved elsewhere.
pub fn workspace() -> PathBuf {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crates.ancestors().nth(2).expect("crates/tidy is two folders deep").to_path_buf()
}

/// The index of all files with product code.
///
/// # Errors
///
/// Of the file system.
///
/// # Panics
///
/// If cargo fails.
pub fn all_files() -> io::Result<String> {
    let mut all = packages();
    all.sort_by(|a, b| a.src.cmp(&b.src));
    let top = workspace();
    let shown = |src: &Path| src.strip_prefix(&top).unwrap_or(src).display().to_string();
    all.iter().map(|package| index::index(&package.src, &shown(&package.src))).collect()
}

/// A crate of ours.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The folder of its manifest.
    pub folder: PathBuf,
    /// Its product code, if it has any: `folder/src`.
    pub src: PathBuf,
    /// Whether others get it: crates for tests and checks are not published.
    pub is_product: bool,
    /// Its dependencies: those of the product and those of tests.
    pub dependencies: [Vec<String>; 2],
}

/// The crates of the workspace, as `cargo metadata` lists them.
///
/// # Panics
///
/// If cargo fails.
pub fn packages() -> Vec<Package> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(workspace())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    packages.iter().map(package).collect()
}

fn package(package: &Value) -> Package {
    let text = |value: &Value| value.as_str().expect("metadata has texts").to_owned();
    let manifest = text(&package["manifest_path"]);
    let folder = Path::new(&manifest).parent().expect("a manifest is in a folder").to_path_buf();
    let mut dependencies = [Vec::new(), Vec::new()];
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let is_test = dependency["kind"].as_str() == Some("dev");
        dependencies[usize::from(is_test)].push(text(&dependency["name"]));
    }
    Package {
        name: text(&package["name"]),
        src: folder.join("src"),
        folder,
        is_product: !package["publish"].is_array(),
        dependencies,
    }
}
