//! `CF.DEL`, `CF.COMPACT`.

use crate::command::call::{Call, Outcome};

/// `CF.DEL key item`: removes a copy; answers whether it did.
pub(super) fn remove(call: &mut Call<'_, '_>) -> Outcome {
    call.writable()?;
    let entry = call.compact()?.ok_or("Not found")?;
    entry.remove_many(call.words.from(2), &mut call.turn.work)?;
    call.turn.wrote = true;
    let was_there = call.turn.work.answers.get(0);
    call.reply().boolean(was_there);
    Ok(())
}

/// `CF.COMPACT key`: one filter has nothing to put together.
pub(super) fn compact(call: &mut Call<'_, '_>) -> Outcome {
    call.compact()?.ok_or("Cuckoo filter was not found")?;
    call.ok()
}
