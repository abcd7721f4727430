//! Whole filters on their way to a server and from one: what `push`, `pull` and `merge` share.

use super::Connection;
use super::bits::{Bits, MOST_SWITCHES, Reading};
use super::model::{check_kind, refuse_foreign, unlike};
use super::served::is_plain;
use super::target::Target;
use crate::args::{LockArgs, ReplicaArgs};
use crate::error::{Error, Limit, over_full};
use crate::io::progress::Progress;
use crate::memory;
use crate::set::notes::say;
use crate::set::session::Waiting;
use mayhap::native;
use mayhap::{AnyFilter, Block, DigestFunction, FilterParams, Health, OwnedBlocks};
use mayhap_lists::Stop;
use mayhap_redis::Error::Switched;
use mayhap_redis::{Found, NativeFilter, find};
use mayhap_sets::server::{ServerUrl, wait};
use mayhap_sets::{State, open_snapshot};
use mayhap_store::common_key_options;
use std::path::{Path, PathBuf};

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
    pub fn read(
        path: &Path,
        how: Reading<'_>,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<Self, Error> {
        if mayhap_sets::is_url(path) {
            let connection = Connection::open(
                ServerUrl::of(path)?,
                how.server,
                ReplicaArgs::default(),
                how.talk,
            )?;
            let (server, name) = (&connection.origin.server, &connection.origin.name);
            let found = connection.timed(find(server, name, how.key))?;
            if matches!(&found, Found::Bf(filter) if filter.kind().is_some_and(is_plain)) {
                let bits = Bits::of_dump(&connection, how.key)?;
                return Self::of_bits(&bits, how.max_bytes, (stop, progress));
            }
            let missing = || mayhap_redis::Error::NotFound { name: name.clone() };
            let filter = connection.native(found)?;
            let filter = filter.ok_or_else(|| connection.error(missing()))?;
            return Self::download(&connection, &filter, how.max_bytes, (stop, progress));
        }
        let name = path.display().to_string();
        let header =
            mayhap_store::read_header(path).map_err(|error| refuse_foreign(&name, error))?;
        check_kind(&name, &header)?;
        memory::check(header.body_bytes(), how.max_bytes)?;
        let snapshot = open_snapshot(path, how.without_log, &|note| say([note], how.talk))?;
        let mut filter = snapshot.image().load(how.key, |_, _| {})?;
        snapshot.replay(|record| mayhap_store::apply(&mut filter, record))?;
        let key_options = snapshot.header().key_options().to_owned();
        Ok(Self { name, key_options, filter })
    }

    /// Copies a filter that is read in pieces, with as many keys as its bits speak of.
    fn of_bits(
        bits: &Bits<'_>,
        max_bytes: u64,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<Self, Error> {
        let params = *bits.params();
        memory::check(params.num_bytes(), max_bytes)?;
        let mut blocks = OwnedBlocks::zeroed(params.num_blocks())?;
        for range in bits.pieces() {
            stop.check()?;
            let done = range.end * Block::BYTES as u64;
            let part = range.start as usize..range.end as usize;
            blocks.as_mut()[part].copy_from_slice(&bits.blocks(range)?);
            progress.tick_bytes(done);
        }
        let (name, key_options) = (bits.name.clone(), bits.key_options.clone());
        Self::counted((name, key_options), (params, *bits.digest_function()), blocks)
    }

    /// A filter with as many keys as its bits speak of.
    fn counted(
        (name, key_options): (String, String),
        (params, function): (FilterParams, DigestFunction),
        blocks: OwnedBlocks,
    ) -> Result<Self, Error> {
        let uncounted = AnyFilter::from_parts(params, function, blocks.as_ref(), 0)?;
        // Where all bits are set there may be any number of keys.
        let items = uncounted.estimated_items().rounded().min(params.num_bits());
        let filter = AnyFilter::from_parts(params, function, blocks, items)?;
        Ok(Self { name, key_options, filter })
    }

    /// Copies a filter from a server, with as many keys as its bits speak of. Begins again where it
    /// is switched to another one meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`], [`Error::TooMuchMemory`], [`Error::Stopped`].
    pub fn download(
        connection: &Connection,
        filter: &NativeFilter,
        max_bytes: u64,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<Self, Error> {
        for _ in 1..MOST_SWITCHES {
            if let Some(whole) =
                Self::try_download(connection, filter, max_bytes, (stop, &mut *progress), true)?
            {
                return Ok(whole);
            }
        }
        let last = Self::try_download(connection, filter, max_bytes, (stop, progress), false)?;
        last.ok_or_else(|| connection.error(Switched { name: connection.origin.name.clone() }))
    }

    /// [`Whole::download`]; `None` if it was switched and `again` is set.
    fn try_download(
        connection: &Connection,
        filter: &NativeFilter,
        max_bytes: u64,
        (stop, progress): (&Stop, &mut Progress),
        again: bool,
    ) -> Result<Option<Self>, Error> {
        let mut download = connection.wait(filter.download())?;
        let params = download.params();
        memory::check(params.num_bytes(), max_bytes)?;
        let mut blocks = OwnedBlocks::zeroed(params.num_blocks())?;
        let mut rest = blocks.as_mut();
        let mut done = 0;
        loop {
            let bytes = match wait(download.next())? {
                Err(Switched { .. }) if again => return Ok(None),
                next => next.map_err(|source| connection.error(source))?,
            };
            let Some(bytes) = bytes else { break };
            let bytes = bytes.as_chunks::<{ Block::BYTES }>().0;
            let (now, later) = rest.split_at_mut(bytes.len());
            for (block, bytes) in now.iter_mut().zip(bytes) {
                for (lane, word) in block.0.iter_mut().zip(bytes.as_chunks().0) {
                    *lane = u64::from_le_bytes(*word);
                }
            }
            stop.check()?;
            rest = later;
            done += size_of_val(bytes) as u64;
            progress.tick_bytes(done);
        }
        let names = (connection.origin.url.clone(), download.key_options().into());
        Self::counted(names, (params, filter.digest_function()), blocks).map(Some)
    }

    /// Adds the keys of another filter.
    fn add(&mut self, other: &Self) -> Result<(), Error> {
        let common = common_key_options(&self.key_options, &other.key_options);
        self.key_options = common.ok_or_else(|| {
            let theirs = (&*other.name, &*other.key_options);
            unlike(theirs, (&self.name, &self.key_options))
        })?;
        self.filter.union_with(&other.filter).map_err(|source| {
            Error::usage(
                format!("{} and {} cannot be merged: {source}", other.name, self.name),
                "create them with the same -n, -p, --layout and digest",
            )
        })
    }

    /// Refuses it if it holds more keys than it was made for.
    ///
    /// # Errors
    ///
    /// [`Error::Full`].
    pub fn check_room(&self, overfill: bool) -> Result<(), Error> {
        let estimate = self.filter.estimated_items();
        let made_for = self.filter.params().expected_items();
        if !overfill && estimate.health(made_for) == Health::OverCapacity {
            return Err(Error::Full(over_full(estimate.rounded(), Limit::Keys(made_for))));
        }
        Ok(())
    }

    /// Its bits.
    pub fn bits(&self) -> Bits<'_> {
        Bits::of_memory(&self.name, &self.key_options, &self.filter)
    }
}

/// Where a merge goes.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// A file, or a URL.
    pub path: &'a Path,
    /// Replace the file if it exists.
    pub force: bool,
    /// Write it even if it holds more keys than it was made for.
    pub overfill: bool,
    /// The replicas that a write on a server has to reach.
    pub replicas: ReplicaArgs,
    /// How long others that change the file are waited for.
    pub lock: LockArgs,
}

/// Merges filters in memory into one that is saved, or whose keys go into one on a server, which is
/// made if it is not there. Returns the keys of each part, those of the whole by its bits, and its
/// state.
///
/// # Errors
///
/// Those of [`Whole::read`]; [`Error::Usage`] for filters that are not alike; those of the file or
/// of the server.
pub fn merge(
    files: &[PathBuf],
    output: Output<'_>,
    how: Reading<'_>,
) -> Result<(Vec<u64>, Option<f64>, State), Error> {
    let stop = Stop::on_signals()?;
    // Before anything is read: the output may be one of the inputs.
    let waiting = Waiting::new("merge", output.lock, how.talk, Some(&stop));
    let lock =
        if mayhap_sets::is_url(output.path) { None } else { Some(waiting.lock(output.path)?) };
    let mut progress = Progress::new(how.talk, None);
    let mut whole: Option<Whole> = None;
    let mut items = Vec::new();
    for path in files {
        let more = Whole::read(path, how, (&stop, &mut progress))?;
        items.push(more.filter.inserted_items());
        match &mut whole {
            None => whole = Some(more),
            Some(whole) => whole.add(&more)?,
        }
    }
    let Some(whole) = whole else {
        return Err(Error::usage("no filters are given", "name the filters to merge"));
    };
    whole.check_room(output.overfill)?;
    let state = if let Some(lock) = lock {
        let header = native::Header::of(&whole.filter, &whole.key_options);
        lock.save(&header, &[whole.filter.blocks()], output.force)?;
        State::of(&whole.filter)
    } else {
        let place = ServerUrl::of(output.path)?;
        let connection = Connection::open(place, how.server, output.replicas, how.talk)?;
        let mut target = Target::find(connection, how.key)?;
        target.add(&whole.bits(), (output.overfill, how.key), (&stop, &mut progress))?;
        target.set(how.key)?.state()
    };
    let estimate = whole.filter.estimated_items().items;
    Ok((items, estimate.is_finite().then_some(estimate), state))
}
