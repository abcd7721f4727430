//! The results as Markdown and as JSON, and the targets.

use crate::timing::RATE_PROBES;
use mayhap_bench::ratio::{self, Ratio, Side};
use mayhap_bench::{machine, stats::format_count};
use serde::Serialize;
use std::fmt::Write as _;

/// One row of the results.
#[derive(Serialize)]
pub(crate) struct Record {
    pub(crate) table: &'static str,
    pub(crate) contestant: String,
    pub(crate) n: u64,
    pub(crate) target_fpp: Option<f64>,
    /// Insertions that were refused in the last fill.
    pub(crate) refused: u64,
    pub(crate) bits_per_key: f64,
    pub(crate) measured_fpr: f64,
    pub(crate) insert_ns: f64,
    pub(crate) hit_ns: f64,
    pub(crate) miss_ns: f64,
    pub(crate) remove_ns: Option<f64>,
}

impl Record {
    fn is_of_same_table(&self, other: &Self) -> bool {
        let table = |record: &Self| (record.table, record.n, record.target_fpp);
        table(self) == table(other)
    }

    fn heading(&self) -> String {
        let Self { table, n, target_fpp, .. } = self;
        let rate = target_fpp.map_or_else(String::new, |p| format!(", p = {} %", p * 100.0));
        if *table == crate::matrix::TITLE {
            return format!("{table}: {} keys each{rate}", format_count(n / 512));
        }
        format!("{table}: {} keys{rate}", format_count(*n))
    }
}

/// All results of one run.
#[derive(Serialize)]
pub(crate) struct Report {
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
            "# Kinds\n\nMade by \
             `cargo run --release --manifest-path bench/Cargo.toml --bin kinds`;\n\
             `bench/README.md` says what the rows mean. Medians of {} interleaved rounds, ns per \
             key\nof wall time; u64 keys; measured rate over {RATE_PROBES} absent keys.\n\n{}",
            self.rounds,
            machine::list(&self.facts)
        );
        for table in self.records.chunk_by(Record::is_of_same_table) {
            write_table(&mut out, table);
        }
        let _ = write!(out, "\n## Targets\n\n{}", ratio::table(&self.targets));
        out
    }
}

fn write_table(out: &mut String, table: &[Record]) {
    let _ = write!(
        out,
        "\n## {}\n\n\
         | contestant | bits/key | measured rate | insert | hit | miss | remove |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
        table[0].heading(),
    );
    for record in table {
        let Record { contestant, bits_per_key, insert_ns, hit_ns, miss_ns, .. } = record;
        let refused = match record.refused {
            0 => String::new(),
            count => format!(" (refused {count} keys)"),
        };
        let rate = record.measured_fpr * 100.0;
        let remove = record.remove_ns.map_or_else(String::new, |ns| format!("{ns:.2} "));
        let _ = writeln!(
            out,
            "| {contestant}{refused} | {bits_per_key:.2} | {rate:.4} % \
             | {insert_ns:.2} | {hit_ns:.2} | {miss_ns:.2} | {remove}|"
        );
    }
}

/// What a kind's time is compared with, in the same table: at most 1.1 times as long.
const PEERS: [(&str, &str); 5] = [
    ("mayhap counting, 4 bits", "qfilter, xxh3 digest"),
    ("mayhap scalable", "growable-bloom-filter"),
    ("mayhap window", "two rotating fastbloom, xxh3 digest"),
    ("mayhap fuse 8", "xorf BinaryFuse8, xxh3 digest"),
    ("mayhap fuse 16", "xorf BinaryFuse16, xxh3 digest"),
];
const MOST_TIMES: f64 = 1.1;

/// What the kinds must reach, where the row was run.
pub(crate) fn targets(records: &[Record]) -> Vec<Ratio> {
    let mut targets = Vec::new();
    for record in records {
        let mut at_most = |figure: &str, value: f64, target: f64| {
            let formula = format!("{}, {figure}", record.contestant);
            let what = record.heading();
            targets.push(Ratio { what, formula, value, side: Side::AtMost, target });
        };
        match record.contestant.as_str() {
            "mayhap matrix" | "mayhap matrix, batch" => {
                // 100 MB are in the third-level cache where that is as large, 1 GiB never.
                let target = if record.n < 500_000_000 { 60.0 } else { 120.0 };
                at_most("ns per query, hit", record.hit_ns, target);
                at_most("ns per query, miss", record.miss_ns, target);
            }
            "mayhap scalable" if record.n == 10_000 && record.target_fpp == Some(0.01) => {
                at_most("ns per key, insert", record.insert_ns, 40.0);
            }
            "mayhap window" if record.n >= 1_000_000 && record.target_fpp == Some(0.01) => {
                at_most("bits/key", record.bits_per_key, 17.5);
            }
            "mayhap fuse 8" if record.n >= 1_000_000 => {
                at_most("bits/key", record.bits_per_key, 9.1);
            }
            _ => {}
        }
    }
    targets.extend(records.iter().flat_map(|ours| against_peer(ours, records)));
    targets
}

/// The times of a kind by those of its peer, both called with single keys.
fn against_peer(ours: &Record, records: &[Record]) -> Vec<Ratio> {
    let Some((_, name)) = PEERS.iter().find(|(kind, _)| *kind == ours.contestant) else {
        return Vec::new();
    };
    let is_peer = |peer: &&Record| peer.contestant == *name && peer.is_of_same_table(ours);
    let Some(peer) = records.iter().find(is_peer) else { return Vec::new() };
    let pairs = [
        ("insert", Some((ours.insert_ns, peer.insert_ns))),
        ("hit", Some((ours.hit_ns, peer.hit_ns))),
        ("miss", Some((ours.miss_ns, peer.miss_ns))),
        ("remove", ours.remove_ns.zip(peer.remove_ns)),
    ];
    let ratios = pairs.into_iter().filter_map(|(what, pair)| Some((what, pair?)));
    ratios
        .map(|(figure, (time, peers))| Ratio {
            what: format!("{}, {figure}", ours.heading()),
            formula: format!("{} / {name}", ours.contestant),
            value: time / peers,
            side: Side::AtMost,
            target: MOST_TIMES,
        })
        .collect()
}
