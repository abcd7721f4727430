//! `BF.SCANDUMP` and `BF.LOADCHUNK`: a filter is dumped in chunks, and loaded as a whole or not at
//! all.
//!
//! Our dump is the file in the native format: its header, 4096 bytes, then the rest in chunks. A
//! filter of `RedisBloom` is dumped as that module does. In both, the cursor of a chunk is 1 plus
//! the bytes after the header up to the chunk's end. A small filter of ours is one chunk, with
//! cursor 1: its file in the short form or the packed one.

use super::create::{Ready, Record};
use super::dumps::{Incoming, Outgoing};
use super::kind::{Contents, Dump};
use super::loading::Loading;
use super::{BadFilter, ChangeError, CreateError, Entry, Keyspace, TooLarge};
use crate::durable::Log;
use crate::sync::unpoisoned;
use mayhap::native::{self, PACKED_MAGIC};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// The most bytes of a chunk of a dump.
pub const CHUNK_BYTES: usize = 512 << 10;
/// Dumps that may be loaded at a time.
const MAX_INCOMING: usize = 64;
/// A dump is forgotten after this time without a request.
const IDLE_MS: u64 = 60_000;
/// After this time it makes room for another one, if there are too many.
const YIELDS_MS: u64 = 5_000;

/// Why a chunk was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// There is already a filter of this name.
    #[error("item exists")]
    Exists,
    /// No dump was begun under this name.
    #[error("not found")]
    NotFound,
    /// The cursor is not that of the next chunk.
    #[error("invalid offset - no link found")]
    Offset {
        /// The cursor of the next chunk, if it is as long as this one.
        expected: i64,
    },
    /// More bytes than the header announces.
    #[error("invalid chunk - Too big for current filter")]
    TooBig,
    /// Not a filter, or not one for this server.
    #[error("received bad data: {0}")]
    Bad(#[from] BadFilter),
    /// As for any new filter.
    #[error(transparent)]
    Create(CreateError),
}

impl From<mayhap::Error> for LoadError {
    fn from(error: mayhap::Error) -> Self {
        Self::Create(error.into())
    }
}

impl From<CreateError> for LoadError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Exists => Self::Exists,
            error => Self::Create(error),
        }
    }
}

impl Keyspace {
    /// The next chunk of a filter's dump, and the cursor to continue with; `(0, [])` at the end.
    ///
    /// Cursor 0 begins a dump, with a copy of the filter that is kept until the last chunk is
    /// requested or a minute has passed. One dump per filter at a time: a new one replaces it.
    ///
    /// # Errors
    ///
    /// [`ChangeError::ReadOnly`] for files; [`ChangeError::TooLarge`] if the copy exceeds
    /// `max_memory`; [`ChangeError::NoDump`] if no dump was begun, or it has timed out.
    pub fn dump(
        &self,
        entry: &Entry,
        cursor: i64,
        now: u64,
    ) -> Result<(i64, Vec<u8>), ChangeError> {
        if cursor == 0 {
            // Neither copied nor freed under the lock: a loop may wait for it with a chunk.
            let before = entry.outgoing().take();
            drop(before);
            let begun = self.begin(entry, now, |contents| contents.small_dump())?;
            let header = begun.dump.bytes[..begun.dump.header_bytes].to_vec();
            let before = entry.outgoing().replace(Box::new(begun));
            drop(before);
            return Ok((1, header));
        }
        let mut outgoing = entry.outgoing();
        let Some(Outgoing { dump, touched, .. }) = outgoing.as_deref_mut() else {
            return Err(ChangeError::NoDump);
        };
        *touched = now;
        let start = usize::try_from(cursor.saturating_sub(1))
            .ok()
            .and_then(|at| at.checked_add(dump.header_bytes));
        let chunk = start.and_then(|start| {
            let end = *dump.ends.iter().find(|&&end| end > start)?;
            Some((start, end.min(start.saturating_add(CHUNK_BYTES))))
        });
        let Some((start, end)) = chunk else {
            *outgoing = None;
            return Ok((0, Vec::new()));
        };
        let next = 1 + ((end - dump.header_bytes) as u64).cast_signed();
        Ok((next, dump.bytes[start..end].to_vec()))
    }

    /// The whole filter as a file, charged until it is dropped.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]: a filter that cannot be dumped, or too little memory.
    pub fn begin_dump(&self, entry: &Entry, now: u64) -> Result<Outgoing, ChangeError> {
        self.begin(entry, now, |contents| contents.dump())
    }

    fn begin(
        &self,
        entry: &Entry,
        now: u64,
        dump: impl FnOnce(&dyn Contents) -> io::Result<Dump>,
    ) -> Result<Outgoing, ChangeError> {
        let filter_bytes = entry.num_bytes();
        // The copy and its bytes, for a moment; then only the bytes.
        let charge = self.resources.budget.charge(filter_bytes.saturating_mul(2))?;
        let contents = entry.filter().snapshot()?.ok_or(ChangeError::ReadOnly)?;
        let dump = dump(&*contents);
        let dump = dump.map_err(|_| ChangeError::OutOfMemory { bytes: contents.num_bytes() })?;
        drop(contents);
        charge.give_back(charge.bytes());
        charge.add(dump.bytes.len() as u64)?;
        Ok(Outgoing { dump, touched: now, _charge: charge })
    }

    /// Takes a chunk of a dump: cursor 1 with the header begins, each further chunk has the cursor
    /// that [`Keyspace::dump`] returned with it. The filter is created once the last one has
    /// arrived and the whole was found sound: that call returns it.
    ///
    /// The chunks of an incomplete dump are only in memory, charged, and forgotten by a restart or
    /// a minute after the last one. Cursor 1 starts over at any time. At most 64 dumps are loaded
    /// at a time; one more replaces the one that has waited longest for its next chunk, if that is
    /// 5 seconds or more. A [short](native::is_short) file is one chunk, with cursor 1, and so is a
    /// [packed](native::pack) one.
    ///
    /// With `replaces`, a filter that may have the name is replaced. It answers until the last
    /// chunk was found sound: every client sees either the old or the new filter, and so does a
    /// restart at any time. Both are in memory until then. The new one never expires.
    ///
    /// # Errors
    ///
    /// [`LoadError`]; the dump is forgotten then, except for [`LoadError::Offset`]. Among them is
    /// [`CreateError::ReadOnly`] if a file has the name that is to be replaced; it stays.
    pub fn load_chunk(
        &self,
        name: &[u8],
        cursor: i64,
        bytes: &[u8],
        replaces: bool,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Option<Arc<Entry>>, LoadError> {
        self.check_free(name, replaces, now)?;
        self.check_name(name).map_err(|name| LoadError::Create(name.into()))?;
        let (mut all, budget) = (unpoisoned(self.loads.lock()), &self.resources.budget);
        if cursor == 1 {
            all.remove(name);
            if native::is_short(bytes) || bytes.starts_with(&PACKED_MAGIC) {
                // It is whole: nothing follows.
                drop(all);
                let file = native::paged(bytes).map_err(BadFilter::from)?;
                let loading = Loading::of_bytes(&file, self.options())?;
                return self.load_whole(name, &loading, replaces, now, log).map(Some);
            }
            make_room(&mut all, now)?;
            let loading = Loading::new(bytes, self.options())?;
            if loading.needed > budget.left() {
                let requested = budget.used().saturating_add(loading.needed);
                let (limit, setting) = (budget.limit(), "max_memory");
                let too_large = TooLarge { requested, limit, setting };
                return Err(LoadError::Create(CreateError::TooLarge(too_large)));
            }
            let charge = budget.charge(bytes.len() as u64)?;
            all.insert(name.into(), Incoming { loading, charge, touched: now });
            return Ok(None);
        }
        let Some(mut incoming) = all.remove(name) else { return Err(LoadError::NotFound) };
        let received = incoming.loading.received() + bytes.len() as u64;
        let expected = received.cast_signed().saturating_add(1);
        if cursor != expected {
            all.insert(name.into(), incoming);
            return Err(LoadError::Offset { expected });
        }
        if received > incoming.loading.needed {
            return Err(LoadError::TooBig);
        }
        if bytes.is_empty() {
            // It would only keep memory from other clients.
            return Err(BadFilter::EmptyChunk.into());
        }
        incoming.charge.add(bytes.len() as u64)?;
        incoming.loading.push(bytes)?;
        incoming.touched = now;
        if !incoming.loading.is_whole() {
            all.insert(name.into(), incoming);
            return Ok(None);
        }
        drop(all);
        self.load_whole(name, &incoming.loading, replaces, now, log).map(Some)
    }

    /// Bytes of the filter whose last chunk this is; `None` if others follow.
    pub fn ends_load(&self, name: &[u8], bytes: &[u8]) -> Option<u64> {
        let all = unpoisoned(self.loads.lock());
        let loading = &all.get(name)?.loading;
        let received = loading.received().saturating_add(bytes.len() as u64);
        (received >= loading.needed).then_some(loading.needed)
    }

    fn load_whole(
        &self,
        name: &[u8],
        loading: &Loading,
        replaces: bool,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Arc<Entry>, LoadError> {
        let charge = self.resources.charge(loading.needed)?;
        let (contents, spec) = loading.decode(None, self.options())?;
        // Without the padding of the file.
        charge.give_back(charge.bytes().saturating_sub(contents.num_bytes()));
        let filter = self.resources.filter(contents, charge);
        let ready = Ready { replaces, ..Ready::new(name, spec, filter, Some(&loading.bytes)) };
        Ok(ready.publish(self, now, log.map(|log| (log, Record::Now)))?)
    }

    /// Forgets dumps without a request for a minute.
    pub(super) fn forget_idle_dumps(&self, entries: &[Arc<Entry>], now: u64) {
        let idle = |touched: u64| now.saturating_sub(touched) > IDLE_MS;
        unpoisoned(self.loads.lock()).retain(|_, incoming| !idle(incoming.touched));
        for entry in entries {
            let mut outgoing = entry.outgoing();
            if outgoing.as_ref().is_some_and(|dump| idle(dump.touched)) {
                *outgoing = None;
            }
        }
    }
}

/// Makes room for another dump.
fn make_room(all: &mut HashMap<Box<[u8]>, Incoming>, now: u64) -> Result<(), LoadError> {
    if all.len() < MAX_INCOMING {
        return Ok(());
    }
    let longest = all.iter().min_by_key(|(_, incoming)| incoming.touched);
    let longest = longest.filter(|(_, it)| now.saturating_sub(it.touched) >= YIELDS_MS);
    let Some(name) = longest.map(|(name, _)| name.clone()) else {
        return Err(BadFilter::TooManyDumps { limit: MAX_INCOMING }.into());
    };
    all.remove(&name);
    Ok(())
}
