//! `CF.EXISTS`, `CF.MEXISTS`, `CF.COUNT`.

use crate::command::bf;
use crate::command::call::{Call, Outcome};

/// `CF.EXISTS key item`.
pub(super) fn exists(call: &mut Call<'_, '_>) -> Outcome {
    call.compact()?;
    bf::exists::exists(call)
}

/// `CF.MEXISTS key item [item …]`.
pub(super) fn exists_many(call: &mut Call<'_, '_>) -> Outcome {
    call.compact()?;
    bf::exists::exists_many(call)
}

/// `CF.COUNT key item`: the copies of an item, or of others with its fingerprint; 15 for more.
pub(super) fn count(call: &mut Call<'_, '_>) -> Outcome {
    let (item, now) = (call.word(2), call.turn.work.now);
    let copies = match call.compact()? {
        Some(entry) => {
            let copies = entry.count(item, now);
            entry.check_file_at(now)?;
            copies
        }
        None => call.nothing(0)?,
    };
    call.turn.counts.checked(1, (copies > 0).into());
    call.integer(copies.into())
}
