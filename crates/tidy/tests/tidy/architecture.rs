//! Edges between crates and dependencies match ARCHITECTURE.md's tables.

use crate::{check, read};
use std::collections::{BTreeMap, BTreeSet};
use tidy::{Package, packages, workspace};

/// For each crate of the workspace its dependencies, of the product and of tests.
fn dependencies() -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
    let of = |package: Package| {
        let [product, tests] = package.dependencies.map(BTreeSet::from_iter);
        (package.name, (product, tests))
    };
    packages().into_iter().map(of).collect()
}

/// The rows of the table below this heading, as cells.
fn table(heading: &str) -> Vec<Vec<String>> {
    let page = read(&workspace().join("ARCHITECTURE.md"));
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect();
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    assert!(rows.len() > 3, "{heading} has no table");
    rows
}

fn in_ticks(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn crates_use_each_other_as_the_table_of_walls_says() {
    let all = dependencies();
    let ours: BTreeSet<&String> = all.keys().collect();
    let mut found = Vec::new();
    for row in table("Walls") {
        for name in in_ticks(&row[0]) {
            let Some((product, tests)) = all.get(&name) else { continue };
            let used = |set: &BTreeSet<String>| -> BTreeSet<String> {
                set.iter()
                    .filter(|other| ours.contains(other) && **other != name)
                    .cloned()
                    .collect()
            };
            let (allowed, in_tests) = (in_ticks(&row[1]), in_ticks(&row[2]));
            if used(product) != allowed {
                found.push(format!("{name} uses {:?}, the table says {allowed:?}", used(product)));
            }
            let more: BTreeSet<String> = used(tests).difference(&allowed).cloned().collect();
            if more != in_tests {
                found.push(format!("tests of {name} use {more:?}, the table says {in_tests:?}"));
            }
        }
    }
    let named: BTreeSet<String> = table("Walls").iter().flat_map(|row| in_ticks(&row[0])).collect();
    found.extend(
        ours.iter().filter(|name| !named.contains(**name)).map(|name| format!("no row: {name}")),
    );
    check("the table of walls is true", &found);
}

#[test]
fn every_dependency_has_its_row_and_every_row_a_dependency() {
    let all = dependencies();
    let mut rows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in table("Dependencies") {
        for name in in_ticks(&row[0]) {
            rows.entry(name).or_default().extend(in_ticks(&row[1]));
        }
    }
    let mut found = Vec::new();
    let mut real: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, (product, tests)) in &all {
        for other in product.union(tests).filter(|other| !all.contains_key(*other)) {
            let user = if product.contains(other) { name.clone() } else { "tests".into() };
            real.entry(other.clone()).or_default().insert(user);
        }
    }
    for (name, users) in &real {
        let users: BTreeSet<String> = if users.len() > 1 {
            users.iter().filter(|u| *u != "tests").cloned().collect()
        } else {
            users.clone()
        };
        match rows.get(name) {
            None => found.push(format!("{name}, in {users:?}, has no row")),
            Some(listed) if *listed != users => {
                found.push(format!("{name} is in {users:?}, the table says {listed:?}"));
            }
            Some(_) => {}
        }
    }
    found.extend(
        rows.keys()
            .filter(|name| !real.contains_key(*name))
            .map(|name| format!("{name} is used nowhere")),
    );
    check("the table of dependencies is true", &found);
}
