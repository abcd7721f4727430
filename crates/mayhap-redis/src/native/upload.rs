//! Sends a whole filter from memory or a file to a server.

use super::download::{CHUNKS_AT_ONCE, pieces};
use super::filter::NativeFilter;
use super::generation::Generation;
use super::handle::Handle;
use super::maker::Maker;
use super::meta::State;
use super::options::NativeOptions;
use super::place::Target;
use super::shards::check_name;
use super::swap::swap;
use super::wire::{eval, word};
use crate::server::words;
use crate::{Error, Loss, Server};
use mayhap::Block;
use mayhap::native::body_bytes;

/// Keys: a shard. Arguments: where to write, the bytes. A shard that expired is not made again: it
/// would have no time to live.
const WRITE: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return 'gone' end
redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[2])
return 'ok'";

fn expired(name: &str) -> Error {
    Error::Gone { name: name.into(), loss: Loss::Unfinished.into() }
}

/// Shards whose bits are counted in one round trip.
const COUNTED_AT_ONCE: usize = 64;

/// An upload in progress: [`NativeFilter::upload`].
///
/// It is invisible before [`Upload::finish`]. If it is dropped, its keys expire after a minute plus
/// a second per MiB; [`Upload::abort`] deletes them at once.
#[derive(Debug)]
pub struct Upload {
    server: Server,
    name: String,
    options: NativeOptions,
    made: Generation,
    lease_ms: u64,
    /// The blocks sent so far.
    sent: u64,
    /// The set bits that each shard was sent.
    ones: Vec<u64>,
    /// The losses before the first shard was made.
    losses: u64,
}

impl NativeFilter {
    /// Begins to send a whole filter, which will replace the one of this name, if any.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another upload or rebuild of this name is in progress or was abandoned
    /// ([`NativeFilter::discard`]), [`Error::ServerFull`] (nothing is left behind),
    /// [`Error::BadName`], [`Error::Layout`], [`Error::WrongType`], and connection errors.
    pub async fn upload(
        server: &Server,
        name: &str,
        options: &NativeOptions,
    ) -> Result<Upload, Error> {
        check_name(name)?;
        let mut maker = Maker::new(server, Target::next(name), options, None)?;
        // Plus a second per MiB.
        maker.lease_ms += (maker.meta.params.num_bytes() >> 20) * 1000;
        maker.hold_ms = Some(maker.lease_ms);
        if !maker.claim_alone().await? {
            return Err(Error::Busy { name: name.into(), what: "uploads or rebuilds" });
        }
        let made = Generation::new(maker.meta.clone(), name);
        let losses = server.losses();
        if let Err(error) = maker.make_shards(&made).await {
            maker.take_back_quietly(&made).await;
            return Err(error);
        }
        Ok(Upload {
            server: server.clone(),
            name: name.into(),
            options: options.clone(),
            lease_ms: maker.lease_ms,
            ones: vec![0; made.keys.len()],
            made,
            sent: 0,
            losses,
        })
    }
}

impl Upload {
    /// Sends the next blocks, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`] if there are more than the filter has, [`Error::Gone`] if it took so long
    /// that its keys expired, [`Error::ServerFull`], and connection errors. After an error, call
    /// [`Upload::abort`].
    pub async fn write(&mut self, blocks: &[Block]) -> Result<(), Error> {
        let to = self.sent + blocks.len() as u64;
        self.check_length(to, to <= self.num_blocks())?;
        let body = body_bytes(blocks);
        let mut rest: &[u8] = &body;
        let ones = &mut self.ones;
        for pieces in pieces(&self.made, self.sent * 64, to * 64).chunks(CHUNKS_AT_ONCE) {
            let commands = pieces.iter().map(|&(shard, offset, len)| {
                let (piece, after) = rest.split_at(len as usize);
                rest = after;
                ones[shard] += piece.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
                let mut write = eval(WRITE, &[&self.made.keys[shard].0]);
                write.arg(offset).arg(piece);
                self.made.write(shard, write)
            });
            let replies = self.server.run(commands.collect()).await?;
            for (reply, &(shard, ..)) in replies.into_iter().zip(pieces) {
                let value = reply.of(&self.made.keys[shard].0, "to write part of a shard")?;
                if word(&value) == "gone" {
                    return Err(expired(&self.name));
                }
            }
        }
        self.sent = to;
        Ok(())
    }

    fn num_blocks(&self) -> u64 {
        self.options.params.num_blocks()
    }

    fn check_length(&self, blocks: u64, is_right: bool) -> Result<(), Error> {
        if is_right {
            return Ok(());
        }
        let (expected, found) = (self.num_blocks() * 64, blocks * 64);
        Err(mayhap::Error::WrongLength { field: "body", expected, found }.into())
    }

    /// Puts the filter in place in one step, as [`NativeFilter::swap`] does.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`] unless all blocks were written, [`Error::Gone`] if it took so long that
    /// its keys expired, [`Error::Broken`] if a master was lost with blocks that it had
    /// acknowledged, and the errors of [`NativeFilter::swap`]; after an error nothing is left
    /// behind, unless the master was lost after the switch itself: send the filter again.
    pub async fn finish(self) -> Result<NativeFilter, Error> {
        let (handle, losses) = match self.put_in_place().await {
            Ok(done) => done,
            Err(error) => {
                self.maker().take_back_quietly(&self.made).await;
                return Err(error);
            }
        };
        // It is in place, and stays there.
        self.check_ones(losses).await?;
        Ok(NativeFilter::of(handle, true))
    }

    /// Switches to the filter; returns the losses up to which its bits were checked.
    async fn put_in_place(&self) -> Result<(Handle, u64), Error> {
        self.check_length(self.sent, self.sent == self.num_blocks())?;
        // It reads of all shards, so it notices if a master was lost.
        if !self.maker().finish(&self.made).await? {
            return Err(expired(&self.name));
        }
        let losses = self.server.losses();
        self.check_ones(self.losses).await?;
        let mut made = self.made.clone();
        made.meta.state = State::Ready;
        let digest_function = self.options.digest_function;
        let handle = Handle::new(&self.server, Target::next(&self.name), digest_function, made);
        swap(&handle).await?;
        Ok((handle, losses))
    }

    /// Checks that no shard has fewer set bits than it was sent, if a master was lost after the
    /// first `since` losses: its successor may lack some of the blocks.
    async fn check_ones(&self, since: u64) -> Result<(), Error> {
        if !self.made.has_lost(&self.server, since) {
            return Ok(());
        }
        for start in (0..self.ones.len()).step_by(COUNTED_AT_ONCE) {
            let shards = start..self.ones.len().min(start + COUNTED_AT_ONCE);
            let count = |shard: usize| {
                let end = (self.made.meta.cut.body_bytes(shard) - 1).to_string();
                let count = words(&["BITCOUNT", &self.made.keys[shard].0, "0", &end]);
                self.made.write(shard, count)
            };
            let replies = self.server.run_unconfirmed(shards.clone().map(count).collect()).await?;
            for (reply, shard) in replies.into_iter().zip(shards) {
                if reply.count(&self.made.keys[shard].0, "to count bits")? < self.ones[shard] {
                    return Err(self.server.broken("the upload"));
                }
            }
        }
        Ok(())
    }

    /// Deletes the blocks sent so far.
    ///
    /// # Errors
    ///
    /// Connection errors; in that case the keys expire.
    pub async fn abort(self) -> Result<(), Error> {
        self.maker().take_back(&self.made).await
    }

    fn maker(&self) -> Maker<'_> {
        let (server, place) = (&self.server, Target::next(&self.name));
        let meta = self.made.meta.clone();
        Maker { server, place, meta, lease_ms: self.lease_ms, hold_ms: None }
    }
}
