//! One of n, p and memory alone: a table of what the others can be.

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

/// The best filters for several numbers, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Table {
    rows: Vec<Numbers>,
    #[serde(skip)]
    text: String,
}

impl Table {
    /// The table of these needs, of which one number is known: rates for so many keys or so much
    /// memory, numbers of keys for a rate. Rows that no kind serves are left out.
    ///
    /// # Errors
    ///
    /// Those of [`plan`] for needs that it refuses.
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

    /// Whether no kind serves at any of the numbers.
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
