//! The filter.

use super::options::Chooser;
use super::{MagnusOptions, MagnusParams};
use crate::bitfield::{self, Op, Part, parts};
use crate::replies::{expiry, millis};
use crate::server::{Command, Reply, Server, words};
use crate::{Damage, Error, FilterInfo, InsertedBatch, RemoteFilter};
use mayhap::Bitmap;
use mayhap::sizing::estimated_fpp;
use mayhap_formats::MagnusScheme;
use redis::{Value, cmd};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Sets bits in a bitmap, which is created with its expiry if it does not exist: all in one step,
/// so that neither a crash nor the expiry of the old bitmap in between leaves one that never
/// expires.
const SET: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('SET', KEYS[1], '\\0', 'PX', ARGV[1])
end
return redis.call('BITFIELD', KEYS[1], unpack(ARGV, 2))";

/// A filter shared with the Redis variant of Java-BloomFilter.
///
/// Bit p of a bitmap is bit p of its string as `SETBIT` counts (from the most significant). Keys
/// are the bytes that the class hashes: text as UTF-8. With [`MagnusOptions::num_bitmaps`] above 1
/// it may have more than the 2^31 bits of the class and the 2^32 of a string.
///
/// A missing bitmap is empty, as for the class: after it has expired, every query is answered with
/// no.
///
/// Insertion: one `BITFIELD`, or one script around it if the bitmaps expire; query: one
/// `BITFIELD_RO` (Redis 6). Two filters are equal if name, options, m, n and k are; the class,
/// which has only one name, compares the last three.
///
/// # Examples
///
/// ```
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
/// let (params, options) = (MagnusParams::default(), MagnusOptions::default());
/// let (seen, _) = RemoteMagnus::create(&server, "crawler:seen", params, options).await?;
/// assert_eq!(seen.insert(b"https://example.com/").await?, Inserted::New);
/// assert!(seen.contains(b"https://example.com/").await?);
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone)]
pub struct RemoteMagnus {
    inner: Arc<Inner>,
}

struct Inner {
    server: Server,
    name: String,
    params: MagnusParams,
    options: MagnusOptions,
    scheme: MagnusScheme,
    chooser: Option<Chooser>,
    /// The keys of the bitmaps.
    keys: Vec<String>,
}

impl RemoteMagnus {
    /// The filter of this name, and whether a bitmap was created for it; existing bitmaps stay
    /// unchanged. After a lost reply an existing bitmap counts as created.
    ///
    /// A new bitmap is a zero byte, as created by the class.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for invalid parameters; [`Error::WrongType`]; [`Error::Damaged`] for a
    /// bitmap of more than m bits; the errors of a call.
    pub async fn create(
        server: &Server,
        name: &str,
        params: MagnusParams,
        options: MagnusOptions,
    ) -> Result<(Self, bool), Error> {
        let filter = Self::new(server, name, params, options)?;
        let set = |key: &str| {
            let mut set = words(&["SET", key, "\0", "NX"]);
            if let Some(time) = options.expires_after {
                set.arg("PX").arg(millis(time));
            }
            Command::write(key, set)
        };
        let mut made = false;
        for (key, reply) in filter.of_each(set).await? {
            let repeated = reply.repeated;
            made |= reply.of(key, "SET")? != Value::Nil || repeated;
        }
        filter.check().await?;
        Ok((filter, made))
    }

    /// The filter of this name, if at least one of its bitmaps exists.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; the errors of [`RemoteMagnus::create`].
    pub async fn attach(
        server: &Server,
        name: &str,
        params: MagnusParams,
        options: MagnusOptions,
    ) -> Result<Self, Error> {
        let filter = Self::new(server, name, params, options)?;
        if filter.check().await? { Ok(filter) } else { Err(filter.not_found()) }
    }

    fn new(
        server: &Server,
        name: &str,
        params: MagnusParams,
        options: MagnusOptions,
    ) -> Result<Self, Error> {
        let scheme = params.scheme()?;
        let chooser = options.chooser(params.num_hashes)?;
        let (server, keys, name) = (server.clone(), options.keys(name), name.to_owned());
        let inner = Inner { server, name, params, options, scheme, chooser, keys };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// m, n and k of each bitmap.
    pub fn params(&self) -> MagnusParams {
        self.inner.params
    }

    /// The bitmaps and their expiry.
    pub fn options(&self) -> MagnusOptions {
        self.inner.options
    }

    /// The bits of a filter of one bitmap, as they are in the string.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for several bitmaps; [`Error::Layout`] beyond `max_bytes`; the errors
    /// of a call.
    pub async fn bytes(&self, max_bytes: u64) -> Result<Vec<u8>, Error> {
        match self.inner.keys.as_slice() {
            [key] => crate::string::read(&self.inner.server, key, max_bytes).await,
            _ => Err(Error::Unsupported {
                name: self.inner.name.clone(),
                scheme: "magnuss-redis in several bitmaps",
                what: "copied to a file",
                reason: "the format of the file has one bitmap",
            }),
        }
    }

    /// The reply to a command for each bitmap.
    async fn of_each(
        &self,
        command: impl Fn(&str) -> Command,
    ) -> Result<impl Iterator<Item = (&str, Reply)>, Error> {
        let keys = self.inner.keys.iter().map(String::as_str);
        let replies = self.inner.server.run(keys.clone().map(command).collect()).await?;
        Ok(keys.zip(replies))
    }

    fn not_found(&self) -> Error {
        Error::NotFound { name: self.inner.name.clone() }
    }

    /// Whether any bitmap exists; checks that all of them are strings that are short enough.
    async fn check(&self) -> Result<bool, Error> {
        let lens = self.inner.keys.iter().flat_map(|key| {
            ["STRLEN", "EXISTS"].map(|name| Command::read(key, words(&[name, key])))
        });
        let replies = self.inner.server.run(lens.collect()).await?;
        let mut replies = replies.into_iter();
        let mut any = false;
        for key in &self.inner.keys {
            let (Some(len), Some(exists)) = (replies.next(), replies.next()) else { break };
            let (found, most) = (len.count(key, "STRLEN")?, self.inner.params.len().div_ceil(8));
            if found > most {
                let num_bits = self.inner.params.num_bits;
                let damage = Damage::OtherSize { found, num_bits, most };
                return Err(Error::Damaged { key: key.clone(), damage: damage.into() });
            }
            any |= exists.int(key, "EXISTS")? > 0;
        }
        Ok(any)
    }

    fn parts(&self, op: Op, keys: &[&[u8]]) -> Vec<Part> {
        let inner = &self.inner;
        let mut by_bitmap = vec![Vec::new(); inner.keys.len()];
        for (i, &key) in keys.iter().enumerate() {
            let bitmap = inner.chooser.as_ref().map_or(0, |chooser| chooser.bitmap_of(key));
            by_bitmap[bitmap].push((i, key));
        }
        let bitmaps = inner.keys.iter().zip(&by_bitmap);
        bitmaps
            .flat_map(|(bitmap, keys)| {
                parts(bitmap, &inner.scheme, op, keys, || match (op, inner.options.expires_after) {
                    (Op::Get, _) => Command::read(bitmap, words(&["BITFIELD_RO", bitmap])),
                    (Op::Set, None) => Command::write(bitmap, words(&["BITFIELD", bitmap])),
                    (Op::Set, Some(time)) => {
                        let mut script = cmd("EVAL");
                        script.arg(SET).arg(1).arg(bitmap).arg(millis(time));
                        Command::write(bitmap, script)
                    }
                })
            })
            .collect()
    }
}

impl RemoteFilter for RemoteMagnus {
    fn name(&self) -> &str {
        &self.inner.name
    }

    async fn insert_batch(&self, keys: &[&[u8]]) -> Result<InsertedBatch, Error> {
        let (server, k) = (&self.inner.server, self.inner.params.num_hashes);
        bitfield::insert(server, k, keys.len(), self.parts(Op::Set, keys)).await
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, Error> {
        let (server, k) = (&self.inner.server, self.inner.params.num_hashes);
        let parts = self.parts(Op::Get, keys);
        Ok(bitfield::contains(server, k, keys.len(), parts, None).await?.0)
    }

    /// The rate is the mean over the bitmaps, the number of keys their sum; n is that of all
    /// bitmaps. p is unknown. The time is that of the first bitmap to expire.
    ///
    /// `BITCOUNT` blocks a server for about 0.1 ms per MiB.
    async fn info(&self) -> Result<FilterInfo, Error> {
        let inner = &self.inner;
        let commands = inner.keys.iter().flat_map(|key| {
            ["BITCOUNT", "STRLEN", "PTTL"].map(|name| Command::read(key, words(&[name, key])))
        });
        let replies = inner.server.run(commands.collect()).await?;
        let (m, k) = (inner.params.len() as f64, f64::from(inner.params.num_hashes));
        let mut replies = replies.into_iter();
        let (mut count_ones, mut num_bytes, mut fpp, mut items) = (0, 0, 0.0, 0.0);
        let (mut there, mut ttl_ms) = (false, None);
        for key in &inner.keys {
            let (Some(ones), Some(len), Some(ttl)) =
                (replies.next(), replies.next(), replies.next())
            else {
                break;
            };
            let ones = ones.count(key, "BITCOUNT")?;
            count_ones += ones;
            num_bytes += len.count(key, "STRLEN")?;
            let fill = ones as f64 / m;
            fpp += estimated_fpp(ones, inner.params.len(), inner.params.num_hashes)
                / inner.keys.len() as f64;
            items -= m / k * (-fill).ln_1p();
            let ttl = ttl.int(key, "PTTL")?;
            // -2: the key does not exist.
            there |= ttl != -2;
            if let Ok(ttl) = u64::try_from(ttl) {
                ttl_ms = Some(ttl_ms.map_or(ttl, |first: u64| first.min(ttl)));
            }
        }
        if !there {
            return Err(self.not_found());
        }
        let num_shards = inner.keys.len() as u64;
        Ok(FilterInfo {
            layout: "magnuss-redis",
            num_bits: inner.params.len() * num_shards,
            num_hashes: inner.params.num_hashes,
            expected_items: u64::try_from(inner.params.expected_items).ok().map(|n| n * num_shards),
            grows: false,
            target_fpp: None,
            count_ones,
            estimated_items: Some(items).filter(|items| items.is_finite()),
            estimated_fpp: fpp,
            num_shards,
            num_bytes,
            ttl_ms,
        })
    }

    async fn expire(&self, after: Option<Duration>) -> Result<(), Error> {
        for (key, reply) in self.of_each(|key| expiry(key, after)).await? {
            reply.int(key, "PEXPIRE")?;
        }
        if self.check().await? { Ok(()) } else { Err(self.not_found()) }
    }

    /// Each bitmap that exists becomes a zero byte, as the class creates it.
    async fn clear(&self) -> Result<(), Error> {
        let set = |key: &str| Command::write(key, words(&["SET", key, "\0", "XX", "KEEPTTL"]));
        for (key, reply) in self.of_each(set).await? {
            reply.of(key, "SET")?;
        }
        if self.check().await? { Ok(()) } else { Err(self.not_found()) }
    }

    async fn delete(&self) -> Result<bool, Error> {
        let mut any = false;
        let del = |key: &str| Command::write(key, words(&["DEL", key]));
        for (key, reply) in self.of_each(del).await? {
            any |= reply.int(key, "DEL")? > 0;
        }
        Ok(any)
    }
}

impl PartialEq for RemoteMagnus {
    fn eq(&self, other: &Self) -> bool {
        let of = |filter: &Self| {
            let Inner { name, params, options, .. } = &*filter.inner;
            (name.clone(), *params, *options)
        };
        of(self) == of(other)
    }
}

impl Eq for RemoteMagnus {}

impl fmt::Debug for RemoteMagnus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { name, params, options, .. } = &*self.inner;
        write!(f, "RemoteMagnus({name:?}, {params:?}, {options:?})")
    }
}
