//! The filter on a server, as its users see it.

use super::batch;
use super::bulk;
use super::coalesce::Coalescer;
use super::create::{self, attach};
use super::download::Download;
use super::handle::Handle;
use super::info::{self, Extent};
use super::life;
use super::maker::remove;
use super::options::{NativeOptions, millis};
use super::place::Target;
use super::round::Act;
use super::shards::check_name;
use super::swap;
use super::union::{Merge, Union};
use super::wire::read_meta;
use crate::{Error, FilterInfo, Inserted, InsertedBatch, RemoteFilter, Server};
use mayhap::{AnyFilter, Bitmap, Block, Digest, DigestFunction, FilterParams, SecretKey};
use std::sync::Arc;
use std::time::Duration;

/// A filter in mayhap's own layout on a server: blocks in string values, with all bits of a key in
/// one of them.
///
/// Cheap to clone; clones share their state. A call costs one round trip. An insertion is one
/// `BITFIELD`, so "new" is decided by the server, once for each key; a query is a `GETRANGE` of the
/// key's block. Single calls of many tasks are coalesced: while four pipelines of insertions, or
/// two of queries, are in flight, further keys wait for one of them to complete. Many tasks,
/// processes and machines may use one filter at once.
///
/// If it was switched to a rebuilt one, a handle detects that and continues with the new one. If
/// part of it is missing because it expired, was evicted or was deleted, calls return
/// [`Error::Gone`], never "absent".
///
/// # Examples
///
/// ```
/// use mayhap_redis::{
///     Address, Inserted, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions,
/// };
/// # use test_servers::{RedisOptions, RedisServer, ready};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if !ready(&["redis-server"]) {
/// #     return Ok(());
/// # }
/// # let redis = RedisServer::start(&RedisOptions::default())?;
/// # let url = format!("{}/0/seen", redis.url());
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let address = Address::parse(&url)?; // such as redis://127.0.0.1:6379/0/seen
/// let server = Server::connect(&address, ServerOptions::default()).await?;
/// let options = NativeOptions::for_items(100_000, 0.001)?;
/// let seen = NativeFilter::create(&server, "seen", &options).await?;
/// assert_eq!(seen.insert(b"https://example.org/").await?, Inserted::New);
/// assert!(seen.contains(b"https://example.org/").await?);
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct NativeFilter {
    calls: Arc<Coalescer>,
    was_created: bool,
}

impl NativeFilter {
    pub(super) fn of(handle: Handle, was_created: bool) -> Self {
        Self { calls: Arc::new(Coalescer::new(handle)), was_created }
    }

    fn handle(&self) -> &Arc<Handle> {
        &self.calls.handle
    }

    /// Creates a filter, or attaches to the one of this name if it has the same parameters. If two
    /// clients create it at once, one does so and the other waits and attaches.
    ///
    /// Layout, m, k, n, p, digest function and key options must be the same; the time to live and
    /// the size of shards are taken from the existing filter.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] with the first parameter that differs, [`Error::Busy`] if another creator
    /// does not finish, [`Error::ServerFull`] (nothing is left behind), [`Error::BadName`],
    /// [`Error::Layout`], [`Error::WrongType`], [`Error::Damaged`], and connection errors.
    pub async fn create(
        server: &Server,
        name: &str,
        options: &NativeOptions,
    ) -> Result<Self, Error> {
        Self::create_at(server, Target::live(name), options, None).await
    }

    async fn create_at(
        server: &Server,
        place: Target<'_>,
        options: &NativeOptions,
        hold_ms: Option<u64>,
    ) -> Result<Self, Error> {
        check_name(place.name)?;
        let (made, was_created) = create::create(server, place, options, hold_ms).await?;
        Ok(Self::of(Handle::new(server, place, options.digest_function, made), was_created))
    }

    /// Checks that a filter may have this name: 1 to 512 bytes, without `{`, `}` and control
    /// characters. Needs no server.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_redis::NativeFilter;
    ///
    /// assert!(NativeFilter::check_name("seen urls/ü:1").is_ok());
    /// assert!(NativeFilter::check_name("a{b").is_err());
    /// ```
    pub fn check_name(name: &str) -> Result<(), Error> {
        check_name(name)
    }

    /// Attaches to a filter, with its secret key if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Busy`] if its creator does not finish, [`Error::Filter`] with
    /// a wrong secret key or none, or with one for a filter that has none, [`Error::BadName`],
    /// [`Error::WrongType`], [`Error::Damaged`], and connection errors.
    pub async fn attach(
        server: &Server,
        name: &str,
        secret_key: Option<SecretKey>,
    ) -> Result<Self, Error> {
        check_name(name)?;
        let place = Target::live(name);
        let (made, digest_function) = attach(server, place, secret_key).await?;
        Ok(Self::of(Handle::new(server, place, digest_function, made), false))
    }

    /// Begins, or joins, the building of a filter that will replace the one of this name.
    ///
    /// It is invisible until [`NativeFilter::swap`]. It has its own parameters; the digest function
    /// should be the same, or handles of the old one return [`Error::Gone`] after the switch. It
    /// expires after `hold` if it is not switched to; the time to live of the options counts from
    /// the switch. Keys that others insert meanwhile go only into the old filter: insert into both
    /// during a rebuild.
    ///
    /// # Errors
    ///
    /// Same as [`NativeFilter::create`]; [`Error::Exists`] if one with other parameters is being
    /// built.
    pub async fn rebuild(
        server: &Server,
        name: &str,
        options: &NativeOptions,
        hold: Duration,
    ) -> Result<Self, Error> {
        Self::create_at(server, Target::next(name), options, Some(millis(hold)?)).await
    }

    /// Replaces the old filter, if there is one, by a rebuilt one in one step.
    ///
    /// Clients see either the old filter or the new one, never parts of both. An insertion
    /// acknowledged after the switch is in the new one; handles of the old one continue with the
    /// new one automatically. Writers wait for the two round trips that it takes.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if others keep switching or creating, [`Error::Gone`] if the rebuilt filter
    /// no longer exists, [`Error::Refused`] for a filter that was not created by
    /// [`NativeFilter::rebuild`]; connection errors, after which either filter may be in place.
    pub async fn swap(&self) -> Result<(), Error> {
        swap::swap(self.handle()).await
    }

    /// Deletes an unfinished [`NativeFilter::rebuild`] or [`NativeFilter::upload`]; returns whether
    /// there was one.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`], [`Error::WrongType`], [`Error::Damaged`], connection errors.
    pub async fn discard(server: &Server, name: &str) -> Result<bool, Error> {
        check_name(name)?;
        Self::remove(server, Target::next(name)).await
    }

    async fn remove(server: &Server, place: Target<'_>) -> Result<bool, Error> {
        match read_meta(server, place).await?.0 {
            Some(meta) => remove(server, place, meta).await,
            None => Ok(false),
        }
    }

    /// The parameters of the filter, as known to this handle.
    pub fn params(&self) -> FilterParams {
        self.handle().current().made.meta.params
    }

    /// Which of the filters that had this name the handle found last: a random number, and another
    /// one as soon as it has noticed that the filter was replaced. Keys that were inserted under an
    /// earlier one are in the new filter only if it was made with them.
    pub fn generation(&self) -> i64 {
        self.handle().current().made.meta.generation
    }

    /// Finds out whether the filter of this handle still has its name: the handle continues with
    /// another one that has taken it.
    ///
    /// All calls notice that shards are missing, but only this one, [`NativeFilter::info`] and the
    /// like that the parameters are, which may have been evicted alone: other clients do not find
    /// the filter then, and may create one in its place. A program that keeps a handle for long
    /// calls it now and then.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if there are no parameters any more: what is left of the filter is deleted.
    /// [`Error::Busy`] if another one is being created for too long; connection errors.
    ///
    /// # Examples
    ///
    /// ```
    /// # use mayhap_redis::*;
    /// # use test_servers::{RedisOptions, RedisServer, ready};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if !ready(&["redis-server"]) {
    /// #     return Ok(());
    /// # }
    /// # let redis = RedisServer::start(&RedisOptions::default())?;
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let address = Address::parse(&redis.url())?;
    /// # let server = Server::connect(&address, ServerOptions::default()).await?;
    /// let options = NativeOptions::for_items(1_000, 0.01)?;
    /// let seen = NativeFilter::create(&server, "seen", &options).await?;
    /// seen.confirm().await?;
    /// // Evicted, as it may be used less often than the shards.
    /// redis.cli(&["DEL", "{seen}:meta"])?;
    /// assert!(matches!(seen.confirm().await, Err(Error::Gone { .. })));
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub async fn confirm(&self) -> Result<(), Error> {
        self.handle().confirm().await
    }

    /// A number that is larger than before if a master of the filter was lost or replaced
    /// meanwhile: its successor may lack the last of what it acknowledged. A call inserts its own
    /// keys again then; a caller that reports several calls as one compares the number.
    pub fn losses(&self) -> u64 {
        let made = &self.handle().current().made;
        let slots = made.keys.iter().map(|&(_, slot)| slot);
        slots.map(|slot| self.server().lost_at(slot)).max().unwrap_or(0)
    }

    /// How keys become digests.
    pub fn digest_function(&self) -> DigestFunction {
        self.handle().digest_function
    }

    /// The options by which keys are extracted from input lines, as in a file.
    pub fn key_options(&self) -> String {
        self.handle().current().made.meta.key_options.clone()
    }

    /// Whether this handle created the filter, rather than finding it.
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    /// The connection.
    pub fn server(&self) -> &Server {
        &self.handle().server
    }

    /// Inserts keys that are already digests. After an error any of them may be in it.
    ///
    /// If the filter is switched to another one meanwhile, keys that went into the old one are
    /// inserted again, so that all keys of a call are in one filter.
    ///
    /// One `BITFIELD` for up to 32 bits of a shard (eight keys of k = 4, four of k = 8), in one
    /// round trip to each node for 16,384 keys. If a call has equal digests, the first one is new
    /// and the others are present.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`], [`Error::ServerFull`], [`Error::WrongType`], [`Error::Refused`],
    /// [`Error::Busy`] if a switch to another filter does not finish, and connection errors.
    pub async fn insert_digests(&self, digests: &[Digest]) -> Result<InsertedBatch, Error> {
        batch::insert(self.handle(), digests).await
    }

    /// Queries keys that are already digests: bit `i` is the answer for `digests[i]`.
    ///
    /// One `GETRANGE` per key and one per shard (layout `standard`: `BITFIELD_RO`), in one round
    /// trip to each node for 16,384 keys. A single filter answers all of them: if it is switched to
    /// another meanwhile, they are queried again.
    ///
    /// # Errors
    ///
    /// Same as [`NativeFilter::insert_digests`]; also [`Error::Busy`] if one switch after another
    /// happens during a query of more than 16,384 keys.
    pub async fn contains_digests(&self, digests: &[Digest]) -> Result<Bitmap, Error> {
        batch::contains(self.handle(), digests).await
    }

    /// Inserts a large number of keys that are already digests, without reporting which are new.
    ///
    /// The bits are put into shards here and merged on the server, by one script per shard with
    /// `BITOP OR`: the traffic is the size of the shards that have keys, whatever the number of
    /// keys. That is less than [`NativeFilter::insert_digests`] sends if there is more than about
    /// one key per 400 bytes of shards (`docs/redis.md`). A shard is merged atomically. At most 8
    /// MiB of shards, or one, are in flight at once, and in memory four times; they have to arrive
    /// within [`crate::ServerOptions::response_timeout`].
    ///
    /// # Errors
    ///
    /// Same as [`NativeFilter::insert_digests`]; any of the keys may be in it then.
    pub async fn insert_bulk(&self, digests: &[Digest]) -> Result<(), Error> {
        bulk::insert(self.handle(), digests).await
    }

    /// Begins to add all keys of another filter, a shard at a time.
    ///
    /// Each shard is merged atomically; an unfinished union leaves some of the keys.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] with the first parameter in which the two differ: layout, m, k or digest.
    pub fn union<'a, S: AsRef<[Block]>>(
        &self,
        other: &'a AnyFilter<S>,
    ) -> Result<Union<'a>, Error> {
        Union::new(self.handle(), other)
    }

    /// Begins to add all keys of a filter with these parameters and digests, whose blocks come from
    /// elsewhere: [`Merge::wanted`] names them.
    ///
    /// # Errors
    ///
    /// As [`NativeFilter::union`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use mayhap_redis::*;
    /// # use test_servers::{RedisOptions, RedisServer, ready};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if !ready(&["redis-server"]) {
    /// #     return Ok(());
    /// # }
    /// # let redis = RedisServer::start(&RedisOptions::default())?;
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let address = Address::parse(&redis.url())?;
    /// # let server = Server::connect(&address, ServerOptions::default()).await?;
    /// # let options = NativeOptions::for_items(1_000, 0.01)?;
    /// # let from = NativeFilter::create(&server, "from", &options).await?;
    /// # let to = NativeFilter::create(&server, "to", &options).await?;
    /// # from.insert(b"a").await?;
    /// let from = from.download().await?;
    /// let mut merge = to.merge(&from.params(), &to.digest_function())?;
    /// while let Some(range) = merge.wanted()? {
    ///     merge.write(&from.blocks(range).await?).await?;
    /// }
    /// assert!(to.contains(b"a").await?);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn merge(
        &self,
        params: &FilterParams,
        digest_function: &DigestFunction,
    ) -> Result<Merge, Error> {
        Merge::new(self.handle(), params, digest_function)
    }

    /// Begins to read the whole filter, in the form of the body of a file: all blocks in order.
    ///
    /// Others may insert meanwhile; the result has every key acknowledged before, and may have any
    /// of the later ones.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`], and connection errors.
    pub async fn download(&self) -> Result<Download, Error> {
        Download::new(self.handle()).await
    }

    /// Sets the expiry of all keys of the filter, counted from now; `None`: never.
    ///
    /// No shard outlives the parameters, also if the call is cut off: these are the first to be
    /// extended and the last to be shortened.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`]; [`Error::Filter`] for a time below 1 ms; connection errors, after which
    /// some of the keys may have the new time and the others the old one: set it again. If it is
    /// not, the filter is [`Error::Gone`] from the earlier of the two times on.
    pub async fn refresh_ttl(&self, ttl: Option<Duration>) -> Result<(), Error> {
        life::refresh_ttl(self.handle(), ttl.map_or(Ok(0), millis)?).await
    }

    fn digests(&self, keys: &[&[u8]]) -> Vec<Digest> {
        let mut digests = vec![Digest::default(); keys.len()];
        self.handle().digest_function.digest_batch(keys, &mut digests);
        digests
    }
}

impl RemoteFilter for NativeFilter {
    fn name(&self) -> &str {
        &self.handle().name
    }

    async fn insert(&self, key: &[u8]) -> Result<Inserted, Error> {
        let answer =
            self.calls.answer(self.handle().digest_function.digest(key), Act::Insert).await?;
        Ok(match (answer.yes, answer.repeated) {
            (true, _) => Inserted::New,
            (false, true) => Inserted::Unsure,
            (false, false) => Inserted::Present,
        })
    }

    async fn insert_batch(&self, keys: &[&[u8]]) -> Result<InsertedBatch, Error> {
        self.insert_digests(&self.digests(keys)).await
    }

    async fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.calls.answer(self.handle().digest_function.digest(key), Act::Query).await?.yes)
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, Error> {
        self.contains_digests(&self.digests(keys)).await
    }

    async fn info(&self) -> Result<FilterInfo, Error> {
        info::read(self.handle(), Extent::All).await
    }

    async fn glance(&self) -> Result<FilterInfo, Error> {
        info::read(self.handle(), Extent::Sample).await
    }

    async fn expire(&self, after: Option<Duration>) -> Result<(), Error> {
        self.refresh_ttl(after).await
    }

    /// Switches to an empty filter with the same parameters: readers see the old one or the new
    /// one.
    async fn clear(&self) -> Result<(), Error> {
        swap::switch_to_empty(self.handle()).await
    }

    async fn delete(&self) -> Result<bool, Error> {
        Self::remove(self.server(), self.handle().place()).await
    }
}
