//! `BF.WHICH`: several items looked up in several filters.

use crate::Turn;
use crate::command::bounds::ELEMENT_BYTES;
use crate::command::call::{Call, NO_INTEGER, Outcome};
use crate::command::number;
use mayhap_engine::keyspace::{MAX_PROBES, Which};

/// One lookup of an item in a filter, and the filter's name in the answer.
const PROBE_NS: u64 = 100;

/// `BF.WHICH numkeys key [key …] item [item …]`: for each item the names of the filters that may
/// have it. A name without a filter has nothing, and the name of a matrix stands for its sets.
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
    let Turn { work, counts, .. } = &mut *call.turn;
    let checked = |keys, found| counts.checked(keys, found);
    let found = Which::look_up(&call.shared.keyspace, names, items, work, checked)?;
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

/// One lookup per pair; where a matrix is served, any of the names may be one of its sets.
pub(in crate::command) fn work(call: &Call<'_, '_>) -> u64 {
    let names = number::count(call.word(1)).unwrap_or(0);
    let items = (call.words.len() as u64).saturating_sub(names.saturating_add(2));
    let each = 1 + call.shared.keyspace.files().most_sets() / 64;
    names.saturating_mul(items).saturating_mul(each).min(MAX_PROBES as u64) * PROBE_NS
}
