//! `BF.CARD`, `BF.INFO`, `BF.DEBUG`: descriptions of a filter.

use crate::command::bounds;
use crate::command::call::{Call, Outcome};
use crate::command::word::is;
use crate::resp::Value;
use mayhap::sizing::scalable::SHARE;
use mayhap_engine::keyspace::{
    Entry, Info, LayerInfo, Saving, Shape, compact_room_within, room_within,
};

pub(in crate::command) fn card(call: &mut Call<'_, '_>) -> Outcome {
    let entry = call.entry(call.word(1));
    entry.as_ref().map_or(Ok(()), |entry| entry.check_file())?;
    let items = match entry {
        Some(entry) => entry.items(),
        None => call.nothing(0)?,
    };
    call.count(items)
}

/// The sources of the fields of `BF.INFO`.
struct Facts<'a> {
    entry: &'a Entry,
    info: Info,
    /// The most bytes that the filter may grow to.
    max_bytes: u64,
}

/// Option of the request, name in the answer, value.
type Field = (&'static str, &'static str, fn(&Facts<'_>) -> Value);

/// The fields; `RedisBloom` has the first five, and they are the answer to a request without one.
const FIELDS: [Field; 23] = [
    ("capacity", "Capacity", |it| Value::count(it.info.capacity)),
    ("size", "Size", |it| Value::count(it.info.num_bytes)),
    ("filters", "Number of filters", |it| Value::count(it.info.layers)),
    ("items", "Number of items inserted", |it| Value::count(it.info.items)),
    ("expansion", "Expansion rate", |it| Value::count(it.info.expansion.map(u64::from))),
    ("error", "Error rate", |it| Value::Double(it.info.target_fpp)),
    // Each layer has this share of the rate of the layer before it.
    ("tightening", "Tightening ratio", |it| match it.entry.spec.shape {
        Shape::Growing { .. } => Value::Double(1.0 - SHARE),
        _ => Value::Null,
    }),
    ("maxscaledcapacity", "Max scaled capacity", |it| Value::count(it.max_scaled_capacity())),
    ("fpp", "False positive rate now", |it| Value::Double(it.info.expected_fpp)),
    ("fill", "Fill ratio", |it| Value::Double(it.entry.measure().fill_ratio)),
    ("fillalarm", "Fill alarm", |it| {
        it.entry.measure().fill_alarm.map_or(Value::Null, Value::Boolean)
    }),
    ("foldfactor", "Fold factor", |it| Value::count(it.saving().map(|fold| fold.factor))),
    ("foldsize", "Size after a fold", |it| Value::count(it.saving().map(|fold| fold.num_bytes))),
    ("foldfpp", "False positive rate after a fold", |it| {
        it.saving().map_or(Value::Null, |fold| Value::Double(fold.expected_fpp))
    }),
    ("kind", "Kind", |it| Value::text(it.info.kind)),
    ("digest", "Digest", |it| it.entry.digest_name().map_or(Value::Null, Value::text)),
    ("requested", "Requested capacity", |it| Value::count(it.entry.spec.shape.capacity())),
    ("distinct", "Number of distinct items", |it| Value::count(it.info.distinct_items)),
    ("overcapacity", "Over capacity", |it| Value::Boolean(it.info.over_capacity)),
    ("forgottenearly", "Number of items forgotten early", |it| {
        Value::count(it.info.forgotten_early)
    }),
    ("clears", "Number of clears", |it| Value::count(it.info.clears)),
    ("clockjumps", "Number of clock jumps", |it| {
        Value::count(it.info.clock_jumps.map(|jumps| jumps.count))
    }),
    ("ahead", "Milliseconds ahead of the clock", |it| {
        Value::count(it.info.clock_jumps.map(|jumps| jumps.ahead))
    }),
];

/// The fields for which all bits are read.
const READ_ALL: [&str; 2] = ["fill", "fillalarm"];
/// The fields that only filters have that grow.
const OF_GROWTH: [&str; 2] = ["tightening", "maxscaledcapacity"];

impl Facts<'_> {
    fn saving(&self) -> Option<Saving> {
        self.entry.saving()
    }

    fn max_scaled_capacity(&self) -> u64 {
        match self.entry.spec.shape {
            Shape::Growing { capacity, target_fpp, .. } => {
                room_within(self.max_bytes, capacity, target_fpp)
            }
            Shape::Compact { capacity, target_fpp, expansion: 1.. } => {
                compact_room_within(self.max_bytes, capacity, target_fpp)
            }
            _ => self.info.capacity,
        }
    }
}

/// A pass over all bits, for the fill ratio, and for every field of a foreign file.
pub(in crate::command) fn work(call: &Call<'_, '_>) -> u64 {
    let reads_all = READ_ALL.iter().any(|name| is(call.word(2), name));
    let bytes = call.shared.keyspace.with(call.word(1), call.turn.work.now, |entry| {
        if reads_all || entry.is_read_only() { entry.num_bytes() } else { 0 }
    });
    bounds::reading(bytes.unwrap_or(0))
}

pub(in crate::command) fn info(call: &mut Call<'_, '_>) -> Outcome {
    let find = |word: &[u8]| FIELDS.iter().find(|(option, ..)| is(word, option));
    let field = match call.words.len() {
        2 => None,
        3 => Some(find(call.word(2)).ok_or("Invalid information value")?),
        _ => return Err(Call::arity("bf.info")),
    };
    let entry = call.known(call.word(1))?;
    entry.check_file()?;
    let max_bytes = call.shared.keyspace.options().max_filter_bytes;
    let facts = Facts { entry: &entry, info: entry.info(), max_bytes };
    let mut reply = call.reply();
    let Some((option, name, value)) = field else {
        reply.map(5);
        for (_, name, value) in &FIELDS[..5] {
            reply.simple(name);
            reply.value(&value(&facts));
        }
        return Ok(());
    };
    if OF_GROWTH.contains(option) && facts.info.expansion.is_none() {
        return Err("Invalid information value".into());
    }
    if reply.is_resp3() {
        reply.map(1);
        reply.simple(name);
    } else {
        reply.array(1);
    }
    reply.value(&value(&facts));
    if READ_ALL.contains(option) {
        entry.check_file()?;
    }
    Ok(())
}

/// The longest line: six numbers with their names.
const LINE_BYTES: u64 = 256;

/// A line for the whole and one for each layer, in the words of `RedisBloom`.
pub(in crate::command) fn debug(call: &mut Call<'_, '_>) -> Outcome {
    let entry = call.known(call.word(1))?;
    entry.check_file()?;
    let layers = entry.layers();
    call.room_for((1 + layers.len() as u64) * LINE_BYTES)?;
    let mut reply = call.reply();
    reply.array(1 + layers.len());
    reply.bulk(format!("size:{}", entry.items()).as_bytes());
    for layer in layers {
        let LayerInfo { num_bytes, num_bits, num_hashes, capacity, items, target_fpp } = layer;
        let line = format!(
            "bytes:{num_bytes} bits:{num_bits} hashes:{num_hashes} hashwidth:64 \
             capacity:{capacity} size:{items} ratio:{target_fpp}"
        );
        reply.bulk(line.as_bytes());
    }
    Ok(())
}
