//! `BF.WHICH`: several items are looked up in several filters.

use crate::command::bounds::ELEMENT_BYTES;
use crate::command::call::{Call, Fault, NO_INTEGER, Outcome};
use crate::command::number;
use crate::keyspace::Entry;
use mayhap::Bitmap;
use std::sync::Arc;

/// Filters times items of one request, so that one request does not hold up all others.
const MAX_PROBES: usize = 1 << 20;
/// A look at one filter for one item, and its name in the answer.
const PROBE_NS: u64 = 100;

/// `BF.WHICH numkeys key [key …] item [item …]`: for each item the names of the filters that may
/// have it. A name without a filter has nothing.
pub(in crate::command) fn which(call: &mut Call<'_, '_>) -> Outcome {
    let num_keys = number::count(call.word(1)).ok_or(NO_INTEGER)?;
    let num_keys = usize::try_from(num_keys).unwrap_or(usize::MAX);
    if num_keys == 0 {
        return Err("ERR at least 1 key is needed".into());
    }
    if num_keys > call.words.len().saturating_sub(3) {
        return Err("ERR Number of keys can't be greater than number of args".into());
    }
    let names = call.words.from(2);
    let items = call.words.from(2 + num_keys);
    if num_keys.saturating_mul(items.len()) > MAX_PROBES {
        let text = format!("ERR keys times items must be at most {MAX_PROBES}");
        return Err(text.into());
    }
    let mut filters: Vec<(&[u8], Arc<Entry>)> = Vec::new();
    for name in names.iter().take(num_keys) {
        call.within(name)?;
        filters.extend(call.entry(name).map(|entry| (name, entry)));
    }
    // A bit for each pair, and of each item the bytes of its names.
    let mut found = vec![Bitmap::default(); filters.len()];
    let mut lists = vec![(0, 0); items.len()];
    for ((name, entry), found) in filters.iter().zip(&mut found) {
        entry.contains_many(items, call.turn);
        entry.check_file().map_err(|why| {
            let name = name.escape_ascii();
            Fault::from(format!("ERR {name}: {why}"))
        })?;
        call.turn.counts.checked(items.len(), call.turn.answers.count_ones());
        std::mem::swap(found, &mut call.turn.answers);
        for item in found.iter_ones() {
            lists[item] = (lists[item].0 + 1, lists[item].1 + name.len() + ELEMENT_BYTES);
        }
    }
    let bytes: usize = lists.iter().map(|(_, bytes)| bytes + ELEMENT_BYTES).sum();
    call.room_for((bytes + ELEMENT_BYTES) as u64)?;
    let mut reply = call.reply();
    reply.array(lists.len());
    for (item, (names, _)) in lists.into_iter().enumerate() {
        reply.array(names);
        let of = filters.iter().zip(&found).filter(|(_, found)| found.get(item));
        of.for_each(|((name, _), _)| reply.bulk(name));
    }
    Ok(())
}

/// A look for each pair.
pub(in crate::command) fn work(call: &Call<'_, '_>) -> u64 {
    let names = number::count(call.word(1)).unwrap_or(0);
    let items = (call.words.len() as u64).saturating_sub(names.saturating_add(2));
    names.saturating_mul(items).min(MAX_PROBES as u64) * PROBE_NS
}
