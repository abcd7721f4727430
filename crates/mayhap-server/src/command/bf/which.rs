//! `BF.WHICH`: several items are looked up in several filters.

use crate::command::bounds::ELEMENT_BYTES;
use crate::command::call::{Call, NO_INTEGER, Outcome};
use crate::command::number;
use crate::keyspace::MAX_PROBES;

/// A look at one filter for one item, and its name in the answer.
const PROBE_NS: u64 = 100;

/// `BF.WHICH numkeys key [key …] item [item …]`: for each item the names of the filters that may
/// have it. A name without a filter has nothing, and that of a matrix has its sets.
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
    let names = names.iter().take(num_keys);
    names.clone().try_for_each(|name| call.within(name))?;
    if names.clone().any(|name| call.entry(name).is_none()) {
        call.nothing(())?;
    }
    let found = call.shared.keyspace.which(names, items, call.turn)?;
    let names: Vec<&[u8]> = found.names().collect();
    let name_bytes = |at: usize| names[at].len() + ELEMENT_BYTES;
    let bytes = found.answer_bytes(ELEMENT_BYTES, name_bytes) + ELEMENT_BYTES as u64;
    call.room_for(bytes)?;
    let mut reply = call.reply();
    reply.array(found.counts().len());
    for (item, &count) in found.counts().iter().enumerate() {
        reply.array(count);
        found.filters_of(item).for_each(|at| reply.bulk(names[at]));
    }
    Ok(())
}

/// A look for each pair; where a matrix is served, any of the names may be its.
pub(in crate::command) fn work(call: &Call<'_, '_>) -> u64 {
    let names = number::count(call.word(1)).unwrap_or(0);
    let items = (call.words.len() as u64).saturating_sub(names.saturating_add(2));
    let each = 1 + call.shared.keyspace.most_sets() / 64;
    names.saturating_mul(items).saturating_mul(each).min(MAX_PROBES as u64) * PROBE_NS
}
