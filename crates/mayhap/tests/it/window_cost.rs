//! The numbers of time windows are the result of the computation, which no other design beats.
#![cfg(not(miri))]

#[path = "../../examples/window_cost.rs"]
mod cost;

use cost::{DESIGNS, patterns, run};
use mayhap::sizing::window::spans;

#[test]
fn the_chosen_design_is_sized_as_the_library_sizes_it() {
    let chosen = DESIGNS.last().unwrap();
    for target in [0.05, 0.01, 1e-3] {
        assert_eq!(chosen.size(target), spans::for_items(21_600, target).unwrap(), "{target}");
    }
}

#[test]
fn only_designs_that_count_keys_keep_the_rate_and_the_chosen_one_needs_the_fewest_bits() {
    for target in [0.01, 1e-3] {
        let (chosen, others) = DESIGNS.split_last().unwrap();
        for (name, pattern) in patterns() {
            let found = run(chosen, target, &pattern);
            assert!(found.worst <= target * (1.0 + 1e-9), "{name}: {}", found.worst);
            let too_many = ["twice as many, even", "three times at once", "twice across a border"];
            assert_eq!(found.early > 0.0, too_many.contains(&name), "{name}: {}", found.early);
            if name != "even" {
                assert!(run(&others[0], target, &pattern).worst > 5.0 * target, "{name}");
            }
        }
        for other in &others[1..] {
            assert!(chosen.bits_per_key(target) < other.bits_per_key(target), "{other:?}");
        }
    }
}

#[test]
fn the_page_is_what_the_computation_says() {
    // A line that differs is easier to find than two pages.
    let page = include_str!("../../../../bench/results/window-cost.md");
    for (made, kept) in cost::report().lines().zip(page.lines()) {
        assert_eq!(made, kept, "run: cargo run -p mayhap --example window_cost");
    }
    assert_eq!(cost::report(), page);
}
