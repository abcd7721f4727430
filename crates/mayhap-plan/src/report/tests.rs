//! Numbers by hand, and the words that they become.

use super::*;
use mayhap::plan::{Costs, MemorySizes, plan};

fn needs(items: u64, target_fpp: f64) -> Needs {
    Needs { target_fpp: Some(target_fpp), ..Needs::for_items(items) }
}

fn report(needs: &Needs, filter_cost: Option<Amount>) -> Report {
    Report::of(needs, filter_cost, &plan(needs).unwrap())
}

/// The texts of a row, and of those without a name below it.
fn row(rows: &[Row], name: &str) -> Vec<String> {
    let from = rows.iter().position(|(row, _)| *row == name);
    let from = from.unwrap_or_else(|| panic!("no {name} in {rows:?}"));
    let more = rows[from + 1..].iter().take_while(|(name, _)| name.is_empty()).count();
    rows[from..=from + more].iter().map(|(_, text)| text.clone()).collect()
}

/// By hand, of a million keys at 1 %: 2^21 slots of a hash set, of 51 bytes; 99.4992 bits a key of
/// a bitmap and 9.58506 of the ideal filter.
#[test]
fn what_there_is_without_a_filter_is_counted_for_all_sets() {
    let near = |value: f64, expected: f64| {
        assert!((value / expected - 1.0).abs() < 1e-5, "{value} {expected}");
    };
    let one = Needs { key_bytes: Some(50.0), ..needs(1_000_000, 0.01) };
    for sets in [1, 3] {
        let needs = Needs { sets, ..one.clone() };
        let others = report(&needs, None).without_filter.unwrap();
        let times = sets as f64;
        assert_eq!((others.key_bytes, others.keys_bytes), (50.0, times * 5e7));
        assert_eq!(others.hash_set_bytes, times * 106_954_752.0);
        near(others.one_hash_bitmap_bytes, times * 12_437_395.0);
        near(others.textbook_filter_bytes, times * 1_198_132.0);
    }
    let usual = report(&needs(1_000_000, 0.01), None).without_filter.unwrap();
    assert_eq!((usual.key_bytes, usual.keys_bytes), (32.0, 3.2e7));
    let mut rows = Vec::new();
    report(&one, None).without_filter.unwrap().rows(&mut rows);
    let bytes = [50_000_000, 106_954_752, 12_437_395].map(format_bytes);
    let [keys, set, bitmap] = bytes;
    let texts = [
        format!("{keys} for keys of 50 bytes, in a hash set {set}"),
        format!("{bitmap} for a bitmap with one hash"),
    ];
    assert_eq!(row(&rows, "no filter"), texts);
}

/// By hand: memory takes 1 ms and the disk 10 ms more, and four of five queries are for absent
/// keys. A filter that let none of them pass would save 8 ms of 10 and cost 1: it breaks even where
/// 0.8 · (1 − p) · 10 = 1, at p = 0.875.
#[test]
fn a_filter_pays_below_the_rate_at_which_it_saves_what_it_costs() {
    let costs = Costs { without_disk: 0.001, with_disk: 0.011, absent_share: 0.8 };
    let needs = Needs { costs: Some(costs), ..needs(1_000_000, 1.0 / 256.0) };
    let needs = Needs { queries_per_second: Some(1_000.0), ..needs };
    let report = report(&needs, Some(Amount::Seconds(0.001)));
    let fpp = report.best.as_ref().unwrap().expected_fpp;
    let cost = report.cost.as_ref().unwrap();
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}");
    assert_eq!((cost.unit, cost.absent_share, report.no_filter.is_none()), (Some("s"), 0.8, true));
    near(cost.break_even_fpp.unwrap(), 0.875);
    near(cost.disk_cost, 0.010);
    near(cost.without_filter, 0.010);
    near(cost.with_hash_map, 0.8 * 0.001 + 0.2 * 0.011);
    near(cost.with_filter, 0.8 * 0.001 + 0.2 * 0.011 + 0.8 * fpp * 0.010);
    near(cost.of_false_positives, 0.8 * fpp * 0.010);
    near(cost.saved, 0.010 - cost.with_filter);
    near(cost.true_negatives + cost.false_positives + cost.hits, 1.0);
    near(cost.false_positives_per_second.unwrap(), 800.0 * fpp);
    let rows = report.rows();
    let [words, more] = &row(&rows, "a query")[..] else { panic!("{rows:?}") };
    assert!(
        words.ends_with("with the filter, 10 ms without it: saves 6.97 ms (69.7 %)"),
        "{words}"
    );
    assert!(words.starts_with("3.03 ms "), "{words}");
    assert!(more.starts_with("3 ms with all keys in memory: false positives cost "), "{more}");
    assert_eq!(row(&rows, "pays"), ["at any rate below 87.5 %"]);
    assert!(row(&rows, "for nothing")[0].starts_with("3.1"), "{rows:?}");
}

#[test]
fn a_filter_that_costs_more_than_it_can_save_is_said_to_pay_at_no_rate() {
    // It saves a tenth of 10 and costs 1.5.
    let costs = Costs { without_disk: 1.5, with_disk: 11.5, absent_share: 0.1 };
    let needs = Needs { costs: Some(costs), ..needs(1_000, 0.01) };
    let report = report(&needs, Some(Amount::Plain(1.5)));
    let rows = report.rows();
    let Some(cost) = &report.cost else { panic!("{rows:?}") };
    assert_eq!((cost.unit, cost.break_even_fpp), (None, None));
    assert!(cost.saved < 0.0);
    let words = &row(&rows, "a query")[0];
    assert!(words.contains("10 without it: costs 0.5"), "{words}");
    assert_eq!(row(&rows, "pays"), ["at no rate: a query costs more than it can save"]);
    assert!(row(&rows, "verdict")[0].starts_with("no filter: "), "{rows:?}");
}

#[test]
fn rows_name_the_filter_its_command_and_the_memory_that_holds_it() {
    let memory = MemorySizes { l2_bytes: 1 << 20, l3_bytes: 32 << 20, ram_bytes: 1 << 30 };
    let of = |items| Needs { memory, ..needs(items, 0.01) };
    for (items, fits, words) in [
        (10_000, Fits::L2, "the L2 cache of 1.00 MiB"),
        (10_000_000, Fits::L3, "the L3 cache of 32.0 MiB"),
        (100_000_000, Fits::Ram, "main memory of 1.00 GiB (L3 cache 32.0 MiB)"),
    ] {
        let report = report(&of(items), None);
        assert_eq!(report.best.as_ref().unwrap().fits, fits, "{items}");
        assert_eq!(row(&report.rows(), "fits in"), [words]);
    }
    let report = report(&of(1_000_000), None);
    let rows = report.rows();
    assert_eq!(row(&rows, "kind"), ["blocked: all bits of a key in one cache line"]);
    let [made_for] = &row(&rows, "made for")[..] else { panic!() };
    assert!(made_for.contains("at a rate of 1 %") && !made_for.contains("sets"), "{made_for}");
    assert_eq!(row(&rows, "cache lines"), ["1 for a present key, 1 for an absent one"]);
    let best = report.best.as_ref().unwrap();
    let size = format!("{:.2} bits a key, k = {}", best.num_bits as f64 / 1e6, best.num_hashes);
    assert!(row(&rows, "size")[0].ends_with(&size), "{rows:?}");
    assert!(rows.iter().all(|(name, _)| !["remembers", "grows", "wrong sets"].contains(name)));
}

#[test]
fn kinds_that_grow_or_forget_say_what_becomes_of_more_keys() {
    let grows = Needs { unknown_items: true, ..needs(1_000_000, 0.01) };
    let report_of = report(&grows, None);
    let rows = report_of.rows();
    let best = report_of.best.as_ref().unwrap();
    let bytes = best.num_bytes_at_10x.unwrap();
    assert!(bytes > 8 * best.num_bytes, "{best:?}");
    assert_eq!(row(&rows, "grows"), [format!("to {} with 10x the keys", format_bytes(bytes))]);
}

#[test]
fn kinds_that_lack_the_same_are_named_together_and_the_runner_up_comes_first() {
    let report = report(&needs(1_000_000, 0.01), None);
    let rows = report.rows();
    let others = row(&rows, "runner-up");
    assert_eq!(others.len(), report.rejected.len());
    assert!(others[0].starts_with("standard ("), "{others:?}");
    let not = row(&rows, "rejected");
    let kinds: usize =
        not.iter().map(|line| line.split_once(": ").unwrap().0.split(", ").count()).sum();
    assert_eq!(kinds, report.unfit.len());
    let mut reasons: Vec<&str> = not.iter().map(|line| line.split_once(": ").unwrap().1).collect();
    let count = reasons.len();
    reasons.sort_unstable();
    reasons.dedup();
    assert_eq!(reasons.len(), count, "{not:?}");
}

#[test]
fn a_window_of_time_remembers_its_keys_and_of_twice_as_many_the_last() {
    let needs = Needs { forget: true, by_time: true, ..needs(1_000_000, 0.01) };
    let report = report(&needs, None);
    let kept = report.best.as_ref().unwrap().items_kept_of_2x.unwrap();
    assert_ne!(kept, 1_000_000);
    let text = format!(
        "all of the time while no more than 1,000,000 keys come in it, in whatever bursts; of 2x \
         as many the last {}",
        grouped(kept)
    );
    assert_eq!(row(&report.rows(), "remembers"), [text]);
}
