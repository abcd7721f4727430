//! The cost and retention of time windows, by how their generations end: the computation behind
//! `mayhap::sizing::window::spans`, printed as `bench/results/window-cost.md`.
//!
//! ```text
//! cargo run -p mayhap --example window_cost > bench/results/window-cost.md
//! ```
//!
//! No filter is built. The keys of eight patterns are put into generations by the rules of each
//! design, and the rate follows from the exact model of its columns whenever a generation ends.

use mayhap::sizing::window::{Load, expected_fpp, for_items, spans};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

/// Keys that a window is made for, and ticks of its span.
const ITEMS: u64 = 21_600;
const SPAN: u64 = 7 * ITEMS;
/// Spans of each pattern.
const SPANS: u64 = 4;

/// How generations end, and when keys are forgotten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Design {
    name: &'static str,
    /// Columns, one of which is being cleared.
    columns: u64,
    /// A generation ends with this share of the keys of a span, if any is named.
    by_items: Option<u64>,
    /// They also end after this share of the span.
    by_time: u64,
    /// Full generations that the rows are sized for.
    full: u32,
    /// Whether at most `full` generations' worth of keys is remembered.
    is_limited: bool,
    /// Fewer rows a key are taken where they cost at most this many times the bits.
    bits_for_rows: f64,
}

impl Design {
    /// Keys of a full generation.
    fn step(&self) -> u64 {
        ITEMS.div_ceil(self.by_items.unwrap_or(self.by_time))
    }

    fn load(&self) -> Load {
        // Where generations end by the clock alone this is the number of keys that arrive, else the
        // number counted.
        if self.by_items.is_some() {
            Load::Counted(self.step())
        } else {
            Load::Distinct(self.step())
        }
    }

    /// Rows and k.
    pub(crate) fn size(&self, target: f64) -> (u64, u32) {
        let (fewest, best) = for_items(self.load(), self.full, target).expect("a rate in range");
        let most = (fewest as f64 * self.bits_for_rows) as u64;
        let loads = || (0..self.full).map(|_| self.load());
        let keeps = |rows: u64, k: u32| expected_fpp(rows, k, loads()) <= target;
        let Some(k) = (1..best).find(|&k| keeps(most, k)) else { return (fewest, best) };
        let (mut too_few, mut enough) = (fewest, most);
        while enough - too_few > 1 {
            let middle = u64::midpoint(too_few, enough);
            if keeps(middle, k) { enough = middle } else { too_few = middle }
        }
        (enough, k)
    }

    pub(crate) fn bits_per_key(&self, target: f64) -> f64 {
        (self.size(target).0 * self.columns) as f64 / ITEMS as f64
    }

    /// Rows that a query for an absent key reads beyond the near cache, at the highest load: the
    /// first seven, and the others if a column is left.
    fn rows_of_a_miss(&self, target: f64) -> f64 {
        let (rows, k) = self.size(target);
        let fill = -f64::exp_m1(-(self.step() as f64) * f64::from(k) / rows as f64);
        let columns = f64::from(self.full);
        let first = k.min(7);
        let left = 1.0 - (1.0 - fill.powf(first.into())).powf(columns);
        f64::from(first) + f64::from(k - first) * left
    }

    /// Blocks of 64 bytes that are cleared for each key.
    fn cleared_per_key(&self, target: f64) -> f64 {
        (self.size(target).0 * self.columns) as f64 / 512.0 / self.step() as f64
    }

    /// The longest time that a key is kept, in spans.
    fn kept(&self) -> f64 {
        1.0 + 1.0 / self.by_time as f64
    }
}

pub(crate) const DESIGNS: [Design; 6] = [
    Design {
        name: "generations of a 14th of the span, as in 0.1",
        columns: 16,
        by_items: None,
        by_time: 14,
        full: 15,
        is_limited: false,
        bits_for_rows: 1.0,
    },
    Design {
        name: "16 columns, n/10 keys or 1/4, sized for all 15",
        columns: 16,
        by_items: Some(10),
        by_time: 4,
        full: 15,
        is_limited: false,
        bits_for_rows: 1.0,
    },
    Design {
        name: "32 columns, n/22 keys or 1/8, sized for all 31",
        columns: 32,
        by_items: Some(22),
        by_time: 8,
        full: 31,
        is_limited: false,
        bits_for_rows: 1.0,
    },
    Design {
        name: "32 columns, n/22 keys or 1/8, sized for 23 full ones",
        columns: 32,
        by_items: Some(22),
        by_time: 8,
        full: 23,
        is_limited: true,
        bits_for_rows: 1.05,
    },
    Design {
        name: "64 columns, n/48 keys or 1/14, sized for 49 full ones",
        columns: 64,
        by_items: Some(48),
        by_time: 14,
        full: 49,
        is_limited: true,
        bits_for_rows: 1.05,
    },
    Design {
        name: "**64 columns, n/54 keys or 1/8, sized for 55 full ones**",
        columns: spans::NUM_COLUMNS as u64,
        by_items: Some(spans::BY_ITEMS),
        by_time: spans::BY_TIME,
        full: spans::full_generations(ITEMS),
        is_limited: true,
        bits_for_rows: 1.05,
    },
];

/// The effect of a pattern on a design.
pub(crate) struct Found {
    /// The highest rate.
    pub(crate) worst: f64,
    /// The share of the keys that were forgotten while they were of the span.
    pub(crate) early: f64,
}

struct Generation {
    items: u64,
    begin: u64,
    last: u64,
}

/// The generations of a window while keys arrive.
struct Run<'a> {
    design: &'a Design,
    live: VecDeque<Generation>,
    items: u64,
    early: u64,
    worst: f64,
    rows: u64,
    k: u32,
    /// The logarithm of the share of absent keys that a generation with this number of keys answers
    /// "surely not".
    absent: HashMap<u64, f64>,
}

impl<'a> Run<'a> {
    fn new(design: &'a Design, target: f64) -> Self {
        let (rows, k) = design.size(target);
        let (live, absent) = (VecDeque::new(), HashMap::new());
        Self { design, live, items: 0, early: 0, worst: 0.0, rows, k, absent }
    }

    /// The rate now, by the keys of each generation.
    fn look(&mut self) {
        let (rows, k, absent) = (self.rows, self.k, &mut self.absent);
        let mut of = |items: u64| {
            *absent.entry(items).or_insert_with(|| {
                let fpp = expected_fpp(rows, k, [Load::Distinct(items)]);
                f64::ln_1p(-fpp.min(1.0 - 1e-15))
            })
        };
        let none: f64 = self.live.iter().map(|generation| of(generation.items)).sum();
        self.worst = self.worst.max(-f64::exp_m1(none));
    }

    fn drop_oldest(&mut self, is_early: bool) {
        if let Some(oldest) = self.live.pop_front() {
            self.items -= oldest.items;
            self.early += u64::from(is_early) * oldest.items;
        }
    }

    fn begin(&mut self, time: u64) {
        self.look();
        if self.live.len() as u64 == self.design.columns - 1 {
            self.drop_oldest(true);
        }
        self.live.push_back(Generation { items: 0, begin: time, last: time });
    }

    /// Lets `count` keys arrive at a time, for generations that end with the clock.
    fn come_by_clock(&mut self, time: u64, count: u64) {
        let step = SPAN / self.design.by_time;
        while self.live.front().is_some_and(|first| first.begin / step + 15 <= time / step) {
            self.drop_oldest(false);
        }
        if self.live.back().is_none_or(|last| last.begin / step != time / step) {
            self.begin(time);
        }
        if let Some(present) = self.live.back_mut() {
            present.items += count;
            self.items += count;
        }
    }

    fn come(&mut self, time: u64, mut count: u64) {
        let (design, step) = (self.design, self.design.step());
        while self.live.front().is_some_and(|first| first.last + SPAN < time) {
            self.drop_oldest(false);
        }
        while count > 0 {
            let is_open =
                |last: &Generation| last.items < step && time - last.begin < SPAN / design.by_time;
            if !self.live.back().is_some_and(is_open) {
                self.begin(time);
            }
            let Some(present) = self.live.back_mut() else { return };
            let more = count.min(step - present.items);
            present.items += more;
            present.last = time;
            self.items += more;
            count -= more;
            while design.is_limited && self.items > u64::from(design.full) * step {
                self.drop_oldest(true);
            }
            self.look();
        }
    }
}

pub(crate) fn run(design: &Design, target: f64, pattern: &[(u64, u64)]) -> Found {
    let mut run = Run::new(design, target);
    let mut came = 0;
    for &(time, count) in pattern {
        came += count;
        match design.by_items {
            None => run.come_by_clock(time, count),
            Some(_) => run.come(time, count),
        }
    }
    run.look();
    Found { worst: run.worst, early: run.early as f64 / came as f64 }
}

/// A name, and the number of keys at each time.
pub(crate) type Pattern = (&'static str, Vec<(u64, u64)>);

pub(crate) fn patterns() -> Vec<Pattern> {
    let even = |times: u64| {
        (0..ITEMS * SPANS * times).map(move |i| (i * SPAN / ITEMS / times, 1)).collect()
    };
    let mut half: Vec<_> = (0..ITEMS / 2 * SPANS).map(|i| (i * 2 * SPAN / ITEMS, 1)).collect();
    half.extend((0..SPANS).map(|i| (i * (SPAN + 1) + SPAN / 3, ITEMS / 2)));
    half.sort_unstable();
    let office = |day: u64| (0..ITEMS).map(move |i| (day * SPAN + i * SPAN / 3 / ITEMS, 1));
    let border = |i: u64| [((i + 1) * SPAN - 1, ITEMS), ((i + 1) * SPAN, ITEMS)];
    vec![
        ("even", even(1)),
        ("all at once", (0..SPANS).map(|i| (i * (SPAN + 1), ITEMS)).collect()),
        ("half at once", half),
        ("ten bursts", (0..10 * SPANS).map(|i| (i * (SPAN / 10 + 1), ITEMS / 10)).collect()),
        ("office hours", (0..SPANS).flat_map(office).collect()),
        ("twice as many, even", even(2)),
        ("three times at once", (0..SPANS).map(|i| (i * (SPAN + 1), 3 * ITEMS)).collect()),
        ("twice across a border", (0..SPANS).flat_map(border).collect()),
    ]
}

/// The page.
pub(crate) fn report() -> String {
    let mut page = String::from(
        "# What a time window costs

Made by `cargo run -p mayhap --example window_cost`; a test compares it.

Computed from the exact sizes and rates, not measured. A window is sized for n keys in a span; a
generation is a column of its table and ends after a number of keys or a share of the span,
whichever comes first. Bits per key include all columns; in large filters a row is a cache line.
\"Kept\" is the longest time that a key is remembered, in spans; blocks of 64 bytes are cleared in
order.

| design | bits per key at 1 % | 0.1 % | rows per key at 1 % | rows read for an absent key | blocks cleared per key | kept |
|---|--:|--:|--:|--:|--:|--:|
",
    );
    for design in &DESIGNS {
        let _ = writeln!(
            page,
            "| {} | {:.1} | {:.1} | {} | {:.1} | {:.1} | {:.3} |",
            design.name,
            design.bits_per_key(0.01),
            design.bits_per_key(1e-3),
            design.size(0.01).1,
            design.rows_of_a_miss(0.01),
            design.cleared_per_key(0.01),
            design.kept(),
        );
    }
    page.push_str(
        "
The highest rate at a target of 1 %, as a multiple of the target, and the share of keys that were
forgotten within the span, if any were. In the first five patterns n keys arrive in each span, in
the others more.

| pattern |",
    );
    for design in 1..=DESIGNS.len() {
        let _ = write!(page, " {design} |");
    }
    page.push_str("\n|---|");
    page.push_str(&"--:|".repeat(DESIGNS.len()));
    page.push('\n');
    for (name, pattern) in patterns() {
        let _ = write!(page, "| {name} |");
        for design in &DESIGNS {
            let Found { worst, early } = run(design, 0.01, &pattern);
            let _ = write!(page, " {:.2}", worst / 0.01);
            if early > 0.0 {
                let _ = write!(page, ", {:.0} %", early * 100.0);
            }
            page.push_str(" |");
        }
        page.push('\n');
    }
    page.push_str(
        "
The last design is that of `WindowBloomFilter::builder().window_time`. In a span, at most 54 of the
64 generations end because they are full and 8 because of the time; one is being filled and one is
being cleared. The filter never remembers more keys than 55 full generations hold, so the rows need
not be sized for all 63. A twentieth more bits than the minimum save three of twelve rows per key.
",
    );
    page
}

#[allow(dead_code, reason = "the test of the page includes this file")]
fn main() {
    print!("{}", report());
}
