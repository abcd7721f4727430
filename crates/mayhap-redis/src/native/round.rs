//! One round of commands for digests: what is sent, and what the answers say.

use super::filter::Made;
use super::shards::redis_bit;
use super::wire::{bytes, int, items, trailer_bytes, value_of};
use crate::Error;
use crate::server::{Command, Reply};
use mayhap::{Digest, Layout};
use redis::{Cmd, Value};

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
    /// The trailer of a shard that is whole, as bytes.
    pub(super) fn own_trailer(&self) -> [u8; 8] {
        trailer_bytes(self.meta.generation)
    }

    fn trailer(&self, trailer: i64) -> Trailer {
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
        let key = &self.keys[shard].0;
        // Room for all of it: this is built for every key.
        let args = 5 + self.meta.params.num_hashes() as usize * if set { 4 } else { 3 };
        let mut bitfield = Cmd::with_capacity(args, key.len() + args * 6);
        bitfield.arg(name).arg(key);
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
        let key = &self.keys[shard].0;
        let mut get = Cmd::with_capacity(4, key.len() + 32);
        get.arg("GETRANGE").arg(key).arg(start).arg(start + bits / 8 - 1);
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
pub(super) enum Act {
    Insert,
    Ask,
}

/// Digests on their way.
pub(super) struct Round<'a> {
    made: &'a Made,
    digests: &'a [Digest],
    /// Which of them are left.
    left: &'a [usize],
    /// Their shards, and whether they are the last ones of these.
    pub(super) shards: Vec<(usize, bool)>,
    act: Act,
    /// Whether replicas may answer.
    replicas: bool,
}

/// What the replies say of a shard.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    pub(super) trailer: Option<Trailer>,
    /// A command had to be sent again, and may have come after the one that read the trailer.
    pub(super) again: bool,
}

impl Known {
    /// One that was gone at any time is gone.
    pub(super) fn learn(&mut self, trailer: Option<Trailer>) {
        if self.trailer != Some(Trailer::Gone) {
            self.trailer = trailer.or(self.trailer);
        }
    }
}

/// What came back for a digest.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answer {
    /// For an insertion whether it is new, else whether it is there.
    pub(super) yes: bool,
    pub(super) repeated: bool,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        made: &'a Made,
        digests: &'a [Digest],
        left: &'a [usize],
        act: Act,
        replicas: bool,
    ) -> Self {
        let mut shards: Vec<(usize, bool)> =
            left.iter().map(|&i| (made.shard(digests[i]), false)).collect();
        let mut seen = vec![false; made.keys.len()];
        for (shard, last) in shards.iter_mut().rev() {
            *last = !std::mem::replace(&mut seen[*shard], true);
        }
        Self { made, digests, left, shards, act, replicas }
    }

    /// Whether a query reads blocks, for an eighth of what the server does for k bits, and the
    /// trailer by a command of its own.
    fn reads_blocks(&self) -> bool {
        self.act == Act::Ask && self.made.meta.params.layout() != Layout::Standard
    }

    pub(super) fn commands(&self) -> Vec<Command> {
        let (made, reads_blocks) = (self.made, self.reads_blocks());
        let mut commands = Vec::with_capacity(self.left.len() + made.keys.len());
        let mut push = |shard, cmd| {
            commands.push(if self.replicas {
                made.read(shard, cmd)
            } else {
                made.write(shard, cmd)
            });
        };
        for (&i, &(shard, last)) in self.left.iter().zip(&self.shards) {
            let digest = self.digests[i];
            match self.act {
                Act::Insert => push(shard, made.bitfield("BITFIELD", shard, digest, true, last)),
                Act::Ask if reads_blocks => {
                    push(shard, made.get_block(shard, digest));
                    if last {
                        push(shard, made.get_trailer(shard));
                    }
                }
                Act::Ask => push(shard, made.bitfield("BITFIELD_RO", shard, digest, false, last)),
            }
        }
        commands
    }

    /// What came back for each digest, and what is known of each shard.
    pub(super) fn answers(&self, replies: Vec<Reply>) -> Result<(Vec<Answer>, Vec<Known>), Error> {
        let what = match self.act {
            Act::Insert => "an insertion",
            Act::Ask => "a query",
        };
        let reads_blocks = self.reads_blocks();
        let mut answers = Vec::with_capacity(self.left.len());
        let mut known = vec![Known::default(); self.made.keys.len()];
        let mut replies = replies.into_iter();
        for (&i, &(shard, last)) in self.left.iter().zip(&self.shards) {
            let known = &mut known[shard];
            let mut next = |known: &mut Known| {
                let lost = || Error::Refused { what: what.into(), reason: "no reply".into() };
                let reply = replies.next().ok_or_else(lost)?;
                let repeated = reply.repeated;
                known.again |= reply.again;
                Ok::<_, Error>((value_of(reply, &self.made.keys[shard].0, what)?, repeated))
            };
            let (value, repeated) = next(known)?;
            let (yes, mut trailer) = self.answer(&value, self.digests[i], last);
            known.learn(trailer);
            if reads_blocks && last {
                trailer = Some(self.made.trailer_of(&next(known)?.0));
                known.learn(trailer);
            }
            answers.push(Answer { yes, repeated });
        }
        Ok((answers, known))
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
