//! `BF.MERGE`: filters are united.

use crate::command::call::{Call, Fault, Outcome};
use crate::keyspace::Entry;
use std::sync::Arc;

/// `BF.MERGE target source [source …]`.
///
/// A target that does not exist is made as the first source was asked to be. The sources are looked
/// up before anything changes; where one cannot be taken those before it are in, as an insertion of
/// several items that ends with an error leaves those before it.
pub(in crate::command) fn merge(call: &mut Call<'_, '_>) -> Outcome {
    let sources = call.words.from(2).iter().map(|name| call.known(name));
    let sources: Vec<Arc<Entry>> = sources.collect::<Result<_, Fault>>()?;
    call.writable()?;
    let target = call.word(1);
    let target = match (call.entry(target), sources.first()) {
        (Some(target), _) => target,
        (None, Some(first)) => {
            let shared = call.shared;
            let now = call.turn.now;
            shared.keyspace.get_or_create(target, first.spec, now, shared.log.as_deref())?
        }
        (None, None) => return Err(Call::arity("bf.merge")),
    };
    for source in sources.iter().filter(|source| !Arc::ptr_eq(source, &target)) {
        target.merge_from(source, call.shared.log.as_deref())?;
    }
    call.turn.wrote = true;
    call.ok()
}
