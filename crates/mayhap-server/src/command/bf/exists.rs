//! `BF.EXISTS`, `BF.MEXISTS`.

use crate::command::call::{Call, Outcome};
use crate::metrics::Counter;
use crate::resp::Reply;

pub(in crate::command) fn exists(call: &mut Call<'_, '_>) -> Outcome {
    let (item, now) = (call.word(2), call.turn.now);
    let found = call.shared.keyspace.with(call.word(1), now, |entry| {
        let found = entry.contains(item, now);
        entry.check_file_at(now).map(|()| found)
    });
    let found = found.transpose()?;
    call.turn.counts.add(Counter::ItemsChecked, 1);
    call.turn.counts.add(Counter::ItemsFound, found.unwrap_or(false).into());
    call.reply().boolean(found.unwrap_or(false));
    Ok(())
}

pub(in crate::command) fn exists_many(call: &mut Call<'_, '_>) -> Outcome {
    let items = call.words.from(2);
    let (name, now) = (call.word(1), call.turn.now);
    let turn = &mut *call.turn;
    let found = call.shared.keyspace.with(name, now, |entry| {
        entry.contains_many(items, turn);
        entry.check_file()
    });
    if found.transpose()?.is_none() {
        call.turn.answers.clear_to(items.len());
    }
    call.turn.counts.add(Counter::ItemsChecked, items.len() as u64);
    call.turn.counts.add(Counter::ItemsFound, call.turn.answers.count_ones() as u64);
    let mut reply = Reply::new(call.out, call.session.resp3);
    reply.array(items.len());
    call.turn.answers.iter().for_each(|found| reply.boolean(found));
    Ok(())
}
