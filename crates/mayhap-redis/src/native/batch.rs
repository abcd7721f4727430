//! Inserting and querying: one command for one or a few keys, all commands of a call in one
//! pipeline to each node.
//!
//! The last command that a call sends to a shard also reads its trailer. Commands on one key are
//! executed in order, so if the generation is present after the last one, it was present before.
//! Only a command that had to be sent again may arrive after it: the trailers of such shards are
//! read once more.

use super::generation::{Generation, Trailer};
use super::handle::{Handle, Until};
use super::resolve::Look;
use super::round::{Act, Answer, Known, Round, Sent};
use crate::{Error, InsertedBatch};
use mayhap::{Bitmap, Digest};
use std::time::Instant;

/// Keys of one pipeline: about 10 MB of commands.
const KEYS_AT_ONCE: usize = 1 << 14;

/// The largest number of switches, and of losses, during a call of more than one pipeline.
const SWITCHES: usize = 100;

/// Inserts keys: all of them into one generation, and into the masters that its shards have at the
/// end. A master that is lost during the call may take with it what it had acknowledged.
pub(super) async fn insert(handle: &Handle, digests: &[Digest]) -> Result<InsertedBatch, Error> {
    let mut batch = InsertedBatch::present(digests.len());
    let note = |i, answer: Answer| batch.note(i, answer.yes, answer.repeated);
    insert_with(handle, digests, None, note).await?;
    Ok(batch)
}

async fn insert_with(
    handle: &Handle,
    digests: &[Digest],
    until: Option<Instant>,
    mut note: impl FnMut(usize, Answer),
) -> Result<(), Error> {
    let mut has_lost = false;
    for _ in 0..SWITCHES {
        let since = handle.server.losses();
        let is_one = in_parts(handle, digests, Act::Insert, until, &mut note).await?;
        has_lost = handle.current().made.has_lost(&handle.server, since);
        if is_one && !has_lost {
            return Ok(());
        }
    }
    if has_lost {
        return Err(handle.server.broken("the insertion"));
    }
    Err(Error::Busy { name: handle.name.clone(), what: "switches" })
}

/// Queries keys: all of them in one generation.
pub(super) async fn contains(handle: &Handle, digests: &[Digest]) -> Result<Bitmap, Error> {
    let mut found = Bitmap::new();
    for _ in 0..SWITCHES {
        found.clear_to(digests.len());
        let set = |i, answer: Answer| {
            if answer.yes {
                found.set(i);
            }
        };
        if in_parts(handle, digests, Act::Query, None, set).await? {
            return Ok(found);
        }
    }
    Err(Error::Busy { name: handle.name.clone(), what: "switches" })
}

/// The outcome for each of some digests, in a call that ends then.
pub(super) async fn answers(
    handle: &Handle,
    digests: &[Digest],
    act: Act,
    until: Instant,
) -> Result<Vec<Answer>, Error> {
    let mut answers = vec![Answer::default(); digests.len()];
    if act == Act::Query {
        in_parts(handle, digests, act, Some(until), |i, answer| answers[i] = answer).await?;
        return Ok(answers);
    }
    let first_stands = |i: usize, answer: Answer| {
        answers[i].yes |= answer.yes;
        answers[i].repeated |= answer.repeated;
    };
    insert_with(handle, digests, Some(until), first_stands).await?;
    Ok(answers)
}

/// Returns whether one generation answered all of them. `until` is the end of the call; otherwise
/// each part has its own.
async fn in_parts(
    handle: &Handle,
    digests: &[Digest],
    act: Act,
    until: Option<Instant>,
    mut done: impl FnMut(usize, Answer),
) -> Result<bool, Error> {
    let (mut first, mut is_one) = (None, true);
    for (part, digests) in digests.chunks(KEYS_AT_ONCE).enumerate() {
        let done = |i, answer| done(part * KEYS_AT_ONCE + i, answer);
        let until = handle.until(until.unwrap_or_else(|| handle.server.deadline()));
        let generation = rounds(handle, digests, act, until, done).await?;
        is_one &= *first.get_or_insert(generation) == generation;
        if !is_one && act == Act::Query {
            break;
        }
    }
    Ok(is_one)
}

/// Repeats insertions into missing or fenced shards until none remains, and insertions that an
/// older generation took; repeats queries for all keys, so that one generation answers. Returns
/// that generation.
async fn rounds(
    handle: &Handle,
    digests: &[Digest],
    act: Act,
    until: Until<'_>,
    mut done: impl FnMut(usize, Answer),
) -> Result<i64, Error> {
    let mut left: Vec<usize> = (0..digests.len()).collect();
    // The results of insertions into fenced shards, and their generation.
    let mut before: Vec<(i64, Answer)> = Vec::new();
    // Insertions that are done in a generation, and insertions that were in older ones.
    let (mut done_in, mut of_it, mut of_older) = (0, Vec::new(), Vec::new());
    let mut replicas = act == Act::Query && handle.server.options().read_replicas;
    loop {
        let current = handle.current();
        let made = &current.made;
        let round = Round::new(made, digests, &left, act, replicas);
        // A query writes nothing: no replica is waited for.
        let lasts = act == Act::Insert;
        let replies = handle.server.run_until(round.commands(), lasts, until.at()).await?;
        let (answers, mut known) = round.answers(replies)?;
        look_again(handle, made, &mut known).await?;
        let generation = made.meta.generation;
        if done_in != generation {
            of_older.append(&mut of_it);
            done_in = generation;
        }
        let bad = bad_shards(&known);
        let look = Look { is_query: act == Act::Query, from_replica: replicas };
        let holds = bad.is_empty() || handle.resolve(&current, &bad, look, until).await?;
        let mut rest = Vec::new();
        for (&Sent { shard, i }, &answer) in round.sent.iter().zip(&answers) {
            let mut answer = answer;
            let first = before.get(i).filter(|(of, _)| act == Act::Insert && *of == generation);
            if let Some((_, first)) = first {
                // Bits that this one finds set may be its own.
                answer.yes |= first.yes;
                answer.repeated |= first.repeated;
            }
            let is_done = match act {
                Act::Query => holds,
                Act::Insert => known[shard].trailer == Some(Trailer::Ours),
            };
            if is_done {
                done(i, answer);
                if act == Act::Insert {
                    of_it.push(i);
                }
            } else {
                rest.push((i, answer));
            }
        }
        if rest.is_empty() && of_older.is_empty() {
            return Ok(generation);
        }
        if rest.is_empty() && act == Act::Insert {
            rest.extend(of_older.drain(..).map(|i| (i, Answer::default())));
        }
        replicas = false;
        before.resize(digests.len(), (0, Answer::default()));
        left.clear();
        for (i, answer) in rest {
            before[i] = (generation, answer);
            left.push(i);
        }
    }
}

/// Reads the trailers of shards once more if one of their commands was sent again.
async fn look_again(handle: &Handle, made: &Generation, known: &mut [Known]) -> Result<(), Error> {
    let shards: Vec<usize> =
        known.iter().enumerate().filter(|(_, known)| known.again).map(|(i, _)| i).collect();
    if shards.is_empty() {
        return Ok(());
    }
    let get = |&shard: &usize| made.write(shard, made.get_trailer(shard));
    let replies = handle.server.run_unconfirmed(shards.iter().map(get).collect()).await?;
    for (&shard, reply) in shards.iter().zip(replies) {
        let value = reply.of(&made.keys[shard].0, "a look at a shard")?;
        known[shard].learn(Some(made.trailer_of(&value)));
    }
    Ok(())
}

/// The shards that are missing or fenced.
fn bad_shards(known: &[Known]) -> Vec<(usize, Trailer)> {
    let trailers = known.iter().enumerate();
    let trailers = trailers.filter_map(|(shard, known)| Some((shard, known.trailer?)));
    trailers.filter(|(_, trailer)| *trailer != Trailer::Ours).collect()
}
