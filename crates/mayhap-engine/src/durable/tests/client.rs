//! The replies that clients got, and the contents they require of a folder.

use super::disk::{Files, MemoryDisk};
use super::model::{Model, Set};
use super::note::{Note, What};
use super::run::{folder, names, options};
use crate::durable::{Log, Policy};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Filters by id: name and expiry.
pub(super) type Names = BTreeMap<u64, (Vec<u8>, u64)>;

/// The replies that a client got and may rely on.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    pub(super) issued: BTreeSet<What>,
    pub(super) acknowledged: BTreeMap<What, u64>,
    pub(super) operations: usize,
    pub(super) last: u64,
}

impl Client {
    pub(super) fn hear(&mut self, note: &Note) {
        match *note {
            Note::Issued(What::Operations(n)) => self.operations = self.operations.max(n),
            Note::Issued(what) => {
                self.issued.insert(what);
            }
            // "Not new" needs no new record, and may be answered while new keys still wait.
            Note::Acknowledged(What::There(id, digest), _)
                if self.acknowledged.contains_key(&What::Inserted(id, digest)) => {}
            Note::Acknowledged(what, at) => {
                if let Entry::Vacant(new) = self.acknowledged.entry(what) {
                    new.insert(at);
                    self.last = self.last.max(at);
                }
            }
        }
    }
}

/// The promise about a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// The process died: every acknowledged change is in it.
    Kill,
    /// The power failed.
    PowerCut(Policy),
}

/// Opens a folder and compares its contents with those required and those allowed.
pub(super) fn check(
    files: Files,
    names_then: &[Names],
    client: &Client,
    promise: Promise,
) -> Result<(MemoryDisk, Model), String> {
    let disk = MemoryDisk::of(files);
    let (model, time) = (Model::default(), Arc::default());
    let options = options(Policy::Always, &time);
    Log::open(folder(&disk), options, &model, &|_| {}).map_err(|e| e.to_string())?;
    let must = |at: u64| match promise {
        Promise::Kill | Promise::PowerCut(Policy::Always) => true,
        Promise::PowerCut(Policy::EverySecond) => at + 2000 < client.last,
        Promise::PowerCut(Policy::No) => false,
    };
    let found = names(&model);
    let least = client.acknowledged.iter().filter_map(|(what, &at)| match what {
        What::Operations(n) if must(at) => Some(*n),
        _ => None,
    });
    let least = least.max().unwrap_or(0);
    if !(least..=client.operations).any(|n| names_then[n] == found) {
        return Err(format!("{found:?} is no state between {least} and {}", client.operations));
    }
    let sets = model.0.lock().unwrap().clone();
    for (what, &at) in client.acknowledged.iter().filter(|&(_, &at)| must(at)) {
        let there = match what {
            What::Inserted(id, digest) | What::There(id, digest) => {
                sets.get(id).map(|set| set.digests.contains(digest))
            }
            What::Counted(id, digest) => sets.get(id).map(|set| set.counts.contains_key(digest)),
            What::Items(id, items) => sets.get(id).map(|set| set.items() >= *items),
            What::Contents(..) | What::Operations(_) => None,
        };
        if there == Some(false) {
            return Err(format!("{what:?}, acknowledged at {at} of {}, is lost", client.last));
        }
    }
    for (&id, set) in &sets {
        let new = |what: &&What| matches!(what, What::Inserted(of, _) if *of == id);
        let promised = client.acknowledged.iter().filter(|&(_, &at)| must(at));
        check_filter(id, set, client, promised.filter(|(what, _)| new(what)).count())?;
    }
    Ok((disk, model))
}

/// Every key in a filter was inserted and counts once; its initial contents are complete.
fn check_filter(id: u64, set: &Set, client: &Client, promised: usize) -> Result<(), String> {
    let put_in = |digest| {
        let whats = [What::Inserted, What::There, What::Contents].map(|what| what(id, digest));
        whats.iter().any(|what| client.issued.contains(what))
    };
    if let Some(digest) = set.digests.iter().find(|&&digest| !put_in(digest)) {
        return Err(format!("{digest} of {id} was never inserted"));
    }
    let counted = set.counts.keys().map(|&digest| What::Counted(id, digest));
    if let Some(what) = { counted }.find(|what| !client.issued.contains(what)) {
        return Err(format!("{what:?} was never inserted"));
    }
    if let Some((digest, count)) = set.counts.iter().find(|&(_, &count)| count != 1) {
        return Err(format!("{digest} of {id} was inserted once and counts {count}"));
    }
    let contents = client.issued.range(What::Contents(id, 0)..=What::Contents(id, u64::MAX));
    let missing = |what: &&What| matches!(what, What::Contents(_, d) if !set.digests.contains(d));
    if let Some(what) = { contents }.find(missing) {
        return Err(format!("{what:?} is missing in a filter that is whole or not there at all"));
    }
    let (items, held) = (set.items(), set.digests.len() as u64);
    if items < promised as u64 || items > held {
        return Err(format!("{id} counts {items} keys of {promised} to {held}"));
    }
    Ok(())
}
