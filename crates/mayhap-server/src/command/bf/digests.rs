//! `BF.MADDHASH`, `BF.MEXISTSHASH`: items by their digests, for clients that have computed them.
//!
//! `BF.INFO key DIGEST` names the function. A digest is 8 bytes, least significant first, and a
//! batch is one word of them. The answer is one word too: bit `i % 8` of byte `i / 8` for digest i.

use super::errors::NOT_FOUND;
use crate::Turn;
use crate::command::bounds;
use crate::command::call::{Call, Fault, Outcome};
use crate::keyspace::Entry;
use crate::metrics::Counter;
use crate::resp::Reply;
use mayhap::Digest;
use std::sync::Arc;

/// As many digests as 8 bytes have.
pub(in crate::command) fn work(call: &Call<'_, '_>) -> u64 {
    call.word(2).len() as u64 / 8 * bounds::WORD_NS
}

pub(in crate::command) fn add(call: &mut Call<'_, '_>) -> Outcome {
    call.writable()?;
    let entry = find(call)?;
    entry.check_new_digests(call.session.rights.admin)?;
    read_digests(call)?;
    entry.insert_digests(call.turn).map_err(|(_, error)| error)?;
    call.turn.wrote = true;
    call.turn.counts.add(Counter::ItemsAdded, call.turn.answers.len() as u64);
    write_answers(call);
    Ok(())
}

pub(in crate::command) fn exists(call: &mut Call<'_, '_>) -> Outcome {
    let entry = find(call)?;
    entry.check_digests()?;
    read_digests(call)?;
    let Turn { digests, answers, counts, now, .. } = &mut *call.turn;
    entry.contains_digests(digests, *now, answers);
    entry.check_file()?;
    counts.checked(answers.len(), answers.count_ones());
    write_answers(call);
    Ok(())
}

fn find(call: &Call<'_, '_>) -> Result<Arc<Entry>, Fault> {
    call.entry(call.word(1)).ok_or_else(|| NOT_FOUND.into())
}

/// Puts the digests of the request into the turn's.
fn read_digests(call: &mut Call<'_, '_>) -> Result<(), Fault> {
    let (digests, rest) = call.word(2).as_chunks::<8>();
    if !rest.is_empty() {
        return Err("ERR digests are 8 bytes each".into());
    }
    call.turn.digests.clear();
    call.turn.digests.extend(digests.iter().map(|&bytes| Digest::new(u64::from_le_bytes(bytes))));
    Ok(())
}

fn write_answers(call: &mut Call<'_, '_>) {
    let answers = &call.turn.answers;
    let bytes: Vec<u8> = answers.as_words().iter().flat_map(|word| word.to_le_bytes()).collect();
    let bytes = &bytes[..answers.len().div_ceil(8)];
    Reply::new(call.out, call.session.resp3).bulk(bytes);
}
