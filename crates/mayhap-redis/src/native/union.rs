//! Merges the keys of another filter into one on a server, shard by shard with OR.

use super::bulk::{group, merge};
use super::handle::Handle;
use super::resolve::Look;
use crate::Error;
use mayhap::native::body_bytes;
use mayhap::{AnyFilter, Block, DigestFunction, FilterParams};
use std::ops::Range;
use std::sync::Arc;

/// A union in progress: [`super::NativeFilter::union`].
#[derive(Debug)]
pub struct Union<'a> {
    merge: Merge,
    blocks: &'a [Block],
}

/// A merge in progress, whose blocks come from elsewhere: [`super::NativeFilter::merge`].
#[derive(Debug)]
pub struct Merge {
    handle: Arc<Handle>,
    generation: i64,
    /// Shards that are merged.
    done: usize,
    /// The losses before the first one, and how often it began again because of later ones.
    losses: u64,
    restarts: u32,
}

/// A union begins again this often when masters are lost that may take what they acknowledged.
const RESTARTS: u32 = 10;

impl<'a> Union<'a> {
    /// Checks that the parameters of both are the same.
    pub(super) fn new<S: AsRef<[Block]>>(
        handle: &Arc<Handle>,
        other: &'a AnyFilter<S>,
    ) -> Result<Self, Error> {
        let merge = Merge::new(handle, other.params(), other.digest_function())?;
        Ok(Self { merge, blocks: other.blocks() })
    }

    /// Merges the next shards, at most 8 MiB or one; returns the number of bytes done, or `None` if
    /// all are. It begins again if a master was lost meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if the filter no longer exists; [`Error::Switched`] if it was switched to
    /// another one: start over. [`Error::Broken`] if masters are lost again and again.
    /// [`Error::ServerFull`], [`Error::WrongType`], and connection errors: call again.
    pub async fn next(&mut self) -> Result<Option<u64>, Error> {
        let Some(range) = self.merge.wanted()? else { return Ok(None) };
        let blocks = &self.blocks[range.start as usize..range.end as usize];
        self.merge.write(blocks).await?;
        Ok(Some(range.end * Block::BYTES as u64))
    }
}

impl Merge {
    /// Checks that the parameters of both are the same.
    pub(super) fn new(
        handle: &Arc<Handle>,
        theirs: &FilterParams,
        their_function: &DigestFunction,
    ) -> Result<Self, Error> {
        let (meta, function) = (&handle.current().made.meta, handle.digest_function);
        let params = meta.params;
        let all = [
            ("layout", params.layout().to_string(), theirs.layout().to_string()),
            ("num_bits", params.num_bits().to_string(), theirs.num_bits().to_string()),
            ("num_hashes", params.num_hashes().to_string(), theirs.num_hashes().to_string()),
            ("digest function", function.id().to_string(), their_function.id().to_string()),
            (
                "digest seed or key",
                function.parameter().to_string(),
                their_function.parameter().to_string(),
            ),
        ];
        for (parameter, has, wanted) in all {
            if has != wanted {
                let name = handle.name.clone();
                return Err(Error::Exists { name, parameter, has, wanted });
            }
        }
        let (handle, generation) = (handle.clone(), meta.generation);
        let losses = handle.server.losses();
        Ok(Self { handle, generation, done: 0, losses, restarts: 0 })
    }

    /// The blocks that [`Merge::write`] takes next, those of whole shards: at most 8 MiB, or one
    /// shard. `None` if all are merged. The first ones are wanted again if a master was lost that
    /// may have taken some with it.
    ///
    /// # Errors
    ///
    /// [`Error::Switched`] if the filter was switched to another one: start over; [`Error::Broken`]
    /// if masters are lost again and again.
    pub fn wanted(&mut self) -> Result<Option<Range<u64>>, Error> {
        let handle = &self.handle;
        let made = &handle.current().made;
        if made.meta.generation != self.generation {
            return Err(handle.switched());
        }
        if self.done == made.keys.len() {
            if !made.has_lost(&handle.server, self.losses) {
                return Ok(None);
            }
            if self.restarts == RESTARTS {
                return Err(handle.server.broken("the union"));
            }
            self.losses = handle.server.losses();
            (self.done, self.restarts) = (0, self.restarts + 1);
        }
        let group = group(made, &mut (self.done..made.keys.len()).peekable());
        let first = made.meta.cut.blocks_of(self.done).0;
        let (last, count) = made.meta.cut.blocks_of(self.done + group.len() - 1);
        Ok(Some(first..last + count))
    }

    /// Leaves the blocks that [`Merge::wanted`] names as they are: they have all bits already.
    ///
    /// # Errors
    ///
    /// [`Error::Switched`] if the filter was switched to another one: start over.
    pub fn skip(&mut self) -> Result<(), Error> {
        let made = &self.handle.current().made;
        if made.meta.generation != self.generation {
            return Err(self.handle.switched());
        }
        self.done += group(made, &mut (self.done..made.keys.len()).peekable()).len();
        Ok(())
    }

    /// Merges the blocks that [`Merge::wanted`] names, each shard atomically.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`] for another number of blocks; [`Error::Gone`] if the filter no longer
    /// exists; [`Error::Switched`] if it was switched to another one: start over.
    /// [`Error::ServerFull`], [`Error::WrongType`], and connection errors: call again.
    pub async fn write(&mut self, blocks: &[Block]) -> Result<(), Error> {
        let handle = self.handle.clone();
        let until = handle.until_switched();
        loop {
            let current = handle.current();
            let made = &current.made;
            if made.meta.generation != self.generation {
                return Err(handle.switched());
            }
            let group = group(made, &mut (self.done..made.keys.len()).peekable());
            let of = |shard| made.meta.cut.blocks_of(shard);
            let num_blocks: u64 = group.iter().map(|&shard| of(shard).1).sum();
            if num_blocks != blocks.len() as u64 {
                let (expected, found) = (num_blocks * 64, blocks.len() as u64 * 64);
                return Err(mayhap::Error::WrongLength { field: "body", expected, found }.into());
            }
            let before = group.first().map_or(0, |&shard| of(shard).0);
            let bits = |shard| {
                let (first, count) = of(shard);
                let first = (first - before) as usize;
                body_bytes(&blocks[first..first + count as usize])
            };
            let bad = merge(&handle.server, made, &group, bits).await?;
            if bad.is_empty() {
                self.done += group.len();
                return Ok(());
            }
            handle.resolve(&current, &bad, Look::WRITE, until).await?;
        }
    }
}
