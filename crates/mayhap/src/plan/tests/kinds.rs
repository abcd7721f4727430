//! Each need, the kind that serves it, and why the others do not.

use super::{best, sized, unfit};
use crate::native::Kind;
use crate::plan::{Candidate, Costs, Needs, Reason, plan};
use crate::{
    CompactFilter, CountingBloomFilter, DigestFunction, Error, ScalableBloomFilter, sizing,
};
use alloc::string::ToString;

const MILLION: u64 = 1_000_000;

#[test]
fn each_need_has_its_kind_and_the_others_a_reason() {
    let needs = sized(MILLION, 0.01);
    let cannot = [Reason::CannotDelete, Reason::CannotForget, Reason::CannotGrow];
    for (needs, kind, reason) in [
        (Needs { forget: true, ..needs.clone() }, Kind::Window, cannot[1]),
        (Needs { unknown_items: true, ..needs.clone() }, Kind::Scalable, cannot[2]),
    ] {
        let plan = plan(&needs).unwrap();
        assert_eq!((plan.best.unwrap().kind.kind, plan.rejected.len()), (kind, 0));
        // Two plain ones and six others, each once.
        assert_eq!(plan.unfit.len(), 8);
        assert!(plan.unfit.iter().all(|(other, why)| other.kind != kind && *why == reason));
    }
    // Fingerprints take fewer bits than counters, and the few of a small filter more.
    let deleting = plan(&Needs { delete: true, ..needs.clone() }).unwrap();
    assert_eq!((deleting.best.unwrap().name(), deleting.unfit.len()), ("compact", 7));
    let (counting, why) = &deleting.rejected[0];
    assert!(matches!(*why, Reason::MoreBits { times } if times > 4.5), "{why}");
    assert_eq!((counting.name(), deleting.rejected.len()), ("counting", 1));
    assert!(deleting.unfit.iter().all(|(_, why)| *why == cannot[0]));
    assert_eq!(best(&Needs { delete: true, ..sized(20, 0.01) }).name(), "counting");
    // Frozen: a ribbon filter takes the fewest bits.
    let frozen = plan(&Needs { frozen: true, ..sized(MILLION, 0.004) }).unwrap();
    assert_eq!(frozen.best.unwrap().name(), "ribbon");
    assert_eq!((frozen.rejected.len(), frozen.unfit.len()), (3, 0));
    assert_eq!(frozen.rejected[0].0.name(), "fuse");
    for (other, reason) in &frozen.rejected {
        assert!(matches!(other.kind.kind, Kind::Bloom | Kind::Fuse));
        assert!(matches!(reason, Reason::MoreBits { times } if *times > 1.0), "{reason}");
    }
    // Many sets: a matrix queries them all at once.
    let sets = plan(&Needs { sets: 512, ..needs.clone() }).unwrap();
    let lines = sets.best.unwrap().cache_lines.miss;
    assert_eq!((lines, sets.rejected.len()), (5.0, 2));
    for (other, reason) in &sets.rejected {
        let worse = match *reason {
            Reason::MoreCacheLines { lines, best } => lines > 500.0 && best == 5.0,
            Reason::MoreBits { .. } => other.cache_lines.miss > 500.0,
            _ => false,
        };
        assert!(worse, "{reason}");
    }
    assert_eq!(sets.unfit.len(), 2);
    // Two needs that no kind has both of.
    let both = plan(&Needs { delete: true, unknown_items: true, ..needs }).unwrap();
    assert_eq!((&both.best, both.no_filter), (&None, Some(Reason::NothingServes)));
    assert_eq!(unfit(&both, "counting"), Reason::CannotGrow);
    assert_eq!(unfit(&both, "scalable"), Reason::CannotDelete);
}

/// As read by the code: the first seven rows, and the others seldom; all of a small table.
#[test]
fn a_window_touches_as_many_cache_lines_as_its_code_reads() {
    for (by_time, hit, miss) in [(false, 11.0, 7.5), (true, 9.0, 7.1)] {
        let lines = |items| {
            let needs = Needs { forget: true, by_time, ..sized(items, 0.01) };
            plan(&needs).unwrap().best.unwrap().cache_lines
        };
        let (small, large) = (lines(1_000), lines(100 * MILLION));
        assert_eq!((small.hit, large.hit), (small.miss, hit));
        assert!((large.miss - miss).abs() < 0.05, "{}", large.miss);
    }
}

#[test]
fn what_deletes_is_the_filter_of_its_builder() {
    let builder = || CompactFilter::builder().target_fpp(0.01);
    let same = |found: &Candidate, filter: &CompactFilter| {
        assert_eq!((found.num_bits / 8, found.num_bytes), (filter.num_bytes(), filter.num_bytes()));
        let rate = |items| filter.expected_fpp(items);
        assert_eq!(found.fpp_after(found.items), Some(rate(found.items)));
        // It takes no more.
        assert_eq!((found.fpp_at_2x, found.fpp_at_10x), (None, None));
    };
    let needs = Needs { delete: true, ..sized(100_000, 0.01) };
    let bits = best(&needs);
    same(&bits, &builder().expected_items(100_000).build().unwrap());
    assert!(bits.expected_fpp <= 0.01);
    let max_bytes = Some(1 << 20);
    let number = best(&Needs { items: None, max_bytes, ..needs.clone() });
    same(&number, &builder().num_bytes(1 << 20).build().unwrap());
    let rate = best(&Needs { target_fpp: None, max_bytes, ..needs.clone() });
    let filter = CompactFilter::builder().num_bytes(1 << 20).expected_items(100_000);
    let filter = filter.build().unwrap();
    assert_eq!(rate.num_bytes, filter.num_bytes());
    assert!((rate.expected_fpp / filter.expected_fpp(100_000) - 1.0).abs() < 1e-9);
    let none = plan(&Needs { max_bytes: Some(bits.num_bytes - 1), ..needs }).unwrap();
    assert_eq!(unfit(&none, "compact"), Reason::OverBudget { num_bytes: bits.num_bytes });
}

#[test]
fn the_counting_candidate_is_the_filter_of_its_builder() {
    let builder = || CountingBloomFilter::builder().target_fpp(0.01);
    let same = |found: &Candidate, filter: &CountingBloomFilter| {
        assert_eq!((found.num_bits, found.num_bytes), (filter.num_bits(), filter.num_bytes()));
        assert_eq!((found.num_hashes, found.cache_lines.hit), (filter.num_hashes(), 1.0));
        for times in [1, 2, 10] {
            let items = found.items * times;
            assert_eq!(found.fpp_after(items), Some(filter.expected_fpp(items)));
        }
        assert_eq!(found.fpp_at_2x, found.fpp_after(2 * found.items));
    };
    let needs = Needs { delete: true, ..sized(100_000, 0.01) };
    let counting = |needs: &Needs| {
        let plan = plan(needs).unwrap();
        let is_it = |(other, _): &(Candidate, Reason)| other.name() == "counting";
        plan.rejected.into_iter().find(is_it).expect("a candidate").0
    };
    let bits = counting(&needs);
    same(&bits, &builder().expected_items(100_000).build().unwrap());
    assert!(bits.expected_fpp <= 0.01 && bits.fpp_at_2x.unwrap() > 0.05);
    let max_bytes = Some(1 << 20);
    let number = counting(&Needs { items: None, max_bytes, ..needs.clone() });
    same(&number, &builder().num_bytes(1 << 20).build().unwrap());
    let rate = counting(&Needs { target_fpp: None, max_bytes, ..needs.clone() });
    let filter = CountingBloomFilter::builder().num_bytes(1 << 20).expected_items(100_000);
    same(&rate, &filter.build().unwrap());
    let none = plan(&Needs { max_bytes: Some(bits.num_bytes - 1), ..needs }).unwrap();
    assert_eq!(unfit(&none, "counting"), Reason::OverBudget { num_bytes: bits.num_bytes });
}

/// README.md, docs/commands.md and docs/cookbook.md say so.
#[test]
fn counting_takes_many_times_the_memory_of_a_plain_filter() {
    for (target_fpp, times) in [(0.01, 4.5), (1e-3, 4.9), (1e-7, 22.0)] {
        let plain = best(&sized(MILLION, target_fpp)).num_bytes as f64;
        let counting = CountingBloomFilter::builder().expected_items(MILLION);
        let params = counting.target_fpp(target_fpp).params().unwrap();
        let found = (params.num_bits() / 2) as f64 / plain;
        assert!((found / times - 1.0).abs() < 0.02, "{target_fpp}: {found}");
    }
}

#[test]
fn what_grows_is_the_chain_and_keeps_the_rate() {
    for target_fpp in [0.01, 1e-6] {
        let needs = Needs { unknown_items: true, ..sized(1_000, target_fpp) };
        let chain = best(&needs);
        let digests = DigestFunction::default();
        let mut filter = ScalableBloomFilter::new(1_000, target_fpp, digests).unwrap();
        assert_eq!((chain.num_bits, chain.num_bytes), (filter.num_bits(), filter.num_bytes()));
        assert_eq!(chain.target_fpp, target_fpp);
        // Grown as planned, to the planned size and rate.
        let mut keys = 0..u64::MAX;
        for (come, num_layers) in [(1_000, 1), (2_000, 2), (10_000, 3)] {
            while keys.start < come {
                filter.insert(&keys.next().unwrap()).unwrap();
            }
            assert_eq!(filter.num_layers(), num_layers);
            assert_eq!(chain.num_bytes_after(come), Some(filter.num_bytes()));
            // By the number that the filter counted, which is subject to chance.
            let (planned, found) = (chain.fpp_after(come).unwrap(), filter.expected_fpp());
            assert!((planned / found - 1.0).abs() < 0.003, "{come}: {planned} {found}");
        }
        assert!(chain.expected_fpp < chain.fpp_at_2x.unwrap());
        assert!(chain.fpp_at_2x < chain.fpp_at_10x && chain.fpp_at_10x.unwrap() <= target_fpp);
        // A miss touches hardly more than one line, a hit one of each part.
        let parts = sizing::scalable::chain_layer(1_000, target_fpp, 0, 0.0).unwrap().num_parts();
        assert_eq!(chain.cache_lines.hit, f64::from(parts));
        assert!((1.0..1.1).contains(&chain.cache_lines.miss), "{}", chain.cache_lines.miss);
        assert_eq!(chain.cache_lines.miss > 1.0, parts > 1);
        // Solved backwards.
        let max_bytes = Some(chain.num_bytes);
        let number = best(&Needs { items: None, max_bytes, ..needs.clone() });
        assert!((1_000..1_100).contains(&number.items), "{}", number.items);
        let rate = best(&Needs { target_fpp: None, max_bytes, ..needs });
        assert!(rate.num_bytes <= chain.num_bytes && rate.target_fpp <= 1.1 * target_fpp);
    }
    let plain = best(&sized(1_000, 0.01));
    assert_eq!(plain.num_bytes_after(1_000_000), Some(plain.num_bytes));
}

/// No number of rows gives a lower rate in the budget.
#[test]
fn the_rate_of_a_matrix_is_the_lowest() {
    let mut rows = alloc::vec::Vec::new();
    for bits_per_item in [1, 2, 5, 8, 10, 11, 12, 15, 18, 24, 30, 40] {
        let budget = 512 * bits_per_item * 100_000 / 8;
        let needs = Needs { sets: 512, max_bytes: Some(budget), ..Needs::for_items(100_000) };
        let plan = plan(&needs).unwrap();
        let all = plan.best.iter().chain(plan.rejected.iter().map(|(other, _)| other));
        let found = all.into_iter().find(|other| other.name() == "matrix").unwrap();
        assert!(found.num_bytes <= budget);
        assert_eq!(found.target_fpp, found.expected_fpp);
        for k in [1, 2, 3, 4, 5, 6, 7, 8, 16] {
            let groups = bits_per_item * 100_000 / sizing::matrix::num_bits(1, k);
            let fpp = sizing::matrix::expected_fpp(groups, k, 100_000);
            assert!(found.expected_fpp <= fpp, "{bits_per_item} bits: k = {k} has {fpp}");
        }
        rows.push(found.num_hashes);
    }
    assert!(rows.is_sorted() && rows[0] == 1 && rows.last() == Some(&16), "{rows:?}");
    let none = plan(&Needs { sets: 512, max_bytes: Some(64), ..Needs::for_items(1) }).unwrap();
    assert!(matches!(unfit(&none, "matrix"), Reason::BudgetTooSmall { .. }));
}

#[test]
fn numbers_that_are_none_are_refused() {
    let needs = sized(5, 0.5);
    let fair = Costs { without_disk: 0.0, with_disk: 1.0, absent_share: 1.0 };
    let of = |costs| plan(&Needs { costs: Some(costs), ..needs.clone() });
    assert!(of(fair).is_ok() && of(Costs { absent_share: 0.0, ..fair }).is_ok());
    let refused = |result: Result<_, Error>, name: &str, bad: f64| {
        let error = result.unwrap_err();
        let named = matches!(error, Error::NumberOutOfRange { parameter, found, .. }
            if parameter == name && found.to_bits() == bad.to_bits());
        assert!(named, "{error}");
        assert!(error.to_string().starts_with(name), "{error}");
    };
    for bad in [f64::NAN, -1e-9, f64::NEG_INFINITY, f64::INFINITY] {
        refused(of(Costs { without_disk: bad, ..fair }), "costs.without_disk", bad);
        refused(of(Costs { with_disk: bad, ..fair }), "costs.with_disk", bad);
        refused(of(Costs { absent_share: bad, ..fair }), "costs.absent_share", bad);
        let number = Some(bad);
        refused(plan(&Needs { key_bytes: number, ..needs.clone() }), "key_bytes", bad);
        let queries = Needs { queries_per_second: number, ..needs.clone() };
        refused(plan(&queries), "queries_per_second", bad);
    }
    let above = of(Costs { absent_share: 1.0 + f64::EPSILON, ..fair }).unwrap_err();
    assert!(above.to_string().ends_with("must be from 0 to 1"), "{above}");
    let endless = of(Costs { with_disk: f64::INFINITY, ..fair }).unwrap_err();
    assert_eq!(endless.to_string(), "costs.with_disk is inf, must be finite and at least 0");
}

/// Extremes end, and without a panic, for every kind.
#[test]
fn extremes_of_each_need_are_planned_or_refused() {
    let all = Needs { sets: 2, ..Needs::default() };
    let needs = [
        Needs { delete: true, ..all.clone() },
        Needs { forget: true, ..all.clone() },
        Needs { unknown_items: true, ..all.clone() },
        all,
    ];
    for items in [None, Some(1), Some(1 << 56), Some(u64::MAX)] {
        for target_fpp in [None, Some(f64::MIN_POSITIVE), Some(1.0 - f64::EPSILON / 2.0)] {
            for max_bytes in [None, Some(0), Some(128), Some(u64::MAX)] {
                for needs in &needs {
                    let needs = Needs { items, target_fpp, max_bytes, ..needs.clone() };
                    let Ok(plan) = plan(&needs) else { continue };
                    assert_eq!(plan.best.is_none(), plan.no_filter == Some(Reason::NothingServes));
                    if let Some(best) = plan.best {
                        assert!(best.num_bytes <= max_bytes.unwrap_or(u64::MAX), "{needs:?}");
                        let rates = [Some(best.expected_fpp), best.fpp_at_2x, best.fpp_at_10x];
                        assert!(rates.into_iter().flatten().all(|fpp| (0.0..=1.0).contains(&fpp)));
                        assert!(best.num_bytes_after(u64::MAX).is_none_or(|b| b >= best.num_bytes));
                    }
                }
            }
        }
    }
}
