//! Several files, a line for each.

use super::Info;
use crate::io::messages::{printable, rate};
use mayhap_units::number::{format_bytes, format_count};

/// The table of these files.
pub(super) fn table(files: &[Info]) -> String {
    let count = |count: Option<u64>| count.map_or("-".into(), format_count);
    let mut rows = vec![
        ["file", "kind", "size", "keys", "made for", "target", "rate now", "health"]
            .map(str::to_owned),
    ];
    for info in files {
        let kind = if info.kind == "bloom" { info.layout } else { info.kind };
        rows.push([
            printable(&info.file).into_owned(),
            kind.into(),
            format_bytes(info.file_bytes),
            count(Some(info.inserted_items)),
            count(info.expected_items),
            rate(info.target_fpp),
            // Without the secret key nothing of the bits is known.
            info.estimated_fpp.map_or("-".into(), rough),
            info.health.unwrap_or("-").into(),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 8] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let room = " ".repeat(width - cell.chars().count());
            // Words to the left, numbers to the right.
            let cell = if matches!(i, 0 | 1 | 7) { cell.clone() + &room } else { room + cell };
            line += &cell;
            line += "  ";
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A rate in three digits.
fn rough(fpp: f64) -> String {
    // The text of a number is a number.
    rate(format!("{fpp:.2e}").parse().unwrap_or(fpp))
}
