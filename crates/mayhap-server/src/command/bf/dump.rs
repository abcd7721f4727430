//! `BF.SCANDUMP`, `BF.LOADCHUNK`: filters move between servers.
//!
//! What goes out is a copy of the filter as it was when the dump began, and what comes in is seen
//! once it is whole and sound. `RedisBloom`'s dumps are taken too; such a filter keeps its hash.

use super::errors::NOT_FOUND;
use crate::command::call::{Call, Fault, HASTY_BYTES, Outcome};
use crate::command::number;
use crate::keyspace::LoadError;

/// Whether a dump begins, with a copy of a large filter.
pub(in crate::command) fn is_begin(call: &Call<'_, '_>) -> bool {
    number::integer(call.word(2)) == Some(0) && call.are_large(std::iter::once(call.word(1)))
}

/// Whether this is the last chunk of a large filter, which is looked through then.
pub(in crate::command) fn is_end(call: &Call<'_, '_>) -> bool {
    let bytes = call.shared.keyspace.ends_load(call.word(1), call.word(3));
    bytes.is_some_and(|bytes| bytes > HASTY_BYTES)
}

pub(in crate::command) fn scan_dump(call: &mut Call<'_, '_>) -> Outcome {
    let cursor = number::integer(call.word(2)).ok_or("Second argument must be numeric")?;
    let entry = call.known(call.word(1))?;
    let (next, bytes) = call.shared.keyspace.dump(&entry, cursor, call.turn.now)?;
    let mut reply = call.reply();
    reply.array(2);
    reply.integer(next);
    reply.bulk(&bytes);
    Ok(())
}

pub(in crate::command) fn load_chunk(call: &mut Call<'_, '_>) -> Outcome {
    let cursor = number::integer(call.word(2)).ok_or("ERR Second argument must be numeric")?;
    call.writable()?;
    let (shared, now) = (call.shared, call.turn.now);
    call.turn.wrote = true;
    shared.keyspace.load_chunk(call.word(1), cursor, call.word(3), now, call.log())?;
    call.ok()
}

impl From<LoadError> for Fault {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Exists => "ERR item exists".into(),
            LoadError::NotFound => NOT_FOUND.into(),
            LoadError::Offset { .. } => "ERR invalid offset - no link found".into(),
            LoadError::TooBig => "ERR invalid chunk - Too big for current filter".into(),
            LoadError::Bad(why) => format!("ERR received bad data: {why}").into(),
            LoadError::Create(error) => error.into(),
        }
    }
}
