//! The growing filter's numbers are the result of the computation, and beat the textbook's.
#![cfg(not(miri))]

#[path = "../../examples/scalable_cost.rs"]
mod cost;

use mayhap::sizing::scalable::{GROWTH, SHARE};

#[test]
fn the_chosen_scheme_is_the_best_allowed_one() {
    let textbook = &cost::comparison(0.01)[0].1;
    let candidates = cost::search(0.01);
    let best = candidates.iter().find(|candidate| candidate.is_allowed(textbook)).unwrap();
    assert_eq!(best.growth, [GROWTH as f64], "{}", best.shares);
    assert_eq!(best.shares, format!("1/{:.0} of the rest", 1.0 / SHARE));
}

#[test]
fn the_chain_beats_the_textbook_in_bits_and_in_cache_lines() {
    for (target, mean, worst) in [(0.05, 0.84, 0.66), (0.01, 0.89, 0.78), (0.001, 0.91, 0.88)] {
        let rows = cost::comparison(target);
        let (textbook, blocked, ours) = (&rows[0].1, &rows[1].1, &rows[rows.len() - 1].1);
        assert!(ours.mean.bits <= mean * textbook.mean.bits, "{target}: {}", ours.mean.bits);
        assert!(ours.worst <= worst * textbook.worst, "{target}: {}", ours.worst);
        assert!(ours.mean.bits < 0.8 * blocked.mean.bits && ours.worst < 0.7 * blocked.worst);
        assert!(ours.mean.miss <= 0.55 * textbook.mean.miss, "{target}: {}", ours.mean.miss);
        assert!(ours.mean.hit <= 0.5 * textbook.mean.hit, "{target}: {}", ours.mean.hit);
        // From 100 times the first guess on at every point, not only in the mean.
        for i in 2..5 {
            assert!(ours.at[i].bits < textbook.at[i].bits, "{target}: {i}");
            assert!(ours.at[i].miss < 0.6 * textbook.at[i].miss, "{target}: {i}");
        }
    }
}

#[test]
fn the_page_is_what_the_computation_says() {
    // A line that differs is easier to find than two pages.
    let page = include_str!("../../../../bench/results/scalable-cost.md");
    for (made, kept) in cost::report().lines().zip(page.lines()) {
        assert_eq!(made, kept, "run: cargo run -p mayhap --example scalable_cost");
    }
    assert_eq!(cost::report(), page);
}
