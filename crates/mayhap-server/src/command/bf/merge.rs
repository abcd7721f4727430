//! `BF.MERGE`: the union of filters. `BF.MERGECHUNK`: the union of one with another that comes from
//! elsewhere, piece by piece.

use crate::command::bounds;
use crate::command::call::{Call, Fault, Outcome};
use crate::command::number;
use mayhap_engine::keyspace::{CreateError, Entry, PieceOf, Sender};
use std::sync::Arc;

const TAKEN: &str =
    "ERR item exists: merge into a new name, this one among the sources, then RENAME it";

/// A copy of each source, and of the union; nothing if the name of the target is taken.
pub(in crate::command) fn work(call: &Call<'_, '_>) -> u64 {
    if call.entry(call.word(1)).is_some() {
        return 0;
    }
    bounds::CREATE_NS + bounds::copying(call.bytes_of(call.words.from(2).iter()))
}

/// `BF.MERGE target source [source …]` creates a filter that has the items of all sources.
///
/// The target must not exist: a filter that receives keys meanwhile could not be replaced by a
/// union without losing acknowledged keys.
pub(in crate::command) fn merge(call: &mut Call<'_, '_>) -> Outcome {
    // Before any work.
    if call.entry(call.word(1)).is_some() {
        return Err(TAKEN.into());
    }
    let sources = call.words.from(2).iter().map(|name| call.known(name));
    let sources: Vec<Arc<Entry>> = sources.collect::<Result<_, Fault>>()?;
    call.operable()?;
    let (shared, now) = (call.shared, call.turn.work.now);
    let merged = shared.keyspace.merge(call.word(1), &sources, 0, now, call.log());
    merged.map_err(|error| match error {
        CreateError::Exists => TAKEN.into(),
        CreateError::TooLarge(_) | CreateError::OutOfMemory { .. } | CreateError::Log(_) => {
            Fault::from(error)
        }
        error => format!("ERR cannot merge these filters: {error}").into(),
    })?;
    call.ok()
}

const OFFSET: &str = "ERR Third argument must be an offset in bytes";

/// Reading the piece and where it lies; with the last one all bits are counted.
pub(in crate::command) fn work_of_chunk(call: &Call<'_, '_>) -> u64 {
    let (len, bytes) = (call.word(4).len() as u64, call.bytes_of(std::iter::once(call.word(1))));
    let end = number::count(call.word(3)).and_then(|offset| offset.checked_add(len));
    let counted = if end == Some(bytes) { bytes } else { 0 };
    bounds::copying(len) + bounds::reading(counted)
}

/// `BF.MERGECHUNK key header offset bits` adds the items of a filter elsewhere, whose header is
/// named, as far as this piece of its bits has them. Returns how many bits the filter lacked.
///
/// The filter is created by the first piece. Pieces may come in any order and more than once.
pub(in crate::command) fn merge_chunk(call: &mut Call<'_, '_>) -> Outcome {
    let offset = number::count(call.word(3)).ok_or(OFFSET)?;
    let (header, bits) = (call.word(2), call.word(4));
    let sender = if call.session.rights.admin { Sender::Admin } else { Sender::Writer };
    call.operable()?;
    let (shared, now) = (call.shared, call.turn.work.now);
    let piece = PieceOf { header, offset, bits };
    let new = shared.keyspace.unite(call.word(1), (piece, sender), now, call.log())?;
    call.count(new)
}
