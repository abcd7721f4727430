//! Filters of `RedisBloom`, which hash keys their own way and are loaded from that module's dumps.

use super::file::measure;
use super::filter::{Contents, Dump, Filter, Home, Target};
use crate::Work;
use crate::durable::{Recorder, Snapshot};
use crate::keyspace::{
    BadFilter, Hash, Info, InsertError, LayerInfo, Measured, Options, RecoveryError, Shape, Spec,
    TooLarge,
};
use crate::sync::unpoisoned;
use mayhap::Charge;
use mayhap_formats::{Error, ForeignFilter, RedisBloomFilter};
use std::io::{self, Write};
use std::sync::RwLock;

/// Bytes of `RedisBloom`'s header before its layers, and of each layer's.
const CHAIN_BYTES: usize = 20;
const LAYER_BYTES: usize = 53;
/// Twice that of the longest known chain: 257 layers of one key each.
const MAX_HASHES: u64 = 8_192;

/// A filter of `RedisBloom`. Insertions lock it.
#[derive(Debug)]
struct RedisBloom {
    filter: RwLock<RedisBloomFilter>,
    max_bytes: u64,
    charge: Charge,
}

/// The spec of such a filter: its parameters are in its own header.
const SPEC: Spec = Spec { shape: Shape::RedisBloom, hash: Hash::Plain { seed: 0 } };

/// Bytes of bits.
fn num_bytes(filter: &RedisBloomFilter) -> u64 {
    filter.num_bits() / 8
}

impl RedisBloom {
    /// Inserts a key, and charges the growth of the filter.
    ///
    /// The filter stays within the rest of both limits. Others that grow at the same moment see the
    /// same rest, so the sum may exceed the limit by the growth of one filter per thread, once. One
    /// that was created to grow by a layer per key refuses keys long before each of them costs half
    /// a million positions.
    fn add(&self, filter: &mut RedisBloomFilter, key: &[u8]) -> Result<bool, InsertError> {
        let hashes = filter.hashes_per_key();
        if hashes > MAX_HASHES {
            let too_many = InsertError::TooManyHashes { found: hashes, limit: MAX_HASHES };
            return if filter.contains(key) { Ok(false) } else { Err(too_many) };
        }
        let (before, budget) = (num_bytes(filter), self.charge.budget());
        let most = before.saturating_add(budget.left());
        filter.set_max_bytes(self.max_bytes.min(most));
        let new = filter.insert(key).map_err(|error| match error {
            Error::Refused { message } if message.contains("full") => InsertError::Full,
            Error::OutOfMemory { bytes } => InsertError::OutOfMemory { bytes },
            // In bits, for the next layer.
            Error::TooLarge { field: "number of bits", found, .. } => {
                let more = found / 8;
                InsertError::TooLarge(if most < self.max_bytes {
                    let requested = budget.used().saturating_add(more);
                    TooLarge { requested, limit: budget.limit(), setting: "max_memory" }
                } else {
                    let requested = before.saturating_add(more);
                    TooLarge { requested, limit: self.max_bytes, setting: "max_filter_bytes" }
                })
            }
            error => InsertError::Foreign(error),
        })?;
        let grown = num_bytes(filter) - before;
        if grown != 0 {
            self.charge.force(grown);
        }
        Ok(new)
    }
}

impl Filter for RedisBloom {
    fn kind(&self) -> &'static str {
        "redisbloom"
    }

    fn contains_key(&self, key: &[u8]) -> bool {
        unpoisoned(self.filter.read()).contains(key)
    }

    fn insert_key(
        &self,
        key: &[u8],
        target: Target<'_>,
        work: &mut Work,
    ) -> Result<bool, InsertError> {
        let mut filter = unpoisoned(self.filter.write());
        let own = work.recorder.as_ref().map_or(0, |recorder| recorder.recorded(target.tally));
        if filter.contains(key) && !target.tally.is_at_risk(own) {
            return Ok(false);
        }
        if work.recorder.is_some() {
            Recorder::check_key(key).map_err(InsertError::Log)?;
        }
        let mut announced = target.tally.announce(1);
        let new = self.add(&mut filter, key)?;
        if (new || announced.others_are_at_risk(own))
            && let Some(recorder) = &mut work.recorder
        {
            let recorded = recorder.keys(target.tally, target.id, std::iter::once(key));
            recorded.map_err(InsertError::Log)?;
            announced.hand_over(1);
        }
        Ok(new)
    }

    fn unites(&self) -> bool {
        false
    }

    fn info(&self) -> Info {
        let filter = unpoisoned(self.filter.read());
        Info {
            capacity: filter.capacity(),
            layers: filter.num_layers() as u64,
            expansion: filter.growth(),
            target_fpp: filter.target_fpp(),
            expected_fpp: filter.estimated_fpp(),
            ..Info::new(self.kind(), filter.num_items(), self.num_bytes())
        }
    }

    fn items(&self) -> u64 {
        unpoisoned(self.filter.read()).num_items()
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn layers(&self) -> Vec<LayerInfo> {
        let filter = unpoisoned(self.filter.read());
        let layers = filter.layers().map(|layer| LayerInfo {
            num_bytes: layer.num_bytes,
            num_bits: layer.num_bits,
            num_hashes: layer.num_hashes,
            capacity: layer.capacity,
            items: layer.num_items,
            target_fpp: layer.target_fpp,
        });
        layers.collect()
    }

    fn measure(&self) -> Measured {
        measure(&*unpoisoned(self.filter.read()))
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, mayhap::Error> {
        Ok(Some(Box::new(unpoisoned(self.filter.read()).clone())))
    }
}

impl Snapshot for RedisBloomFilter {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.encode())
    }
}

impl Contents for RedisBloomFilter {
    fn num_bytes(&self) -> u64 {
        num_bytes(self)
    }

    fn spec(&self) -> Spec {
        SPEC
    }

    fn into_filter(self: Box<Self>, home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        let max_bytes = home.max_filter_bytes;
        Box::new(RedisBloom { filter: RwLock::new(*self), max_bytes, charge })
    }

    fn dump(&self) -> io::Result<Dump> {
        let mut chunks = self.to_chunks().into_iter();
        let mut bytes = chunks.next().map_or_else(Vec::new, |(_, header)| header);
        let header_bytes = bytes.len();
        chunks.for_each(|(_, bits)| bytes.extend_from_slice(&bits));
        let mut end = header_bytes;
        let ends = layer_bytes(&bytes[..header_bytes]).map(|layer| {
            end += layer as usize;
            end
        });
        let ends = ends.collect();
        Ok(Dump { bytes, header_bytes, ends })
    }

    fn replay_keys(&mut self, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), RecoveryError> {
        for key in keys {
            // Replayed in another order than at first, some keys answered "there" may come first
            // and take the room of those that were new.
            self.insert_again(key).map_err(RecoveryError::Foreign)?;
        }
        Ok(())
    }
}

/// Reads the file written by [`Snapshot::write`], and checks all of it.
pub(super) fn decode(bytes: &[u8], options: &Options) -> Result<RedisBloomFilter, Error> {
    RedisBloomFilter::decode(bytes, &options.format_limits())
}

/// The bytes of a dump's header, by its first bytes.
pub(in crate::keyspace) fn header_bytes(bytes: &[u8]) -> usize {
    let layers = bytes.get(8..12).and_then(|layers| layers.first_chunk::<4>());
    let layers = layers.map_or(0, |&layers| u32::from_le_bytes(layers) as usize);
    layers.saturating_mul(LAYER_BYTES).saturating_add(CHAIN_BYTES)
}

/// Checks the header of a dump, and returns how many bytes of bits follow.
pub(in crate::keyspace) fn body_bytes(header: &[u8], options: &Options) -> Result<u64, BadFilter> {
    // Of all layers together: the cost of a query for an absent key.
    let hashes: u64 = layers(header).map(|layer| u64::from(u32_at(layer, 40))).sum();
    if hashes > MAX_HASHES {
        return Err(BadFilter::TooManyHashes { found: hashes, limit: MAX_HASHES });
    }
    // A header is checked before the bits are missed, and the error of a sound one has their
    // number.
    match RedisBloomFilter::from_chunks(&[(1, header)], &options.format_limits()) {
        Err(Error::Truncated { field: "bits of the layers", needed, left: 0 }) => Ok(needed),
        Err(error) => Err(BadFilter::Foreign(error)),
        Ok(_) => Err(BadFilter::NoBits),
    }
}

/// The filter of a complete dump.
pub(in crate::keyspace) fn from_dump(
    header: &[u8],
    bits: &[u8],
    options: &Options,
) -> Result<Box<dyn Contents>, BadFilter> {
    let mut chunks = vec![(1, header)];
    let mut rest = bits;
    let mut cursor = 1;
    for layer in layer_bytes(header) {
        let Some((bits, after)) = rest.split_at_checked(layer as usize) else { break };
        cursor += layer.cast_signed();
        chunks.push((cursor, bits));
        rest = after;
    }
    let filter = RedisBloomFilter::from_chunks(&chunks, &options.format_limits());
    Ok(Box::new(filter.map_err(BadFilter::Foreign)?))
}

/// The bytes of each layer, according to the header.
fn layer_bytes(header: &[u8]) -> impl Iterator<Item = u64> + '_ {
    layers(header).map(|layer| u64::from(u32_at(layer, 0)) | u64::from(u32_at(layer, 4)) << 32)
}

fn layers(header: &[u8]) -> impl Iterator<Item = &[u8; LAYER_BYTES]> {
    header.get(CHAIN_BYTES..).unwrap_or(&[]).as_chunks::<LAYER_BYTES>().0.iter()
}

fn u32_at(layer: &[u8; LAYER_BYTES], offset: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| layer[offset + i]))
}
