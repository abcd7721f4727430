//! Whole filters on their way to a server and from one: what `push`, `pull` and `merge` share.

use super::{Connection, Place, ServerArgs};
use crate::error::Error;
use crate::memory;
use crate::progress::Progress;
use crate::signals::Stop;
use crate::talk::Talk;
use mayhap::native::{Header, Kind};
use mayhap::{AnyFilter, Block, OwnedBlocks, SecretKey};
use mayhap_redis::{NativeFilter, NativeOptions};
use std::path::{Path, PathBuf};

/// Blocks that are sent between looks at the signals: 8 MiB.
const CHUNK_BLOCKS: usize = (8 << 20) / Block::BYTES;

/// How filters are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The secret key, if one is named.
    pub key: Option<SecretKey>,
    /// How servers are spoken to.
    pub server: &'a ServerArgs,
    /// The largest filter that is allowed.
    pub max_bytes: u64,
    /// Who is told.
    pub talk: Talk,
}

/// A plain filter in memory, wherever it came from.
#[derive(Debug)]
pub struct Whole {
    /// The file, or the URL without the password.
    pub name: String,
    /// How keys are cut, as a header has it.
    pub key_options: String,
    /// The filter.
    pub filter: AnyFilter,
}

impl Whole {
    /// Reads a filter into memory: a file with its log, or one on a server.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`], [`Error::TooMuchMemory`]; [`Error::Usage`] for other
    /// kinds and systems.
    pub fn read(path: &Path, how: Reading<'_>, progress: &mut Progress) -> Result<Self, Error> {
        if super::is_url(path) {
            let connection = Connection::open(Place::of(path)?, how.server, None, how.talk)?;
            let filter = connection.attach(how.key)?;
            return Self::download(&connection, &filter, how.max_bytes, progress);
        }
        let name = path.display().to_string();
        let header = mayhap_store::read_header(path).map_err(|error| refuse_foreign(&name, error))?;
        check_kind(&name, &header)?;
        memory::check(header.body_bytes(), how.max_bytes)?;
        let loaded = mayhap_store::load_live(path, how.key)?.0;
        let key_options = loaded.header.key_options().to_owned();
        Ok(Self { name, key_options, filter: loaded.filter })
    }

    /// Copies a filter from a server, with as many keys as its bits speak of.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`], [`Error::TooMuchMemory`].
    pub fn download(
        connection: &Connection,
        filter: &NativeFilter,
        max_bytes: u64,
        progress: &mut Progress,
    ) -> Result<Self, Error> {
        let mut download = connection.wait(filter.download())?;
        let params = download.params();
        memory::check(params.num_bytes(), max_bytes)?;
        let mut blocks = OwnedBlocks::zeroed(params.num_blocks())?;
        let mut rest = blocks.as_mut();
        let mut done = 0;
        while let Some(bytes) = connection.wait(download.next())? {
            let bytes = bytes.as_chunks::<{ Block::BYTES }>().0;
            let (now, later) = rest.split_at_mut(bytes.len());
            for (block, bytes) in now.iter_mut().zip(bytes) {
                for (lane, word) in block.0.iter_mut().zip(bytes.as_chunks().0) {
                    *lane = u64::from_le_bytes(*word);
                }
            }
            rest = later;
            done += size_of_val(bytes) as u64;
            progress.tick_bytes(done);
        }
        let function = filter.digest_function();
        let uncounted = AnyFilter::from_parts(params, function, blocks.as_ref(), 0)?;
        // Where all bits are set there may be any number of keys.
        let items = uncounted.estimated_items().rounded().min(params.num_bits());
        Ok(Self {
            name: connection.place.name.clone(),
            key_options: download.key_options().into(),
            filter: AnyFilter::from_parts(params, function, blocks, items)?,
        })
    }

    /// Adds the keys of another filter.
    fn add(&mut self, other: &Self) -> Result<(), Error> {
        self.check_options(&other.name, &other.key_options)?;
        self.filter.union_with(&other.filter).map_err(|source| {
            Error::usage(
                format!("{} and {} cannot be merged: {source}", other.name, self.name),
                "make them alike: with the same -n, -p, --layout and digest",
            )
        })
    }

    fn check_options(&self, name: &str, options: &str) -> Result<(), Error> {
        if self.key_options == options {
            return Ok(());
        }
        Err(Error::usage(
            format!(
                "{name} and {} cannot be merged: they differ in key options: {options:?} against \
                 {:?}",
                self.name, self.key_options
            ),
            "keys that were cut in different ways cannot be asked for together",
        ))
    }

    /// What a server has to be asked for to hold it.
    pub fn native_options(&self) -> NativeOptions {
        let mut options = NativeOptions::new(*self.filter.params());
        options.digest_function = *self.filter.digest_function();
        options.key_options.clone_from(&self.key_options);
        options
    }

    /// Sends it to take the place of the filter of this name, or of none, in one step.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`], [`Error::Stopped`]; nothing of it is there then.
    pub fn upload(
        &self,
        connection: &Connection,
        options: &NativeOptions,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<NativeFilter, Error> {
        let (server, name) = (&connection.server, &connection.place.filter);
        let mut upload = connection.wait(NativeFilter::upload(server, name, options))?;
        let mut done = 0;
        for blocks in self.filter.blocks().chunks(CHUNK_BLOCKS) {
            let sent = stop.check().and_then(|()| connection.wait(upload.write(blocks)));
            if let Err(error) = sent {
                // What cannot be deleted expires.
                let _ = connection.wait(upload.abort());
                return Err(error);
            }
            done += size_of_val(blocks) as u64;
            progress.tick_bytes(done);
        }
        connection.wait(upload.finish())
    }

    /// Adds its keys to a filter that is there.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the two are not alike; [`Error::Remote`], [`Error::Stopped`], after which
    /// part of the keys are there.
    pub fn merge_into(
        &self,
        connection: &Connection,
        filter: &NativeFilter,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<(), Error> {
        let name = &connection.place.name;
        self.check_options(name, &filter.key_options())?;
        let there = AnyFilter::from_parts(filter.params(), filter.digest_function(), NoBlocks, 0);
        drop(there);
        let mut sent = 0;
        let blocks = self.filter.blocks();
        let mut merge = connection.wait(filter.merge(*self.filter.params(), self.filter.digest_function()))?;
        while sent < blocks.len() {
            stop.check()?;
            sent = connection.wait(merge.next(blocks))?;
            progress.tick_bytes((sent * Block::BYTES) as u64);
        }
        Ok(())
    }
}
