//! `BF.ADD`, `BF.MADD`, `BF.REM`.

use crate::command::call::{Call, Fault, Outcome};
use crate::metrics::Counter;
use crate::resp::Reply;
use mayhap_engine::Words;
use mayhap_engine::keyspace::{Entry, InsertError};

pub(in crate::command) fn add(call: &mut Call<'_, '_>) -> Outcome {
    call.writable()?;
    let (name, item, now) = (call.word(1), call.word(2), call.turn.work.now);
    let work = &mut call.turn.work;
    let added = call.shared.keyspace.with(name, now, |entry| entry.insert(item, work));
    let is_new = match added {
        Some(added) => added?,
        None => super::create::by_default(call)?.insert(item, &mut call.turn.work)?,
    };
    call.turn.wrote = true;
    call.turn.counts.add(Counter::ItemsAdded, 1);
    call.reply().boolean(is_new);
    Ok(())
}

pub(in crate::command) fn add_many(call: &mut Call<'_, '_>) -> Outcome {
    call.writable()?;
    let (name, items, now) = (call.word(1), call.words.from(2), call.turn.work.now);
    let work = &mut call.turn.work;
    let added = call.shared.keyspace.with(name, now, |entry| entry.insert_many(items, work));
    let outcome = match added {
        Some(outcome) => outcome,
        None => super::create::by_default(call)?.insert_many(items, &mut call.turn.work),
    };
    write_answers(call, items.len(), outcome);
    Ok(())
}

/// Inserts items and answers for each whether it was new.
pub(super) fn insert(call: &mut Call<'_, '_>, entry: &Entry, items: Words<'_>) -> Outcome {
    let outcome = entry.insert_many(items, &mut call.turn.work);
    write_answers(call, items.len(), outcome);
    Ok(())
}

/// The answers to a batch of `len` items.
///
/// If an item cannot be inserted they end with its error, as in `RedisBloom`: the items before it
/// are inserted.
fn write_answers(call: &mut Call<'_, '_>, len: usize, outcome: Result<(), (usize, InsertError)>) {
    call.turn.wrote = true;
    let (done, error) = match outcome {
        Ok(()) => (len, None),
        Err((done, error)) => (done, Some(error)),
    };
    call.turn.counts.add(Counter::ItemsAdded, done as u64);
    let mut reply = Reply::new(call.out, call.session.info.resp3);
    reply.array(done + usize::from(error.is_some()));
    call.turn.work.answers.iter().take(done).for_each(|is_new| reply.boolean(is_new));
    if let Some(error) = error {
        reply.error(&Fault::from(error).0);
    }
}

/// `BF.REM key item [item …]`: removes items, each once.
pub(in crate::command) fn remove(call: &mut Call<'_, '_>) -> Outcome {
    call.writable()?;
    let (entry, items) = (call.known(call.word(1))?, call.words.from(2));
    entry.remove_many(items, &mut call.turn.work)?;
    call.turn.wrote = true;
    let mut reply = Reply::new(call.out, call.session.info.resp3);
    reply.array(items.len());
    call.turn.work.answers.iter().for_each(|was_there| reply.boolean(was_there));
    Ok(())
}
