//! `BF.SCANDUMP`, `BF.LOADCHUNK`: moving filters between servers.
//!
//! A dump is a copy of the filter as it was when the dump began, and a loaded filter becomes
//! visible once it is complete and sound. Dumps of `RedisBloom` are accepted too; such a filter
//! keeps its hash.

use crate::command::bounds;
use crate::command::call::{Call, Outcome};
use crate::command::number;
use mayhap::native;
use mayhap_engine::keyspace::{CHUNK_BYTES, SMALL_FILE_BYTES};

/// A chunk or a header, with its cursor. The header of a filter of `RedisBloom` has 60 bytes for
/// each of its layers, of which there are fewer than 8,192.
pub(in crate::command) const ANSWER_BYTES: u64 = CHUNK_BYTES as u64 + (4 << 10);

/// Packing and unpacking take as long as copying this often.
const PASSES: u64 = 4;
/// A header and a page of bits.
const SMALLEST_FILE_BYTES: u64 = 8 << 10;

/// Copying the filter when a dump begins, then a chunk at a time.
pub(in crate::command) fn work_of_scan(call: &Call<'_, '_>) -> u64 {
    match number::integer(call.word(2)) {
        // The copy, and its bytes; a small filter's are packed, too.
        Some(0) => {
            let bytes = call.bytes_of(std::iter::once(call.word(1)));
            let packed = bytes.min(SMALL_FILE_BYTES as u64) * PASSES + SMALLEST_FILE_BYTES;
            bounds::copying(bytes.saturating_mul(2) + packed)
        }
        // Copied, and once more into new memory for a client that does not read.
        Some(_) => bounds::copying(CHUNK_BYTES as u64),
        None => 0,
    }
}

/// Copying a chunk; with the last one the whole filter is checked. A packed one is whole.
pub(in crate::command) fn work_of_load(call: &Call<'_, '_>) -> u64 {
    let chunk = call.word(3);
    let unpacked = native::packed_file_bytes(chunk).map(|bytes| u64::from(bytes) * PASSES);
    let bytes = unpacked.or_else(|| call.shared.keyspace.ends_load(call.word(1), chunk));
    bounds::reading(chunk.len() as u64) + bounds::copying(bytes.unwrap_or(0))
}

pub(in crate::command) fn scan_dump(call: &mut Call<'_, '_>) -> Outcome {
    let cursor = number::integer(call.word(2)).ok_or("Second argument must be numeric")?;
    let entry = call.known(call.word(1))?;
    let (next, bytes) = call.shared.keyspace.dump(&entry, cursor, call.turn.work.now)?;
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
    let (shared, now) = (call.shared, call.turn.work.now);
    shared.keyspace.load_chunk(call.word(1), cursor, call.word(3), false, now, call.log())?;
    call.ok()
}
