//! Manifests: what a published crate says of itself, and the oldest compiler that builds it.

use crate::{all_packages, check};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use tidy::workspace;

/// Features that documentation is built without: points at which tests end a server, and a page
/// that a build of the browser package makes.
const NOT_DOCUMENTED: [&str; 2] = ["explorer", "fail-points"];
/// The most keywords, and the most categories, that the registry takes.
const MOST: usize = 5;

/// The crates of this workspace that are published.
fn published() -> Vec<Value> {
    let is_ours = |package: &Value| package["source"].is_null() && package["publish"].is_null();
    let ours: Vec<Value> = all_packages().into_iter().filter(is_ours).collect();
    assert!(ours.len() > 10, "{} published crates are too few", ours.len());
    ours
}

fn text<'a>(package: &'a Value, field: &str) -> &'a str {
    package[field].as_str().unwrap_or("")
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The fields missing from a manifest.
fn faults(package: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for field in ["description", "license", "readme", "homepage", "repository", "rust_version"] {
        if text(package, field).is_empty() {
            found.push(format!("no {}", field.replace('_', "-")));
        }
    }
    let pages = format!("https://docs.rs/{}", text(package, "name"));
    if text(package, "documentation") != pages {
        found.push(format!("documentation is {}, not {pages}", package["documentation"]));
    }
    for field in ["keywords", "categories"] {
        let given = texts(&package[field]).len();
        if !(1..=MOST).contains(&given) {
            found.push(format!("{given} {field}; the registry takes 1 to {MOST}"));
        }
    }
    found
}

/// The features that a build of the documentation leaves out though it should not, or has though
/// it cannot.
fn misdocumented(package: &Value) -> Vec<String> {
    let features = package["features"].as_object().unwrap();
    let settings = &package["metadata"]["docs"]["rs"];
    let mut built: BTreeSet<&str> = texts(&settings["features"]).into_iter().collect();
    if settings["all-features"] == true {
        built.extend(features.keys().map(String::as_str));
    }
    built.extend(features.get("default").map(texts).into_iter().flatten());
    let has_default = |name: &str| name == "default" || built.contains(name);
    let wrong = features.keys().filter(|name| {
        has_default(name) && NOT_DOCUMENTED.contains(&name.as_str())
            || !has_default(name) && !NOT_DOCUMENTED.contains(&name.as_str())
    });
    wrong.map(|name| format!("feature {name}")).collect()
}

/// A version of the compiler such as `1.89`, as numbers.
fn version(text: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
    parts.resize(3, 0);
    parts
}

/// The dependencies that need a newer compiler than this.
fn too_new(oldest: &str, packages: &[Value]) -> Vec<String> {
    let newer = packages.iter().filter(|package| {
        let needed = text(package, "rust_version");
        !needed.is_empty() && version(needed) > version(oldest)
    });
    let line = |package: &Value| {
        let [name, found, needed] = ["name", "version", "rust_version"].map(|f| text(package, f));
        format!("{name} {found} needs Rust {needed}, and this workspace promises {oldest}")
    };
    newer.map(line).collect()
}

#[test]
fn a_published_crate_says_where_it_is_from_and_what_it_is_for() {
    let mut findings = Vec::new();
    for package in published() {
        let line = |fault| format!("{}: {fault}", text(&package, "name"));
        findings.extend(faults(&package).into_iter().map(line));
    }
    check("a manifest has what the registry shows", &findings);
}

#[test]
fn a_manifest_with_gaps_is_found() {
    let bare = serde_json::json!({"name": "a", "keywords": ["1", "2", "3", "4", "5", "6"]});
    let found = faults(&bare);
    assert!(found.contains(&"no rust-version".into()), "{found:?}");
    assert!(found.contains(&"documentation is null, not https://docs.rs/a".into()), "{found:?}");
    assert!(found.contains(&"6 keywords; the registry takes 1 to 5".into()), "{found:?}");
    assert_eq!(found.len(), 9, "{found:?}");
}

#[test]
fn a_published_crate_has_its_readme_and_both_licences() {
    let mut findings = Vec::new();
    for package in published() {
        let folder = Path::new(text(&package, "manifest_path")).parent().unwrap();
        let output = Command::new(env!("CARGO"))
            .args(["package", "--list", "--allow-dirty", "--offline"])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let list = String::from_utf8(output.stdout).unwrap();
        for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
            if !list.lines().any(|line| line == file) {
                findings.push(format!("{}: no {file}", text(&package, "name")));
            }
        }
    }
    check("a package has its texts", &findings);
}

#[test]
fn documentation_is_built_with_all_features() {
    let mut findings = Vec::new();
    for package in published() {
        let line = |fault| format!("{}: {fault}", text(&package, "name"));
        findings.extend(misdocumented(&package).into_iter().map(line));
    }
    check("docs.rs builds all features that it can", &findings);
}

#[test]
fn a_feature_without_documentation_is_found() {
    let package = |rs: Value| {
        let features = serde_json::json!({
            "default": ["a"], "a": [], "b": ["dep:c"], "explorer": [],
        });
        serde_json::json!({"features": features, "metadata": {"docs": {"rs": rs}}})
    };
    assert_eq!(misdocumented(&package(Value::Null)), ["feature b"]);
    assert_eq!(misdocumented(&package(serde_json::json!({"features": ["b"]}))).len(), 0);
    let all = package(serde_json::json!({"all-features": true}));
    assert_eq!(misdocumented(&all), ["feature explorer"]);
}

#[test]
fn no_dependency_needs_a_newer_compiler_than_is_promised() {
    let ours = published();
    let promised: BTreeSet<&str> = ours.iter().map(|crate_| text(crate_, "rust_version")).collect();
    assert_eq!(promised.len(), 1, "{promised:?}");
    let oldest = promised.first().unwrap();
    check("the oldest compiler", &too_new(oldest, &all_packages()));
    for page in ["README.md", "CONTRIBUTING.md", "docs/install.md"] {
        let page_text = crate::read(&workspace().join(page));
        assert!(page_text.contains(oldest), "{page} does not name {oldest}");
    }
    for workspace_of_its_own in ["bench", "bindings/python", "bindings/wasm"] {
        let manifest = crate::read(&workspace().join(workspace_of_its_own).join("Cargo.toml"));
        let line = format!("rust-version = \"{oldest}\"");
        assert!(manifest.lines().any(|l| l == line), "{workspace_of_its_own} has another: {line}");
    }
}

#[test]
fn a_dependency_that_is_too_new_is_found() {
    let one =
        |needed: &str| serde_json::json!({"name": "a", "version": "1.0.0", "rust_version": needed});
    assert_eq!(too_new("1.89", &[one("1.9"), one("1.89.0"), one("1.56.1")]), [""; 0]);
    let line = "a 1.0.0 needs Rust 1.89.1, and this workspace promises 1.89";
    assert_eq!(too_new("1.89", &[one("1.89.1")]), [line]);
}
