//! Every crate that is built has a licence of `deny.toml` and is from the registry.

use crate::{all_packages, check, read};
use spdx::{Expression, ParseMode};
use tidy::workspace;

/// The strings of a list of `deny.toml`.
fn list(name: &str) -> Vec<String> {
    let text = read(&workspace().join("deny.toml"));
    let start = text.find(&format!("\n{name} = [")).unwrap_or_else(|| panic!("no {name}")) + 1;
    let list = &text[start..start + text[start..].find(']').unwrap()];
    let lines = list.lines().filter(|line| !line.trim_start().starts_with('#'));
    let quoted = |line: &str| line.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let found: Vec<String> = lines.flat_map(|line| -> Vec<String> { quoted(line) }).collect();
    assert!(!found.is_empty(), "{name} is empty");
    found
}

/// Whether an expression can be met with these licences alone.
fn is_allowed(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let expression = Expression::parse_mode(expression, ParseMode::LAX);
    let expression = expression.map_err(|error| error.to_string())?;
    Ok(expression.evaluate(|wanted| allowed.iter().any(|name| *name == wanted.to_string())))
}

#[test]
fn every_crate_has_a_licence_that_is_allowed_and_comes_from_the_registry() {
    let (allowed, banned) = (list("allow"), list("deny"));
    let mut findings = Vec::new();
    for package in all_packages() {
        let text = |field: &str| package[field].as_str().unwrap_or("").to_owned();
        let name = text("name");
        match is_allowed(&text("license"), &allowed) {
            Ok(true) => {}
            Ok(false) => findings.push(format!("{name}: {} is not allowed", text("license"))),
            Err(error) => findings.push(format!("{name}: {error}")),
        }
        let source = text("source");
        if !source.is_empty() && !source.starts_with("registry+") {
            findings.push(format!("{name}: comes from {source}"));
        }
        if banned.contains(&name) {
            findings.push(format!("{name}: is what this project exists for"));
        }
        for needed in package["dependencies"].as_array().into_iter().flatten() {
            if needed["req"] == "*" && needed["path"].is_null() && source.is_empty() {
                findings.push(format!("{name}: any version of {} will do", needed["name"]));
            }
        }
    }
    check("crates", &findings);
}

#[test]
fn licences_are_read_as_people_write_them() {
    let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    for (expression, expected) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only AND MIT", false),
        ("Apache-2.0", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", true),
    ] {
        assert_eq!(is_allowed(expression, &allowed), Ok(expected), "{expression}");
    }
    assert!(is_allowed("", &allowed).is_err());
}
