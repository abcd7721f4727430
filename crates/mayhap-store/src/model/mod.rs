//! A model of everything that happens to the files of filters: several processes that take turns,
//! are killed at any call, lose power at any moment; filters replaced under them, copied over each
//! other, moved and removed.
//!
//! The tested code is the code of this crate, down to its calls to the file system, which is in
//! memory (`world.rs`, `files.rs`; the kinds of filters: `kinds.rs`) and keeps every event. After
//! each event, every possible content of the disk is judged (`oracle.rs`), by a reader and by the
//! next writer: no acknowledged key is missing, no key of another filter is found, none is counted
//! twice, and a part of a state is never taken for the whole. `process.rs` has the actions of
//! processes, `run.rs` the events between them.
//!
//! `digests.rs` checks the digests that are kept beside a filter.
//!
//! `SEED=N` repeats a run, `MAYHAP_SOAK=1` makes many, and `TRACE=1` prints the events that led to
//! a bad state.

mod digests;
mod files;
mod kinds;
mod oracle;
mod process;
mod run;
mod world;

use kinds::ModelKind;
use mayhap::{
    AnyFilter, CompactFilter, CountingBloomFilter, ScalableBloomFilter, WindowBloomFilter,
};
use run::Run;
use std::collections::BTreeMap;

/// The number of states, of states in which a writer continued, and of power cuts after which the
/// run continued.
#[derive(Debug, Default)]
struct Found {
    states: usize,
    written: usize,
    power_cuts: usize,
    done: BTreeMap<&'static str, u64>,
}

fn run<K: ModelKind>(
    what: &str,
    (seed, kept_share): (u64, Option<u64>),
    episodes: u64,
    found: &mut Found,
) {
    let mut run = Run::new(seed, kept_share);
    if let Err(bad) = run.go::<K>(episodes) {
        panic!("{what}, SEED={seed}: {bad}");
    }
    found.states += run.states;
    found.written += run.written;
    found.power_cuts += run.power_cuts;
    for (what, count) in run.done() {
        *found.done.entry(what).or_default() += count;
    }
}

/// Fixed seeds; more of them in a soak, or one to be repeated.
fn seeds() -> Vec<u64> {
    if let Ok(seed) = std::env::var("SEED") {
        return vec![seed.parse().expect("SEED is a number")];
    }
    let is_soak = std::env::var_os("MAYHAP_SOAK").is_some_and(|value| value != "0");
    // In the 35th a process is killed between the rename of an image and the sync of its folder,
    // and the power fails after another one has continued with it.
    if is_soak { (1..=400).collect() } else { (1..=10).chain([25, 35]).collect() }
}

#[test]
fn whatever_happens_to_processes_power_and_files_nothing_is_lost_or_mixed_up() {
    const EPISODES: u64 = 12;
    // Logs of up to 1 KiB: ten records and more.
    const KEPT_SHARE: Option<u64> = Some(2);
    let mut found = Found::default();
    for seed in seeds() {
        run::<AnyFilter>("plain", (seed, None), EPISODES, &mut found);
        run::<AnyFilter>("plain with kept logs", (seed, KEPT_SHARE), EPISODES, &mut found);
        run::<CompactFilter>("compact", (seed, None), EPISODES, &mut found);
        run::<CountingBloomFilter>("counting", (seed, None), EPISODES, &mut found);
        run::<ScalableBloomFilter>("growing", (seed, None), EPISODES, &mut found);
        run::<WindowBloomFilter>("window", (seed, None), EPISODES, &mut found);
    }
    let Found { states, written, power_cuts, done } = &found;
    println!("{states} states, 0 bad; {written} gone on with, {power_cuts} power cuts: {done:?}");
    if std::env::var_os("SEED").is_none() {
        assert!(*states >= 50_000, "{states} states");
        for what in
            ["killed", "saved", "left to others", "recorded", "read", "replaced", "cp", "mv", "rm"]
        {
            assert!(done.get(what).is_some_and(|&count| count >= 10), "{what}: {done:?}");
        }
    }
}
