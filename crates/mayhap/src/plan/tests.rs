//! Plans: the documents' tables, each way to solve, each need, and when to use no filter.

mod kinds;

use super::memory::{hash_set_bytes, keys_bytes, one_hash_bits, textbook_bytes};
use super::{Candidate, Costs, Fits, MemorySizes, Needs, Plan, Reason, plan};
use crate::native::Kind;
use crate::sizing::{self, fuse::FuseWidth};
use crate::{AnyFilter, Error, FilterParams, Layout};
use alloc::format;

const MIB: f64 = 1024.0 * 1024.0;

fn sized(items: u64, target_fpp: f64) -> Needs {
    Needs { target_fpp: Some(target_fpp), ..Needs::for_items(items) }
}

fn best(needs: &Needs) -> Candidate {
    plan(needs).unwrap().best.unwrap()
}

fn unfit(plan: &Plan, name: &str) -> Reason {
    let found = plan.unfit.iter().find(|(kind, _)| kind.name() == name);
    found.unwrap_or_else(|| panic!("{name} serves")).1
}

/// A published table: its "MB" are MiB. Its `HashSet` column (18.28 MB for a million phone numbers
/// of 22 bytes, less than the keys alone) is the 1e-4 filter's number of bits read as bytes.
#[test]
fn the_memory_table() {
    for (items, hash_set, one_in_10_000, one_in_10_million) in [
        (1_000_000, "18.28", "2.29", "4.00"),
        (10_000_000, "182.82", "22.85", "39.99"),
        (100_000_000, "1828.20", "228.53", "399.92"),
    ] {
        let mib = |bytes: f64| format!("{:.2}", bytes / MIB);
        assert_eq!(mib(textbook_bytes(items, 1e-4)), one_in_10_000);
        assert_eq!(mib(textbook_bytes(items, 1e-7)), one_in_10_million);
        assert_eq!(mib(textbook_bytes(items, 1e-4) * 8.0), hash_set);
        let real = hash_set_bytes(items, 22.0);
        assert!(real > keys_bytes(items, 22.0) && keys_bytes(items, 22.0) / MIB > 20.0);
        // Our memory: the smallest kind is within 1 % of the textbook, the chosen one within 25 %.
        for target_fpp in [1e-4, 1e-7] {
            let plan = plan(&Needs { key_bytes: Some(22.0), ..sized(items, target_fpp) }).unwrap();
            let best = plan.best.unwrap();
            let ratio = |bytes: u64| bytes as f64 / textbook_bytes(items, target_fpp);
            let others = plan.rejected.iter().map(|(other, _)| ratio(other.num_bytes));
            let smallest = others.fold(ratio(best.num_bytes), f64::min);
            assert!((1.0..1.01).contains(&smallest), "{smallest}");
            assert!(ratio(best.num_bytes) <= smallest * 1.25);
            assert_eq!((plan.hash_set_bytes, plan.no_filter), (Some(real), None));
        }
    }
}

/// Published examples.
#[test]
fn the_other_numbers() {
    let needs = Needs { target_fpp: Some(1e-4), max_bytes: Some(512 << 20), ..Needs::default() };
    let plan = plan(&needs).unwrap();
    // "About 200 million": on either side of it, as the layout is.
    let (blocked, standard) = (plan.best.unwrap(), &plan.rejected[0].0);
    assert_eq!((blocked.name(), blocked.items / 1_000_000), ("blocked", 187));
    assert_eq!((standard.name(), standard.items / 1_000_000), ("standard", 224));
    assert_eq!((one_hash_bits(100_000_000, 0.01) / 1e8).round(), 99.0);
    assert_eq!(keys_bytes(100_000_000, 50.0), 5e9);
}

#[test]
fn each_of_three_is_solved_from_the_others() {
    for target_fpp in [0.05, 1e-2, 1e-3, 1e-4, 1e-6] {
        for frozen in [false, true] {
            let needs = Needs { frozen, ..sized(1_000_000, target_fpp) };
            let bits = best(&needs);
            assert!(bits.expected_fpp <= target_fpp);
            let max_bytes = Some(bits.num_bytes);
            let rate = best(&Needs { target_fpp: None, max_bytes, ..needs.clone() });
            let number = best(&Needs { items: None, max_bytes, ..needs.clone() });
            for solved in [&rate, &number] {
                assert!(solved.num_bytes <= bits.num_bytes);
                assert_eq!(solved.num_bytes * 8, solved.num_bits.div_ceil(512) * 512);
            }
            assert!(number.expected_fpp <= target_fpp);
            // Never worse than 0.8 times the number known to be possible.
            assert!(number.items as f64 >= 0.8 * 1e6, "{number:?}");
            assert!(rate.expected_fpp.log2() <= 0.8 * bits.expected_fpp.log2(), "{rate:?}");
        }
    }
}

/// The layout that a builder would take.
#[test]
fn a_plain_set_gets_the_default_layout() {
    for items in [10_000, 1_000_000, 1_000_000_000] {
        for target_fpp in [0.3, 0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-9] {
            let best = best(&sized(items, target_fpp));
            let layout = sizing::default_layout(items, target_fpp).unwrap();
            let params = sizing::for_items(layout, items, target_fpp).unwrap();
            assert_eq!(best.name(), layout.name(), "n = {items}, p = {target_fpp}");
            assert_eq!(
                (best.num_bits, best.num_hashes, best.expected_fpp),
                (params.num_bits(), params.num_hashes(), params.expected_fpp(items))
            );
            assert_eq!(best.fpp_at_2x, Some(params.expected_fpp(2 * items)));
            assert_eq!(best.fpp_at_10x, Some(params.expected_fpp(10 * items)));
        }
    }
}

/// The plan equals the built filter, with and without a named layout, down to a single key.
#[test]
fn a_plan_of_few_keys_is_what_a_builder_makes() {
    for items in (1..=120).chain([1_000, 10_000]) {
        for target_fpp in [0.9, 0.5, 0.4, 0.3, 0.1, 0.02, 0.01, 1e-3, 1e-4, 1e-5, 2e-6, 1e-9] {
            let plan = plan(&sized(items, target_fpp)).unwrap();
            let candidates = plan.rejected.iter().map(|(candidate, _)| candidate);
            let best = plan.best.as_ref().unwrap();
            let builder = || AnyFilter::builder().expected_items(items).target_fpp(target_fpp);
            let of = |params: FilterParams| {
                let size = (params.layout().name(), params.num_bits(), params.num_hashes());
                (size, params.num_bytes())
            };
            let planned = |candidate: &Candidate| {
                let size = (candidate.name(), candidate.num_bits, candidate.num_hashes);
                (size, candidate.num_bytes)
            };
            let built = of(builder().params().unwrap());
            assert_eq!(planned(best), built, "n = {items}, p = {target_fpp}");
            for candidate in candidates {
                let layout = candidate.kind.layout.unwrap();
                let built = of(builder().layout(layout).params().unwrap());
                assert_eq!(planned(candidate), built, "n = {items}, p = {target_fpp}");
            }
        }
    }
}

#[test]
fn a_frozen_set_gets_a_ribbon_filter_where_that_is_smaller() {
    let million = |target_fpp| Needs { frozen: true, ..sized(1_000_000, target_fpp) };
    for target_fpp in [0.04, 0.01, 0.004, 1e-3, 2e-5, 1e-6, 1e-9] {
        let plan = plan(&million(target_fpp)).unwrap();
        let best = plan.best.unwrap();
        assert_eq!((best.kind.kind, best.cache_lines.miss), (Kind::Ribbon, 2.0));
        let width = sizing::ribbon::width_for(1_000_000, target_fpp).unwrap();
        // Two widths lose the most between 2^-4 and 2^-5.
        let most = if target_fpp > 0.03 { 1.0205 } else { 1.02 };
        assert!(best.expected_fpp <= target_fpp && best.expected_fpp > target_fpp * 0.999_999);
        assert!(best.bits_per_item() < most * -target_fpp.log2(), "{target_fpp}");
        assert_eq!(best.num_bits, sizing::ribbon::num_bits(width, 1_000_000).unwrap());
        // It takes no more.
        assert_eq!((best.fpp_at_2x, best.fpp_after(1_000_001)), (None, None));
        let (fuse, reason) = &plan.rejected[0];
        assert_eq!((fuse.name(), fuse.cache_lines.miss), ("fuse", 3.0));
        assert!(matches!(reason, Reason::MoreBits { times } if *times > 1.09), "{reason}");
        let width = FuseWidth::for_target(1_000_000, target_fpp).unwrap();
        assert_eq!(fuse.num_bits, sizing::fuse::num_bits(width, 1_000_000).unwrap());
        assert_eq!(fuse.expected_fpp, sizing::fuse::expected_fpp(width, 1_000_000));
    }
    // The rate at which two widths lose the most: within 2 % for more keys.
    for items in [10_000_000, 100_000_000, 1_000_000_000] {
        let best = plan(&Needs { frozen: true, ..sized(items, 0.04) }).unwrap().best.unwrap();
        assert!(best.bits_per_item() < 1.02 * 25f64.log2(), "{items}: {}", best.bits_per_item());
    }
    // Its narrowest fingerprints have 4 bits: a rate of 1/16, where blocks take fewer.
    let high = plan(&million(0.25)).unwrap();
    assert_eq!(high.best.unwrap().name(), "blocked");
    for (other, reason) in high.rejected.iter().filter(|(other, _)| other.name() != "standard") {
        assert!(matches!(reason, Reason::MoreBits { times } if *times > 1.1), "{}", other.name());
    }
    let low = plan(&million(1e-10)).unwrap();
    for name in ["fuse", "ribbon"] {
        let reason = unfit(&low, name);
        assert!(matches!(reason, Reason::RateUnreachable { lowest_fpp } if lowest_fpp > 2e-10));
    }
    // The widest that fits, and the most keys at a rate.
    let fitting = Needs { frozen: true, max_bytes: Some(1_500_000), ..Needs::for_items(1_000_000) };
    let wide = best(&fitting);
    assert_eq!(wide.kind.kind, Kind::Ribbon);
    assert!(wide.num_bytes <= 1_500_000 && wide.num_bytes > 1_490_000, "{}", wide.num_bytes);
    assert!((2.4e-4..2.6e-4).contains(&wide.expected_fpp), "{}", wide.expected_fpp);
    let most = Needs { items: None, target_fpp: Some(1e-3), ..fitting };
    let most = best(&most);
    assert_eq!(most.kind.kind, Kind::Ribbon);
    assert!(most.items > 1_190_000 && most.expected_fpp <= 1e-3, "{}", most.items);
}

#[test]
fn needs_that_no_kind_meets_are_reported() {
    let needs = sized(1000, 0.01);
    for (needs, reason) in [
        (Needs { delete: true, ..needs.clone() }, Reason::CannotDelete),
        (Needs { forget: true, ..needs.clone() }, Reason::CannotForget),
        (Needs { unknown_items: true, ..needs.clone() }, Reason::CannotGrow),
    ] {
        let plan = plan(&needs).unwrap();
        for name in ["standard", "blocked", "fuse", "ribbon"] {
            assert_eq!(unfit(&plan, name), reason);
        }
        assert!(plan.best.is_some() && plan.no_filter.is_none());
    }
    assert_eq!(unfit(&plan(&needs).unwrap(), "fuse"), Reason::CannotInsert);
}

#[test]
fn a_budget_rejects_what_is_above_it() {
    let standard = sizing::for_items(Layout::Standard, 1_000_000, 0.01).unwrap();
    let num_bytes = standard.num_bits().div_ceil(512) * 64;
    let tight = Needs { max_bytes: Some(num_bytes), ..sized(1_000_000, 0.01) };
    let plan_of = |max_bytes| plan(&Needs { max_bytes: Some(max_bytes), ..tight.clone() }).unwrap();
    let fits = plan_of(num_bytes);
    assert_eq!(fits.best.as_ref().unwrap().name(), "standard");
    assert!(
        matches!(unfit(&fits, "blocked"), Reason::OverBudget { num_bytes: n } if n > num_bytes)
    );
    let none = plan_of(num_bytes - 1);
    assert_eq!((none.best, none.no_filter), (None, Some(Reason::NothingServes)));
}

#[test]
fn many_sets_share_the_memory_and_add_up() {
    let one = best(&sized(1_000_000, 0.01));
    // Three filters; 512 sets are a matrix.
    let three = best(&Needs { sets: 3, ..sized(1_000_000, 0.01) });
    assert_eq!((three.name(), three.num_bytes), ("blocked", one.num_bytes * 3));
    assert_eq!((three.num_bits, three.cache_lines.miss), (one.num_bits, 3.0));
    let needs = Needs { sets: 512, ..sized(1_000_000, 0.01) };
    let all = best(&needs);
    let (groups, k) = sizing::matrix::solve(1_000_000, 0.01).unwrap();
    assert_eq!((all.name(), all.num_bits), ("matrix", sizing::matrix::num_bits(groups, k)));
    assert_eq!((all.num_bytes, all.cache_lines.miss), (all.num_bits * 64, f64::from(k)));
    assert!(all.expected_fpp <= 0.01 && all.fpp_at_2x.unwrap() > 0.05);
    assert_eq!(all.expected_wrong_sets(), all.expected_fpp * 512.0);
    assert_eq!((one.fits, all.fits), (Fits::L3, Fits::Ram));
    // Solved backwards; one set more is one panel more.
    let max_bytes = Some(all.num_bytes + 511);
    let number = best(&Needs { items: None, max_bytes, ..needs.clone() });
    assert!(number.name() == "matrix" && number.num_bytes <= all.num_bytes + 511);
    assert!((1_000_000..1_010_000).contains(&number.items), "{}", number.items);
    let rate = best(&Needs { target_fpp: None, max_bytes, ..needs.clone() });
    assert!(rate.name() == "matrix" && rate.num_bytes <= all.num_bytes + 511);
    assert!(rate.expected_fpp < 0.01, "{}", rate.expected_fpp);
    let one_more = plan(&Needs { sets: 513, ..needs }).unwrap();
    let (matrix, _) = one_more.rejected.iter().find(|(other, _)| other.name() == "matrix").unwrap();
    assert_eq!(matrix.num_bytes, all.num_bytes * 2);
}

#[test]
fn a_plan_that_forgets_is_a_window() {
    let needs = Needs { forget: true, ..sized(1_400_000, 0.01) };
    let window = best(&needs);
    assert_eq!((window.name(), window.num_hashes), ("window", 11));
    assert!(window.bits_per_item() < 17.5 && window.expected_fpp <= 0.01);
    let model = crate::WindowBloomFilter::builder();
    let filter = model.window_items(1_400_000).target_fpp(0.01).build().unwrap();
    assert_eq!(window.num_bits, filter.num_bits());
    // It forgets instead of overfilling.
    assert_eq!(window.fpp_at_10x, Some(window.expected_fpp));
    assert!(window.fpp_after(700_000).unwrap() < window.expected_fpp);
    let max_bytes = Some(window.num_bytes);
    let number = best(&Needs { items: None, max_bytes, ..needs.clone() });
    assert!((1_400_000..1_400_100).contains(&number.items), "{}", number.items);
    let rate = best(&Needs { target_fpp: None, max_bytes, ..needs.clone() });
    assert!(rate.num_bytes <= window.num_bytes && rate.expected_fpp <= 0.0111);
    let both = plan(&Needs { delete: true, ..needs }).unwrap();
    assert_eq!(unfit(&both, "window"), Reason::CannotDelete);
}

#[test]
fn a_plan_that_forgets_by_time_is_sized_for_all_bursts() {
    let needs = Needs { forget: true, by_time: true, ..sized(1_080_000, 0.01) };
    let window = best(&needs);
    let builder = crate::WindowBloomFilter::builder().window_time(3_600_000, 1_080_000);
    let filter = builder.target_fpp(0.01).build().unwrap();
    assert_eq!((window.num_bits, window.num_bytes), (filter.num_bits(), filter.num_bytes()));
    assert_eq!((window.num_hashes, window.by_time), (filter.num_hashes(), true));
    for items in [540_000, 1_080_000, 100_000_000] {
        assert_eq!(window.fpp_after(items), Some(filter.expected_fpp(items)));
    }
    // It forgets instead of overfilling: all but the last 55 of 54 parts.
    assert!(window.fpp_at_10x.unwrap() <= 0.01 && window.fpp_at_10x == window.fpp_at_2x);
    assert_eq!(window.items_kept_of(1_080_000), Some(1_080_000));
    assert_eq!(window.items_kept_of(5_000_000), Some(1_100_000));
    assert_eq!(best(&Needs { by_time: false, ..needs.clone() }).items_kept_of(1), None);
    let max_bytes = Some(window.num_bytes);
    let number = best(&Needs { items: None, max_bytes, ..needs.clone() });
    assert!((1_080_000..1_080_100).contains(&number.items), "{}", number.items);
    let rate = best(&Needs { target_fpp: None, max_bytes, ..needs });
    assert!(rate.num_bytes <= window.num_bytes && rate.expected_fpp <= 0.0111);
}

/// With no use for it a filter is refused, with one its costs are the document's.
#[test]
fn a_filter_that_does_not_pay_is_not_advised() {
    let with = |without_disk, absent_share| {
        let costs = Costs { without_disk, with_disk: 100.0, absent_share };
        let needs =
            Needs { costs: Some(costs), queries_per_second: Some(1e6), ..sized(1_000_000, 0.01) };
        plan(&needs).unwrap()
    };
    let pays = with(0.1, 0.5);
    assert_eq!(pays.no_filter, None);
    let (cost, p) = (pays.cost.unwrap(), pays.best.unwrap().expected_fpp);
    assert!((cost.with_filter - cost.with_hash_map - cost.of_false_positives).abs() < 1e-9);
    assert!((pays.false_positives_per_second.unwrap() - 1e6 * 0.5 * p).abs() < 1e-6);
    // A filter pays exactly if it is cheaper than no filter.
    for absent_share in [0.0, 0.01, 0.1, 0.2, 0.5, 0.9, 1.0] {
        let plan = with(10.0, absent_share);
        let cost = plan.cost.unwrap();
        let refused = matches!(plan.no_filter, Some(Reason::SavesTooLittle { .. }));
        assert_eq!(refused, cost.with_filter >= cost.without_filter, "{absent_share}");
        assert_eq!(refused, absent_share < 0.15);
    }
    let small = plan(&Needs { key_bytes: Some(1.0), ..sized(1_000_000, 1e-9) }).unwrap();
    assert!(matches!(small.no_filter, Some(Reason::KeysAreSmaller { num_bytes: 4_194_304 })));
}

#[test]
fn too_little_is_said_and_nonsense_refused() {
    let default = Needs::default();
    let missing = |needs: Needs| matches!(plan(&needs), Err(Error::Missing { .. }));
    assert!(missing(default.clone()));
    assert!(missing(Needs::for_items(5)));
    assert!(missing(Needs { target_fpp: Some(0.5), ..default.clone() }));
    assert!(missing(Needs { max_bytes: Some(64), ..default.clone() }));
    assert!(matches!(plan(&sized(0, 0.5)), Err(Error::ZeroItems)));
    for p in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(plan(&sized(5, p)), Err(Error::FppOutOfRange { .. })));
    }
    let no_sets = Needs { sets: 0, ..sized(5, 0.5) };
    assert!(matches!(plan(&no_sets), Err(Error::OutOfRange { parameter: "sets", .. })));
}

/// Extremes end, and without a panic.
#[test]
fn extremes_are_planned_or_refused() {
    for items in [None, Some(1), Some(1 << 56), Some(u64::MAX)] {
        for target_fpp in
            [None, Some(f64::MIN_POSITIVE), Some(1e-3), Some(1.0 - f64::EPSILON / 2.0)]
        {
            for max_bytes in [None, Some(0), Some(63), Some(64), Some(1 << 53), Some(u64::MAX)] {
                for sets in [1, u64::MAX] {
                    let needs = Needs {
                        items,
                        target_fpp,
                        max_bytes,
                        sets,
                        frozen: true,
                        ..Needs::default()
                    };
                    let Ok(plan) = plan(&needs) else { continue };
                    assert_eq!(
                        plan.rejected.len() + plan.unfit.len(),
                        4 + usize::from(sets > 1) - plan.best.iter().len()
                    );
                    assert_eq!(plan.best.is_none(), plan.no_filter == Some(Reason::NothingServes));
                    let fits = |best: &Candidate| best.num_bytes <= max_bytes.unwrap_or(u64::MAX);
                    assert!(plan.best.iter().all(fits), "{needs:?}");
                }
            }
        }
    }
    let huge = plan(&sized(u64::MAX, 0.01)).unwrap();
    assert!(matches!(unfit(&huge, "blocked"), Reason::RateUnreachable { .. }));
    assert_eq!(unfit(&plan(&sized(1 << 56, 0.01)).unwrap(), "blocked"), Reason::TooLarge);
}

/// By hand: at most 7/8 of a power of two of slots are used, from four on, and each has a byte
/// beside its key (`capacity_to_buckets` of hashbrown, which is Rust's hash set): 28 keys are 7/8
/// of 32.
#[test]
fn a_hash_set_has_slots_for_an_eighth_more() {
    for (items, slots) in [
        (0, 4),
        (1, 4),
        (3, 4),
        (4, 8),
        (7, 8),
        (8, 16),
        (14, 16),
        (15, 32),
        (28, 32),
        (29, 64),
        (1_835_008, 1 << 21),
        (1_835_009, 1 << 22),
    ] {
        assert_eq!(hash_set_bytes(items, 9.0), f64::from(slots) * 10.0, "{items}");
    }
}

/// By hand, per key: −1 / ln(1 − p) bits of a bitmap, 4.481 for a fifth of all queries, 9.491 for a
/// tenth, 99.499 for a hundredth; and ln(1/p) / (ln 2)² of the ideal filter, which are 1.44 bits
/// for each time that p halves.
#[test]
fn a_bitmap_and_the_ideal_filter_take_the_bits_of_the_textbook() {
    for (fpp, bitmap, ideal) in
        [(0.2, 4.481_420, 3.349_835), (0.1, 9.491_222, 4.792_529), (0.01, 99.499_162, 9.585_058)]
    {
        let bits = one_hash_bits(1_000, fpp) / 1_000.0;
        assert!((bits - bitmap).abs() < 1e-5, "{fpp}: {bits}");
        // A bitmap of this many bits in which 1,000 keys set one each has this share of them set.
        let m = (bits * 1_000.0).round();
        let share = 1.0 - libm::pow(1.0 - 1.0 / m, 1_000.0);
        assert!((share / fpp - 1.0).abs() < 1e-2, "{fpp}: {share}");
        let bits = textbook_bytes(1_000, fpp) * 8.0 / 1_000.0;
        assert!((bits - ideal).abs() < 1e-5, "{fpp}: {bits}");
    }
}

#[test]
fn what_is_larger_than_the_memory_fits_into_no_cache() {
    let container = MemorySizes { l2_bytes: 2 << 20, l3_bytes: 480 << 20, ram_bytes: 192 << 20 };
    let fits = |mib: u64| Fits::of(mib << 20, &container);
    assert_eq!([1, 2, 3, 192, 193].map(fits), {
        use Fits::{L2, L3, Nothing};
        [L2, L2, L3, L3, Nothing]
    });
    let large = MemorySizes { ram_bytes: 1 << 40, ..container };
    assert_eq!([480, 481].map(|mib: u64| Fits::of(mib << 20, &large)), [Fits::L3, Fits::Ram]);
}
