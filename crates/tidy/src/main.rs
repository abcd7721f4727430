//! Prints the size and the circles of each crate.

use std::io;
use tidy::{circles::circles, imports::imports, source::Crate, workspace};

const CRATES: [&str; 16] = [
    "mayhap",
    "mayhap-store",
    "mayhap-formats",
    "mayhap-redis",
    "mayhap-server",
    "mayhap-dashboard",
    "mayhap-units",
    "mayhap-keys",
    "mayhap-lists",
    "mayhap-measure",
    "mayhap-plan",
    "mayhap-plot",
    "mayhap-sets",
    "mayhap-foreign",
    "mayhap-remote",
    "mayhap-cli",
];

fn main() -> io::Result<()> {
    let names = std::env::args().any(|argument| argument == "--circles");
    println!("| crate | lines of product code | files | median | largest | circles |");
    println!("|---|--:|--:|--:|--:|---|");
    for name in CRATES {
        let parsed = Crate::parse(&workspace().join("crates").join(name).join("src"))?;
        let mut lines = parsed.lines.clone();
        let total: usize = lines.iter().sum();
        lines.sort_unstable();
        let found = circles(&imports(&parsed));
        let sizes: Vec<String> = found.iter().map(|circle| circle.len().to_string()).collect();
        println!(
            "| {name} | {total} | {} | {} | {} | {} |",
            lines.len(),
            lines[lines.len() / 2],
            lines.last().unwrap_or(&0),
            if sizes.is_empty() { "none".into() } else { sizes.join(", ") },
        );
        if names {
            for circle in found {
                let files = circle.iter().map(|&file| parsed.files[file].display().to_string());
                println!("    {}", files.collect::<Vec<_>>().join(" "));
            }
        }
    }
    Ok(())
}
