//! The scenarios of `schedules/` with more threads than loom can exhaust, on random schedules:
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test -p mayhap --test shuttle
//! ```
//!
//! `SCHEDULES=50000` is the number for each scenario and number of threads; `SEED=N` selects
//! others. Half of them switch threads anywhere, half have few switches at random places
//! (Burckhardt, Kothari, Musuvathi & Nagarakatte 2010, PCT). A schedule that fails is printed, for
//! `shuttle::replay`. All accesses are in one order here: weak memory is left to loom.
#![cfg(shuttle)]

mod schedules;

/// The primitives that the scenarios use.
mod checker {
    pub(crate) use shuttle::sync::Arc;
    pub(crate) use shuttle::sync::atomic::{AtomicUsize, Ordering};
    pub(crate) use shuttle::thread::spawn;
}

use schedules::growth;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// Switches that PCT makes.
const DEPTH: usize = 3;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn model(check: impl Fn() + Send + Sync + Clone + 'static) {
    let (schedules, seed) = (number("SCHEDULES", 100) as usize, number("SEED", 1));
    let mut config = Config::new();
    // A chain has room for all its layers in place.
    config.stack_size = 1 << 18;
    let random = RandomScheduler::new_from_seed(seed, schedules.div_ceil(2));
    Runner::new(random, config.clone()).run(check.clone());
    let pct = PctScheduler::new_from_seed(seed, DEPTH, schedules / 2);
    Runner::new(pct, config).run(check);
}

#[test]
fn an_announced_key_is_found_while_a_layer_is_added() {
    (4..=8).for_each(|threads| {
        model(move || growth::an_announced_key_is_found_while_a_layer_is_added(threads));
    });
}

#[test]
fn no_key_is_lost_while_a_layer_is_added() {
    (4..=8)
        .for_each(|threads| model(move || growth::no_key_is_lost_while_a_layer_is_added(threads)));
}

#[test]
fn one_of_all_inserters_of_a_key_during_growth_gets_new() {
    (4..=8).for_each(|threads| {
        model(move || growth::one_of_all_inserters_of_a_key_during_growth_gets_new(threads))
    });
}

#[test]
fn a_layer_is_charged_once_however_many_need_it() {
    (4..=8).for_each(|threads| {
        model(move || growth::a_layer_is_charged_once_however_many_need_it(threads))
    });
}

#[test]
fn a_layer_that_is_made_ahead_is_made_once() {
    (4..=8).for_each(|threads| {
        model(move || growth::a_layer_that_is_made_ahead_is_made_once(threads))
    });
}

#[test]
fn a_copy_while_a_layer_is_added_holds_what_came_before() {
    (4..=8).for_each(|threads| {
        model(move || growth::a_copy_while_a_layer_is_added_holds_what_came_before(threads))
    });
}

#[test]
fn a_union_with_a_copy_while_others_insert_loses_nothing() {
    (4..=8).for_each(|threads| {
        model(move || growth::a_union_with_a_copy_while_others_insert_loses_nothing(threads))
    });
}

#[test]
fn a_dropped_filter_lives_until_the_last_query_ends() {
    (4..=8).for_each(|threads| {
        model(move || growth::a_dropped_filter_lives_until_the_last_query_ends(threads))
    });
}
