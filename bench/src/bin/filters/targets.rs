//! The targets of mayhap, computed from the medians of this very run, where the rows were run.

use crate::report::Record;
use mayhap_bench::ratio::{Ratio, Side};
use mayhap_bench::stats::format_count;

const FASTBLOOM: &str = "fastbloom";
const FASTBLOOM_XXH3: &str = "fastbloom, xxh3 digest";
const SBBF: &str = "sbbf-rs-safe, xxh3 digest";
const BLOCKED: &str = "mayhap blocked";
const BLOCKED_BATCH: &str = "mayhap blocked, batch";
const STANDARD: &str = "mayhap standard";
const STANDARD_BATCH: &str = "mayhap standard, batch";

/// An operation's figure in a row.
type Figure = (&'static str, fn(&Record) -> f64);

const INSERT: Figure = ("insert", |record| record.insert_ns);
const HIT: Figure = ("hit", |record| record.hit_ns);
const MISS: Figure = ("miss", |record| record.miss_ns);

/// The targets of all tables.
pub(crate) fn targets(records: &[Record]) -> Vec<Ratio> {
    let mut targets = plain(records);
    targets.extend(records.iter().flat_map(of_kind));
    targets.extend(records.iter().flat_map(|ours| against_peer(ours, records)));
    targets.extend(records.iter().flat_map(|ours| of_ribbon(ours, records)));
    targets
}

/// One cell of plain filters, in which rows are found by name.
struct Cell<'a> {
    records: Vec<&'a Record>,
    name: String,
    ratios: Vec<Ratio>,
}

/// The ratios of all cells of plain filters with p = 1 %, for which the targets are stated.
fn plain(records: &[Record]) -> Vec<Ratio> {
    let records: Vec<&Record> = records.iter().filter(|record| record.table.is_empty()).collect();
    let mut ratios = Vec::new();
    for keys in ["u64", "URL"] {
        let mut sizes: Vec<u64> = records.iter().map(|record| record.n).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for n in sizes {
            let is_here = |r: &&&Record| r.n == n && r.keys == keys && r.target_fpp == Some(0.01);
            let records: Vec<&Record> = records.iter().filter(is_here).copied().collect();
            if records.is_empty() {
                continue;
            }
            let name = format!("{} {keys}", format_count(n));
            let mut cell = Cell { records, name, ratios: Vec::new() };
            match keys {
                "u64" => cell.u64_targets(n),
                _ => cell.url_targets(),
            }
            ratios.append(&mut cell.ratios);
        }
    }
    ratios
}

impl Cell<'_> {
    fn u64_targets(&mut self, n: u64) {
        if n <= 20_000 {
            for figure in [HIT, MISS] {
                self.at_least(SBBF, BLOCKED_BATCH, figure, 1.3);
                self.at_most_floor("mayhap blocked, ready digests", figure, 1.7);
            }
            self.at_least(FASTBLOOM, BLOCKED, HIT, 2.5);
            self.at_least(FASTBLOOM, BLOCKED, INSERT, 2.0);
            self.at_least(FASTBLOOM, BLOCKED_BATCH, INSERT, 2.0);
        }
        if n >= 100_000_000 {
            for figure in [HIT, MISS] {
                self.at_least(SBBF, BLOCKED_BATCH, figure, 2.0);
                self.at_least(FASTBLOOM, BLOCKED_BATCH, figure, 4.0);
                self.at_least(FASTBLOOM, STANDARD_BATCH, figure, 1.0);
            }
            self.at_least(FASTBLOOM, BLOCKED, INSERT, 3.0);
            self.at_least(FASTBLOOM, BLOCKED_BATCH, INSERT, 3.0);
        }
        for figure in [INSERT, HIT, MISS] {
            self.at_least(SBBF, BLOCKED, figure, 1.0);
            // As in its users' hands, and with the hash taken out of the comparison.
            self.at_least(FASTBLOOM, STANDARD, figure, 1.0);
            self.at_least(FASTBLOOM_XXH3, STANDARD, figure, 1.0);
            self.at_least(FASTBLOOM_XXH3, STANDARD_BATCH, figure, 1.0);
        }
        for owned in [BLOCKED, BLOCKED_BATCH, STANDARD, STANDARD_BATCH] {
            let shared = owned.replace("mayhap", "mayhap concurrent");
            for figure in [HIT, MISS] {
                self.compare((&shared, 1), (owned, 1), figure, Side::AtMost, 1.1);
            }
        }
        let rate = ("measured rate", (|record| record.measured_fpr) as fn(&Record) -> f64);
        self.at_least(FASTBLOOM, STANDARD, rate, 0.97);
        for name in ["mayhap concurrent blocked", "mayhap concurrent blocked, batch"] {
            self.compare(("fastbloom atomic", 2), (name, 2), INSERT, Side::AtLeast, 2.0);
        }
        if let Some(blocked) = self.find(BLOCKED, 1) {
            let what = format!("{}, bits/key", self.name);
            let (formula, value) = (BLOCKED.to_owned(), blocked.bits_per_key);
            self.ratios.push(Ratio { what, formula, value, side: Side::AtMost, target: 10.15 });
        }
    }

    fn url_targets(&mut self) {
        for figure in [HIT, MISS] {
            self.at_most_floor(BLOCKED_BATCH, figure, 1.5);
        }
    }

    fn find(&self, name: &str, threads: usize) -> Option<&Record> {
        let is_it = |record: &&&Record| record.contestant == name && record.threads == threads;
        self.records.iter().find(is_it).copied()
    }

    /// `peer / ours` is `target` or more.
    fn at_least(&mut self, peer: &str, ours: &str, figure: Figure, target: f64) {
        self.compare((peer, 1), (ours, 1), figure, Side::AtLeast, target);
    }

    /// `ours / floor` is `target` or less, for the faster of the floors with one line.
    fn at_most_floor(&mut self, ours: &str, figure: Figure, target: f64) {
        let floors = ["floor: hash + one line", "floor: hash + one line, batch"];
        let of = |name| self.find(name, 1).map_or(f64::NAN, figure.1);
        let faster = if of(floors[0]) <= of(floors[1]) { floors[0] } else { floors[1] };
        self.compare((ours, 1), (faster, 1), figure, Side::AtMost, target);
    }

    /// Adds the ratio of two rows, unless one of them was not run.
    fn compare(
        &mut self,
        above: (&str, usize),
        below: (&str, usize),
        figure: Figure,
        side: Side,
        target: f64,
    ) {
        let (name, of) = figure;
        if let (Some(top), Some(bottom)) =
            (self.find(above.0, above.1), self.find(below.0, below.1))
        {
            let threads = if above.1 == 1 { "" } else { ", 2 threads" };
            let what = format!("{}, {name}{threads}", self.name);
            let formula = format!("{} / {}", above.0, below.0);
            let value = of(top) / of(bottom);
            self.ratios.push(Ratio { what, formula, value, side, target });
        }
    }
}

/// The peers that a kind's time is compared with, in the same table: at most 1.1 times as long.
const PEERS: [(&str, &str); 6] = [
    ("mayhap compact", "qfilter, xxh3 digest"),
    ("mayhap counting, 4 bits", "qfilter, xxh3 digest"),
    ("mayhap scalable", "growable-bloom-filter"),
    ("mayhap window", "two rotating fastbloom, xxh3 digest"),
    ("mayhap fuse 8", "xorf BinaryFuse8, xxh3 digest"),
    ("mayhap fuse 16", "xorf BinaryFuse16, xxh3 digest"),
];
const MOST_TIMES: f64 = 1.1;

/// The queries of a ribbon filter in batches: at most twice as long as those of a fuse filter, and,
/// where they read two lines, as those of the floor, from memory.
fn of_ribbon(ours: &Record, records: &[Record]) -> Vec<Ratio> {
    let Some(width) = ours.contestant.strip_prefix("mayhap ribbon ") else { return Vec::new() };
    if ours.n < 100_000_000 || !width.ends_with(", batch") {
        return Vec::new();
    }
    let fuse = format!("mayhap fuse {width}");
    let floor = "floor: hash + one line, batch";
    let mut pairs = vec![(fuse.as_str(), HIT), (fuse.as_str(), MISS), (floor, MISS)];
    if width.starts_with('8') {
        pairs.push((floor, HIT));
    }
    let ratio = |(name, (figure, of)): (&str, Figure)| {
        let is_peer = |peer: &&Record| peer.contestant == name && peer.is_of_same_table(ours);
        let peer = records.iter().find(is_peer)?;
        Some(Ratio {
            what: format!("{}, {figure}", ours.heading()),
            formula: format!("{} / {name}", ours.contestant),
            value: of(ours) / of(peer),
            side: Side::AtMost,
            target: 2.0,
        })
    };
    pairs.into_iter().filter_map(ratio).collect()
}

/// The targets of a row of another kind that are no ratio to a peer.
fn of_kind(record: &Record) -> Vec<Ratio> {
    let at_most = |figure: &str, value: f64, target: f64| {
        let formula = format!("{}, {figure}", record.contestant);
        Ratio { what: record.heading(), formula, value, side: Side::AtMost, target }
    };
    match record.contestant {
        "mayhap matrix" | "mayhap matrix, batch" => {
            // 100 MB fit the third-level cache where that is as large, 1 GiB never does.
            let target = if record.n < 500_000_000 { 60.0 } else { 120.0 };
            vec![
                at_most("ns per query, hit", record.hit_ns, target),
                at_most("ns per query, miss", record.miss_ns, target),
            ]
        }
        "mayhap compact, batch" if record.n >= 10_000_000 => {
            let most = record.target_fpp.and_then(compact_bits);
            most.map(|most| at_most("bits/key", record.bits_per_key, most)).into_iter().collect()
        }
        "mayhap scalable" if record.n == 10_000 && record.target_fpp == Some(0.01) => {
            vec![at_most("ns per key, insert", record.insert_ns, 40.0)]
        }
        "mayhap window" if record.n >= 1_000_000 && record.target_fpp == Some(0.01) => {
            vec![at_most("bits/key", record.bits_per_key, 17.5)]
        }
        "mayhap fuse 8" if record.n >= 1_000_000 => {
            vec![at_most("bits/key", record.bits_per_key, 9.1)]
        }
        "mayhap ribbon 8" if record.n >= 1_000_000 => {
            vec![at_most("bits/key", record.bits_per_key, 8.08)]
        }
        _ => Vec::new(),
    }
}

/// Bits per key of a large compact filter that is full, deletion included.
fn compact_bits(fpp: f64) -> Option<f64> {
    let most = [(0.01, 9.5), (0.001, 13.1), (1e-4, 16.7), (1e-6, 24.1)];
    most.into_iter().find_map(|(rate, bits)| (rate == fpp).then_some(bits))
}

/// The times of a kind divided by its peer's, both called with single keys.
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
