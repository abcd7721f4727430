//! `BF.MADDHASH`, `BF.MEXISTSHASH`: items by their digests, for clients that compute them
//! themselves.
//!
//! `BF.INFO key DIGEST` names the function. A digest is 8 bytes, least significant first, and a
//! batch is one word of them. The answer is one word too: bit `i % 8` of byte `i / 8` for digest i.

use crate::Turn;
use crate::command::bounds;
use crate::command::call::{Call, Fault, Outcome};
use crate::metrics::Counter;
use crate::resp::Reply;
use mayhap::Digest;
use mayhap_engine::Work;

/// One digest per 8 bytes.
pub(in crate::command) fn work(call: &Call<'_, '_>) -> u64 {
    call.word(2).len() as u64 / 8 * bounds::WORD_NS
}

pub(in crate::command) fn add(call: &mut Call<'_, '_>) -> Outcome {
    call.writable()?;
    let entry = call.known(call.word(1))?;
    entry.check_new_digests(call.session.rights.admin)?;
    take_digests(call)?;
    let added = entry.insert_digests(&mut call.turn.work);
    call.turn.wrote = true;
    let done = added.as_ref().map_or_else(|(done, _)| *done, |()| call.turn.work.answers.len());
    call.turn.counts.add(Counter::ItemsAdded, done as u64);
    added.map_err(|(_, error)| error)?;
    write_answers(call);
    Ok(())
}

pub(in crate::command) fn exists(call: &mut Call<'_, '_>) -> Outcome {
    let entry = call.known(call.word(1))?;
    entry.check_digests()?;
    take_digests(call)?;
    let Turn { work: Work { digests, answers, now, .. }, counts, .. } = &mut *call.turn;
    entry.contains_digests(digests, *now, answers);
    entry.check_file()?;
    counts.checked(answers.len(), answers.count_ones());
    write_answers(call);
    Ok(())
}

/// Decodes the digests of the request into the buffer of the turn.
fn take_digests(call: &mut Call<'_, '_>) -> Result<(), Fault> {
    let digests = digests_of(call.word(2))?;
    call.turn.work.digests.clear();
    call.turn.work.digests.extend(digests);
    Ok(())
}

/// The digests in a word.
pub(in crate::command) fn read_digests(word: &[u8]) -> Result<Vec<Digest>, Fault> {
    digests_of(word).map(Iterator::collect)
}

fn digests_of(word: &[u8]) -> Result<impl Iterator<Item = Digest>, Fault> {
    let (digests, rest) = word.as_chunks::<8>();
    if !rest.is_empty() {
        return Err("ERR digests are 8 bytes each".into());
    }
    Ok(digests.iter().map(|&bytes| Digest::new(u64::from_le_bytes(bytes))))
}

fn write_answers(call: &mut Call<'_, '_>) {
    let answers = &call.turn.work.answers;
    let bytes: Vec<u8> = answers.as_words().iter().flat_map(|word| word.to_le_bytes()).collect();
    let bytes = &bytes[..answers.len().div_ceil(8)];
    Reply::new(call.out, call.session.info.resp3).bulk(bytes);
}
