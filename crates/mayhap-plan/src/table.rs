//! One of n, p and memory alone: a table of possible values of the others.

use crate::report::Numbers;
use crate::text::{fits_name, rough};
use mayhap::Error;
use mayhap::plan::{Candidate, Needs, plan};
use mayhap_units::number::{format_bytes, format_count, format_fpp};
use serde::Serialize;
use std::fmt::Write;

pub(crate) const RATES: [f64; 7] = [0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9];
pub(crate) const COUNTS: [u64; 8] = [
    1_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    100_000_000_000,
];

/// The best filters for several numbers, for JSON too.
#[derive(Debug, Serialize)]
pub struct Table {
    rows: Vec<Numbers>,
    #[serde(skip)]
    text: String,
}

impl Table {
    /// The table of these needs, with one known number: rates for a number of keys or an amount of
    /// memory, numbers of keys for a rate. Rows that no kind can meet are left out.
    ///
    /// # Errors
    ///
    /// The errors of [`plan`] for needs that it refuses.
    pub fn of(needs: &Needs) -> Result<Self, Error> {
        let all: Vec<Needs> = if needs.target_fpp.is_none() {
            let of_rate = |&fpp: &f64| Needs { target_fpp: Some(fpp), ..needs.clone() };
            RATES.iter().map(of_rate).collect()
        } else {
            let of_count = |&items: &u64| Needs { items: Some(items), ..needs.clone() };
            COUNTS.iter().map(of_count).collect()
        };
        let mut best: Vec<Candidate> = Vec::new();
        for needs in &all {
            best.extend(plan(needs)?.best);
        }
        Ok(Self { text: text(&best), rows: best.iter().map(Numbers::of).collect() })
    }

    /// Whether no kind can meet any of the numbers.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in columns.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn text(rows: &[Candidate]) -> String {
    let mut text = format!(
        "{:>8}  {:>8}  {:>10}  {:>8}  {:>3}  {:<10}{:<8}{:>10}\n",
        "keys", "rate", "size", "bits/key", "k", "kind", "fits in", "rate at 2x"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:>8}  {:>8}  {:>10}  {:>8.2}  {:>3}  {:<10}{:<8}{:>10}",
            format_count(row.items),
            format_fpp(row.target_fpp),
            format_bytes(row.num_bytes),
            row.bits_per_item(),
            row.num_hashes,
            row.name(),
            fits_name(row.fits),
            row.fpp_at_2x.map_or("-".into(), rough)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_of_rate_and_count_has_a_row_for_each_of_some() {
        let rates = Table::of(&Needs::for_items(1_000_000)).unwrap();
        let of: Vec<_> = rates.rows.iter().map(|row| (row.items, row.target_fpp)).collect();
        assert_eq!(of, RATES.map(|fpp| (1_000_000, fpp)));
        assert!(rates.rows.iter().all(|row| row.expected_fpp <= row.target_fpp));
        let counts = Table::of(&Needs { target_fpp: Some(0.01), ..Needs::default() }).unwrap();
        let of: Vec<_> = counts.rows.iter().map(|row| (row.items, row.target_fpp)).collect();
        assert_eq!(of, COUNTS.map(|items| (items, 0.01)));
        // In a mebibyte fewer keys keep a lower rate.
        let room = Table::of(&Needs { max_bytes: Some(1 << 20), ..Needs::default() }).unwrap();
        assert!(room.rows.is_sorted_by(|a, b| a.target_fpp > b.target_fpp && a.items > b.items));
        assert!(room.rows.iter().all(|row| row.num_bytes <= 1 << 20) && !room.is_empty());
    }

    #[test]
    fn columns_have_the_numbers_below_their_names() {
        let table = Table::of(&Needs::for_items(1_000_000)).unwrap();
        let lines: Vec<&str> = table.text().lines().collect();
        assert_eq!(lines.len(), 1 + RATES.len());
        let words = |line: &str| -> Vec<String> {
            line.split("  ")
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let names = ["keys", "rate", "size", "bits/key", "k", "kind", "fits in rate at 2x"];
        assert_eq!(words(lines[0]), names);
        let row = &table.rows[1];
        let twice = rough(row.fpp_at_2x.unwrap());
        let bits = format!("{:.2}", row.num_bits as f64 / 1e6);
        let size = format_bytes(row.num_bytes);
        let k = row.num_hashes.to_string();
        let expected = ["1.00M", "1 %", &size, &bits, &k, "blocked", fits_name(row.fits), &twice];
        assert_eq!(words(lines[2]), expected);
    }
}
