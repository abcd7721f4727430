//! `BF.SCANDUMP`, `BF.LOADCHUNK`: filters move between servers.
//!
//! What goes out is a copy of the filter as it was when the dump began, and what comes in is seen
//! once it is whole and sound. `RedisBloom`'s dumps are taken too; such a filter keeps its hash.

use super::errors::NOT_FOUND;
use crate::command::bounds;
use crate::command::call::{Call, Fault, Outcome};
use crate::command::number;
use crate::keyspace::{CHUNK_BYTES, LoadError};

/// A chunk or a header, with its cursor. The header of a filter of `RedisBloom` has 60 bytes for
/// each of its layers, which are fewer than 8,192.
pub(in crate::command) const ANSWER_BYTES: u64 = CHUNK_BYTES as u64 + (4 << 10);

/// A copy of the filter when a dump begins, then a chunk at a time.
pub(in crate::command) fn work_of_scan(call: &Call<'_, '_>) -> u64 {
    match number::integer(call.word(2)) {
        // The copy, and its bytes.
        Some(0) => bounds::copying(call.bytes_of(std::iter::once(call.word(1))).saturating_mul(2)),
        // Copied, and written into new memory once more for a client that does not read.
        Some(_) => bounds::copying(CHUNK_BYTES as u64),
        None => 0,
    }
}

/// The copy of a chunk; with the last one all of the filter is looked through.
pub(in crate::command) fn work_of_load(call: &Call<'_, '_>) -> u64 {
    let bytes = call.shared.keyspace.ends_load(call.word(1), call.word(3));
    bounds::reading(call.word(3).len() as u64) + bounds::copying(bytes.unwrap_or(0))
}

pub(in crate::command) fn scan_dump(call: &mut Call<'_, '_>) -> Outcome {
    let cursor = number::integer(call.word(2)).ok_or("Second argument must be numeric")?;
    let entry = call.known(call.word(1))?;
    let (next, bytes) = call.shared.keyspace.dump(&entry, cursor, call.turn.now)?;
    entry.check_file()?;
    let mut reply = call.reply();
    reply.array(2);
    reply.integer(next);
    reply.bulk(&bytes);
    Ok(())
}

pub(in crate::command) fn load_chunk(call: &mut Call<'_, '_>) -> Outcome {
    let cursor = number::integer(call.word(2)).ok_or("ERR Second argument must be numeric")?;
    call.operable()?;
    let (shared, now) = (call.shared, call.turn.now);
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
