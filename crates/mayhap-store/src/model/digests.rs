//! The digests beside a filter, in the same model: the next process finds the digests of all keys
//! that the filter and its log have, after each event and whatever is left of it.

use super::files::{Cache, Files, Mix, One, UpTo};
use super::world::{Body, Entered, Random, World};
use crate::state::Held;
use crate::{Error, FilterLock, LockOptions, Operation, Session, SessionOptions};
use mayhap::native::{Header, Native};
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, Layout};
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

const PROCESSES: u64 = 4;
/// Keys of each of them, at most.
const KEYS: u64 = 2000;
/// Keys that are inserted together, now and then: their run is longer than a page.
const MANY: u64 = 600;

fn digest(key: u64) -> Digest {
    DigestFunction::default().digest(&key)
}

/// A filter without false positives among the keys.
fn filter(keys: Range<u64>) -> AnyFilter {
    let builder = AnyFilter::builder().layout(Layout::Standard).num_bits(1 << 19);
    let mut filter = builder.expected_items(12_000).build().unwrap();
    for key in keys {
        filter.insert_digest(digest(key));
    }
    filter
}

fn lock() -> LockOptions {
    LockOptions::new("model").timeout(Duration::from_secs(1 << 30))
}

fn open(world: &World<()>, process: usize) -> Result<(Session, Held<AnyFilter>), Error> {
    let how = SessionOptions::new(lock()).keeps_digests();
    let opening = Session::open_on(world.disk(process), Path::new("f"), how)?;
    let filter = opening.image().load(None, |_, _| {})?;
    let mut held = Held { filter, secret_key: None };
    let (session, _) = opening.follow(&mut held)?;
    Ok((session, held))
}

/// Some turns of one process, which may be killed in any of its calls.
fn write(world: &World<()>, process: usize, mut random: Random) -> Result<(), Error> {
    let (mut session, mut held) = open(world, process)?;
    let mut keys = (process as u64 + 1) * KEYS..(process as u64 + 2) * KEYS;
    for _ in 0..random.below(32) {
        session.ready(&mut held)?;
        let count = if random.below(16) == 0 { MANY } else { random.below(4) };
        let digests: Vec<Digest> = keys.by_ref().take(count as usize).map(digest).collect();
        held.filter.insert_digests_into(&digests, &mut Bitmap::new());
        session.note(Operation::Insert, 0, digests);
        match random.below(16) {
            0..=1 => session.record(&mut held)?,
            2 => session.checkpoint(&mut held)?,
            3..=5 => session.release(&mut held)?,
            6 => session.sync()?,
            _ => {}
        }
    }
    session.finish(&mut held).map(drop)
}

/// Replaces the filter by another one, with digests or without.
fn replace(world: &World<()>, process: usize, mut random: Random) -> Result<(), Error> {
    let from = (process as u64 + 1) * KEYS;
    let keys = from..from + random.below(MANY);
    let filter = filter(keys.clone());
    let taken = FilterLock::take_on(world.disk(process), Path::new("f"), &mut lock())?;
    let (header, segments) = (Header::of(&filter, ""), filter.segments());
    if random.below(3) > 0 {
        taken.save_with_digests(&header, &segments, keys.map(digest).collect(), true)
    } else {
        taken.save(&header, &segments, true)
    }
}

/// Judges the state that the next process finds; returns the number of kept keys of the filter.
/// With `may_have_none`, a filter without digests may have replaced one with digests.
fn judge(files: &Files, may_have_none: bool) -> Result<usize, String> {
    let world: World<()> = World::new(files.clone(), 1);
    let (mut session, held) = open(&world, 0).map_err(|error| error.to_string())?;
    if !session.keeps_digests() && may_have_none {
        return Ok(0);
    }
    let mut kept = HashSet::new();
    let read = session.for_each_digest(|digests| {
        kept.extend(digests.iter().copied());
        Ok::<(), Error>(())
    });
    read.map_err(|error| error.to_string())?;
    let keys = (0..(PROCESSES + 1) * KEYS).filter(|&key| held.filter.contains_digest(digest(key)));
    let keys: Vec<u64> = keys.collect();
    match keys.iter().find(|&&key| !kept.contains(&digest(key))) {
        Some(key) => Err(format!("the digest of key {key} is missing, of {} keys", keys.len())),
        None => Ok(keys.len()),
    }
}

/// All that may be left at this moment.
fn states(cache: &Cache, random: &mut Random) -> Vec<Files> {
    let count = cache.num_pending();
    let mut states = vec![cache.left(&mut UpTo(count.checked_sub(1))), cache.left(&mut UpTo(None))];
    for place in count.saturating_sub(3)..count {
        states.push(cache.left(&mut One { place, is_kept: true }));
        states.push(cache.left(&mut One { place, is_kept: false }));
    }
    states.extend((0..4).map(|_| cache.left(&mut Mix(random))));
    states
}

#[test]
fn after_any_event_the_digests_are_those_of_all_keys_of_the_filter_and_its_log() {
    let hasher = Xxh3DefaultBuilder::new();
    let (mut seen, mut most_keys, mut judged) = (HashSet::new(), 0, 0);
    for seed in 1..=7 {
        let world: World<()> = World::new(Files::default(), seed);
        let (filter, digests) = (filter(0..5), (0..5).map(digest).collect());
        let taken = FilterLock::take_on(world.disk(0), Path::new("f"), &mut lock()).unwrap();
        let (header, segments) = (Header::of(&filter, ""), filter.segments());
        taken.save_with_digests(&header, &segments, digests, false).unwrap();
        drop(taken);
        let mut cache = Cache::of(world.state().files.clone());
        let created = world.state().entries.len();
        let replaces = seed % 2 == 0;
        let body = |process: u64| -> Body<()> {
            Box::new(move |world, number| {
                let random = Random(seed << 8 | process);
                // It may be killed; the files that it leaves are judged.
                let _ = if replaces && process % 2 == 1 {
                    replace(world, number, random)
                } else {
                    write(world, number, random)
                };
            })
        };
        world.run([0, 2, 6][seed as usize % 3], (0..PROCESSES).map(body).collect());
        let mut random = Random(seed);
        let entries = world.state().entries[created..].to_vec();
        for (place, entry) in entries.iter().enumerate() {
            let Entered::Disk(event) = entry else { continue };
            cache.apply(event);
            for (number, files) in states(&cache, &mut random).into_iter().enumerate() {
                if !seen.insert(hasher.hash_one(&files)) {
                    continue;
                }
                judged += 1;
                match judge(&files, replaces) {
                    Ok(keys) => most_keys = most_keys.max(keys),
                    Err(bad) => panic!("seed {seed}, event {place} {event:.99?}, {number}: {bad}"),
                }
            }
        }
    }
    println!("{judged} states; up to {most_keys} keys");
    assert!(judged > 1_500 && most_keys > 1_000, "{judged} states, {most_keys} keys");
}
