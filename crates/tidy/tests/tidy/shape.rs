//! A type is in one place: few files implement it, and its fields are its own.
//!
//! Each check has a list of the types that are not so yet, with their numbers of today: none may
//! grow, none may join them, and who mends one takes it off the list.

use crate::{check, files, read, shown};
use std::collections::{BTreeMap, BTreeSet};
use tidy::{imports::impls, packages, source::Crate};

/// The most files with an `impl` of a type that has no trait.
const MOST_FILES: usize = 3;
/// Types in more: their crate, their name, and in how many.
const SPREAD: [(&str, &str, usize); 0] = [];

/// The most fields of a type that opens some to its neighbours.
const MOST_FIELDS: usize = 8;
/// Types with more: their crate, their name, and how many of their fields are open.
const OPEN: [(&str, &str, usize); 2] =
    [("mayhap", "SpanWindow", 2), ("mayhap-engine", "Watched", 11)];

/// Compares what was found, above the limit, with the list of today.
fn compare(rule: &str, list: &[(&str, &str, usize)], found: &[(String, String, usize)]) {
    let is_listed = |it: &&(String, String, usize)| {
        !list.iter().any(|listed| (listed.0, listed.1, listed.2) == (&*it.0, &*it.1, it.2))
    };
    let new = found.iter().filter(is_listed).map(|it| format!("{}: {} has {}", it.0, it.1, it.2));
    let is_mended = |listed: &&(&str, &str, usize)| {
        !found.iter().any(|it| (&*it.0, &*it.1) == (listed.0, listed.1))
    };
    let mended = list.iter().filter(is_mended);
    let mended = mended.map(|listed| format!("{}: {} is mended: off the list", listed.0, listed.1));
    check(rule, &new.chain(mended).collect::<Vec<_>>());
}

#[test]
fn a_type_is_implemented_in_at_most_three_files() {
    let mut found = Vec::new();
    for package in packages() {
        let parsed = Crate::parse(&package.src).unwrap();
        for ((_, name), files) in impls(&parsed) {
            if files.len() > MOST_FILES {
                found.push((package.name.clone(), name, files.len()));
            }
        }
    }
    compare("the `impl`s of a type are in at most three files", &SPREAD, &found);
}

#[test]
fn a_type_with_many_fields_opens_none_to_its_neighbours() {
    let mut found = Vec::new();
    for package in packages() {
        let parsed = Crate::parse(&package.src).unwrap();
        let structs = parsed.modules.iter().flat_map(|module| &module.structs);
        for it in structs.filter(|it| it.fields > MOST_FIELDS && it.open > 0) {
            found.push((package.name.clone(), it.name.clone(), it.open));
        }
    }
    compare("a type with more than eight fields keeps them private", &OPEN, &found);
}

/// Files in which types may have one name.
const MOST_OF_ONE_NAME: usize = 7;
/// Names with one meaning wherever they are.
const SAME_EVERYWHERE: [&str; 4] = ["Args", "CrateReadme", "Error", "Summary"];

#[test]
fn a_name_of_types_has_few_meanings() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files(".rs") {
        let file = shown(&path);
        let is_test = file.contains("/tests") || file.contains("/model/");
        if !file.starts_with("crates/mayhap") || !file.contains("/src/") || is_test {
            continue;
        }
        for line in read(&path).lines() {
            let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
            if !words.next().is_some_and(|word| ["struct", "enum"].contains(&word)) {
                continue;
            }
            let name = words.next().unwrap_or_default();
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            places.entry(name.to_owned()).or_default().insert(file.clone());
        }
    }
    assert!(places.len() > 500, "{} types: the search finds too few", places.len());
    let many = places.into_iter().filter(|(name, files)| {
        files.len() > MOST_OF_ONE_NAME && !SAME_EVERYWHERE.contains(&&**name)
    });
    let findings: Vec<String> = many.map(|(name, files)| format!("{name}: {files:?}")).collect();
    check("a name stands for one thing, or for few", &findings);
}
