//! The filter.

use super::{config, script};
use crate::bitfield::{self, Op, Part, parts};
use crate::observe::{scaled, windows};
use crate::replies::millis;
use crate::server::{Command, Server, words};
use crate::{Error, FilterInfo, InsertedBatch, Loss, RemoteFilter};
use mayhap::Bitmap;
use mayhap::sizing::estimated_fpp;
use mayhap_formats::{KeyType, Limits, RedissonConfig, RedissonScheme, RedissonSpelling};
use redis::{Value, cmd};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A filter shared with Redisson.
///
/// An insertion is one script, as in Redisson: it sets bits only if the config still has the size
/// and k known to this filter. A query is a `BITFIELD_RO` followed by an `HMGET` of the config, in
/// one round trip. If they differ, the error is [`Error::Gone`] (Redisson: "Bloom filter config has
/// been changed"). So no bit is set, and no key missed, in a filter that has been recreated with
/// other parameters.
///
/// Elements are passed as encoded by their codec, or as text after [`RemoteRedisson::encoding`].
/// `add` of a collection counts `insert_batch(…).new`, `contains` of a collection
/// `contains_batch(…)`.
///
/// # Examples
///
/// ```
/// use mayhap_formats::KeyType;
/// use mayhap_redis::*;
/// # use test_servers::{RedisOptions, RedisServer, ready};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if !ready(&["redis-server"]) {
/// #     return Ok(());
/// # }
/// # let redis = RedisServer::start(&RedisOptions::default())?;
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// // Such as redis://127.0.0.1:6379.
/// let address = Address::parse(&redis.url())?;
/// let server = Server::connect(&address, ServerOptions::default()).await?;
/// // RBloomFilter<String> users = client.getBloomFilter("users"); users.tryInit(100_000, 0.01);
/// let (users, is_new) = RemoteRedisson::try_init(&server, "users", 100_000, 0.01).await?;
/// let users = users.encoding(KeyType::KryoString);
/// assert_eq!((is_new, users.insert(b"alice").await?), (true, Inserted::New));
/// assert!(users.contains(b"alice").await?);
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone)]
pub struct RemoteRedisson {
    inner: Arc<Inner>,
    key_type: KeyType,
}

struct Inner {
    server: Server,
    name: String,
    config_key: String,
    config: RedissonConfig,
    scheme: RedissonScheme,
}

fn orphan(name: &str, config_key: &str) -> Error {
    let reason = format!(
        "the bits of an older filter are there without its config {config_key}, and would count as \
         keys of the new one; delete them (DEL {name}), or use another name"
    );
    Error::Refused { what: format!("to create {name}"), reason }
}

impl RemoteRedisson {
    /// `tryInit(n, p)`: writes the config unless there is one; returns whether it did. The filter
    /// uses the config on the server, whichever client wrote it.
    ///
    /// After a lost reply a config equal to the requested one counts as written by this call: two
    /// clients may both get that answer, but never neither.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] with Redisson's message for parameters that it rejects; [`Error::Refused`]
    /// for bits without a config, which would add false keys to the new filter, and hide the keys
    /// of the old one; the errors of [`RemoteRedisson::attach`].
    pub async fn try_init(
        server: &Server,
        name: &str,
        expected_insertions: i64,
        false_probability: f64,
    ) -> Result<(Self, bool), Error> {
        let spelling = RedissonSpelling::Exponent;
        let wanted = RedissonConfig::new(expected_insertions, false_probability, spelling)?;
        let hashes = u64::from(wanted.num_hashes());
        Limits::default().check_hashes("hashIterations", hashes)?;
        let config_key = RedissonConfig::key(name);
        for attempt in 0.. {
            match config::read(server, name, &config_key).await {
                // Another client may have written both between the two looks.
                Err(Error::Gone { .. }) if attempt == 0 => {}
                Err(Error::Gone { .. }) => return Err(orphan(name, &config_key)),
                _ => break,
            }
        }
        let mut init = script::write(script::INIT, &[&config_key]);
        for (name, value) in wanted.fields() {
            init.cmd.arg(name).arg(value);
        }
        let reply = server.one(init).await?;
        let repeated = reply.repeated;
        let written = reply.int(&config_key, "EVAL")? == 1;
        let filter = Self::attach(server, name).await?;
        let is_mine = written || (repeated && filter.inner.config == wanted);
        Ok((filter, is_mine))
    }

    /// The filter of this name with its config.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] (Redisson: "Bloom filter is not initialized"); [`Error::Gone`] if only
    /// its bits exist; [`Error::WrongType`]; [`Error::Damaged`] for a config that no filter can
    /// have, or of more than 1,100 hash functions; the errors of a call.
    pub async fn attach(server: &Server, name: &str) -> Result<Self, Error> {
        let config_key = RedissonConfig::key(name);
        let config = config::read(server, name, &config_key).await?;
        let scheme = RedissonScheme::new(config.num_hashes(), config.size())?;
        let (server, name) = (server.clone(), name.to_owned());
        let inner = Inner { server, name, config_key, config, scheme };
        Ok(Self { inner: Arc::new(inner), key_type: KeyType::Bytes })
    }

    /// The same filter for text keys, encoded with this codec.
    #[must_use]
    pub fn encoding(mut self, key_type: KeyType) -> Self {
        self.key_type = key_type;
        self
    }

    /// The bits as they are in the string, up to the last byte that was written.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] beyond `max_bytes`; the errors of a call.
    pub async fn bytes(&self, max_bytes: u64) -> Result<Vec<u8>, Error> {
        crate::string::read(&self.inner.server, &self.inner.name, max_bytes).await
    }

    /// The config.
    pub fn config(&self) -> &RedissonConfig {
        &self.inner.config
    }

    /// `count()`: the number of elements, from the set bits; 2^63 − 1 if all are set.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`]; the errors of a call.
    pub async fn count(&self) -> Result<i64, Error> {
        self.info().await.map(|info| self.inner.scheme.count(info.count_ones))
    }

    /// `rename(name)`: moves config and bits atomically, replacing a filter of that name. This is
    /// how a rebuilt filter replaces the old one; clients attached to the old one continue with the
    /// new bits if size and k are the same, and get [`Error::Gone`] otherwise.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Refused`] in a cluster unless both names are in one slot
    /// (`{users}new`, `{users}`); the errors of a call.
    pub async fn rename(&self, name: &str) -> Result<Self, Error> {
        self.rename_as(name, false).await
    }

    /// [`RemoteRedisson::rename`], but [`Error::NameTaken`] if there is a filter of that name, or
    /// another value.
    pub(crate) async fn rename_to_free(&self, name: &str) -> Result<Self, Error> {
        self.rename_as(name, true).await
    }

    async fn rename_as(&self, name: &str, to_free: bool) -> Result<Self, Error> {
        let inner = &self.inner;
        let config_key = RedissonConfig::key(name);
        let keys = [&inner.config_key, &inner.name, &config_key, name];
        let mut rename = script::write(script::RENAME, &keys);
        rename.cmd.arg(if to_free { "free" } else { "" });
        let reply = inner.server.one(rename).await?;
        let repeated = reply.repeated;
        let done = match reply.int(name, "RENAME")? {
            -1 => return Err(Error::NameTaken { name: name.into() }),
            done => done == 1,
        };
        if !done && !repeated {
            return Err(self.not_found());
        }
        let renamed = Self::attach(&inner.server, name).await?.encoding(self.key_type);
        // After a lost reply, the other name shows the outcome.
        if done || renamed.inner.config == inner.config {
            return Ok(renamed);
        }
        Err(self.not_found())
    }

    /// Runs a script that returns 1 if there is a config.
    async fn done_if_there(&self, script: Command, what: &str) -> Result<(), Error> {
        let reply = self.inner.server.one(script).await?;
        let done = reply.int(&self.inner.name, what)? == 1;
        if done { Ok(()) } else { Err(self.not_found()) }
    }

    fn num_bits(&self) -> u64 {
        self.inner.config.size().unsigned_abs()
    }

    /// The information, from the bits in these bytes.
    async fn read_info(&self, pieces: &[Range<u64>]) -> Result<FilterInfo, Error> {
        let inner = &self.inner;
        let now = match config::read(&inner.server, &inner.name, &inner.config_key).await {
            Ok(now) if same(&now, &inner.config) => now,
            Ok(_) | Err(Error::NotFound { .. }) => {
                return Err(self.explained(self.changed()).await);
            }
            Err(other) => return Err(other),
        };
        let read = |name, key: &str| Command::read(key, words(&[name, key]));
        let (name, config_key) = (&*inner.name, &*inner.config_key);
        let counts = pieces.iter().map(|bytes| {
            let mut count = cmd("BITCOUNT");
            count.arg(name).arg(bytes.start).arg(bytes.end.saturating_sub(1));
            Command::read(name, count)
        });
        let others = [read("STRLEN", name), read("PTTL", name), read("PTTL", config_key)];
        let commands = counts.chain(others).collect();
        let mut replies = inner.server.run(commands).await?.into_iter();
        let mut next = |key, what| match replies.next() {
            Some(reply) => reply.int(key, what),
            None => Err(Error::strange(what, &Value::Nil)),
        };
        let (mut ones, mut counted) = (0, 0);
        for bytes in pieces {
            ones += next(name, "BITCOUNT")?.unsigned_abs();
            counted += bytes.end - bytes.start;
        }
        let num_bytes = next(name, "STRLEN")?.unsigned_abs();
        // −1 forever, −2 missing: anything else is a time.
        let times = [next(name, "PTTL")?, next(config_key, "PTTL")?];
        let ttl_ms = times.into_iter().filter_map(|time| u64::try_from(time).ok()).min();
        let num_bits = self.num_bits();
        let count_ones = match pieces {
            [whole] if whole.end == num_bits.div_ceil(8) => ones,
            _ => scaled(ones, counted, num_bits),
        };
        let count = inner.scheme.count(count_ones);
        Ok(FilterInfo {
            layout: "redisson",
            num_bits,
            num_hashes: now.num_hashes(),
            expected_items: u64::try_from(now.expected_insertions()).ok(),
            grows: false,
            target_fpp: Some(now.false_probability()),
            count_ones,
            estimated_items: (count_ones < num_bits).then_some(count as f64),
            estimated_fpp: estimated_fpp(count_ones, num_bits, now.num_hashes()),
            num_shards: 1,
            num_bytes,
            ttl_ms,
        })
    }

    fn not_found(&self) -> Error {
        Error::NotFound { name: self.inner.name.clone() }
    }

    fn script(&self, script: &str) -> Command {
        script::write(script, &[&self.inner.config_key, &self.inner.name])
    }

    fn parts(&self, op: Op, keys: &[&[u8]]) -> Result<Vec<Part>, Error> {
        let inner = &self.inner;
        let begin = || match op {
            Op::Set => {
                let mut set = self.script(script::SET);
                set.cmd.arg(inner.scheme.size()).arg(inner.config.num_hashes());
                set
            }
            Op::Get => Command::read(&inner.name, words(&["BITFIELD_RO", &inner.name])),
        };
        if self.key_type == KeyType::Bytes {
            let keys: Vec<_> = keys.iter().copied().enumerate().collect();
            return Ok(parts(&inner.name, &inner.scheme, op, &keys, begin));
        }
        let mut scratch = Vec::new();
        let encoded =
            keys.iter().map(|key| self.key_type.encode(key, &mut scratch).map(<[u8]>::to_vec));
        let encoded = encoded.collect::<Result<Vec<_>, _>>()?;
        let keys: Vec<_> = encoded.iter().map(Vec::as_slice).enumerate().collect();
        Ok(parts(&inner.name, &inner.scheme, op, &keys, begin))
    }

    fn changed(&self) -> Error {
        Error::Gone { name: self.inner.name.clone(), loss: Loss::Replaced.into() }
    }

    /// The error of a call, which does not show the state of the two keys.
    async fn explained(&self, error: Error) -> Error {
        if !matches!(error, Error::Gone { .. } | Error::WrongType { .. }) {
            return error;
        }
        let inner = &self.inner;
        let gone = |loss| Error::Gone { name: inner.name.clone(), loss: Box::new(loss) };
        match config::read(&inner.server, &inner.name, &inner.config_key).await {
            Ok(config) if same(&config, &inner.config) => error,
            Ok(config) => {
                let numbers = |config: &RedissonConfig| (config.size(), config.num_hashes());
                gone(Loss::ConfigChanged { now: numbers(&config), before: numbers(&inner.config) })
            }
            Err(Error::NotFound { .. }) => gone(Loss::InitialiseAgain),
            Err(other) => other,
        }
    }
}

/// Whether two configs give the same positions.
fn same(left: &RedissonConfig, right: &RedissonConfig) -> bool {
    (left.size(), left.num_hashes()) == (right.size(), right.num_hashes())
}

impl RemoteFilter for RemoteRedisson {
    fn name(&self) -> &str {
        &self.inner.name
    }

    async fn insert_batch(&self, keys: &[&[u8]]) -> Result<InsertedBatch, Error> {
        let parts = self.parts(Op::Set, keys)?;
        let k = self.inner.config.num_hashes();
        match bitfield::insert(&self.inner.server, k, keys.len(), parts).await {
            Err(error) => Err(self.explained(error).await),
            done => done,
        }
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, Error> {
        let parts = self.parts(Op::Get, keys)?;
        let Inner { server, config_key, config, .. } = &*self.inner;
        let query = Some(config::query(config_key));
        let answers =
            bitfield::contains(server, config.num_hashes(), keys.len(), parts, query).await;
        let checked = answers.and_then(|(found, then)| {
            let now = then.map(|reply| reply.of(config_key, "HMGET")).transpose()?;
            // Read after the bits: a config read before them might have been changed.
            let is_still = now.is_none_or(|now| config::is_still(config, &now));
            if is_still { Ok(found) } else { Err(self.changed()) }
        });
        match checked {
            Err(error) => Err(self.explained(error).await),
            done => done,
        }
    }

    /// `estimated_items` is `count()`. `BITCOUNT` blocks a server for about 0.1 ms per MiB.
    async fn info(&self) -> Result<FilterInfo, Error> {
        let whole = 0..self.num_bits().div_ceil(8);
        self.read_info(&[whole]).await
    }

    async fn glance(&self) -> Result<FilterInfo, Error> {
        self.read_info(&windows(self.num_bits().div_ceil(8))).await
    }

    /// A common expiry for config and bits.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; the errors of a call.
    async fn expire(&self, after: Option<Duration>) -> Result<(), Error> {
        let mut expire = self.script(script::EXPIRE);
        if let Some(after) = after {
            expire.cmd.arg(millis(after));
        }
        self.done_if_there(expire, "PEXPIRE").await
    }

    async fn clear(&self) -> Result<(), Error> {
        self.done_if_there(self.script(script::CLEAR), "DEL").await
    }

    async fn delete(&self) -> Result<bool, Error> {
        let Inner { server, name, config_key, .. } = &*self.inner;
        let del = Command::write(config_key, words(&["DEL", config_key, name]));
        Ok(server.one(del).await?.int(name, "DEL")? > 0)
    }
}

impl fmt::Debug for RemoteRedisson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { name, config, .. } = &*self.inner;
        write!(f, "RemoteRedisson({name:?}, {config:?}, {:?})", self.key_type)
    }
}
