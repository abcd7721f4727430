//! The changelog has the version that the manifests have, and each subject once.

use crate::{check, read};
use tidy::workspace;

/// The kinds of changes of Keep a Changelog.
const KINDS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// The problems of a changelog, for this version.
fn faults(changelog: &str, version: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sections = changelog.split("\n## ").skip(1);
    if sections.next().is_none_or(|first| !first.starts_with("Unreleased\n")) {
        found.push("it does not begin with Unreleased".into());
    }
    let is_day = |c: char| c.is_ascii_digit() || c == '-';
    let dated = |section: &str| {
        let title = section.lines().next().unwrap_or_default();
        let day = title.strip_prefix(version).and_then(|rest| rest.strip_prefix(" - "));
        day.is_some_and(|day| day.len() == "2026-11-28".len() && day.chars().all(is_day))
    };
    if !sections.next().is_some_and(dated) {
        found.push(format!("the section after Unreleased is not `{version} - year-month-day`"));
    }
    // The unreleased section may have other headings.
    for section in changelog.split("\n## ").skip(2) {
        let title = section.lines().next().unwrap_or_default();
        let (mut kinds, mut subjects) = (Vec::new(), Vec::new());
        for line in section.lines() {
            if let Some(subject) = line.strip_prefix("#### ") {
                if subjects.contains(&subject) {
                    found.push(format!("{title}: {subject} stands twice in a section"));
                }
                subjects.push(subject);
            } else if let Some(kind) = line.strip_prefix("### ") {
                if !KINDS.contains(&kind) || kinds.contains(&kind) {
                    found.push(format!("{title}: {kind} is no kind of change, or stands twice"));
                }
                kinds.push(kind);
                subjects.clear();
            }
        }
    }
    found
}

#[test]
fn the_changelog_has_a_section_of_this_version() {
    let changelog = read(&workspace().join("CHANGELOG.md"));
    check("the changelog", &faults(&changelog, env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_changelog_with_gaps_is_found() {
    let good = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-11-28\n\n### Added\n\n#### A\n\n\
                ### Fixed\n\n#### A\n\n## 0.1.0 - 2026-11-22\n\n### Added\n";
    assert_eq!(faults(good, "0.2.0"), [""; 0]);
    assert_eq!(faults(good, "0.2.1").len(), 1);
    assert_eq!(faults(&good.replace(" - 2026-11-28", ""), "0.2.0").len(), 1);
    assert_eq!(faults(&good.replace("## Unreleased\n\n", ""), "0.2.0").len(), 2);
    assert_eq!(faults(&good.replace("Fixed", "Added"), "0.2.0").len(), 1);
    assert_eq!(faults(&good.replace("Fixed", "Ribbon filters"), "0.2.0").len(), 1);
    assert_eq!(faults(&good.replace("### Fixed\n\n", ""), "0.2.0").len(), 1);
}
