//! Several files, a line for each, or a block where a line would not fit.

use super::Info;
use crate::io::messages::{rate, row};
use mayhap_plan::columns;
use mayhap_units::line::printable;
use mayhap_units::number::{format_bytes, format_count};

const NUM_COLUMNS: usize = 8;

/// The table of these files, for a terminal of `max_columns` columns.
pub(super) fn table(files: &[Info], max_columns: usize) -> String {
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
    let width = |column: usize| rows.iter().map(|row| columns(&row[column])).max();
    let widths: [usize; NUM_COLUMNS] = std::array::from_fn(|column| width(column).unwrap_or(0));
    if widths.iter().sum::<usize>() + 2 * (NUM_COLUMNS - 1) > max_columns {
        return blocks(&rows);
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let room = " ".repeat(width - columns(cell));
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

/// The rows below each other, for a terminal on which a table would be folded.
fn blocks(rows: &[[String; NUM_COLUMNS]]) -> String {
    let Some((names, files)) = rows.split_first() else { return String::new() };
    let block = |file: &[String; NUM_COLUMNS]| -> String {
        names.iter().zip(file).map(|(name, value)| row(name, value)).collect()
    };
    files.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// A rate in three digits.
fn rough(fpp: f64) -> String {
    // The text of a number is a number.
    rate(format!("{fpp:.2e}").parse().unwrap_or(fpp))
}
