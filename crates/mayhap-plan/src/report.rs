//! A plan in words and as JSON.

use crate::cost::Amount;
use crate::text::{fits_name, rough, what_it_is, why};
use mayhap::plan::{Candidate, Fits, KindName, Needs, Plan, Reason, memory};
use mayhap_units::number::{counted, format_bytes, format_count, format_fpp, grouped};
use serde::{Serialize, Serializer};

/// The assumed bytes of a key by default: about a number in text, less than most URLs.
const USUAL_KEY_BYTES: f64 = 32.0;

/// A row of the report in words.
type Row = (&'static str, String);

/// All numbers of a plan, for JSON too.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The kind to take, if any serves.
    pub best: Option<Numbers>,
    /// The command that creates it, where a program adds one.
    pub create: Option<String>,
    /// The reason to use no filter, if there is one.
    no_filter: Option<String>,
    /// Kinds that serve too, the runner-up first.
    rejected: Vec<Rejected>,
    /// Kinds that do not serve.
    unfit: Vec<Unfit>,
    without_filter: Option<WithoutFilter>,
    cost: Option<CostNumbers>,
    memory: Memory,
}

/// The numbers of a kind of filter; bits are for one set, bytes for all.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "as of mayhap::plan::Candidate")]
pub struct Numbers {
    pub kind: &'static str,
    pub items: u64,
    pub target_fpp: f64,
    pub num_bits: u64,
    pub num_bytes: u64,
    pub bits_per_item: f64,
    pub num_hashes: u32,
    pub sets: u64,
    pub expected_fpp: f64,
    pub fpp_at_2x: Option<f64>,
    pub fpp_at_10x: Option<f64>,
    pub num_bytes_at_10x: Option<u64>,
    pub items_kept_of_2x: Option<u64>,
    pub cache_lines_hit: f64,
    pub cache_lines_miss: f64,
    #[serde(serialize_with = "serialize_fits")]
    pub fits: Fits,
    pub expected_wrong_sets: f64,
}

#[derive(Debug, Serialize)]
struct Rejected {
    #[serde(flatten)]
    numbers: Numbers,
    why: String,
}

#[derive(Debug, Serialize)]
struct Unfit {
    kind: &'static str,
    why: String,
}

/// The memory of the alternatives (F7), all sets together.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the unit is part of the name in JSON")]
struct WithoutFilter {
    key_bytes: f64,
    keys_bytes: f64,
    hash_set_bytes: f64,
    one_hash_bitmap_bytes: f64,
    textbook_filter_bytes: f64,
}

/// The cost model (F6), per question, in seconds or in the unit of the costs given.
#[derive(Debug, Serialize)]
struct CostNumbers {
    unit: Option<&'static str>,
    absent_share: f64,
    true_negatives: f64,
    false_positives: f64,
    hits: f64,
    with_filter: f64,
    without_filter: f64,
    with_hash_map: f64,
    of_false_positives: f64,
    saved: f64,
    break_even_fpp: Option<f64>,
    false_positives_per_second: Option<f64>,
    #[serde(skip)]
    filter_cost: Amount,
    #[serde(skip)]
    disk_cost: f64,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the unit is part of the name in JSON")]
struct Memory {
    l2_bytes: u64,
    l3_bytes: u64,
    ram_bytes: u64,
}

impl Numbers {
    /// The numbers of a candidate.
    pub fn of(candidate: &Candidate) -> Self {
        Self {
            kind: candidate.name(),
            items: candidate.items,
            target_fpp: candidate.target_fpp,
            num_bits: candidate.num_bits,
            num_bytes: candidate.num_bytes,
            bits_per_item: candidate.bits_per_item(),
            num_hashes: candidate.num_hashes,
            sets: candidate.sets,
            expected_fpp: candidate.expected_fpp,
            fpp_at_2x: candidate.fpp_at_2x,
            fpp_at_10x: candidate.fpp_at_10x,
            num_bytes_at_10x: candidate.num_bytes_after(candidate.items.saturating_mul(10)),
            items_kept_of_2x: candidate.items_kept_of(candidate.items.saturating_mul(2)),
            cache_lines_hit: candidate.cache_lines.hit,
            cache_lines_miss: candidate.cache_lines.miss,
            fits: candidate.fits,
            expected_wrong_sets: candidate.expected_wrong_sets(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn serialize_fits<S: Serializer>(fits: &Fits, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fits_name(*fits))
}

impl Report {
    /// The report of a plan for these needs, with the cost of a query of the filter, in its unit,
    /// if it was given.
    pub fn of(needs: &Needs, filter_cost: Option<Amount>, plan: &Plan) -> Self {
        let (best, sizes) = (plan.best.as_ref(), needs.memory);
        let unfit = |(kind, reason): &(KindName, Reason)| Unfit {
            kind: kind.name(),
            why: why(reason, None),
        };
        let rejected = |(other, reason): &(Candidate, Reason)| Rejected {
            numbers: Numbers::of(other),
            why: why(reason, None),
        };
        Self {
            best: best.map(Numbers::of),
            create: None,
            no_filter: plan.no_filter.as_ref().map(|reason| why(reason, filter_cost)),
            rejected: plan.rejected.iter().map(rejected).collect(),
            unfit: plan.unfit.iter().map(unfit).collect(),
            without_filter: best.map(|best| WithoutFilter::of(needs, best)),
            cost: filter_cost.and_then(|unit| CostNumbers::of(needs, plan, unit)),
            memory: Memory {
                l2_bytes: sizes.l2_bytes,
                l3_bytes: sizes.l3_bytes,
                ram_bytes: sizes.ram_bytes,
            },
        }
    }

    /// The report in words: the names of rows with their texts. A row without a name continues the
    /// previous one.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(best) = &self.best {
            self.rows_of_best(best, &mut rows);
        }
        self.rows_of_others(&mut rows);
        if let Some(others) = &self.without_filter {
            others.rows(&mut rows);
        }
        if let Some(cost) = &self.cost {
            cost.rows(&mut rows);
        }
        if let Some(why) = &self.no_filter {
            rows.push(("verdict", format!("no filter: {why}")));
        }
        rows
    }

    fn rows_of_best(&self, best: &Numbers, rows: &mut Vec<Row>) {
        rows.push(("kind", format!("{}: {}", best.kind, what_it_is(best.kind))));
        let (of_sets, each) = match best.sets {
            1 => (String::new(), ""),
            sets => (format!(" for each of {} sets", grouped(sets)), " each"),
        };
        let (keys, target) = (counted(best.items, "key"), format_fpp(best.target_fpp));
        rows.push(("made for", format!("{keys} at a rate of {target}{of_sets}")));
        let (bytes, bits) = (format_bytes(best.num_bytes), grouped(best.num_bits));
        let (bits_per_item, k) = (best.bits_per_item, best.num_hashes);
        let size = format!("{bytes} ({bits} bits{each}); {bits_per_item:.2} bits a key, k = {k}");
        rows.push(("size", size));
        let beyond = match (best.fpp_at_2x.map(rough), best.fpp_at_10x.map(rough)) {
            (Some(twice), Some(tenfold)) => format!("with 2x the keys {twice}, with 10x {tenfold}"),
            _ => "accepts no more keys than its capacity".into(),
        };
        rows.push(("rate", format!("{} predicted; {beyond}", rough(best.expected_fpp))));
        if let Some(kept) = best.items_kept_of_2x.map(grouped) {
            let text = format!(
                "all of the time while no more than {keys} come in it, in whatever bursts; of 2x \
                 as many the last {kept}"
            );
            rows.push(("remembers", text));
        }
        if let Some(bytes) = best.num_bytes_at_10x.filter(|bytes| *bytes > best.num_bytes) {
            rows.push(("grows", format!("to {} with 10x the keys", format_bytes(bytes))));
        }
        if best.sets > 1 {
            let wrong = format!("{:.3}", best.expected_wrong_sets);
            rows.push(("wrong sets", format!("{wrong} found for an absent key, on average")));
        }
        let lines = |lines: f64| {
            let text = format!("{lines:.1}");
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        };
        let (hit, miss) = (lines(best.cache_lines_hit), lines(best.cache_lines_miss));
        rows.push(("cache lines", format!("{hit} for a present key, {miss} for an absent one")));
        rows.push(("fits in", self.memory.of(best.fits)));
    }

    fn rows_of_others(&self, rows: &mut Vec<Row>) {
        let mut name = "runner-up";
        for Rejected { numbers, why } in &self.rejected {
            let bytes = format_bytes(numbers.num_bytes);
            rows.push((name, format!("{} ({bytes}): {why}", numbers.kind)));
            name = "";
        }
        // Kinds that lack the same are named together.
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for Unfit { kind, why } in &self.unfit {
            match reasons.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, kinds)) => kinds.push(kind),
                None => reasons.push((why, vec![kind])),
            }
        }
        let mut name = "rejected";
        for (why, kinds) in reasons {
            rows.push((name, format!("{}: {why}", kinds.join(", "))));
            name = "";
        }
    }
}

impl Memory {
    /// A memory and how big it is.
    fn of(&self, fits: Fits) -> String {
        let [l2, l3, ram] = [self.l2_bytes, self.l3_bytes, self.ram_bytes].map(format_bytes);
        match fits {
            Fits::L2 => format!("the L2 cache of {l2}"),
            Fits::L3 => format!("the L3 cache of {l3}"),
            Fits::Ram => format!("main memory of {ram} (L3 cache {l3})"),
            Fits::Nothing => format!("no memory: main memory is {ram}"),
        }
    }
}

impl WithoutFilter {
    fn of(needs: &Needs, best: &Candidate) -> Self {
        let key_bytes = needs.key_bytes.unwrap_or(USUAL_KEY_BYTES);
        let (items, fpp) = (best.items, best.target_fpp);
        let sets = best.sets as f64;
        Self {
            key_bytes,
            keys_bytes: sets * memory::keys_bytes(items, key_bytes),
            hash_set_bytes: sets * memory::hash_set_bytes(items, key_bytes),
            one_hash_bitmap_bytes: sets * memory::one_hash_bits(items, fpp) / 8.0,
            textbook_filter_bytes: sets * memory::textbook_bytes(items, fpp),
        }
    }

    fn rows(&self, rows: &mut Vec<Row>) {
        // Saturates above 16 EiB, beyond any real memory.
        let bytes = |bytes: f64| format_bytes(bytes as u64);
        let (keys, set) = (bytes(self.keys_bytes), bytes(self.hash_set_bytes));
        let (each, bitmap) = (self.key_bytes, bytes(self.one_hash_bitmap_bytes));
        rows.push(("no filter", format!("{keys} for keys of {each} bytes, in a hash set {set}")));
        rows.push(("", format!("{bitmap} for a bitmap with one hash")));
    }
}

impl CostNumbers {
    fn of(needs: &Needs, plan: &Plan, filter_cost: Amount) -> Option<Self> {
        let (costs, cost) = (needs.costs?, plan.cost?);
        let disk_cost = costs.with_disk - costs.without_disk;
        // P1 · (C2 − C1) > C1, with P1 = absent · (1 − p), solved for p.
        let break_even = 1.0 - costs.without_disk / (costs.absent_share * disk_cost);
        Some(Self {
            unit: matches!(filter_cost, Amount::Seconds(_)).then_some("s"),
            absent_share: costs.absent_share,
            true_negatives: cost.true_negatives,
            false_positives: cost.false_positives,
            hits: cost.hits,
            with_filter: cost.with_filter,
            without_filter: cost.without_filter,
            with_hash_map: cost.with_hash_map,
            of_false_positives: cost.of_false_positives,
            saved: cost.without_filter - cost.with_filter,
            break_even_fpp: (break_even > 0.0).then_some(break_even),
            false_positives_per_second: plan.false_positives_per_second,
            filter_cost,
            disk_cost,
        })
    }

    fn rows(&self, rows: &mut Vec<Row>) {
        let amount = |number: f64| self.filter_cost.with(number).to_string();
        let verdict = match self.saved {
            saved if saved > 0.0 => {
                format!("saves {} ({})", amount(saved), rough(saved / self.without_filter))
            }
            saved => format!("costs {} more", amount(-saved)),
        };
        let (with, without) = (amount(self.with_filter), amount(self.disk_cost));
        rows.push(("a query", format!("{with} with the filter, {without} without it: {verdict}")));
        let (map, wrong) = (amount(self.with_hash_map), amount(self.of_false_positives));
        rows.push(("", format!("{map} with all keys in memory: false positives cost {wrong}")));
        let pays = match self.break_even_fpp {
            Some(fpp) => format!("at any rate below {}", format_fpp(fpp)),
            None => "at no rate: a query costs more than it can save".into(),
        };
        rows.push(("pays", pays));
        if let Some(per_second) = self.false_positives_per_second {
            let text = match per_second {
                many if many >= 10.0 => format_count(many.round() as u64),
                few => format!("{few:.3}"),
            };
            rows.push(("for nothing", format!("{text} disk reads a second")));
        }
    }
}

#[cfg(test)]
mod tests;
