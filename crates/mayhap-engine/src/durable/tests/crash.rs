//! The power fails at every operation, and the disk keeps any subset of the last ones (T01).

use super::cache::Cache;
use super::client::{Client, Promise, check};
use super::disk::{Event, Files, MemoryDisk};
use super::run::{Random, Run, Setting};
use crate::durable::Policy;
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// A part of a write, and perhaps zeros in place of the rest.
fn torn(event: &Event, random: &mut Random) -> Event {
    let Event::Write { inode, at, bytes } = event else { return event.clone() };
    let kept = random.below(bytes.len() as u64 + 1) as usize;
    let end = at + if random.below(2) == 0 { bytes.len() } else { kept };
    Event::Torn { inode: *inode, at: *at, bytes: bytes[..kept].to_vec(), end }
}

fn zeroed(event: &Event) -> Event {
    match event {
        Event::Write { inode, at, bytes } => {
            Event::Torn { inode: *inode, at: *at, bytes: Vec::new(), end: at + bytes.len() }
        }
        other => other.clone(),
    }
}

/// All states that may be left at this moment; the first one is the one the process saw.
fn states(cache: &Cache, random: &mut Random, mixes: usize) -> Vec<Files> {
    let mut states = vec![cache.left(|_, event| Some(event.clone())), cache.left(|_, _| None)];
    for chosen in 0..cache.pending.len() {
        states.push(cache.left(|place, event| (place == chosen).then(|| event.clone())));
        states.push(cache.left(|place, event| (place != chosen).then(|| event.clone())));
        states.push(cache.left(|place, event| {
            Some(if place == chosen { zeroed(event) } else { event.clone() })
        }));
        states.push(cache.left(|place, event| {
            Some(if place == chosen { torn(event, random) } else { event.clone() })
        }));
        // A torn operation is the last one, mostly.
        states.push(cache.left(|place, event| {
            if place == chosen {
                Some(torn(event, random))
            } else {
                (place < chosen).then(|| event.clone())
            }
        }));
    }
    if !cache.pending.is_empty() {
        states.extend((0..mixes).map(|_| mixed(cache, random)));
    }
    states
}

fn mixed(cache: &Cache, random: &mut Random) -> Files {
    cache.left(|_, event| match random.below(4) {
        0 => None,
        1 => Some(torn(event, random)),
        _ => Some(event.clone()),
    })
}

/// How many states there were, and the fault of the first bad one.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) states: usize,
    pub(super) reopened: usize,
    /// In how many of them the server continued, and the power was cut everywhere again.
    pub(super) continued: usize,
    pub(super) bad: Option<String>,
}

/// Cuts the power at every operation of a run. Each state is checked once.
pub(super) fn cut_everywhere(run: &Run, setting: &Setting) -> Found {
    let Setting { policy, seed, .. } = *setting;
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let (mut random, mut seen) = (Random(seed), HashSet::new());
    let mut cache = Cache::new(disk_at_start(&run.disk));
    let (mut client, mut found) = (run.before.clone().unwrap_or_default(), Found::default());
    let events = run.disk.state().events.clone();
    for (place, event) in events.iter().enumerate() {
        cache.tell(event);
        if let Event::Note(note) = event {
            client.hear(note);
        }
        let facts = (client.acknowledged.len(), client.operations, client.last);
        // Notes change the required contents, not the actual ones.
        let mixes = if matches!(event, Event::Note(_)) { 2 } else { 12 };
        for (number, files) in states(&cache, &mut random, mixes).into_iter().enumerate() {
            let promise = if number == 0 { Promise::Kill } else { Promise::PowerCut(policy) };
            if !seen.insert(hasher.hash_one((&files, facts, number == 0))) {
                continue;
            }
            found.states += 1;
            if found.states % 1500 == 0 && run.before.is_none() {
                let mut next = run.after(files.clone(), &client, random.next());
                next.go();
                let again = cut_everywhere(&next, setting);
                found.continued += 1;
                found.states += again.states;
                if let Some(why) = again.bad {
                    found.bad = Some(format!("after state {number} of event {place}: {why}"));
                    return found;
                }
            }
            let checked = check(files, &run.names, &client, promise).and_then(|after| {
                if found.states % 8 != 0 {
                    return Ok(());
                }
                found.reopened += 1;
                reopen(&after.0, &run.names, &client, promise, &after.1)
            });
            if let Err(why) = checked {
                found.bad = Some(format!("{why}; state {number} after event {place} {event:?}"));
                return found;
            }
        }
    }
    found
}

/// Cuts the power at the end of a run.
pub(super) fn cut_at_end(run: &Run, setting: &Setting) -> Found {
    let (mut cache, mut random) = (Cache::default(), Random(setting.seed));
    let events = run.disk.state().events.clone();
    for event in &events {
        cache.tell(event);
    }
    let (client, mut found) = (run.client(), Found::default());
    // None of the pending operations, and some mixes: there is another run for each failing call.
    let mut left = vec![cache.left(|_, _| None)];
    left.extend((0..8).map(|_| mixed(&cache, &mut random)));
    for files in left {
        found.states += 1;
        let promise = Promise::PowerCut(setting.policy);
        if let Err(why) = check(files, &run.names, &client, promise) {
            found.bad = Some(format!("after a power cut: {why}"));
            return found;
        }
    }
    found
}

/// The power fails again, right after the folder was opened: clients have seen the contents of
/// that moment.
fn reopen(
    disk: &MemoryDisk,
    names: &[super::client::Names],
    client: &Client,
    promise: Promise,
    before: &super::model::Model,
) -> Result<(), String> {
    let events = disk.state().events.clone();
    let mut cache = Cache::new(disk_at_start(disk));
    for event in &events {
        cache.tell(event);
    }
    let (_, again) = check(cache.left(|_, _| None), names, client, promise)
        .map_err(|why| format!("after a second power cut: {why}"))?;
    if *again.0.lock().unwrap() == *before.0.lock().unwrap() {
        Ok(())
    } else {
        Err("a second power cut loses changes that survived the first".to_owned())
    }
}

fn disk_at_start(disk: &MemoryDisk) -> Files {
    disk.state().at_start.clone()
}

/// Three fixed seeds, and a fresh one for each run; `SEED=` repeats one.
pub(super) fn seeds() -> Vec<u64> {
    if let Ok(seed) = std::env::var("SEED") {
        return vec![seed.parse().unwrap()];
    }
    let fresh = std::hash::RandomState::new().hash_one(0);
    println!("seeds 1, 2, 3 and {fresh}");
    vec![1, 2, 3, fresh]
}

/// A single seed is repeated: it need not reach everything that all seeds together have to.
pub(super) fn is_repeated() -> bool {
    std::env::var_os("SEED").is_some()
}

pub(super) fn is_soak() -> bool {
    std::env::var_os("MAYHAP_SOAK").is_some()
}

/// How many runs of each sort a soak makes: `ROUNDS`.
pub(crate) fn soak_rounds() -> Option<u64> {
    let rounds = std::env::var("ROUNDS").map(|rounds| rounds.parse().expect("ROUNDS is a number"));
    is_soak().then(|| rounds.unwrap_or(20))
}

#[test]
fn no_power_cut_takes_what_was_promised() {
    let (rounds, steps) = soak_rounds().map_or((3, 60), |rounds| (rounds, 120));
    let mut states = [0; 3];
    let (mut reopened, mut continued) = (0, 0);
    for seed in seeds() {
        for round in 0..rounds {
            let policies = [Policy::Always, Policy::EverySecond, Policy::No];
            for (place, policy) in policies.into_iter().enumerate() {
                let seed = seed.wrapping_mul(1000).wrapping_add(round);
                let setting = Setting { policy, seed, steps };
                let mut run = Run::new(MemoryDisk::default(), setting);
                run.go();
                let found = cut_everywhere(&run, &setting);
                if let Some(why) = found.bad {
                    panic!("seed {seed}, {}: {why}", policy.name());
                }
                states[place] += found.states;
                reopened += found.reopened;
                continued += found.continued;
            }
        }
    }
    let all: usize = states.iter().sum();
    println!(
        "{all} states after a power cut or kill: always {}, everysec {}, no {}; {reopened} cut \
         again, {continued} went on and were cut everywhere again",
        states[0], states[1], states[2]
    );
    assert!(is_repeated() || all >= 100_000, "{all}");
}
