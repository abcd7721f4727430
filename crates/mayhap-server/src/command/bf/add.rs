//! `BF.ADD`, `BF.MADD`, `BF.REM`.

use crate::command::call::{Call, Fault, Outcome};
use crate::keyspace::{Entry, InsertError, Shape};
use crate::metrics::Counter;
use crate::resp::{Reply, Words};
use std::sync::Arc;

pub(in crate::command) fn add(call: &mut Call<'_, '_>) -> Outcome {
    let entry = to_write(call)?;
    let is_new = entry.insert(call.word(2), call.turn)?;
    call.turn.wrote = true;
    call.turn.counts.add(Counter::ItemsAdded, 1);
    call.reply().boolean(is_new);
    Ok(())
}

pub(in crate::command) fn add_many(call: &mut Call<'_, '_>) -> Outcome {
    let entry = to_write(call)?;
    let items = call.words.from(2);
    insert(call, &entry, items)
}

/// The filter of the request, made with the defaults if there is none.
fn to_write(call: &mut Call<'_, '_>) -> Result<Arc<Entry>, Fault> {
    call.writable()?;
    match call.entry(call.word(1)) {
        Some(entry) => Ok(entry),
        None => super::make::by_default(call),
    }
}

/// Inserts items and answers for each whether it was new.
///
/// Where one cannot be inserted the answers end with its error, as in `RedisBloom`: those before it
/// are in.
pub(super) fn insert(call: &mut Call<'_, '_>, entry: &Entry, items: Words<'_>) -> Outcome {
    let outcome = entry.insert_many(items, call.turn);
    call.turn.counts.add(Counter::ItemsAdded, items.len() as u64);
    call.turn.wrote = true;
    write_answers(call, items.len(), outcome);
    Ok(())
}

/// The answers of a batch of `len`, up to the first that failed.
fn write_answers(call: &mut Call<'_, '_>, len: usize, outcome: Result<(), (usize, InsertError)>) {
    let (done, error) = match outcome {
        Ok(()) => (len, None),
        Err((done, error)) => (done, Some(error)),
    };
    let mut reply = Reply::new(call.out, call.session.resp3);
    reply.array(done + usize::from(error.is_some()));
    call.turn.answers.iter().take(done).for_each(|is_new| reply.boolean(is_new));
    if let Some(error) = error {
        reply.error(&Fault::from(error).0);
    }
}

/// `BF.REM key item [item …]`: takes items away again, each once.
pub(in crate::command) fn remove(call: &mut Call<'_, '_>) -> Outcome {
    call.writable()?;
    let entry = call.known(call.word(1))?;
    if !matches!(entry.spec.shape, Shape::Counting { .. }) {
        let text = "ERR items are removed from COUNTING filters only; reserve the filter so";
        return Err(text.into());
    }
    let items = call.words.from(2);
    let mut reply = Reply::new(call.out, call.session.resp3);
    reply.array(items.len());
    call.turn.wrote = true;
    for item in items.iter() {
        reply.boolean(entry.remove(item, call.turn)?);
    }
    Ok(())
}
