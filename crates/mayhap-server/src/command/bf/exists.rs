//! `BF.EXISTS`, `BF.MEXISTS`.

use crate::command::call::{Call, Outcome};
use crate::resp::Reply;

pub(in crate::command) fn exists(call: &mut Call<'_, '_>) -> Outcome {
    let (item, now) = (call.word(2), call.turn.work.now);
    let found = call.shared.keyspace.with(call.word(1), now, |entry| {
        entry.check_keys(std::iter::once(item))?;
        let found = entry.contains(item, now);
        entry.check_file_at(now).map(|()| found)
    });
    let found = match found.transpose()? {
        Some(found) => found,
        None => call.nothing(false)?,
    };
    call.turn.counts.checked(1, found.into());
    call.reply().boolean(found);
    Ok(())
}

pub(in crate::command) fn exists_many(call: &mut Call<'_, '_>) -> Outcome {
    let items = call.words.from(2);
    let (name, now) = (call.word(1), call.turn.work.now);
    let work = &mut call.turn.work;
    let found = call.shared.keyspace.with(name, now, |entry| {
        entry.check_keys(items.iter())?;
        entry.contains_many(items, work);
        entry.check_file()
    });
    if found.transpose()?.is_none() {
        call.nothing(())?;
        call.turn.work.answers.clear_to(items.len());
    }
    call.turn.counts.checked(items.len(), call.turn.work.answers.count_ones());
    let mut reply = Reply::new(call.out, call.session.info.resp3);
    reply.array(items.len());
    call.turn.work.answers.iter().for_each(|found| reply.boolean(found));
    Ok(())
}
