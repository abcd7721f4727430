//! The filter.

use super::error::{is_word_unknown, only_serve, refused};
use super::info::{self, BfInfo};
use super::options::BfOptions;
use crate::replies::expiry;
use crate::server::{Command, Reply, Server, words};
use crate::{Error, FilterInfo, InsertedBatch, Loss, RemoteFilter};
use mayhap::Bitmap;
use redis::{Value, cmd};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Keys in one command.
const MAX_KEYS: usize = 1_000;

/// A filter kept by the server behind its `BF.*` commands: one value, with its own hashes.
///
/// An insertion is `BF.INSERT name NOCREATE`, as `BF.ADD` would replace an expired or deleted
/// filter by one with the server's defaults. A query is `BF.MEXISTS` followed by `EXISTS`, as a
/// missing filter answers with no. Both return [`Error::Gone`] instead.
///
/// # Examples
///
/// ```
/// use mayhap_redis::*;
/// # use test_servers::{BfServer, Dialect};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redis = BfServer::start(Dialect::RedisBloom)?;
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// // Such as redis://127.0.0.1:6379.
/// let address = Address::parse(&redis.url())?;
/// let server = Server::connect(&address, ServerOptions::default()).await?;
/// let (seen, _) = RemoteBf::reserve(&server, "seen", BfOptions::new(100_000, 0.001)).await?;
/// assert_eq!(seen.insert(b"a").await?, Inserted::New);
/// assert!(seen.contains(b"a").await?);
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone)]
pub struct RemoteBf {
    pub(super) server: Server,
    pub(super) name: Arc<str>,
    /// p, if this handle created the filter or the server reports it.
    target_fpp: Option<f64>,
    /// The kind and digest function that a server reports, and how a full filter grows.
    pub(super) kind: Option<Arc<str>>,
    pub(super) digest: Option<Arc<str>>,
    store: Option<Arc<str>>,
    grows: bool,
}

impl RemoteBf {
    /// `BF.RESERVE`: returns the filter of this name, and whether it was created; an existing one
    /// must be equal as far as the server reports it (`RedisBloom` does not report p). After a lost
    /// reply an equal filter counts as created.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] for a different filter; [`Error::Refused`] with the server's message for
    /// parameters that it rejects, if it has no `BF.*` commands, or for a kind or digests, which
    /// only `mayhap serve` has; [`Error::WrongType`]; the errors of a call.
    pub async fn reserve(
        server: &Server,
        name: &str,
        options: BfOptions,
    ) -> Result<(Self, bool), Error> {
        let mut reserve = cmd("BF.RESERVE");
        reserve.arg(name);
        options.push(&mut reserve);
        let target_fpp = Some(options.target_fpp);
        let mut filter = Self { target_fpp, ..Self::new(server, name) };
        let reply = server.one(Command::write(name, reserve)).await?;
        let repeated = reply.repeated;
        match filter.value(reply, "BF.RESERVE") {
            Ok(_) => {
                let info = filter.described().await?;
                if info.own.kind.is_none() && options.is_of_serve() {
                    // RedisBloom ignores words that it does not know.
                    filter.delete().await?;
                    return Err(only_serve());
                }
                filter.take_over(info);
                return Ok((filter, true));
            }
            Err(Error::Refused { reason, .. }) if reason == "ERR item exists" => {}
            Err(Error::Refused { reason, .. })
                if options.is_of_serve() && is_word_unknown(&reason) =>
            {
                return Err(only_serve());
            }
            Err(error) => return Err(error),
        }
        let info = filter.described().await?;
        match info.differs(&options) {
            None => {
                filter.take_over(info);
                Ok((filter, repeated))
            }
            Some((parameter, has, wanted)) => {
                Err(Error::Exists { name: name.into(), parameter, has, wanted })
            }
        }
    }

    /// The filter of this name.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Refused`] if the server has no `BF.*` commands;
    /// [`Error::WrongType`]; the errors of a call.
    pub async fn attach(server: &Server, name: &str) -> Result<Self, Error> {
        let mut filter = Self::new(server, name);
        let info = filter.described().await?;
        filter.take_over(info);
        Ok(filter)
    }

    fn new(server: &Server, name: &str) -> Self {
        Self {
            server: server.clone(),
            name: name.into(),
            target_fpp: None,
            kind: None,
            digest: None,
            store: None,
            grows: false,
        }
    }

    fn take_over(&mut self, info: BfInfo) {
        self.target_fpp = info.own.target_fpp.or(self.target_fpp);
        self.grows = info.expansion.is_some();
        (self.kind, self.digest) = (info.own.kind.map(Into::into), info.own.digest.map(Into::into));
        self.store = info.own.store.map(Into::into);
    }

    /// The kind by the names of `mayhap serve`: `scalable`, `blocked`, `counting` and so on; `None`
    /// on other servers.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// The address of the store that `mayhap serve --store` is in front of, which has the filter:
    /// it takes more keys than it was made for, at a rising rate, and counts by its bits.
    pub fn store(&self) -> Option<&str> {
        self.store.as_deref()
    }

    /// Whether a full filter gets another layer.
    pub fn grows(&self) -> bool {
        self.grows
    }

    /// `BF.CARD`: the number of insertions that found a new key.
    ///
    /// # Errors
    ///
    /// The errors of a call. A missing filter has 0.
    pub async fn card(&self) -> Result<u64, Error> {
        let reply = self.server.one(self.read("BF.CARD")).await?;
        match self.value(reply, "BF.CARD")? {
            Value::Int(items @ 0..) => Ok(items.unsigned_abs()),
            other => Err(Error::strange("BF.CARD", &other)),
        }
    }

    /// The server's information, with the fields that only some servers have.
    pub(super) async fn described(&self) -> Result<BfInfo, Error> {
        let mut commands = vec![self.read("BF.INFO")];
        commands.extend(info::FIELDS.map(|name| self.field(name)));
        let mut replies = self.server.run(commands).await?.into_iter();
        let Some(info) = replies.next() else {
            return Err(Error::strange("BF.INFO", &Value::Nil));
        };
        let mut info = BfInfo::read(&self.value(info, "BF.INFO")?)?;
        // A server without the field rejects it.
        info.complete(&info::FIELDS.map(|_| replies.next().and_then(|reply| reply.value.ok())));
        Ok(info)
    }

    /// One field of the server's information.
    pub(super) fn field(&self, name: &str) -> Command {
        let mut read = self.read("BF.INFO");
        read.cmd.arg(name);
        read
    }

    pub(super) fn read(&self, name: &str) -> Command {
        Command::read(&self.name, words(&[name, &self.name]))
    }

    pub(super) fn value(&self, reply: Reply, command: &str) -> Result<Value, Error> {
        reply.value.map_err(|error| refused(error, &self.name, command))
    }

    pub(super) fn gone(&self) -> Error {
        Error::Gone { name: self.name.to_string(), loss: Loss::CreateAgain.into() }
    }

    /// One reply per key. An insertion that fails ends the array with its error.
    pub(super) fn answers(
        &self,
        reply: Reply,
        command: &str,
        keys: usize,
    ) -> Result<Vec<bool>, Error> {
        let value = self.value(reply, command)?;
        let Value::Array(answers) = &value else { return Err(Error::strange(command, &value)) };
        let answer = |answer: &Value| match answer {
            Value::Int(is) => Ok(*is != 0),
            Value::Boolean(is) => Ok(*is),
            Value::ServerError(error) => {
                let reason = crate::server::text_of(error);
                let error = Error::Refused { what: command.into(), reason };
                Err(refused(error, &self.name, command))
            }
            _ => Err(Error::strange(command, &value)),
        };
        let answers = answers.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
        if answers.len() == keys { Ok(answers) } else { Err(Error::strange(command, &value)) }
    }
}

impl RemoteFilter for RemoteBf {
    fn name(&self) -> &str {
        &self.name
    }

    /// # Errors
    ///
    /// [`Error::Full`]: the keys before the first new one that did not fit are in it.
    async fn insert_batch(&self, keys: &[&[u8]]) -> Result<InsertedBatch, Error> {
        let mut batch = InsertedBatch::present(keys.len());
        if keys.is_empty() {
            return Ok(batch);
        }
        let inserts = keys.chunks(MAX_KEYS).map(|keys| {
            let mut insert = cmd("BF.INSERT");
            insert.arg(&*self.name).arg("NOCREATE").arg("ITEMS").arg(keys);
            Command::write(&self.name, insert)
        });
        let replies = self.server.run(inserts.collect()).await?;
        for (part, (keys, reply)) in keys.chunks(MAX_KEYS).zip(replies).enumerate() {
            let repeated = reply.repeated;
            let answers = match self.answers(reply, "BF.INSERT", keys.len()) {
                Err(Error::NotFound { .. }) => return Err(self.gone()),
                answers => answers?,
            };
            for (i, is_new) in answers.into_iter().enumerate() {
                batch.note(part * MAX_KEYS + i, is_new, repeated);
            }
        }
        Ok(batch)
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, Error> {
        let mut found = Bitmap::new();
        found.clear_to(keys.len());
        if keys.is_empty() {
            return Ok(found);
        }
        let commands = keys.chunks(MAX_KEYS).map(|keys| {
            let mut exists = self.read("BF.MEXISTS");
            exists.cmd.arg(keys);
            exists
        });
        let commands = commands.chain([self.read("EXISTS")]).collect();
        let mut replies = self.server.run(commands).await?;
        let is_there = replies.pop().map(|reply| reply.int(&self.name, "EXISTS")).transpose()?;
        for (part, (keys, reply)) in keys.chunks(MAX_KEYS).zip(replies).enumerate() {
            let answers = self.answers(reply, "BF.MEXISTS", keys.len())?;
            for (i, _) in answers.into_iter().enumerate().filter(|(_, is)| *is) {
                found.set(part * MAX_KEYS + i);
            }
        }
        if is_there == Some(0) { Err(self.gone()) } else { Ok(found) }
    }

    /// The server reports neither m nor k nor the number of set bits: `num_bits` is its memory, the
    /// other two are 0. `estimated_items` is its count. `estimated_fpp` is the prediction of
    /// `mayhap serve`; on other servers the rate of a filter of rate p with this many keys, for
    /// several layers the largest possible sum, and NaN if p is unknown, as when attached to
    /// `RedisBloom`.
    async fn info(&self) -> Result<FilterInfo, Error> {
        let commands = vec![self.read("BF.INFO"), self.read("PTTL"), self.field("FPP")];
        let replies = self.server.run(commands).await?;
        let [info, ttl, fpp] =
            <[Reply; 3]>::try_from(replies).map_err(|_| Error::strange("BF.INFO", &Value::Nil))?;
        let info = BfInfo::read(&self.value(info, "BF.INFO")?)?;
        // A server's own prediction takes its layers into account.
        let predicted = info::one(fpp.value.ok().as_ref()).as_ref().and_then(info::number);
        // An empty window of version 0.1 has -0.
        let predicted = predicted.map(f64::abs);
        let by_count = self.target_fpp.map(|p| info.estimated_fpp(p));
        Ok(FilterInfo {
            layout: "bf",
            num_bits: info.bytes.saturating_mul(8),
            num_hashes: 0,
            expected_items: Some(info.capacity),
            // A window forgets keys instead of filling up.
            grows: info.expansion.is_some() || matches!(self.kind(), Some("window" | "clearing")),
            target_fpp: self.target_fpp,
            count_ones: 0,
            estimated_items: Some(info.items as f64),
            estimated_fpp: predicted.or(by_count).unwrap_or(f64::NAN),
            num_shards: 1,
            num_bytes: info.bytes,
            ttl_ms: u64::try_from(ttl.int(&self.name, "PTTL")?).ok(),
        })
    }

    async fn expire(&self, after: Option<Duration>) -> Result<(), Error> {
        let commands = vec![expiry(&self.name, after), self.read("EXISTS")];
        let replies = self.server.run(commands).await?;
        for (what, reply) in ["PEXPIRE", "EXISTS"].into_iter().zip(replies) {
            // PERSIST answers 0 where there was no expiry.
            if reply.int(&self.name, what)? == 0 && what == "EXISTS" {
                return Err(self.gone());
            }
        }
        Ok(())
    }

    async fn clear(&self) -> Result<(), Error> {
        self.replace_by_empty().await
    }

    async fn delete(&self) -> Result<bool, Error> {
        let del = Command::write(&self.name, words(&["DEL", &self.name]));
        Ok(self.server.one(del).await?.int(&self.name, "DEL")? > 0)
    }
}

impl fmt::Debug for RemoteBf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteBf({:?}, {:?})", self.name, self.target_fpp)
    }
}
