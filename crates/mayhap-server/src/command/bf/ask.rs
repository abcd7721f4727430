//! `BF.EXISTS`, `BF.MEXISTS`.

use crate::command::call::{Call, Outcome};
use crate::metrics::Counter;
use crate::resp::Reply;

pub(in crate::command) fn exists(call: &mut Call<'_, '_>) -> Outcome {
    let found = match call.entry(call.word(1)) {
        Some(entry) => entry.contains(call.word(2), call.turn.now),
        None => false,
    };
    call.turn.counts.add(Counter::ItemsAsked, 1);
    call.reply().boolean(found);
    Ok(())
}

pub(in crate::command) fn exists_many(call: &mut Call<'_, '_>) -> Outcome {
    let items = call.words.from(2);
    match call.entry(call.word(1)) {
        Some(entry) => entry.contains_many(items, call.turn),
        None => call.turn.answers.clear_to(items.len()),
    }
    call.turn.counts.add(Counter::ItemsAsked, items.len() as u64);
    let mut reply = Reply::new(call.out, call.session.resp3);
    reply.array(items.len());
    call.turn.answers.iter().for_each(|found| reply.boolean(found));
    Ok(())
}
