//! The filters that are compared: two hand-written ones, and ours.

use mayhap::{Digest, DigestFunction, Layout, sizing};
use mayhap_redis::{Address, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Pipeline, Script, Value, cmd};

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// The filters measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// k SETBIT or GETBIT of one key in one pipeline.
    Bits,
    /// A script with a loop of SETBIT or GETBIT, as Redisson does it.
    Lua,
    /// Ours.
    Mayhap,
}

impl Who {
    pub(crate) const ALL: [Self; 3] = [Self::Bits, Self::Lua, Self::Mayhap];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bits => "k × SETBIT / GETBIT",
            Self::Lua => "Lua loop of SETBIT / GETBIT",
            Self::Mayhap => "mayhap",
        }
    }
}

/// The operation on keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Insert,
    Contains,
}

impl Act {
    pub(crate) const ALL: [Self; 2] = [Self::Insert, Self::Contains];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Contains => "contains",
        }
    }
}

/// One client of one filter.
#[derive(Clone)]
pub(crate) enum Client {
    Bits(Bitmap),
    Lua(Bitmap, Script),
    Mayhap(NativeFilter),
}

/// A bitmap in one value, and its numbers by the textbook: m = −n ln p / (ln 2)², k = m/n ln 2.
#[derive(Clone)]
pub(crate) struct Bitmap {
    connection: MultiplexedConnection,
    key: String,
    num_bits: u64,
    num_hashes: u32,
}

impl Bitmap {
    /// XXH3 of the key and one remix a probe, as in our standard layout.
    fn positions(&self, key: &[u8]) -> impl Iterator<Item = u64> {
        let (digest, num_bits) = (DigestFunction::default().digest(key).get(), self.num_bits);
        (0..u64::from(self.num_hashes)).map(move |i| {
            let mixed = mayhap_bench::keys::mix(digest ^ i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            ((u128::from(mixed) * u128::from(num_bits)) >> 64) as u64
        })
    }
}

const INSERT: &str = "\
local new = 0
for i = 1, #ARGV do
    if redis.call('SETBIT', KEYS[1], ARGV[i], 1) == 0 then new = 1 end
end
return new";
const CONTAINS: &str = "\
for i = 1, #ARGV do
    if redis.call('GETBIT', KEYS[1], ARGV[i]) == 0 then return 0 end
end
return 1";

impl Client {
    /// A connection of its own, or for ours a filter on a shared one.
    pub(crate) async fn connect(
        who: Who,
        act: Act,
        url: &str,
        items: u64,
        fpp: f64,
    ) -> Result<Self, Error> {
        if who == Who::Mayhap {
            let server = Server::connect(&Address::parse(url)?, ServerOptions::default()).await?;
            let options = NativeOptions::for_items(items, fpp)?;
            return Ok(Self::Mayhap(NativeFilter::create(&server, "ours", &options).await?));
        }
        let params = sizing::for_items(Layout::Standard, items, fpp)?;
        let connection = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
        let key = if who == Who::Lua { "lua" } else { "bits" };
        let (num_bits, num_hashes) = (params.num_bits(), params.num_hashes());
        let mut bitmap = Bitmap { connection, key: key.into(), num_bits, num_hashes };
        // All of its memory at once, as ours.
        let _: Value =
            cmd("SETBIT").arg(key).arg(num_bits).arg(1).query_async(&mut bitmap.connection).await?;
        Ok(if who == Who::Bits {
            Self::Bits(bitmap)
        } else {
            let script = Script::new(if act == Act::Insert { INSERT } else { CONTAINS });
            script.prepare_invoke().load_async(&mut bitmap.connection).await?;
            Self::Lua(bitmap, script)
        })
    }

    /// Inserts or queries keys in one round trip; returns the number of new or present ones.
    pub(crate) async fn call(&mut self, act: Act, keys: &[&[u8]]) -> Result<u64, Error> {
        match self {
            Self::Bits(bitmap) => {
                let mut pipeline = Pipeline::with_capacity(keys.len() * 8);
                for key in keys {
                    for position in bitmap.positions(key) {
                        match act {
                            Act::Insert => {
                                pipeline.cmd("SETBIT").arg(&bitmap.key).arg(position).arg(1)
                            }
                            Act::Contains => pipeline.cmd("GETBIT").arg(&bitmap.key).arg(position),
                        };
                    }
                }
                let k = bitmap.num_hashes as usize;
                let bits = send(&mut bitmap.connection, &pipeline).await?;
                let wanted = i64::from(act == Act::Contains);
                Ok(bits
                    .chunks_exact(k)
                    .filter(|bits| {
                        let mut is = bits.iter().map(|bit| *bit == Value::Int(wanted));
                        if act == Act::Insert { is.any(|is| is) } else { is.all(|is| is) }
                    })
                    .count() as u64)
            }
            Self::Lua(bitmap, script) => {
                let mut pipeline = Pipeline::with_capacity(keys.len());
                for key in keys {
                    let call =
                        pipeline.cmd("EVALSHA").arg(script.get_hash()).arg(1).arg(&bitmap.key);
                    for position in bitmap.positions(key) {
                        call.arg(position);
                    }
                }
                let answers = send(&mut bitmap.connection, &pipeline).await?;
                Ok(answers.iter().filter(|answer| **answer == Value::Int(1)).count() as u64)
            }
            Self::Mayhap(filter) => Ok(match (act, keys) {
                (Act::Insert, [key]) => {
                    u64::from(filter.insert(key).await? == mayhap_redis::Inserted::New)
                }
                (Act::Insert, keys) => filter.insert_batch(keys).await?.new.count_ones() as u64,
                (Act::Contains, [key]) => u64::from(filter.contains(key).await?),
                (Act::Contains, keys) => filter.contains_batch(keys).await?.count_ones() as u64,
            }),
        }
    }

    /// Makes it a filter of these keys, by the shortest way.
    pub(crate) async fn fill(&mut self, keys: &[&[u8]]) -> Result<(), Error> {
        let (Self::Bits(bitmap) | Self::Lua(bitmap, _)) = self else {
            return self.bulk(keys).await;
        };
        let mut bytes = vec![0u8; bitmap.num_bits as usize / 8 + 1];
        for key in keys {
            for position in bitmap.positions(key) {
                bytes[position as usize / 8] |= 0x80 >> (position % 8);
            }
        }
        let mut set = cmd("SET");
        set.arg(&bitmap.key).arg(bytes);
        Ok(set.query_async(&mut bitmap.connection).await?)
    }

    /// All keys at once, as each does it best.
    pub(crate) async fn bulk(&mut self, keys: &[&[u8]]) -> Result<(), Error> {
        if let Self::Mayhap(filter) = self {
            let mut digests = vec![Digest::default(); keys.len()];
            filter.digest_function().digest_batch(keys, &mut digests);
            filter.insert_bulk(&digests).await?;
            return Ok(());
        }
        for keys in keys.chunks(1000) {
            self.call(Act::Insert, keys).await?;
        }
        Ok(())
    }
}

async fn send(
    connection: &mut MultiplexedConnection,
    pipeline: &Pipeline,
) -> Result<Vec<Value>, Error> {
    let values = connection.req_packed_commands(pipeline, 0, pipeline.len()).await?;
    for value in &values {
        if let Value::ServerError(error) = value {
            return Err(error.to_string().into());
        }
    }
    Ok(values)
}
