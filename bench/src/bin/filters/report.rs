//! The results as Markdown and as JSON.

use crate::timing::RATE_PROBES;
use mayhap_bench::ratio::{self, Ratio};
use mayhap_bench::{machine, stats::format_count};
use serde::Serialize;
use std::fmt::Write as _;

/// One row of the results. `NaN` (`null` in JSON) where a floor has no such figure.
#[derive(Serialize)]
pub(crate) struct Record {
    /// Empty for plain filters.
    pub(crate) table: &'static str,
    pub(crate) contestant: &'static str,
    pub(crate) threads: usize,
    pub(crate) keys: &'static str,
    pub(crate) n: u64,
    pub(crate) target_fpp: Option<f64>,
    /// Insertions that were refused in the last fill.
    pub(crate) refused: u64,
    pub(crate) bits_per_key: f64,
    pub(crate) measured_fpr: f64,
    pub(crate) insert_ns: f64,
    pub(crate) hit_ns: f64,
    pub(crate) miss_ns: f64,
    pub(crate) mix_ns: Option<f64>,
    pub(crate) remove_ns: Option<f64>,
}

impl Record {
    /// Whether both are in the same table.
    pub(crate) fn is_of_same_table(&self, other: &Self) -> bool {
        let table = |record: &Self| (record.table, record.keys, record.n, record.target_fpp);
        table(self) == table(other)
    }

    /// The heading of its table.
    pub(crate) fn heading(&self) -> String {
        let Self { table, keys, n, target_fpp, .. } = self;
        let rate = target_fpp.map_or_else(String::new, |p| format!(", p = {} %", p * 100.0));
        match *table {
            "" => format!("{} {keys} keys{rate}", format_count(*n)),
            crate::matrix::TITLE => {
                format!("{table}: {} keys each{rate}", format_count(n / crate::matrix::SETS))
            }
            _ => format!("{table}: {} keys{rate}", format_count(*n)),
        }
    }
}

/// All results of one run.
#[derive(Serialize)]
pub(crate) struct Report {
    #[serde(skip)]
    pub(crate) title: &'static str,
    /// The arguments that it is made with.
    #[serde(skip)]
    pub(crate) arguments: &'static str,
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) rounds: usize,
    pub(crate) records: Vec<Record>,
    pub(crate) targets: Vec<Ratio>,
}

impl Report {
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut out = format!(
            "# {}\n\nMade by \
             `cargo run --release --manifest-path bench/Cargo.toml --bin filters{}`;\n\
             `bench/README.md` says what the rows mean. Medians of {} interleaved rounds, ns per \
             key\n\
             of wall time; u64 keys unless others are named; measured rate over {RATE_PROBES} \
             absent\nkeys.\n\n{}",
            self.title,
            self.arguments,
            self.rounds,
            machine::list(&self.facts)
        );
        for table in self.records.chunk_by(Record::is_of_same_table) {
            let _ = write!(out, "\n## {}\n\n", table[0].heading());
            write_table(&mut out, table);
        }
        if !self.targets.is_empty() {
            let _ = write!(out, "\n## Targets\n\n{}", ratio::table(&self.targets));
        }
        out
    }
}

/// A column: its heading, and what a row has in it, which is nothing for some.
type Column = (&'static str, fn(&Record) -> String);

const COLUMNS: [Column; 8] = [
    ("threads", |record| record.threads.to_string()),
    ("bits/key", |record| of_filter(record, format!("{:.2}", record.bits_per_key))),
    ("measured rate", |record| of_filter(record, format!("{:.4} %", record.measured_fpr * 100.0))),
    ("insert", |record| of_filter(record, format!("{:.2}", record.insert_ns))),
    ("hit", |record| format!("{:.2}", record.hit_ns)),
    ("miss", |record| format!("{:.2}", record.miss_ns)),
    ("50/50", |record| record.mix_ns.map_or_else(String::new, |ns| format!("{ns:.2}"))),
    ("remove", |record| record.remove_ns.map_or_else(String::new, |ns| format!("{ns:.2}"))),
];

/// A figure that floors do not have.
fn of_filter(record: &Record, figure: String) -> String {
    if record.insert_ns.is_nan() { String::new() } else { figure }
}

/// Writes a table, without the columns in which no row differs from a single call.
fn write_table(out: &mut String, table: &[Record]) {
    let is_used = |(_, cell): &&Column| {
        table.iter().any(|record| !["", "1"].contains(&cell(record).as_str()))
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(is_used).collect();
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(out, "| contestant | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|{}", "--:|".repeat(names.len()));
    for record in table {
        let _ = write!(out, "| {}", record.contestant);
        if record.refused > 0 {
            let _ = write!(out, " (refused {} keys)", record.refused);
        }
        for (_, cell) in &columns {
            match &*cell(record) {
                "" => out.push_str(" |"),
                cell => {
                    let _ = write!(out, " | {cell}");
                }
            }
        }
        out.push_str(" |\n");
    }
}
