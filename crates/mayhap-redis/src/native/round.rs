//! One round of commands for digests: the commands and the meaning of their replies.

use super::generation::{Generation, Trailer};
use super::shards::redis_bit;
use super::wire::{bytes, int, items};
use crate::Error;
use crate::server::{Command, Reply};
use mayhap::{Digest, Layout};
use redis::{Cmd, Value};

impl Generation {
    /// The shard of a digest.
    pub(super) fn shard(&self, digest: Digest) -> usize {
        let first = self.meta.params.positions(digest).next();
        first.map_or(0, |position| self.meta.cut.place(position).0)
    }

    /// `BITFIELD` of all bits of some digests of a shard, and of the trailer.
    fn bitfield(&self, name: &str, shard: usize, digests: &[Digest], set: bool, last: bool) -> Cmd {
        let key = &self.keys[shard].0;
        // Room for all of it: this is built for every key.
        let bits = digests.len() * self.meta.params.num_hashes() as usize;
        let args = 5 + bits * if set { 4 } else { 3 };
        let mut bitfield = Cmd::with_capacity(args, key.len() + args * 6);
        bitfield.arg(name).arg(key);
        for position in digests.iter().flat_map(|&digest| self.meta.params.positions(digest)) {
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
        let key = &self.keys[shard].0;
        let mut get = Cmd::with_capacity(4, key.len() + 32);
        get.arg("GETRANGE").arg(key).arg(start).arg(start + bits / 8 - 1);
        get
    }

    /// Whether all bits of a digest are in its block; `None` if the block is incomplete.
    fn is_in_block(&self, block: &[u8], digest: Digest) -> Option<bool> {
        let bits = self.meta.params.layout().block_bits();
        let is_set = |position| {
            let bit = (position % bits) as usize;
            block[bit / 8] >> (bit % 8) & 1 == 1
        };
        (block.len() as u64 == bits / 8).then(|| self.meta.params.positions(digest).all(is_set))
    }
}

/// The operation of a call on keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Insert,
    Query,
}

/// The largest number of bits per `BITFIELD`, unless one key has more: four keys of k = 8 in one
/// command save a tenth of the server's work without blocking it for long.
const BITS_AT_ONCE: usize = 32;

/// A digest in flight: its shard, and its index in the caller's batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) shard: usize,
    pub(super) i: usize,
}

/// Digests in flight.
pub(super) struct Round<'a> {
    made: &'a Generation,
    digests: &'a [Digest],
    /// The keys shard by shard, within a shard in the caller's order.
    pub(super) sent: Vec<Sent>,
    act: Act,
    /// Whether replicas may answer.
    replicas: bool,
}

/// The state of a shard according to the replies.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    pub(super) trailer: Option<Trailer>,
    /// A command had to be sent again, and may have arrived after the one that read the trailer.
    pub(super) again: bool,
}

impl Known {
    /// A shard that was missing at any time is missing.
    pub(super) fn learn(&mut self, trailer: Option<Trailer>) {
        if self.trailer != Some(Trailer::Gone) {
            self.trailer = trailer.or(self.trailer);
        }
    }
}

/// The result for a digest.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answer {
    /// For an insertion whether it is new, otherwise whether it is present.
    pub(super) yes: bool,
    pub(super) repeated: bool,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        made: &'a Generation,
        digests: &'a [Digest],
        left: &[usize],
        act: Act,
        replicas: bool,
    ) -> Self {
        let mut sent: Vec<Sent> =
            left.iter().map(|&i| Sent { shard: made.shard(digests[i]), i }).collect();
        // Stable: the first of equal digests stays first.
        sent.sort_by_key(|sent| sent.shard);
        Self { made, digests, sent, act, replicas }
    }

    /// Whether a query reads blocks, at an eighth of the server's cost for 8 bits, and the trailer
    /// by a separate command.
    fn reads_blocks(&self) -> bool {
        self.act == Act::Query && self.made.meta.params.layout() != Layout::Standard
    }

    /// The digests of each command, and whether it is the last one to its shard.
    fn groups(&self) -> impl Iterator<Item = (&[Sent], bool)> {
        let k = self.made.meta.params.num_hashes() as usize;
        let at_once = if self.reads_blocks() { 1 } else { (BITS_AT_ONCE / k).max(1) };
        self.sent.chunk_by(|a, b| a.shard == b.shard).flat_map(move |shard| {
            let groups = shard.chunks(at_once);
            let last = groups.len() - 1;
            groups.enumerate().map(move |(i, group)| (group, i == last))
        })
    }

    pub(super) fn commands(&self) -> Vec<Command> {
        let (made, reads_blocks) = (self.made, self.reads_blocks());
        let mut commands = Vec::with_capacity(self.sent.len() + made.keys.len());
        let mut push = |shard, cmd| {
            commands.push(if self.replicas {
                made.read(shard, cmd)
            } else {
                made.write(shard, cmd)
            });
        };
        let mut digests = Vec::new();
        for (group, last) in self.groups() {
            let shard = group[0].shard;
            digests.clear();
            digests.extend(group.iter().map(|sent| self.digests[sent.i]));
            match self.act {
                Act::Insert => push(shard, made.bitfield("BITFIELD", shard, &digests, true, last)),
                Act::Query if reads_blocks => {
                    push(shard, made.get_block(shard, digests[0]));
                    if last {
                        push(shard, made.get_trailer(shard));
                    }
                }
                Act::Query => {
                    push(shard, made.bitfield("BITFIELD_RO", shard, &digests, false, last));
                }
            }
        }
        commands
    }

    /// The results for [`Round::sent`], and the state of each shard.
    pub(super) fn answers(&self, replies: Vec<Reply>) -> Result<(Vec<Answer>, Vec<Known>), Error> {
        let what = match self.act {
            Act::Insert => "an insertion",
            Act::Query => "a query",
        };
        let reads_blocks = self.reads_blocks();
        let mut answers = Vec::with_capacity(self.sent.len());
        let mut known = vec![Known::default(); self.made.keys.len()];
        let mut replies = replies.into_iter();
        for (group, last) in self.groups() {
            let shard = group[0].shard;
            let known = &mut known[shard];
            let mut next = |known: &mut Known| {
                let lost = || Error::Refused { what: what.into(), reason: "no reply".into() };
                let reply = replies.next().ok_or_else(lost)?;
                let repeated = reply.repeated;
                known.again |= reply.again;
                Ok::<_, Error>((reply.of(&self.made.keys[shard].0, what)?, repeated))
            };
            let (value, repeated) = next(known)?;
            let first = answers.len();
            let trailer = if reads_blocks {
                let found = bytes(&value)
                    .and_then(|block| self.made.is_in_block(block, self.digests[group[0].i]));
                answers.push(Answer { yes: found == Some(true), repeated });
                if found.is_none() { Some(Trailer::Gone) } else { None }
            } else {
                self.learn_bits(&value, (group.len(), last, repeated), &mut answers)
            };
            answers.resize(first + group.len(), Answer { yes: false, repeated });
            known.learn(trailer);
            if reads_blocks && last {
                let trailer = self.made.trailer_of(&next(known)?.0);
                known.learn(Some(trailer));
            }
        }
        Ok((answers, known))
    }

    /// The reply of `BITFIELD` for `count` digests, and for the trailer if it was the last one.
    fn learn_bits(
        &self,
        value: &Value,
        (count, last, repeated): (usize, bool, bool),
        answers: &mut Vec<Answer>,
    ) -> Option<Trailer> {
        let k = self.made.meta.params.num_hashes() as usize;
        let values = items(value).filter(|values| values.len() == count * k + usize::from(last));
        let Some(values) = values else { return Some(Trailer::Gone) };
        let (bits, trailer) = values.split_at(count * k);
        answers.extend(bits.chunks(k).map(|bits| {
            let all = bits.iter().all(|bit| int(bit) == Some(1));
            Answer { yes: if self.act == Act::Insert { !all } else { all }, repeated }
        }));
        trailer.first().map(|it| int(it).map_or(Trailer::Gone, |it| self.made.trailer(it)))
    }
}
