//! `BF.SCANDUMP` and `BF.LOADCHUNK`, which only `RedisBloom` has.

use super::call::Call;
use super::dialect::not_found;
use super::filter::Filter;
use super::keyspace::Value;
use super::reply::{Answer, Reply};
use super::reservation::{Bad, number};
use mayhap_formats::{Limits, RedisBloomFilter};

/// The offset of the number of layers in a header, where the layers begin, and the bytes of each.
const NUM_LAYERS_AT: usize = 8;
const LAYERS_AT: usize = 20;
const LAYER_BYTES: usize = 53;
/// The most bytes of bits of a loaded filter: more than any test needs.
const MAX_BYTES: u64 = 64 << 20;

/// `BF.SCANDUMP key iterator`: the chunk from this iterator on, and the next one.
pub(super) fn scan(call: &mut Call<'_>) -> Answer {
    let Some(iterator) = call.rest().first().and_then(|word| number::<i64>(word)) else {
        return Err("Second argument must be numeric".into());
    };
    let Filter::RedisBloom(filter) = call.filter()? else { return Err(not_found()) };
    let chunks = filter.to_chunks();
    let answer =
        |next, bytes: &[u8]| Reply::Array(vec![Reply::Int(next), Reply::Bulk(bytes.into())]);
    if iterator == 0 {
        return Ok(chunks.first().map_or(Reply::Null, |(next, header)| answer(*next, header)));
    }
    for (next, bytes) in chunks.iter().skip(1) {
        if let Some(offset) = offset_in(iterator, *next, bytes) {
            return Ok(answer(*next, &bytes[offset..]));
        }
    }
    Ok(answer(0, &[]))
}

/// `BF.LOADCHUNK key iterator bytes`: the first one is the header, and creates a filter whose bits
/// follow.
pub(super) fn load(call: &mut Call<'_>) -> Answer {
    let [iterator, chunk] = call.rest() else { return Err(call.refuse(Bad::Arity)) };
    let iterator = number::<i64>(iterator).ok_or("ERR Second argument must be numeric")?;
    let key = call.key();
    let filter = match call.keys.filter(key)? {
        None if iterator == 1 => without_bits(chunk).ok_or("ERR received bad data")?,
        None | Some(Filter::Valkey(_)) => return Err(not_found()),
        Some(Filter::RedisBloom(filter)) => {
            **filter = with_bits(filter, iterator, chunk)?;
            return Ok(Reply::OK);
        }
    };
    call.keys.insert(key, Value::Filter(Filter::RedisBloom(Box::new(filter))));
    Ok(Reply::OK)
}

/// The offset in a chunk that an iterator refers to, if any.
fn offset_in(iterator: i64, next: i64, bytes: &[u8]) -> Option<usize> {
    let first = next.checked_sub_unsigned(bytes.len() as u64)?;
    let offset = usize::try_from(iterator.checked_sub(first)?).ok()?;
    (offset < bytes.len()).then_some(offset)
}

/// The filter of a header, empty; none if the header is not sound.
fn without_bits(header: &[u8]) -> Option<RedisBloomFilter> {
    let number = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let num_layers = usize::try_from(number(NUM_LAYERS_AT)?).ok()?;
    let mut chunks = vec![(1, header.to_vec())];
    let (mut cursor, mut left) = (1, MAX_BYTES);
    for layer in header.get(LAYERS_AT..)?.chunks_exact(LAYER_BYTES).take(num_layers) {
        let num_bytes = u64::from_le_bytes(layer.first_chunk().copied()?);
        left = left.checked_sub(num_bytes)?;
        cursor += i64::try_from(num_bytes).ok()?;
        chunks.push((cursor, vec![0; usize::try_from(num_bytes).ok()?]));
    }
    RedisBloomFilter::from_chunks(&chunks, &Limits::default()).ok()
}

/// The filter with the bits of a chunk that ends before this iterator.
fn with_bits(
    filter: &RedisBloomFilter,
    iterator: i64,
    chunk: &[u8],
) -> Result<RedisBloomFilter, String> {
    let mut chunks = filter.to_chunks();
    let first = iterator.checked_sub_unsigned(chunk.len() as u64);
    let found = chunks.iter_mut().skip(1).find_map(|(next, bytes)| {
        let offset = offset_in(first?, *next, bytes)?;
        Some(&mut bytes[offset..])
    });
    let place = found.ok_or("ERR invalid offset - no link found")?;
    let place = place.get_mut(..chunk.len());
    place.ok_or("ERR invalid chunk - Too big for current filter")?.copy_from_slice(chunk);
    let loaded = RedisBloomFilter::from_chunks(&chunks, &Limits::default());
    loaded.map_err(|_| "ERR received bad data".into())
}
