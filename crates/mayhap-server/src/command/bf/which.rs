//! `BF.WHICH`: several items are looked up in several filters.

use crate::command::call::{Call, Fault, NO_INTEGER, Outcome};
use crate::command::number;
use crate::keyspace::Entry;
use crate::metrics::Counter;
use std::sync::Arc;

/// Filters times items of one request, so that one request does not hold up all others.
const MAX_PROBES: usize = 1 << 20;

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
    let probes = (filters.len() * items.len()) as u64;
    call.turn.counts.add(Counter::ItemsAsked, probes);
    let mut found: Vec<Vec<&[u8]>> = vec![Vec::new(); items.len()];
    for (name, entry) in &filters {
        entry.contains_many(items, call.turn);
        entry.check_file().map_err(|why| {
            let name = name.escape_ascii();
            Fault::from(format!("ERR {name}: {why}"))
        })?;
        call.turn.answers.iter_ones().for_each(|item| found[item].push(name));
    }
    let mut reply = call.reply();
    reply.array(found.len());
    for names in found {
        reply.array(names.len());
        for name in names {
            reply.bulk(name);
        }
    }
    Ok(())
}
