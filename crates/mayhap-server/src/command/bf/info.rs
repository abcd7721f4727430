//! `BF.CARD`, `BF.INFO`, `BF.DEBUG`: what a filter says of itself.

use crate::command::bounds;
use crate::command::call::{Call, Outcome};
use crate::command::word::one_of;
use crate::keyspace::{Entry, Info, LayerInfo, Shape, room_within};
use crate::resp::Reply;
use mayhap::sizing::scalable::SHARE;

pub(in crate::command) fn card(call: &mut Call<'_, '_>) -> Outcome {
    let entry = call.entry(call.word(1));
    entry.as_ref().map_or(Ok(()), |entry| entry.check_file())?;
    let items = match entry {
        Some(entry) => entry.items(),
        None => call.nothing(0)?,
    };
    call.reply().integer(signed(items));
    Ok(())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A field of `BF.INFO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Capacity,
    Size,
    Filters,
    Items,
    Expansion,
    Error,
    Tightening,
    MaxScaledCapacity,
    Fpp,
    Fill,
    FillAlarm,
    Kind,
    Digest,
    Reserved,
    Distinct,
    OverCapacity,
    ForgottenEarly,
    Clears,
    ClockJumps,
    Ahead,
}

/// Word of the request, field, name in the answer. `RedisBloom` has the first five.
const FIELDS: [(&str, (Field, &str)); 20] = [
    ("capacity", (Field::Capacity, "Capacity")),
    ("size", (Field::Size, "Size")),
    ("filters", (Field::Filters, "Number of filters")),
    ("items", (Field::Items, "Number of items inserted")),
    ("expansion", (Field::Expansion, "Expansion rate")),
    ("error", (Field::Error, "Error rate")),
    ("tightening", (Field::Tightening, "Tightening ratio")),
    ("maxscaledcapacity", (Field::MaxScaledCapacity, "Max scaled capacity")),
    ("fpp", (Field::Fpp, "False positive rate now")),
    ("fill", (Field::Fill, "Fill ratio")),
    ("fillalarm", (Field::FillAlarm, "Fill alarm")),
    ("kind", (Field::Kind, "Kind")),
    ("digest", (Field::Digest, "Digest")),
    ("requested", (Field::Reserved, "Requested capacity")),
    ("distinct", (Field::Distinct, "Number of distinct items")),
    ("overcapacity", (Field::OverCapacity, "Over capacity")),
    ("forgottenearly", (Field::ForgottenEarly, "Number of items forgotten early")),
    ("clears", (Field::Clears, "Number of clears")),
    ("clockjumps", (Field::ClockJumps, "Number of clock jumps")),
    ("ahead", (Field::Ahead, "Milliseconds ahead of the clock")),
];

/// A pass over all bits, for how full the filter is, and for every field of a file of another
/// system.
pub(in crate::command) fn work(call: &Call<'_, '_>) -> u64 {
    let reads_all =
        matches!(one_of(call.word(2), &FIELDS), Some((Field::Fill | Field::FillAlarm, _)));
    let bytes = call.shared.keyspace.with(call.word(1), call.turn.now, |entry| {
        if reads_all || entry.is_read_only() { entry.num_bytes() } else { 0 }
    });
    bounds::reading(bytes.unwrap_or(0))
}

pub(in crate::command) fn info(call: &mut Call<'_, '_>) -> Outcome {
    let field = match call.words.len() {
        2 => None,
        3 => Some(one_of(call.word(2), &FIELDS).ok_or("Invalid information value")?),
        _ => return Err(Call::arity("bf.info")),
    };
    let entry = call.known(call.word(1))?;
    entry.check_file()?;
    let info = entry.info();
    let limit = call.shared.keyspace.options().max_filter_bytes;
    let mut reply = call.reply();
    let Some((field, name)) = field else {
        reply.map(5);
        for (_, (field, name)) in &FIELDS[..5] {
            reply.simple(name);
            write_field(&mut reply, *field, &entry, &info, limit);
        }
        return Ok(());
    };
    let is_of_growth = matches!(field, Field::Tightening | Field::MaxScaledCapacity);
    if is_of_growth && info.expansion.is_none() {
        return Err("Invalid information value".into());
    }
    if reply.is_resp3() {
        reply.map(1);
        reply.simple(name);
    } else {
        reply.array(1);
    }
    write_field(&mut reply, field, &entry, &info, limit);
    if matches!(field, Field::Fill | Field::FillAlarm) {
        entry.check_file()?;
    }
    Ok(())
}

fn write_field(reply: &mut Reply<'_>, field: Field, entry: &Entry, info: &Info, limit: u64) {
    match field {
        Field::Capacity => reply.integer(signed(info.capacity)),
        Field::Size => reply.integer(signed(info.num_bytes)),
        Field::Filters => reply.integer(signed(info.layers)),
        Field::Items => reply.integer(signed(info.items)),
        Field::Distinct => reply.integer(signed(info.distinct_items)),
        Field::Expansion => match info.expansion {
            Some(by) => reply.integer(by.into()),
            None => reply.null(),
        },
        Field::Error => reply.double(info.target_fpp),
        // Each layer has this much of the rate of the one before.
        Field::Tightening => reply.double(1.0 - SHARE),
        Field::MaxScaledCapacity => {
            let room = match entry.spec.shape {
                Shape::Growing { capacity, error, .. } => room_within(limit, capacity, error),
                _ => info.capacity,
            };
            reply.integer(signed(room));
        }
        Field::Fpp => reply.double(info.expected_fpp),
        Field::OverCapacity => reply.boolean(info.over_capacity),
        Field::ForgottenEarly => integer_or_null(reply, info.forgotten_early),
        Field::Clears => integer_or_null(reply, info.clears),
        Field::ClockJumps => integer_or_null(reply, info.clock_jumps.map(|jumps| jumps.count)),
        Field::Ahead => integer_or_null(reply, info.clock_jumps.map(|jumps| jumps.ahead)),
        Field::Fill => reply.double(entry.measure().fill_ratio),
        Field::FillAlarm => match entry.measure().fill_alarm {
            Some(alarm) => reply.boolean(alarm),
            None => reply.null(),
        },
        Field::Kind => reply.bulk(info.kind.as_bytes()),
        Field::Digest => match entry.digest_name() {
            Some(name) => reply.bulk(name.as_bytes()),
            None => reply.null(),
        },
        Field::Reserved => match entry.spec.shape {
            Shape::Growing { capacity, .. }
            | Shape::Fixed { capacity, .. }
            | Shape::Counting { capacity, .. }
            | Shape::Clearing { capacity, .. }
            | Shape::Window { items: capacity, .. } => reply.integer(signed(capacity)),
            Shape::RedisBloom | Shape::File => reply.null(),
        },
    }
}

fn integer_or_null(reply: &mut Reply<'_>, number: Option<u64>) {
    match number {
        Some(number) => reply.integer(signed(number)),
        None => reply.null(),
    }
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
