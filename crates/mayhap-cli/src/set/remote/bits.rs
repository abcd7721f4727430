//! The bits of a plain filter in pieces, wherever they are, so that the largest takes little memory
//! on its way.

use super::Connection;
use super::dump::Dump;
use super::model::{Model, check_kind, refuse_foreign, unlike};
use crate::args::ServerArgs;
use crate::error::{Error, Limit, over_full};
use crate::io::messages::Reporter;
use crate::io::progress::Progress;
use crate::memory;
use crate::set::notes::say;
use mayhap::native::Header;
use mayhap::{AnyFilter, Block, DigestFunction, Estimate, FilterParams, Health, SecretKey};
use mayhap_lists::Stop;
use mayhap_redis::Error::{Exists, Switched};
use mayhap_redis::{Download, Merge, NativeFilter, NativeOptions, RemoteFilter};
use mayhap_sets::open_snapshot;
use mayhap_sets::server::wait;
use mayhap_store::{FilterLock, Incoming, LogFound, Snapshot, common_key_options};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// How often a filter may be switched to another one while it is read.
pub const MOST_SWITCHES: u32 = 20;

/// How filters are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The secret key, if one is named.
    pub key: Option<SecretKey>,
    /// Options for connections to servers.
    pub server: &'a ServerArgs,
    /// The largest filter that is allowed.
    pub max_bytes: u64,
    /// Read files without a log that is not there.
    pub without_log: bool,
    /// Where messages go.
    pub talk: Reporter,
}

/// Blocks that are read or sent at once: 4 MiB. A merge sends whole shards.
const PIECE: u64 = (4 << 20) / Block::BYTES as u64;

/// A plain filter whose bits are read in pieces.
#[derive(Debug)]
pub struct Bits<'a> {
    /// The file, or the URL without the password.
    pub name: String,
    /// How keys are cut, as a header has it.
    pub key_options: String,
    params: FilterParams,
    function: DigestFunction,
    place: Blocks<'a>,
}

#[derive(Debug)]
enum Blocks<'a> {
    File(Box<Snapshot>),
    /// A file and its log together.
    Memory(Box<AnyFilter>),
    Borrowed(&'a [Block]),
    Server(&'a Connection, Box<Download>),
    /// On `mayhap serve`.
    Dump(Box<Dump<'a>>),
}

impl<'a> Bits<'a> {
    /// The bits of a file, which is read once to be verified; with its log, if it has one, in
    /// memory.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]; [`Error::Usage`] for other kinds and systems; [`Error::TooMuchMemory`].
    pub fn of_file(path: &Path, how: Reading<'_>) -> Result<Self, Error> {
        let name = path.display().to_string();
        let header =
            mayhap_store::read_header(path).map_err(|error| refuse_foreign(&name, error))?;
        check_kind(&name, &header)?;
        let snapshot = open_snapshot(path, how.without_log, &|note| say([note], how.talk))?;
        let key_options = snapshot.header().key_options().to_owned();
        let (params, function) = parts_of(path, snapshot.header(), how)?;
        let place = if matches!(snapshot.log(), LogFound::Records { bytes: 1.. }) {
            memory::check(header.body_bytes(), how.max_bytes)?;
            let mut filter: AnyFilter = snapshot.image().load(how.key, |_, _| {})?;
            snapshot.replay(|record| mayhap_store::apply(&mut filter, record))?;
            Blocks::Memory(Box::new(filter))
        } else {
            snapshot.image().verify(|_, _| {})?;
            Blocks::File(Box::new(snapshot))
        };
        Ok(Self { name, key_options, params, function, place })
    }

    /// The bits of a filter in memory.
    pub fn of_memory(name: &str, key_options: &str, filter: &'a AnyFilter) -> Self {
        Self {
            name: name.to_owned(),
            key_options: key_options.to_owned(),
            params: *filter.params(),
            function: *filter.digest_function(),
            place: Blocks::Borrowed(filter.blocks()),
        }
    }

    /// The bits of a filter in memory, which goes with them.
    pub fn of_owned(name: String, key_options: String, filter: AnyFilter) -> Self {
        let (params, function) = (*filter.params(), *filter.digest_function());
        Self { name, key_options, params, function, place: Blocks::Memory(Box::new(filter)) }
    }

    /// The bits of a filter on a server, as it is now: once it is switched to another one, reading
    /// fails with [`Switched`].
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn of_server(connection: &'a Connection, filter: &NativeFilter) -> Result<Self, Error> {
        let download = connection.wait(filter.download())?;
        Ok(Self {
            name: connection.origin.url.clone(),
            key_options: download.key_options().into(),
            params: download.params(),
            function: filter.digest_function(),
            place: Blocks::Server(connection, Box::new(download)),
        })
    }

    /// The bits of a filter that `mayhap serve` keeps, as it is now.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`]; [`Error::Usage`] for other kinds.
    pub fn of_dump(connection: &'a Connection, key: Option<SecretKey>) -> Result<Self, Error> {
        let (dump, header) = Dump::begin(connection)?;
        Self::of_begun(connection, (dump, &header), key)
    }

    /// The same, of a dump that was begun.
    pub(super) fn of_begun(
        connection: &'a Connection,
        (dump, header): (Dump<'a>, &Header),
        key: Option<SecretKey>,
    ) -> Result<Self, Error> {
        let name = connection.origin.url.clone();
        check_kind(&name, header)?;
        let params = header.params().map_err(|source| dump.error(source))?;
        let function = header.digest_function(key).map_err(|source| dump.error(source))?;
        let key_options = header.key_options().to_owned();
        Ok(Self { name, key_options, params, function, place: Blocks::Dump(Box::new(dump)) })
    }

    /// The numbers of the filter.
    pub fn params(&self) -> &FilterParams {
        &self.params
    }

    /// How keys become digests.
    pub fn digest_function(&self) -> &DigestFunction {
        &self.function
    }

    /// The model of another filter like it.
    pub fn model(&self) -> Model {
        Model::new(self.params, self.function, &self.key_options)
    }

    /// Ranges of all blocks, in order.
    pub fn pieces(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let all = self.params.num_blocks();
        (0..all).step_by(PIECE as usize).map(move |from| from..all.min(from + PIECE))
    }

    /// Some of the blocks.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`].
    pub fn blocks(&self, range: Range<u64>) -> Result<Cow<'_, [Block]>, Error> {
        let part = range.start as usize..range.end as usize;
        Ok(match &self.place {
            Blocks::File(file) => Cow::Owned(file.image().blocks(range)?),
            Blocks::Memory(filter) => Cow::Borrowed(&filter.blocks()[part]),
            Blocks::Borrowed(blocks) => Cow::Borrowed(&blocks[part]),
            Blocks::Server(connection, download) => {
                Cow::Owned(connection.wait(download.blocks(range))?)
            }
            Blocks::Dump(dump) => Cow::Owned(dump.blocks(range, self.params.num_blocks())?),
        })
    }

    /// Refuses to merge filters that are not alike, except for those that one side does not record.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`].
    pub fn check_options(&self, name: &str, options: &str) -> Result<(), Error> {
        match common_key_options(&self.key_options, options) {
            Some(common) if common == options => Ok(()),
            _ => Err(unlike((name, options), (&self.name, &self.key_options))),
        }
    }

    /// Refuses another filter that is not like it.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with the first number that differs.
    pub fn check_like(&self, other: &Bits<'_>) -> Result<(), Error> {
        let meaning = |it: &Bits<'_>| {
            let (params, function) = (&it.params, &it.function);
            [
                ("layout", params.layout().to_string()),
                ("num_bits", params.num_bits().to_string()),
                ("num_hashes", params.num_hashes().to_string()),
                ("digest function", function.id().to_string()),
                ("digest seed or key", function.parameter().to_string()),
            ]
        };
        for ((what, ours), (_, theirs)) in meaning(self).into_iter().zip(meaning(other)) {
            if ours != theirs {
                let differ = format!("{what} is {ours}, not {theirs}");
                return Err(refuse_unlike(&other.name, &self.name, &differ));
            }
        }
        self.check_options(&other.name, &other.key_options)
    }

    /// Whether it has all bits of another one like it.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`], [`Error::Stopped`].
    pub fn has_all_of(&self, other: &Bits<'_>, stop: &Stop) -> Result<bool, Error> {
        for range in self.pieces() {
            stop.check()?;
            if !has_all(&self.blocks(range.clone())?, &other.blocks(range)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many keys its bits speak of, with those of another one of the same size if there is one.
    fn estimate(&self, other: Option<&Bits<'_>>, stop: &Stop) -> Result<Estimate, Error> {
        let mut ones = 0;
        for range in self.pieces() {
            stop.check()?;
            let ours = self.blocks(range.clone())?;
            let theirs = other.map(|other| other.blocks(range)).transpose()?;
            for (i, block) in ours.iter().enumerate() {
                let theirs = theirs.as_ref().map_or(Block::default(), |theirs| theirs[i]);
                let lanes = block.0.iter().zip(theirs.0);
                ones += lanes.map(|(a, b)| u64::from((a | b).count_ones())).sum::<u64>();
            }
        }
        Ok(Estimate::from_ones(&self.params, ones))
    }

    /// Refuses it if the filter that is there would hold more keys than it was made for with those
    /// of this one. Which of them it has already is only known from its bits: they are read where
    /// the numbers of both do not fit into it together.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]; [`Error::Store`], [`Error::Remote`]; [`Error::Usage`] if the two are not
    /// alike.
    pub fn check_room_in(
        &self,
        connection: &Connection,
        filter: &NativeFilter,
        stop: &Stop,
    ) -> Result<(), Error> {
        let info = connection.wait(filter.info())?;
        let made_for = filter.params().expected_items();
        let theirs = || Bits::of_server(connection, filter);
        self.check_fits((info.estimated_items, made_for), theirs, stop)
    }

    /// The same for a filter with an estimated number of keys, if there is one, and a capacity; its
    /// bits are only read if the sum of both numbers exceeds the capacity.
    ///
    /// # Errors
    ///
    /// As [`Bits::check_room_in`].
    pub fn check_fits<'b>(
        &self,
        (there, made_for): (Option<f64>, u64),
        theirs: impl Fn() -> Result<Bits<'b>, Error>,
        stop: &Stop,
    ) -> Result<(), Error> {
        let there = there.unwrap_or(f64::INFINITY);
        if there + self.estimate(None, stop)?.items <= made_for as f64 {
            return Ok(());
        }
        for left in (0..MOST_SWITCHES).rev() {
            let theirs = theirs()?;
            self.check_like(&theirs)?;
            match self.estimate(Some(&theirs), stop) {
                Err(error) if left > 0 && is_switched(&error) => {}
                Err(error) => return Err(error),
                Ok(both) if both.health(made_for) == Health::OverCapacity => {
                    return Err(Error::Full(over_full(both.rounded(), Limit::Keys(made_for))));
                }
                Ok(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Begins a merge into a filter that is like it.
    fn begin_merge(&self, connection: &Connection, filter: &NativeFilter) -> Result<Merge, Error> {
        filter.merge(&self.params, &self.function).map_err(|source| match source {
            Exists { parameter, has, wanted, .. } => {
                let differ = format!("{parameter} is {wanted}, not {has}");
                refuse_unlike(&connection.origin.url, &self.name, &differ)
            }
            source => connection.error(source),
        })
    }

    /// Sends it to take the place of the filter of this name, or of none, in one step.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`], [`Error::Store`], [`Error::Stopped`]; nothing of it is there then.
    pub fn upload(
        &self,
        connection: &Connection,
        options: &NativeOptions,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<NativeFilter, Error> {
        let (server, name) = (&connection.origin.server, &connection.origin.name);
        let mut upload = connection.wait(NativeFilter::upload(server, name, options))?;
        for range in self.pieces() {
            let done = range.end * Block::BYTES as u64;
            let stopped = stop.check().map_err(Error::from);
            let sent = stopped
                .and_then(|()| self.blocks(range))
                .and_then(|blocks| connection.wait(upload.write(&blocks)));
            if let Err(error) = sent {
                // If it cannot be deleted, it expires.
                let _ = connection.wait(upload.abort());
                return Err(error);
            }
            progress.tick_bytes(done);
        }
        connection.wait(upload.finish())
    }

    /// Adds its keys to a filter that is there, and begins again where that is switched to another
    /// one meanwhile. Returns the shards that lacked bits, where it is to look first with `lazy`;
    /// else it sends all.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the two are not alike; [`Error::Remote`], [`Error::Store`],
    /// [`Error::Stopped`], after which part of the keys are there.
    pub fn merge_into(
        &self,
        (connection, filter): (&Connection, &NativeFilter),
        lazy: bool,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<u64, Error> {
        for left in (0..MOST_SWITCHES).rev() {
            self.check_options(&connection.origin.url, &filter.key_options())?;
            match self.try_merge((connection, filter), lazy, (stop, progress)) {
                Err(error) if left > 0 && is_switched(&error) => {}
                merged => return merged,
            }
        }
        Ok(0)
    }

    fn try_merge(
        &self,
        (connection, filter): (&Connection, &NativeFilter),
        lazy: bool,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<u64, Error> {
        let fail = |source| connection.error(source);
        let mut merge = self.begin_merge(connection, filter)?;
        let theirs = if lazy { Some(Bits::of_server(connection, filter)?) } else { None };
        let mut lacking = 0;
        while let Some(range) = merge.wanted().map_err(fail)? {
            stop.check()?;
            let done = range.end * Block::BYTES as u64;
            let ours = self.blocks(range.clone())?;
            let has_all = match &theirs {
                Some(theirs) => has_all(&theirs.blocks(range)?, &ours),
                None => false,
            };
            if has_all {
                merge.skip().map_err(fail)?;
            } else {
                wait(merge.write(&ours))?.map_err(fail)?;
                lacking += 1;
            }
            progress.tick_bytes(done);
        }
        Ok(lacking)
    }

    /// Writes it to the file of a lock, with the keys of another one of the same size if there is
    /// one.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`], [`Error::Stopped`]; the file is unchanged then.
    pub fn save(
        &self,
        (lock, force): (&FilterLock, bool),
        other: Option<&Bits<'_>>,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<mayhap_store::Assembled, Error> {
        let options = mayhap_keys::KeyOptions::from_header(&self.name, &self.key_options)?;
        let model = Model::new(self.params, self.function, &options.to_header());
        let mut incoming = Incoming::begin(lock, &model.header()?, force)?;
        for range in self.pieces() {
            stop.check()?;
            let done = range.end * Block::BYTES as u64;
            let mut blocks = self.blocks(range.clone())?;
            if let Some(other) = other {
                for (block, other) in blocks.to_mut().iter_mut().zip(&*other.blocks(range)?) {
                    block.0.iter_mut().zip(other.0).for_each(|(lane, other)| *lane |= other);
                }
            }
            incoming.write(&blocks)?;
            progress.tick_bytes(done);
        }
        Ok(incoming.finish()?)
    }
}

/// Whether the first has all bits of the second.
fn has_all(these: &[Block], those: &[Block]) -> bool {
    these.iter().zip(those).all(|(a, b)| a.0.iter().zip(b.0).all(|(a, b)| b & !a == 0))
}

/// Whether the filter on a server was switched to another one while it was read or merged.
pub fn is_switched(error: &Error) -> bool {
    matches!(error, Error::Remote(source)
        if matches!(&**source, mayhap_sets::server::Error::Redis { source: Switched { .. }, .. }))
}

/// The error for two filters, by name, that differ in this.
pub fn refuse_unlike(there: &str, ours: &str, source: &str) -> Error {
    Error::usage(
        format!("{ours} and {there} cannot be merged: {source}"),
        "create one like the other: mayhap create FILTER --like OTHER",
    )
}

/// Parameters and digest function of a file.
fn parts_of(
    path: &Path,
    header: &Header,
    how: Reading<'_>,
) -> Result<(FilterParams, DigestFunction), Error> {
    let bad = |source| mayhap_store::Error::Format { path: path.to_owned(), source };
    let params = header.params().map_err(bad)?;
    Ok((params, header.digest_function(how.key).map_err(bad)?))
}
