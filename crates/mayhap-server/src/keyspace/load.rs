//! `BF.SCANDUMP` and `BF.LOADCHUNK`: a filter goes out in chunks, and comes in whole or not at all.
//!
//! Ours is the file of the native format: its header, 4096 bytes, then the rest in chunks. One of
//! `RedisBloom` goes out as that module's own dump. In both, the cursor that comes with a chunk is
//! 1 plus the bytes after the header up to the chunk's end.

use super::incoming::Incoming;
use super::loading::Loading;
use super::lock::locked;
use super::names::{Ready, Record};
use super::outgoing::Outgoing;
use super::{BadFilter, ChangeError, CreateError, Entry, Keyspace, TooLarge};
use crate::durable::Log;
use mayhap::Charge;
use std::collections::HashMap;
use std::sync::Arc;

/// The most bytes of a chunk that goes out.
pub const CHUNK_BYTES: usize = 512 << 10;
/// Dumps that may come in at one time.
const MAX_INCOMING: usize = 64;
/// A dump that nobody goes on with is forgotten after this.
const IDLE_MS: u64 = 60_000;
/// After this it makes room for another one, if there are too many.
const YIELDS_MS: u64 = 5_000;

/// Why a chunk was not taken.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadError {
    /// There is a filter of this name.
    Exists,
    /// No dump was begun under this name.
    NotFound,
    /// The cursor is not that of the next chunk.
    Offset {
        /// The cursor that the next chunk has, if it is as long as this one.
        expected: i64,
    },
    /// More bytes than the header says.
    TooBig,
    /// No filter, or not one for this server.
    Bad(BadFilter),
    /// As for any new filter.
    Create(CreateError),
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
    /// The next chunk of a filter's dump, and the cursor to go on with; `(0, [])` at the end.
    ///
    /// Cursor 0 begins, with a copy of the filter that is kept until the last chunk is requested or
    /// a minute has gone by. One dump of a filter at a time: another beginning takes its place.
    ///
    /// # Errors
    ///
    /// [`ChangeError::ReadOnly`] for files; [`ChangeError::TooLarge`] if the copy goes beyond
    /// `max_memory`; [`ChangeError::NoDump`] if no dump was begun, or it was forgotten.
    pub fn dump(
        &self,
        entry: &Entry,
        cursor: i64,
        now: u64,
    ) -> Result<(i64, Vec<u8>), ChangeError> {
        if cursor == 0 {
            // Neither copied nor given back under the lock: a loop may wait for it with a chunk.
            let before = locked(&entry.outgoing).take();
            drop(before);
            let begun = self.begin_dump(entry, now)?;
            let header = begun.dump.bytes[..begun.dump.header_bytes].to_vec();
            let before = locked(&entry.outgoing).replace(begun);
            drop(before);
            return Ok((1, header));
        }
        let mut outgoing = locked(&entry.outgoing);
        let Some(Outgoing { dump, touched, .. }) = &mut *outgoing else {
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

    /// All of a dump at once, charged until it is dropped.
    pub(crate) fn begin_dump(&self, entry: &Entry, now: u64) -> Result<Outgoing, ChangeError> {
        let filter_bytes = entry.num_bytes();
        // The copy and its bytes, for a moment; then the bytes.
        let charge = self.budget.charge(filter_bytes.saturating_mul(2))?;
        let contents = entry.contents()?.ok_or(ChangeError::ReadOnly)?;
        let dump = contents.dump();
        let dump = dump.map_err(|_| ChangeError::OutOfMemory { bytes: contents.num_bytes() })?;
        drop(contents);
        charge.give_back(charge.bytes());
        charge.add(dump.bytes.len() as u64)?;
        Ok(Outgoing { dump, touched: now, _charge: charge })
    }

    /// Takes a chunk of a dump: cursor 1 with the header begins, each further one comes with the
    /// cursor that [`Keyspace::dump`] gave with it. The filter is there once the last one has come
    /// and all of it was found sound, and not before: that call gives it.
    ///
    /// What has come of a dump that is not whole is in memory alone, charged, and forgotten by a
    /// restart or a minute after its last chunk. Cursor 1 begins anew at any time. At most 64 dumps
    /// come in at once; one more takes the place of the one that waits for its next chunk the
    /// longest, if that is 5 seconds or more.
    ///
    /// # Errors
    ///
    /// [`LoadError`]; what has come is forgotten then, but for [`LoadError::Offset`].
    pub fn load_chunk(
        &self,
        name: &[u8],
        cursor: i64,
        bytes: &[u8],
        now: u64,
        log: Option<&Log>,
    ) -> Result<Option<Arc<Entry>>, LoadError> {
        self.take_chunk(name, cursor, bytes, false, now, log)
    }

    /// [`Keyspace::load_chunk`] in place of the filter that may have the name, which answers until
    /// the last chunk was found sound: everybody sees all of the old one or all of the new one, and
    /// so does a restart whenever it comes. Both are in memory until then. The new one never
    /// expires.
    ///
    /// # Errors
    ///
    /// As [`Keyspace::load_chunk`], and [`CreateError::ReadOnly`] if a file has the name; the old
    /// filter stays.
    pub fn replace_by_chunk(
        &self,
        name: &[u8],
        cursor: i64,
        bytes: &[u8],
        now: u64,
        log: Option<&Log>,
    ) -> Result<Option<Arc<Entry>>, LoadError> {
        self.take_chunk(name, cursor, bytes, true, now, log)
    }

    fn take_chunk(
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
        let mut all = locked(&self.loading);
        if cursor == 1 {
            all.remove(name);
            make_room(&mut all, now)?;
            let loading = Loading::new(bytes, &self.options).map_err(LoadError::Bad)?;
            if loading.needed() > self.budget.left() {
                let requested = self.budget.used().saturating_add(loading.needed());
                let (limit, setting) = (self.budget.limit(), "max_memory");
                let too_large = TooLarge { requested, limit, setting };
                return Err(LoadError::Create(CreateError::TooLarge(too_large)));
            }
            let charge = self.charge(bytes.len() as u64)?;
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
        if received > incoming.loading.needed() {
            return Err(LoadError::TooBig);
        }
        if bytes.is_empty() {
            // It would only keep others from the memory.
            return Err(LoadError::Bad(BadFilter::EmptyChunk));
        }
        incoming.charge.add(bytes.len() as u64).map_err(create_error)?;
        incoming.loading.push(bytes).map_err(LoadError::Bad)?;
        incoming.touched = now;
        if !incoming.loading.is_whole() {
            all.insert(name.into(), incoming);
            return Ok(None);
        }
        drop(all);
        self.load_whole(name, &incoming.loading, replaces, now, log).map(Some)
    }

    /// Bytes of the filter whose last chunk this is; none if others follow.
    pub fn ends_load(&self, name: &[u8], bytes: &[u8]) -> Option<u64> {
        let all = locked(&self.loading);
        let loading = &all.get(name)?.loading;
        let received = loading.received().saturating_add(bytes.len() as u64);
        (received >= loading.needed()).then_some(loading.needed())
    }

    fn load_whole(
        &self,
        name: &[u8],
        loading: &Loading,
        replaces: bool,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Arc<Entry>, LoadError> {
        let charge = self.options.charge(loading.needed(), &self.budget).map_err(create_error)?;
        let (contents, spec) = loading.decode(None, &self.options).map_err(LoadError::Bad)?;
        // Without the padding of the file.
        charge.give_back(charge.bytes().saturating_sub(contents.num_bytes()));
        let filter = self.filter(contents, &spec, charge);
        let ready = Ready { replaces, ..Ready::new(name, spec, filter, Some(loading.bytes())) };
        Ok(self.publish(ready, now, log.map(|log| (log, Record::Now)))?)
    }

    /// Forgets dumps that nobody went on with for a minute.
    pub(super) fn forget_idle_dumps(&self, entries: &[Arc<Entry>], now: u64) {
        let idle = |touched: u64| now.saturating_sub(touched) > IDLE_MS;
        locked(&self.loading).retain(|_, incoming| !idle(incoming.touched));
        for entry in entries {
            let mut outgoing = locked(&entry.outgoing);
            if outgoing.as_ref().is_some_and(|dump| idle(dump.touched)) {
                *outgoing = None;
            }
        }
    }

    fn charge(&self, bytes: u64) -> Result<Charge, LoadError> {
        self.budget.charge(bytes).map_err(create_error)
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
        return Err(LoadError::Bad(BadFilter::TooManyDumps { limit: MAX_INCOMING }));
    };
    all.remove(&name);
    Ok(())
}

fn create_error(error: mayhap::Error) -> LoadError {
    LoadError::Create(error.into())
}
