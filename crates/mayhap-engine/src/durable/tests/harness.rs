//! The runs that find bugs of the log: `crates/mayhap/tests/planted` plants twelve in it, one at a
//! time, and each has to fail one of these. Without a bug they find nothing.

use super::crash::cut_everywhere;
use super::damage::{flip_everywhere, misplace_everywhere};
use super::disk::{Fault, MemoryDisk};
use super::errors::strike;
use super::run::{Run, Setting};
use crate::durable::Policy;

/// Runs of each sort: no bug needs more than three.
const ROUNDS: u64 = 3;

fn run(seed: u64) -> Setting {
    Setting { policy: Policy::Always, seed, steps: 40 }
}

#[test]
fn power_cuts_take_nothing() {
    for setting in (0..ROUNDS).map(run) {
        let mut run = Run::new(MemoryDisk::default(), setting);
        run.go();
        assert_eq!(cut_everywhere(&run, &setting).bad, None, "{setting:?}");
    }
}

#[test]
fn failing_calls_take_nothing() {
    for setting in (0..ROUNDS).map(run) {
        assert_eq!(strike(setting, Fault::Io, false).bad, None, "{setting:?}");
    }
}

#[test]
fn frames_in_other_places_are_not_replayed() {
    for seed in 0..ROUNDS {
        assert_eq!(misplace_everywhere(seed).bad, None, "seed {seed}");
    }
}

#[test]
fn bits_that_flip_are_not_believed() {
    for seed in 0..ROUNDS {
        assert_eq!(flip_everywhere(seed, 1).bad, None, "seed {seed}");
    }
}
