//! Each ordering of an atomic operation is justified beside it.

use crate::{check, files, read, shown};
use tidy::workspace;

/// Lines before an operation in which its argument has to begin.
const NEAR: usize = 12;

#[test]
fn every_ordering_is_argued_within_a_few_lines() {
    let mut found = Vec::new();
    for path in files(".rs") {
        let is_product =
            shown(&path).contains("/src/") && path.starts_with(workspace().join("crates"));
        if !is_product || shown(&path).contains("/tests") {
            continue;
        }
        let text = read(&path);
        // Tests are at the end of a file.
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let orders = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
            if !orders.iter().any(|order| code.contains(&format!("Ordering::{order}"))) {
                continue;
            }
            let near = &lines[i.saturating_sub(NEAR)..=i];
            if !near.iter().any(|line| line.contains("ORDERING:")) {
                found.push(format!("{}:{}", shown(&path), i + 1));
            }
        }
    }
    check("an atomic operation has its `// ORDERING:`", &found);
}
