//! The results as Markdown and as JSON.

use crate::contestants::{Cell, Row};
use crate::timing::{Medians, RATE_PROBES};
use mayhap_bench::keys::BenchKey;
use mayhap_bench::ratio::{self, Ratio};
use mayhap_bench::{machine, stats::format_count};
use serde::Serialize;
use std::fmt::Write as _;

/// One row of the results. `NaN` (`null` in JSON) where a floor has no such figure.
#[derive(Serialize)]
pub(crate) struct Record {
    pub(crate) contestant: &'static str,
    pub(crate) threads: usize,
    pub(crate) keys: &'static str,
    pub(crate) n: u64,
    pub(crate) target_fpp: f64,
    pub(crate) bits_per_key: f64,
    pub(crate) measured_fpr: f64,
    pub(crate) insert_ns: f64,
    pub(crate) hit_ns: f64,
    pub(crate) miss_ns: f64,
    pub(crate) mix_ns: f64,
}

impl Record {
    pub(crate) fn new<K: BenchKey>(cell: Cell, row: &Row<K>, medians: Medians) -> Self {
        Self {
            contestant: row.name,
            threads: row.threads,
            keys: K::NAME,
            n: cell.n,
            target_fpp: cell.target_fpp,
            bits_per_key: row.contestant.num_bytes() as f64 * 8.0 / cell.n as f64,
            measured_fpr: medians.measured_fpr,
            insert_ns: medians.insert,
            hit_ns: medians.hit,
            miss_ns: medians.miss,
            mix_ns: medians.mix,
        }
    }

    /// Whether both stand in the same table.
    fn is_of_same_cell(&self, other: &Self) -> bool {
        let cell = |record: &Self| (record.keys, record.n, record.target_fpp);
        cell(self) == cell(other)
    }

    fn is_floor(&self) -> bool {
        self.insert_ns.is_nan()
    }
}

/// All results of one run.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) rounds: usize,
    pub(crate) records: Vec<Record>,
    pub(crate) ratios: Vec<Ratio>,
}

impl Report {
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut out = format!(
            "# Filters\n\nMade by \
             `cargo run --release --manifest-path bench/Cargo.toml --bin filters`;\n\
             `bench/README.md` says what the rows mean. Medians of {} interleaved rounds, ns per \
             key\n\
             of wall time; measured rate over {RATE_PROBES} absent keys.\n\n{}",
            self.rounds,
            machine::list(&self.facts)
        );
        for cell in self.records.chunk_by(Record::is_of_same_cell) {
            write_cell(&mut out, cell);
        }
        if !self.ratios.is_empty() {
            let _ = write!(out, "\n## Ratios\n\n{}", ratio::table(&self.ratios));
        }
        out
    }
}

fn write_cell(out: &mut String, cell: &[Record]) {
    let Record { keys, n, target_fpp, .. } = cell[0];
    let _ = write!(
        out,
        "\n## {} {keys} keys, p = {} %\n\n\
         | contestant | threads | bits/key | measured rate | insert | hit | miss | 50/50 |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
        format_count(n),
        target_fpp * 100.0
    );
    for record in cell {
        let Record { contestant, threads, hit_ns, miss_ns, mix_ns, .. } = record;
        let _ = write!(out, "| {contestant} | {threads} ");
        let _ = if record.is_floor() {
            write!(out, "| | | ")
        } else {
            let rate = record.measured_fpr * 100.0;
            write!(out, "| {:.2} | {rate:.4} % | {:.2} ", record.bits_per_key, record.insert_ns)
        };
        let _ = writeln!(out, "| {hit_ns:.2} | {miss_ns:.2} | {mix_ns:.2} |");
    }
}
