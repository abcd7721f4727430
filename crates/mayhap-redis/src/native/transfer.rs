//! Transfer of whole filters: from memory or a file to a server, and back.

use super::filter::NativeFilter;
use super::generation::{Generation, Target};
use super::maker::Maker;
use super::meta::State;
use super::options::NativeOptions;
use super::swap::claim_next;
use super::wire::{bytes, eval, value_of, word};
use crate::{Error, Server};
use mayhap::native::body_bytes;
use mayhap::{Block, FilterParams};
use redis::cmd;

/// The bytes of one command, and of all commands in flight.
const CHUNK_BYTES: u64 = 1 << 20;
const CHUNKS_AT_ONCE: usize = 8;

/// Keys: a shard. Arguments: where to write, the bytes. A shard that expired is not made again: it
/// would have no time to live.
const WRITE: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return 'gone' end
redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[2])
return 'ok'";

const EXPIRED: &str = "what was sent expired before it was whole";

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
}

impl NativeFilter {
    /// Begins to send a whole filter, which will replace the one of this name, if any.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another upload or rebuild of this name is in progress or was abandoned
    /// ([`NativeFilter::discard`]), [`Error::ServerFull`] (nothing is left behind),
    /// [`Error::BadName`], [`Error::Layout`], [`Error::WrongType`], and those of the connection.
    pub async fn upload(
        server: &Server,
        name: &str,
        options: &NativeOptions,
    ) -> Result<Upload, Error> {
        let (maker, made) = claim_next(server, name, options).await?;
        if let Err(error) = maker.make_shards(&made).await {
            maker.take_back_quietly(&made).await;
            return Err(error);
        }
        Ok(Upload {
            server: server.clone(),
            name: name.into(),
            options: options.clone(),
            lease_ms: maker.lease_ms,
            made,
            sent: 0,
        })
    }

    /// Begins to read the whole filter, in the form of the body of a file: all blocks in order.
    ///
    /// Others may insert meanwhile; the result has every key acknowledged before, and may have any
    /// of the later ones.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`], and those of the connection.
    pub async fn download(&self) -> Result<Download, Error> {
        let made = self.fresh().await?;
        if !made.meta.is_of(self.inner.digest_function) {
            return Err(self.gone("it was made again with another digest function"));
        }
        Ok(Download { filter: self.clone(), made, read: 0 })
    }
}

/// Pieces of at most [`CHUNK_BYTES`], none of which crosses the end of a shard: shard, offset in
/// it, length.
fn pieces(made: &Generation, from: u64, to: u64) -> Vec<(usize, u64, u64)> {
    let cut = made.meta.cut;
    let mut pieces = Vec::new();
    let mut at = from;
    while at < to {
        let (shard, bit) = cut.place(at * 8);
        let offset = bit / 8;
        let len = (to - at).min(CHUNK_BYTES).min(cut.body_bytes(shard) - offset);
        pieces.push((shard, offset, len));
        at += len;
    }
    pieces
}

impl Upload {
    /// Sends the next blocks, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`] if there are more than the filter has, [`Error::Gone`] if it took so long
    /// that its keys expired, [`Error::ServerFull`], and those of the connection. After an error,
    /// call [`Upload::abort`].
    pub async fn write(&mut self, blocks: &[Block]) -> Result<(), Error> {
        let to = self.sent + blocks.len() as u64;
        self.check_length(to, to <= self.num_blocks())?;
        let body = body_bytes(blocks);
        let mut rest: &[u8] = &body;
        for pieces in pieces(&self.made, self.sent * 64, to * 64).chunks(CHUNKS_AT_ONCE) {
            let commands = pieces.iter().map(|&(shard, offset, len)| {
                let (piece, after) = rest.split_at(len as usize);
                rest = after;
                let mut write = eval(WRITE, &[&self.made.keys[shard].0]);
                write.arg(offset).arg(piece);
                self.made.write(shard, write)
            });
            let replies = self.server.run(commands.collect()).await?;
            for (reply, &(shard, ..)) in replies.into_iter().zip(pieces) {
                let value = value_of(reply, &self.made.keys[shard].0, "to write part of a shard")?;
                if word(&value) == "gone" {
                    return Err(self.expired());
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
    /// its keys expired, and those of [`NativeFilter::swap`]; after an error nothing is left
    /// behind.
    pub async fn finish(self) -> Result<NativeFilter, Error> {
        let result = self.put_in_place().await;
        if result.is_err() {
            self.maker().take_back_quietly(&self.made).await;
        }
        result
    }

    async fn put_in_place(&self) -> Result<NativeFilter, Error> {
        self.check_length(self.sent, self.sent == self.num_blocks())?;
        let maker = self.maker();
        if !maker.finish(&self.made).await? {
            return Err(self.expired());
        }
        let mut made = self.made.clone();
        made.meta.state = State::Ready;
        let place = Target::next(&self.name);
        let digest_function = self.options.digest_function;
        let filter = NativeFilter::of(&self.server, place, digest_function, made, true);
        filter.swap().await?;
        Ok(filter)
    }

    /// Deletes the blocks sent so far.
    ///
    /// # Errors
    ///
    /// Those of the connection; in that case the keys expire.
    pub async fn abort(self) -> Result<(), Error> {
        self.maker().take_back(&self.made).await
    }

    fn expired(&self) -> Error {
        Error::Gone { name: self.name.clone(), reason: EXPIRED.into() }
    }

    fn maker(&self) -> Maker<'_> {
        let (server, place) = (&self.server, Target::next(&self.name));
        let meta = self.made.meta.clone();
        Maker { server, place, meta, lease_ms: self.lease_ms, hold_ms: None }
    }
}

/// A download in progress: [`NativeFilter::download`].
#[derive(Debug)]
pub struct Download {
    filter: NativeFilter,
    made: Generation,
    /// The bytes read so far.
    read: u64,
}

impl Download {
    /// The parameters of the filter.
    pub fn params(&self) -> FilterParams {
        self.made.meta.params
    }

    /// How keys are extracted from input lines, as in a file.
    pub fn key_options(&self) -> &str {
        &self.made.meta.key_options
    }

    /// The next bytes of the body, whole blocks of little-endian words, at most 8 MiB; `None` after
    /// [`FilterParams::num_bytes`].
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if the filter was deleted or evicted; [`Error::Switched`] if it was switched
    /// to another one: start over. Those of the connection: call again.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let (made, server) = (&self.made, &self.filter.inner.server);
        let all = made.meta.params.num_bytes();
        if self.read == all {
            return Ok(None);
        }
        let to = all.min(self.read + CHUNK_BYTES * CHUNKS_AT_ONCE as u64);
        let pieces = pieces(made, self.read, to);
        let commands = pieces.iter().flat_map(|&(shard, offset, len)| {
            let mut get = cmd("GETRANGE");
            get.arg(&made.keys[shard].0).arg(offset).arg(offset + len - 1);
            [made.write(shard, get), made.write(shard, made.get_trailer(shard))]
        });
        let mut replies = server.run_unconfirmed(commands.collect()).await?.into_iter();
        let mut body = Vec::with_capacity((to - self.read) as usize);
        for &(shard, _, len) in &pieces {
            let key = &made.keys[shard].0;
            let mut next = || replies.next().map(|reply| value_of(reply, key, "to read a shard"));
            let (piece, trailer) = (next().transpose()?, next().transpose()?);
            let piece = piece.as_ref().and_then(bytes).unwrap_or_default();
            // A fenced shard is complete: it is being switched.
            let is_there = trailer.as_ref().is_some_and(|it| made.is_there(it));
            if piece.len() as u64 != len || !is_there {
                return Err(self.why_missing().await);
            }
            body.extend_from_slice(piece);
        }
        self.read = to;
        Ok(Some(body))
    }

    /// The reason why part of the filter is missing.
    async fn why_missing(&self) -> Error {
        match self.filter.fresh().await {
            Ok(now) if now.meta.generation != self.made.meta.generation => {
                Error::Switched { name: self.filter.inner.name.clone() }
            }
            Ok(_) => self.filter.gone("part of it was evicted or deleted by another program"),
            Err(error) => error,
        }
    }
}
