//! Every call to the disk fails, once or from then on (T03).

use super::client::{Promise, check};
use super::crash::{Found, cut_at_end, is_repeated, is_soak, seeds, soak_rounds};
use super::disk::{Failing, Fault, MemoryDisk};
use super::run::{Run, Setting};
use crate::durable::Policy;

const FAULTS: [Fault; 5] =
    [Fault::Io, Fault::NoSpace, Fault::Full, Fault::Short, Fault::Interrupted];

/// How many faults struck, and the fault of the first bad run.
#[derive(Debug, Default)]
pub(super) struct Struck {
    pub(super) faults: usize,
    pub(super) states: usize,
    pub(super) bad: Option<String>,
}

/// Fails the first, the second, … call of a run, until none is struck.
pub(super) fn strike(setting: Setting, fault: Fault, all: bool) -> Struck {
    let mut struck = Struck::default();
    for from in 0.. {
        let disk = MemoryDisk::default();
        disk.state().failing = Some(Failing { fault, from, all });
        let mut run = Run::new(disk.clone(), setting);
        run.go();
        if disk.state().struck == 0 {
            return struck;
        }
        struck.faults += 1;
        if let Err(why) = after(&run, &setting, fault, &mut struck.states) {
            struck.bad = Some(format!("{fault:?} at call {from}, all {all}: {why}"));
            return struck;
        }
    }
    struck
}

/// The disk works again, and the folder is opened: after a kill, and after a power cut.
fn after(run: &Run, setting: &Setting, fault: Fault, states: &mut usize) -> Result<(), String> {
    let client = run.client();
    check(run.disk.files(), &run.names, &client, Promise::Kill)
        .map_err(|why| format!("after a kill: {why}"))?;
    let Found { states: looked_at, bad, .. } = cut_at_end(run, setting);
    *states += looked_at;
    bad.map_or(Ok(()), Err)?;
    if [Fault::Short, Fault::Interrupted].contains(&fault) && run.refused > 0 {
        return Err("half a write or a signal is an error to clients".to_owned());
    }
    Ok(())
}

#[test]
fn no_failing_call_takes_what_was_promised() {
    let (rounds, steps) = soak_rounds().map_or((1, 40), |rounds| (rounds.div_ceil(2), 80));
    let (mut faults, mut states) = (0, 0);
    // The first seed and the fresh one; all of them in a soak.
    for seed in seeds().into_iter().step_by(if is_soak() { 1 } else { 3 }) {
        for round in 0..rounds {
            for policy in [Policy::Always, Policy::EverySecond, Policy::No] {
                for fault in FAULTS {
                    for all in [false, true] {
                        let seed = seed.wrapping_mul(1000).wrapping_add(round);
                        let setting = Setting { policy, seed, steps };
                        let struck = strike(setting, fault, all);
                        if let Some(why) = struck.bad {
                            panic!("seed {seed}, {}: {why}", policy.name());
                        }
                        assert!(struck.faults > 0);
                        (faults, states) = (faults + struck.faults, states + struck.states);
                    }
                }
            }
        }
    }
    println!("{faults} calls that failed, {states} states after them");
    assert!(is_repeated() || faults >= 300, "{faults}");
}
