//! `unsafe` is where ARCHITECTURE.md allows it, and nowhere else.

use crate::{check, files, read, shown};

/// Files of product code that may have unsafe blocks, as in ARCHITECTURE.md's table of walls.
const ALLOWED: [&str; 8] = [
    "crates/mayhap-cli/src/allocator.rs",
    "crates/mayhap-cli/src/closed_stdout.rs",
    "crates/mayhap/src/simd/",
    "crates/mayhap/src/bits/owned.rs",
    "crates/mayhap/src/bits/shared.rs",
    "crates/mayhap-store/src/map.rs",
    "crates/mayhap-store/src/guard.rs",
    "crates/mayhap-store/src/guard/",
];

#[test]
fn unsafe_stands_only_where_it_is_allowed() {
    let mut found = Vec::new();
    for path in files(".rs") {
        let name = shown(&path);
        let is_product = name.starts_with("crates/") && name.contains("/src/");
        if !is_product || ALLOWED.iter().any(|allowed| name.starts_with(allowed)) {
            continue;
        }
        for (i, line) in read(&path).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if code.contains("unsafe {")
                || code.contains("unsafe fn")
                || code.contains("unsafe impl")
                || code.contains("unsafe(")
            {
                found.push(format!("{name}:{}", i + 1));
            }
        }
    }
    check("unsafe code is in the listed files only", &found);
}

#[test]
fn the_list_is_the_one_in_the_architecture() {
    let page = read(&tidy::workspace().join("ARCHITECTURE.md"));
    for file in ALLOWED {
        let name = file.trim_start_matches("crates/mayhap/src/").trim_end_matches('/');
        let name = name.trim_start_matches("crates/mayhap-store/src/");
        let name = name.trim_start_matches("crates/mayhap-cli/src/");
        assert!(page.contains(&format!("`{name}")), "ARCHITECTURE.md does not allow {name}");
    }
}
