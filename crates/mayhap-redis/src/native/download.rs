//! Reads a whole filter from a server.

use super::generation::Generation;
use super::handle::Handle;
use super::wire::bytes;
use crate::{Error, Loss};
use mayhap::{Block, FilterParams};
use redis::cmd;
use std::ops::Range;
use std::sync::Arc;

/// The bytes of one command, and the commands in flight.
const CHUNK_BYTES: u64 = 1 << 20;
pub(super) const CHUNKS_AT_ONCE: usize = 8;

/// Pieces of at most [`CHUNK_BYTES`] that do not cross the end of a shard: shard, offset in it,
/// length.
pub(super) fn pieces(made: &Generation, from: u64, to: u64) -> Vec<(usize, u64, u64)> {
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

/// A download in progress: [`super::NativeFilter::download`].
#[derive(Debug)]
pub struct Download {
    handle: Arc<Handle>,
    made: Generation,
    /// The bytes read so far.
    read: u64,
}

impl Download {
    pub(super) async fn new(handle: &Arc<Handle>) -> Result<Self, Error> {
        let made = handle.fresh().await?;
        if !made.meta.is_of(handle.digest_function) {
            return Err(handle.gone(Loss::OtherDigest));
        }
        Ok(Self { handle: handle.clone(), made, read: 0 })
    }

    /// The parameters of the filter.
    pub fn params(&self) -> FilterParams {
        self.made.meta.params
    }

    /// The options by which keys are extracted from input lines, as in a file.
    pub fn key_options(&self) -> &str {
        &self.made.meta.key_options
    }

    /// The next bytes of the body, whole blocks of little-endian words, at most 8 MiB; `None` after
    /// [`FilterParams::num_bytes`].
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if the filter was deleted or evicted; [`Error::Switched`] if it was switched
    /// to another one: start over. Connection errors: call again.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let all = self.params().num_bytes();
        if self.read == all {
            return Ok(None);
        }
        let to = all.min(self.read + CHUNK_BYTES * CHUNKS_AT_ONCE as u64);
        let body = self.bytes(self.read, to).await?;
        self.read = to;
        Ok(Some(body))
    }

    /// Some of the blocks, wherever [`Download::next`] is.
    ///
    /// # Errors
    ///
    /// As [`Download::next`]; [`Error::Filter`] for blocks that the filter does not have.
    pub async fn blocks(&self, range: Range<u64>) -> Result<Vec<Block>, Error> {
        let limit = self.params().num_blocks();
        if range.end > limit || range.start > range.end {
            let (field, found) = ("block", range.end);
            return Err(mayhap::Error::TooLarge { field, limit, found }.into());
        }
        let mut blocks = Vec::with_capacity((range.end - range.start) as usize);
        let mut at = range.start;
        while at < range.end {
            let to = range.end.min(at + CHUNK_BYTES * CHUNKS_AT_ONCE as u64 / 64);
            let bytes = self.bytes(at * 64, to * 64).await?;
            blocks.extend(bytes.as_chunks::<{ Block::BYTES }>().0.iter().map(|bytes| {
                let words = bytes.as_chunks().0;
                Block(std::array::from_fn(|i| u64::from_le_bytes(words[i])))
            }));
            at = to;
        }
        Ok(blocks)
    }

    /// Some bytes of the body, in one round trip.
    async fn bytes(&self, from: u64, to: u64) -> Result<Vec<u8>, Error> {
        let (made, server) = (&self.made, &self.handle.server);
        let pieces = pieces(made, from, to);
        let commands = pieces.iter().flat_map(|&(shard, offset, len)| {
            let mut get = cmd("GETRANGE");
            get.arg(&made.keys[shard].0).arg(offset).arg(offset + len - 1);
            [made.write(shard, get), made.write(shard, made.get_trailer(shard))]
        });
        let mut replies = server.run_unconfirmed(commands.collect()).await?.into_iter();
        let mut body = Vec::with_capacity((to - from) as usize);
        for &(shard, _, len) in &pieces {
            let key = &made.keys[shard].0;
            let mut next = || replies.next().map(|reply| reply.of(key, "to read a shard"));
            let (piece, trailer) = (next().transpose()?, next().transpose()?);
            let piece = piece.as_ref().and_then(bytes).unwrap_or_default();
            // A fenced shard is complete: it is being switched.
            let is_there = trailer.as_ref().is_some_and(|it| made.is_there(it));
            if piece.len() as u64 != len || !is_there {
                return Err(self.why_missing().await);
            }
            body.extend_from_slice(piece);
        }
        Ok(body)
    }

    /// The reason why part of the filter is missing.
    async fn why_missing(&self) -> Error {
        match self.handle.fresh().await {
            Ok(now) if now.meta.generation != self.made.meta.generation => self.handle.switched(),
            Ok(_) => self.handle.gone(Loss::Part),
            Err(error) => error,
        }
    }
}
