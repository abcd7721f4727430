//! `BF.MERGE`: the union of filters.

use crate::command::bounds;
use crate::command::call::{Call, Fault, Outcome};
use mayhap_engine::keyspace::{CreateError, Entry};
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
