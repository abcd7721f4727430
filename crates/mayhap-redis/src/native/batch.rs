//! Inserting and asking: one command a key, all of a call in one pipeline to each node.
//!
//! The last command that a call sends to a shard also reads its trailer. Commands on one key are
//! carried out in their order, so if the generation is there after the last, it was there before.
//! Only a command that had to be sent again may come after it: the trailers of such shards are read
//! once more.

use super::filter::{Made, NativeFilter};
use super::resolve::Look;
use super::shards::redis_bit;
use super::wire::{bytes, int, items, trailer_bytes, value_of};
use crate::server::{Command, Reply};
use crate::{Error, InsertedBatch};
use mayhap::{Bitmap, Digest, Layout};
use redis::{Cmd, Value, cmd};
use std::time::Instant;

/// What a shard's trailer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trailer {
    /// The generation: the shard is whole and nobody switches.
    Ours,
    /// Nothing: the shard had gone, and what is there is what a late writer made.
    Gone,
    /// The number of a switch to another filter, under way or done.
    Fenced(i64),
}

impl Made {
    pub(super) fn trailer(&self, trailer: i64) -> Trailer {
        match trailer {
            0 => Trailer::Gone,
            own if own == self.meta.generation => Trailer::Ours,
            fence => Trailer::Fenced(fence),
        }
    }

    pub(super) fn trailer_of(&self, value: &Value) -> Trailer {
        match bytes(value).map(<[u8; 8]>::try_from) {
            Some(Ok(bytes)) => self.trailer(i64::from_be_bytes(bytes)),
            _ => Trailer::Gone,
        }
    }

    /// Whether this is the trailer of a shard that has not gone.
    pub(super) fn is_there(&self, trailer: &Value) -> bool {
        self.trailer_of(trailer) != Trailer::Gone
    }

    /// The shard of a digest.
    pub(super) fn shard(&self, digest: Digest) -> usize {
        let first = self.meta.params.positions(digest).next();
        first.map_or(0, |position| self.meta.cut.place(position).0)
    }

    /// `BITFIELD` of all bits of a digest, and of the trailer.
    fn bitfield(&self, name: &str, shard: usize, digest: Digest, set: bool, last: bool) -> Cmd {
        let mut bitfield = cmd(name);
        bitfield.arg(&self.keys[shard].0);
        for position in self.meta.params.positions(digest) {
            let bit = redis_bit(self.meta.cut.place(position).1);
            if set {
                bitfield.arg(b"SET").arg(b"u1").arg(bit).arg(b"1");
            } else {
                bitfield.arg(b"GET").arg(b"u1").arg(bit);
            }
        }
        if last {
            let trailer = self.meta.cut.body_bytes(shard) * 8;
            bitfield.arg(b"GET").arg(b"i64").arg(trailer);
        }
        bitfield
    }

    /// The bytes of the block of a digest.
    fn get_block(&self, shard: usize, digest: Digest) -> Cmd {
        let bits = self.meta.params.layout().block_bits();
        let first = self.meta.params.positions(digest).next().unwrap_or(0);
        let start = self.meta.cut.place(first).1 / bits * (bits / 8);
        let mut get = cmd("GETRANGE");
        get.arg(&self.keys[shard].0).arg(start).arg(start + bits / 8 - 1);
        get
    }

    /// Whether all bits of a digest are in its block; `None` if the block is not whole.
    fn is_in_block(&self, block: &[u8], digest: Digest) -> Option<bool> {
        let bits = self.meta.params.layout().block_bits();
        let is_set = |position| {
            let bit = (position % bits) as usize;
            block[bit / 8] >> (bit % 8) & 1 == 1
        };
        (block.len() as u64 == bits / 8).then(|| self.meta.params.positions(digest).all(is_set))
    }
}

/// What a call does with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Insert,
    Ask,
}

/// Digests on their way.
struct Round<'a> {
    made: &'a Made,
    digests: &'a [Digest],
    /// Which of them are left.
    left: &'a [usize],
    /// Their shards, and whether they are the last ones of these.
    shards: Vec<(usize, bool)>,
    act: Act,
    /// Whether replicas may answer.
    replicas: bool,
}

/// What came back for a digest.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// For an insertion whether it is new, else whether it is there.
    yes: bool,
    repeated: bool,
}

impl<'a> Round<'a> {
    fn new(made: &'a Made, digests: &'a [Digest], left: &'a [usize], act: Act) -> Self {
        let mut shards: Vec<(usize, bool)> =
            left.iter().map(|&i| (made.shard(digests[i]), false)).collect();
        let mut seen = vec![false; made.keys.len()];
        for (shard, last) in shards.iter_mut().rev() {
            *last = !std::mem::replace(&mut seen[*shard], true);
        }
        Self { made, digests, left, shards, act, replicas: act == Act::Ask }
    }

    fn commands(&self) -> Vec<Command> {
        let made = self.made;
        let in_blocks = made.meta.params.layout() != Layout::Standard;
        let each = self.left.iter().zip(&self.shards).map(|(&i, &(shard, last))| {
            let digest = self.digests[i];
            let cmd = match self.act {
                Act::Insert => made.bitfield("BITFIELD", shard, digest, true, last),
                Act::Ask if in_blocks && !last => made.get_block(shard, digest),
                Act::Ask => made.bitfield("BITFIELD_RO", shard, digest, false, last),
            };
            if self.replicas { made.read(shard, cmd) } else { made.write(shard, cmd) }
        });
        each.collect()
    }

    /// The answers, and what the trailers of the shards say.
    fn answers(&self, replies: Vec<Reply>) -> Result<Vec<(Answer, Option<Trailer>)>, Error> {
        let what = match self.act {
            Act::Insert => "an insertion",
            Act::Ask => "a query",
        };
        let mut answers = Vec::with_capacity(replies.len());
        for (j, reply) in replies.into_iter().enumerate() {
            let (shard, last) = self.shards[j];
            let repeated = reply.repeated;
            let value = value_of(reply, &self.made.keys[shard].0, what)?;
            let (yes, trailer) = self.answer(&value, self.digests[self.left[j]], last);
            answers.push((Answer { yes, repeated }, trailer));
        }
        Ok(answers)
    }

    fn answer(&self, value: &Value, digest: Digest, last: bool) -> (bool, Option<Trailer>) {
        if let Some(block) = bytes(value) {
            return match self.made.is_in_block(block, digest) {
                Some(found) => (found, None),
                None => (false, Some(Trailer::Gone)),
            };
        }
        let Some(values) = items(value) else { return (false, Some(Trailer::Gone)) };
        let (trailer, bits) = match values.split_last() {
            Some((trailer, bits)) if last => {
                (Some(int(trailer).map_or(Trailer::Gone, |it| self.made.trailer(it))), bits)
            }
            _ => (None, values),
        };
        let all = bits.iter().all(|bit| int(bit) == Some(1));
        (if self.act == Act::Insert { !all } else { all }, trailer)
    }
}

impl NativeFilter {
    /// Inserts keys that are digests already. After an error any of them may be in it.
    ///
    /// One `BITFIELD` a key. Of equal digests in a call the first is new and the others are there.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`], [`Error::ServerFull`], [`Error::WrongType`], [`Error::Refused`], and those of
    /// the connection.
    pub async fn insert_digests(&self, digests: &[Digest]) -> Result<InsertedBatch, Error> {
        let mut batch = InsertedBatch::default();
        batch.new.clear_to(digests.len());
        batch.unsure.clear_to(digests.len());
        self.rounds(digests, Act::Insert, |i, answer| {
            if answer.yes {
                batch.new.set(i);
            } else if answer.repeated {
                batch.unsure.set(i);
            }
        })
        .await?;
        Ok(batch)
    }

    /// Asks for keys that are digests already: bit `i` is the answer for `digests[i]`.
    ///
    /// # Errors
    ///
    /// As [`NativeFilter::insert_digests`].
    pub async fn contains_digests(&self, digests: &[Digest]) -> Result<Bitmap, Error> {
        let mut found = Bitmap::new();
        found.clear_to(digests.len());
        self.rounds(digests, Act::Ask, |i, answer| {
            if answer.yes {
                found.set(i);
            }
        })
        .await?;
        Ok(found)
    }

    /// Repeats with those whose shard was gone or fenced, until none is left.
    async fn rounds(
        &self,
        digests: &[Digest],
        act: Act,
        mut done: impl FnMut(usize, Answer),
    ) -> Result<(), Error> {
        let until = Instant::now() + self.inner.server.options().deadline;
        let mut left: Vec<usize> = (0..digests.len()).collect();
        // What a fenced insertion set and found, by its generation.
        let mut before: Vec<(i64, Answer)> = Vec::new();
        let mut replicas = act == Act::Ask && self.inner.server.options().read_replicas;
        while !left.is_empty() {
            let current = self.current();
            let made = &current.made;
            let mut round = Round::new(made, digests, &left, act);
            round.replicas = replicas;
            let answers = round.answers(self.inner.server.run(round.commands()).await?)?;
            let mut trailers: Vec<Option<Trailer>> = vec![None; made.keys.len()];
            let mut again = vec![false; made.keys.len()];
            for (&(shard, _), (answer, trailer)) in round.shards.iter().zip(&answers) {
                // One that was gone at any time is gone.
                trailers[shard] = match (trailers[shard], trailer) {
                    (Some(Trailer::Gone), _) => Some(Trailer::Gone),
                    (before, trailer) => trailer.or(before),
                };
                again[shard] |= answer.repeated;
            }
            self.look_again(made, &mut trailers, &again).await?;
            let generation = made.meta.generation;
            let mut rest = Vec::new();
            for ((&i, &(shard, _)), (answer, _)) in left.iter().zip(&round.shards).zip(&answers) {
                let mut answer = *answer;
                if let Some((_, first)) =
                    before.get(i).filter(|(of, _)| act == Act::Insert && *of == generation)
                {
                    answer.yes |= first.yes;
                    answer.repeated |= first.repeated;
                }
                if trailers[shard] == Some(Trailer::Ours) {
                    done(i, answer);
                    continue;
                }
                before.resize(digests.len(), (0, Answer { yes: false, repeated: false }));
                before[i] = (generation, answer);
                rest.push((i, answer));
            }
            if rest.is_empty() {
                return Ok(());
            }
            let bad: Vec<(usize, Trailer)> = trailers
                .iter()
                .enumerate()
                .filter_map(|(shard, trailer)| trailer.map(|trailer| (shard, trailer)))
                .filter(|(_, trailer)| *trailer != Trailer::Ours)
                .collect();
            let look = Look { is_query: act == Act::Ask, from_replica: replicas };
            let may_read_old = self.resolve(&current, &bad, look, until).await?;
            replicas = false;
            left.clear();
            for (i, answer) in rest {
                let shard = made.shard(digests[i]);
                let is_fenced = matches!(trailers[shard], Some(Trailer::Fenced(_)));
                if act == Act::Ask && may_read_old && is_fenced {
                    done(i, answer);
                } else {
                    left.push(i);
                }
            }
        }
        Ok(())
    }

    /// Reads the trailers of shards once more, a command of which was sent again.
    async fn look_again(
        &self,
        made: &Made,
        trailers: &mut [Option<Trailer>],
        again: &[bool],
    ) -> Result<(), Error> {
        let shards: Vec<usize> =
            again.iter().enumerate().filter(|(_, again)| **again).map(|(i, _)| i).collect();
        if shards.is_empty() {
            return Ok(());
        }
        let get = |&shard: &usize| made.write(shard, made.get_trailer(shard));
        let replies = self.inner.server.run_unconfirmed(shards.iter().map(get).collect()).await?;
        for (&shard, reply) in shards.iter().zip(replies) {
            let value = value_of(reply, &made.keys[shard].0, "a look at a shard")?;
            if trailers[shard] != Some(Trailer::Gone) {
                trailers[shard] = Some(made.trailer_of(&value));
            }
        }
        Ok(())
    }

    /// The trailer as bytes of a shard that is whole.
    pub(super) fn own_trailer(made: &Made) -> [u8; 8] {
        trailer_bytes(made.meta.generation)
    }
}
