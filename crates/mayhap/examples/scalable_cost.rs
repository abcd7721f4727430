//! The cost of a chain of growing layers, by growth and shares of the rate: the computation behind
//! `mayhap::sizing::scalable`, printed as `bench/results/scalable-cost.md`.
//!
//! ```text
//! cargo run -p mayhap --example scalable_cost > bench/results/scalable-cost.md
//! ```
//!
//! No filter is made: bits follow from the exact sizing, cache lines from the model below. The
//! number of keys n is log-uniform from the first guess to 10,000 times of it, since it is unknown.

use mayhap::sizing::{self, scalable};
use mayhap::{Layout, sizing::scalable::LayerParams};
use std::fmt::Write;

/// Keys of the first layer: enough for whole blocks not to show.
const FIRST_ITEMS: u64 = 10_000;
const TIMES: [f64; 5] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0];
/// Points of n in each decade.
const STEPS: i32 = 50;

/// The objective: the least product of mean bits per key and mean cache lines per miss among chains
/// that need at most these shares of the textbook's mean and worst bits per key.
const MEAN_LIMIT: f64 = 0.90;
const WORST_LIMIT: f64 = 0.80;

/// One layer, in multiples of the first guess.
#[derive(Clone, Copy)]
struct Layer {
    items: f64,
    bits: f64,
    /// The share of probes that a full layer answers "set", and how many lines there are to probe.
    fill: f64,
    lines: u32,
}

impl Layer {
    /// `standard`: each of k probes is a line, and one that is clear ends the query.
    fn standard(items: f64, fpp: f64) -> Self {
        let params = sizing::for_items(Layout::Standard, 1_000_000, fpp).expect("a rate in range");
        let lines = params.num_hashes();
        let fill = fpp.powf(1.0 / f64::from(lines));
        Self { items, bits: items * params.bits_per_item(), fill, lines }
    }

    /// One blocked filter: one line.
    fn blocked(items: f64, fpp: f64) -> Self {
        let params = sizing::for_items(Layout::Blocked, 1_000_000, fpp).expect("a rate in range");
        Self { items, bits: items * params.bits_per_item(), fill: fpp, lines: 1 }
    }

    /// A layer as the library makes it.
    fn parts(items: f64, params: &LayerParams) -> Self {
        let fill = params.part().target_fpp();
        let bits = items * params.num_bits() as f64 / params.expected_items() as f64;
        Self { items, bits, fill, lines: params.num_parts() }
    }

    /// Cache lines that a query for an absent key touches with this many keys in the layer.
    fn miss(&self, items: f64) -> f64 {
        // The share of set bits rises as 1 − e^(−n); the rates of parts rise more slowly at first.
        let fill = 1.0 - (1.0 - self.fill).powf((items / self.items).min(1.0));
        (0..self.lines).map(|i| fill.powf(f64::from(i))).sum()
    }
}

/// The cost of a chain at one n.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// State bits per key, the empty ones included.
    pub(crate) bits: f64,
    /// Cache lines for an absent key, for a present key, newest and largest layer first, and for
    /// inserting a new one.
    pub(crate) miss: f64,
    /// See `miss`.
    pub(crate) hit: f64,
    /// See `miss`.
    pub(crate) insert: f64,
}

fn cost(chain: &[Layer], items: f64) -> Cost {
    let (mut before, mut bits, mut used) = (0.0, 0.0, 0);
    while used < chain.len() && before < items {
        bits += chain[used].bits;
        before += chain[used].items;
        used += 1;
    }
    let (mut miss, mut hit, mut insert, mut rest) = (0.0, 0.0, 0.0, items);
    let mut start = before;
    for (i, layer) in chain[..used].iter().enumerate().rev() {
        start -= layer.items;
        let held = rest - start;
        hit += held / items * (miss + f64::from(layer.lines));
        miss += layer.miss(held);
        let newest = i + 1 == used;
        insert += if newest { f64::from(layer.lines) } else { layer.miss(held) };
        rest = start;
    }
    Cost { bits: bits / items, miss, hit, insert }
}

/// A chain's costs over all n.
pub(crate) struct Summary {
    /// At [`TIMES`].
    pub(crate) at: Vec<Cost>,
    /// The most bits per key up to the same points: just after the last growth.
    pub(crate) worst_to: Vec<f64>,
    /// Means over log-uniform n.
    pub(crate) mean: Cost,
    /// The most bits per key at any n.
    pub(crate) worst: f64,
}

fn summary(chain: &[Layer]) -> Summary {
    let mut worst_to = vec![cost(chain, 1.0).bits; TIMES.len()];
    let (mut items, last) = (0.0, TIMES[TIMES.len() - 1]);
    for layer in chain {
        items += layer.items;
        for (worst, times) in worst_to.iter_mut().zip(TIMES) {
            if items < times {
                *worst = worst.max(cost(chain, items * (1.0 + 1e-9)).bits);
            }
        }
    }
    assert!(items >= last, "the chain ends at {items}");
    let points = 4 * STEPS;
    let mut mean = Cost { bits: 0.0, miss: 0.0, hit: 0.0, insert: 0.0 };
    for point in 0..points {
        let cost = cost(chain, 10f64.powf((f64::from(point) + 0.5) / f64::from(STEPS)));
        mean.bits += cost.bits / f64::from(points);
        mean.miss += cost.miss / f64::from(points);
        mean.hit += cost.hit / f64::from(points);
        mean.insert += cost.insert / f64::from(points);
    }
    let at = TIMES.iter().map(|&times| cost(chain, times)).collect();
    Summary { at, worst: worst_to[TIMES.len() - 1], worst_to, mean }
}

/// Layers up to the largest n; `make` is given the keys of a layer and its rate.
fn chain(
    growth: impl Fn(usize) -> f64,
    shares: impl Fn(usize) -> f64,
    target: f64,
    make: impl Fn(f64, f64) -> Layer,
) -> Vec<Layer> {
    let (mut layers, mut items, mut capacity) = (Vec::new(), 1.0, 0.0);
    while capacity < TIMES[TIMES.len() - 1] {
        layers.push(make(items, target * shares(layers.len())));
        capacity += items;
        items *= growth(layers.len() - 1);
    }
    layers
}

/// Almeida, Baquero, Preguiça & Hutchison 2007: layer i gets p (1 − r) r^i.
fn geometric(ratio: f64) -> impl Fn(usize) -> f64 {
    move |i| (1.0 - ratio) * ratio.powf(i as f64)
}

/// The chain as the library grows it.
fn ours(target: f64) -> Vec<Layer> {
    let most = (TIMES[TIMES.len() - 1] * FIRST_ITEMS as f64) as u64;
    let (mut layers, mut capacity) = (Vec::new(), 0);
    for params in scalable::chain(FIRST_ITEMS, target) {
        let params = params.expect("a layer of moderate size");
        capacity += params.expected_items();
        layers.push(Layer::parts(params.expected_items() as f64 / FIRST_ITEMS as f64, &params));
        if capacity >= most {
            break;
        }
    }
    layers
}

/// Named chains at one target: the textbook's first, ours last.
pub(crate) fn comparison(target: f64) -> Vec<(&'static str, Summary)> {
    let basel = |i: usize| 6.0 / (std::f64::consts::PI * (i + 1) as f64).powi(2);
    let two = |_| 2.0;
    vec![
        (
            "textbook: s = 2, r = 0.5, standard",
            summary(&chain(two, geometric(0.5), target, Layer::standard)),
        ),
        (
            "textbook: s = 2, r = 0.5, blocked",
            summary(&chain(two, geometric(0.5), target, Layer::blocked)),
        ),
        (
            "its authors' advice: s = 2, r = 0.85, standard",
            summary(&chain(two, geometric(0.85), target, Layer::standard)),
        ),
        (
            "s = 4, shares 6 / (π i)², blocked",
            summary(&chain(|_| 4.0, basel, target, Layer::blocked)),
        ),
        ("**`ScalableBloomFilter`**", summary(&ours(target))),
    ]
}

/// A candidate of the search.
pub(crate) struct Candidate {
    /// Growth by layer; the last value repeats.
    pub(crate) growth: Vec<f64>,
    /// The share scheme.
    pub(crate) shares: String,
    /// Its costs.
    pub(crate) summary: Summary,
}

impl Candidate {
    /// Whether it keeps the limits of the objective.
    pub(crate) fn is_allowed(&self, textbook: &Summary) -> bool {
        self.summary.mean.bits <= MEAN_LIMIT * textbook.mean.bits
            && self.summary.worst <= WORST_LIMIT * textbook.worst
    }

    /// The objective.
    pub(crate) fn score(&self) -> f64 {
        self.summary.mean.bits * self.summary.mean.miss
    }
}

type Shares = Box<dyn Fn(usize) -> f64>;

fn share_schemes() -> Vec<(String, Shares)> {
    let mut schemes: Vec<(String, Shares)> = Vec::new();
    for n in [2, 3, 4, 5, 6, 7, 8, 10, 12] {
        let share = 1.0 / f64::from(n);
        let shares = geometric(1.0 - share);
        schemes.push((format!("1/{n} of the rest"), Box::new(shares)));
    }
    // Telescoping: the sum of a / ((i + a) (i + a + 1)) is 1.
    for a in [1u32, 2, 4, 6, 8] {
        let shares = move |i: usize| {
            let (i, a) = (i as f64, f64::from(a));
            a / ((i + a) * (i + a + 1.0))
        };
        schemes.push((format!("{a} / ((i + {a}) (i + {}))", a + 1), Box::new(shares)));
    }
    let basel = |i: usize| 6.0 / (std::f64::consts::PI * (i + 1) as f64).powi(2);
    schemes.push(("6 / (π i)²".into(), Box::new(basel)));
    // A finite plan: as many layers as double 100 keys to 2^56 bits.
    schemes.push(("1/46 each, for 46 layers".into(), Box::new(|_| 1.0 / 46.0)));
    schemes
}

/// Every growth with every share scheme, layers in parts as the library makes them.
pub(crate) fn search(target: f64) -> Vec<Candidate> {
    // Bits per key by rate; one in 2^(1/8) steps, and between them linear.
    let table: Vec<LayerParams> = (0..=8 * 30)
        .map(|i| scalable::layer(1_000_000, (-f64::from(i + 1) / 8.0).exp2()))
        .collect::<Result<_, _>>()
        .expect("rates in range");
    let make = |items: f64, fpp: f64| {
        let at = -fpp.log2() * 8.0 - 1.0;
        let (i, part) = (at.floor() as usize, at.fract());
        let (low, high) = (Layer::parts(items, &table[i]), Layer::parts(items, &table[i + 1]));
        Layer { bits: low.bits + part * (high.bits - low.bits), ..low }
    };
    let growths: [&[f64]; 13] = [
        &[1.5],
        &[2.0],
        &[2.5],
        &[3.0],
        &[4.0],
        &[8.0],
        &[16.0],
        &[3.0, 2.0],
        &[3.0, 3.0, 2.0],
        &[4.0, 2.0],
        &[4.0, 4.0, 2.0],
        &[8.0, 4.0, 2.0],
        &[2.0, 4.0],
    ];
    let mut candidates = Vec::new();
    for growth in growths {
        for (name, shares) in share_schemes() {
            let by_layer = |i: usize| growth[i.min(growth.len() - 1)];
            let summary = summary(&chain(by_layer, shares, target, make));
            let growth = growth.to_vec();
            candidates.push(Candidate { growth, shares: name, summary });
        }
    }
    candidates.sort_by(|a, b| a.score().total_cmp(&b.score()));
    candidates
}

fn comparison_table(out: &mut String, target: f64) {
    let rows = comparison(target);
    let percent = target * 100.0;
    let _ = writeln!(out, "### p = {percent} %\n");
    for (what, cell) in [
        ("bits per key", (|s, i| s.at[i].bits) as fn(&Summary, usize) -> f64),
        ("most bits per key on the way there", |s, i| s.worst_to[i]),
        ("cache lines per miss", |s, i| s.at[i].miss),
        ("cache lines per hit", |s, i| s.at[i].hit),
        ("cache lines per insertion", |s, i| s.at[i].insert),
    ] {
        let _ = writeln!(out, "| {what} | 1× | 10× | 100× | 1,000× | 10,000× | mean |");
        let _ = writeln!(out, "|---|---:|---:|---:|---:|---:|---:|");
        for (name, summary) in &rows {
            let _ = write!(out, "| {name} |");
            for i in 0..TIMES.len() {
                let _ = write!(out, " {:.1} |", cell(summary, i));
            }
            let _ = match what {
                "bits per key" => writeln!(out, " {:.1} |", summary.mean.bits),
                "cache lines per miss" => writeln!(out, " {:.1} |", summary.mean.miss),
                "cache lines per hit" => writeln!(out, " {:.1} |", summary.mean.hit),
                "cache lines per insertion" => writeln!(out, " {:.1} |", summary.mean.insert),
                _ => writeln!(out, " |"),
            };
        }
        out.push('\n');
    }
}

fn search_table(out: &mut String, target: f64) {
    let textbook = &comparison(target)[0].1;
    let candidates = search(target);
    let _ = writeln!(
        out,
        "| growth | shares (best of {}) | mean bits | worst bits | lines per miss | product | \
         allowed |",
        share_schemes().len()
    );
    let _ = writeln!(out, "|---|---|---:|---:|---:|---:|---|");
    let mut seen: Vec<&[f64]> = Vec::new();
    for candidate in &candidates {
        if seen.contains(&&candidate.growth[..]) {
            continue;
        }
        // For each growth the best allowed one, or the best if none is allowed.
        let same: Vec<&Candidate> =
            candidates.iter().filter(|other| other.growth == candidate.growth).collect();
        let best = same.iter().find(|c| c.is_allowed(textbook)).unwrap_or(&same[0]);
        seen.push(&candidate.growth);
        let growth: Vec<String> = best.growth.iter().map(f64::to_string).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {:.1} | {:.1} | {:.1} | {:.0} | {} |",
            growth.join(", then "),
            best.shares,
            best.summary.mean.bits,
            best.summary.worst,
            best.summary.mean.miss,
            best.score(),
            if best.is_allowed(textbook) { "yes" } else { "no" }
        );
    }
}

/// The page.
pub(crate) fn report() -> String {
    let mut out = String::from(
        "# What a growing filter costs\n\n\
         Made by `cargo run -p mayhap --example scalable_cost`; a test compares it.\n\n\
         Computed from the exact sizes, not measured. n runs from the first guess (1×) to\n\
         10,000 times the first guess; means are over log-uniform n. Bits per key count all\n\
         memory, including the empty part of the newest layer: at 1× the first layer is full,\n\
         at the other points the newest one is partly full, and just after growth it is empty.\n\
         Lines are distinct cache lines; those of old layers are few and stay in the cache.\n\
         Queries go from the newest and largest layer to the oldest.\n\n\
         ## Against the textbook\n\n",
    );
    for target in [0.05, 0.01, 0.001] {
        comparison_table(&mut out, target);
    }
    let _ = write!(
        out,
        "For the first layers the textbook needs fewer bits, as it gives them half of the rate;\n\
         they get a sixth here, which makes the later ones smaller.\n\n\
         ## How growth and shares were chosen\n\n\
         At p = 1 %, we chose the smallest product of mean bits per key and mean cache lines\n\
         per miss among the chains that need at most {} % of the textbook's mean bits per key\n\
         and {} % of its worst. Layers are divided into parts as in `mayhap::sizing::scalable`.\n\
         Faster growth means fewer layers to query and more empty memory.\n\n",
        MEAN_LIMIT * 100.0,
        WORST_LIMIT * 100.0
    );
    search_table(&mut out, 0.01);
    let _ = write!(
        out,
        "\nChosen: growth {}, 1/{:.0} of the rest. Shares of the rest never run out: any\n\
         number of layers keeps p. A layer's bits grow with the logarithm of the inverse of its\n\
         share: a plan for 46 layers with 1/46 each costs more up to 2,000 times the first\n\
         guess and less beyond.\n",
        scalable::GROWTH,
        1.0 / scalable::SHARE
    );
    out
}

#[allow(dead_code, reason = "the test of the page includes this file")]
fn main() {
    print!("{}", report());
}
