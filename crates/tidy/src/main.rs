//! Prints the size and the circles of each crate; with `--files` the index of all files.

use std::io;
use tidy::{all_files, circles::circles, imports::imports, packages, source::Crate};

fn main() -> io::Result<()> {
    let is_given = |option: &str| std::env::args().any(|argument| argument == option);
    if is_given("--files") {
        print!("{}", all_files()?);
        return Ok(());
    }
    let names = is_given("--circles");
    println!("| crate | lines of product code | files | median | largest | circles |");
    println!("|---|--:|--:|--:|--:|---|");
    let mut sum = 0;
    for package in packages().iter().filter(|package| package.is_product) {
        let parsed = Crate::parse(&package.src)?;
        let mut lines = parsed.lines.clone();
        let total: usize = lines.iter().sum();
        sum += total;
        lines.sort_unstable();
        let found = circles(&imports(&parsed));
        let sizes: Vec<String> = found.iter().map(|circle| circle.len().to_string()).collect();
        println!(
            "| {} | {total} | {} | {} | {} | {} |",
            package.name,
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
    println!("| all | {sum} | | | | |");
    Ok(())
}
