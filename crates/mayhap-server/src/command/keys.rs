//! Commands on filters by name.

use super::bounds::{self, Answer, ELEMENT_BYTES, END_NS, FILTER_NS};
use super::call::{Call, Fault, NO_INTEGER, Outcome, SYNTAX};
use super::number;
use super::row::Right::{Admin, Read, Write};
use super::row::{ALL, Command, NONE, ONE, SECOND, TWO, row};
use super::sub::unknown;
use super::word::is;
use mayhap::DigestFunction;
use mayhap_engine::Words;
use mayhap_engine::keyspace::ChangeError;

/// The answer of `TYPE` for a filter, as in `RedisBloom`. Nothing else is stored here, so no
/// command ever meets a key of the wrong type.
pub(super) const TYPE: &str = "MBbloom--";

pub(super) const COMMANDS: &[Command] = &[
    row("del", -2, Write, ALL, "Removes filters.", del).works(work_of_end),
    row("unlink", -2, Write, ALL, "Removes filters.", del).works(work_of_end),
    row("exists", -2, Read, ALL, "Counts the names that exist.", exists),
    row("touch", -2, Read, ALL, "Counts the names that exist.", exists),
    row("type", 2, Read, ONE, "Returns the type of a filter.", kind),
    row("keys", 2, Read, NONE, "Lists the names that match a pattern.", keys)
        .answers(Answer::Counted)
        .works(|call| bounds::matching(call.shared.keyspace.len(), call.word(1))),
    row("scan", -2, Read, NONE, "Lists names incrementally.", scan)
        .answers(Answer::Counted)
        .works(work_of_scan),
    row("randomkey", 1, Read, NONE, "Tells some name.", random_key)
        .answers(Answer::Counted)
        .works(work_of_random_key),
    row("dbsize", 1, Read, NONE, "Counts the filters.", dbsize).works(work_of_count),
    row("rename", 3, Write, TWO, "Renames a filter.", rename::<true>)
        .works(|call| bounds::freeing(call.bytes_of(std::iter::once(call.word(2))))),
    row("renamenx", 3, Write, TWO, "Renames a filter if the new name is free.", rename::<false>),
    row("memory", -2, Read, SECOND, "Returns the memory of a filter in bytes.", memory),
    row("flushall", -1, Admin, NONE, "Removes all filters.", flush).works(work_of_flush),
    row("flushdb", -1, Admin, NONE, "Removes all filters.", flush).works(work_of_flush),
];

pub(super) const NO_SUCH_KEY: &str = "ERR no such key";
/// Names visited by a `SCAN` without `COUNT`.
const SCAN_COUNT: usize = 10;
/// The most names visited by one `SCAN`, whatever its `COUNT`.
pub(super) const MAX_SCAN_COUNT: usize = 10_000;

/// Freeing the memory of filters.
fn work_of_end(call: &Call<'_, '_>) -> u64 {
    (call.words.len() as u64) * END_NS + bounds::freeing(call.bytes_of(call.words.from(1).iter()))
}

fn work_of_flush(call: &Call<'_, '_>) -> u64 {
    let keyspace = &call.shared.keyspace;
    keyspace.len() as u64 * END_NS + bounds::freeing(keyspace.used_bytes())
}

/// The number of filters under a user's prefix is only known after visiting them.
pub(super) fn work_of_count(call: &Call<'_, '_>) -> u64 {
    let all = call.session.rights.prefix.as_ref().map_or(0, |_| call.shared.keyspace.len());
    all as u64 * FILTER_NS
}

fn work_of_random_key(call: &Call<'_, '_>) -> u64 {
    let some = call.shared.keyspace.len().min(MAX_SCAN_COUNT) as u64 * FILTER_NS;
    some.max(work_of_count(call))
}

fn work_of_scan(call: &Call<'_, '_>) -> u64 {
    let Ok(Scan { count, pattern, .. }) = Scan::parse(call.words) else { return 0 };
    let names = count.min(MAX_SCAN_COUNT).min(call.shared.keyspace.len());
    bounds::matching(names, pattern.unwrap_or_default())
}

fn del(call: &mut Call<'_, '_>) -> Outcome {
    call.deletable()?;
    let mut removed = 0;
    for name in call.words.from(1).iter() {
        removed += i64::from(call.remove(name)?);
    }
    call.integer(removed)
}

fn exists(call: &mut Call<'_, '_>) -> Outcome {
    let names = call.words.from(1);
    let found = names.iter().filter(|name| call.entry(name).is_some()).count();
    call.count(found)
}

fn kind(call: &mut Call<'_, '_>) -> Outcome {
    let found = call.entry(call.word(1)).is_some();
    call.reply().simple(if found { TYPE } else { "none" });
    Ok(())
}

fn dbsize(call: &mut Call<'_, '_>) -> Outcome {
    let (filters, _) = call.count_filters();
    call.integer(i64::try_from(filters).unwrap_or(i64::MAX))
}

fn keys(call: &mut Call<'_, '_>) -> Outcome {
    let pattern = call.word(1);
    let mut names = Vec::new();
    let (mut cursor, mut bytes) = (0, ELEMENT_BYTES);
    loop {
        let page = call.scan(cursor, MAX_SCAN_COUNT, Some(pattern))?;
        bytes += page.names.iter().map(|name| name.len() + ELEMENT_BYTES).sum::<usize>();
        call.room_for(bytes as u64)?;
        names.extend(page.names);
        cursor = page.cursor;
        if cursor == 0 {
            break;
        }
    }
    call.reply().list(names.iter().map(|name| &**name));
    Ok(())
}

/// The arguments of `SCAN`.
pub(super) struct Scan<'a> {
    pub(super) cursor: u64,
    pub(super) count: usize,
    pub(super) pattern: Option<&'a [u8]>,
    /// Whether filters have the requested type.
    pub(super) wanted: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn parse(words: Words<'a>) -> Result<Self, Fault> {
        let cursor = std::str::from_utf8(words.get(1).unwrap_or_default());
        let cursor = cursor.ok().and_then(|word| word.parse().ok());
        let cursor = cursor.ok_or("ERR invalid cursor")?;
        let mut scan = Self { cursor, count: SCAN_COUNT, pattern: None, wanted: true };
        let mut words = words.from(2).iter();
        while let Some(option) = words.next() {
            let value = words.next().ok_or(SYNTAX)?;
            if is(option, "match") {
                scan.pattern = Some(value);
            } else if is(option, "count") {
                scan.count = match number::integer(value).ok_or(NO_INTEGER)? {
                    count @ 1.. => usize::try_from(count).unwrap_or(usize::MAX),
                    _ => return Err(SYNTAX.into()),
                };
            } else if is(option, "type") {
                scan.wanted = is(value, TYPE);
            } else {
                return Err(SYNTAX.into());
            }
        }
        Ok(scan)
    }
}

fn scan(call: &mut Call<'_, '_>) -> Outcome {
    let Scan { cursor, count, pattern, wanted } = Scan::parse(call.words)?;
    let mut page = call.scan(cursor, count.min(MAX_SCAN_COUNT), pattern)?;
    if !wanted {
        page.names.clear();
    }
    call.room_for_list(page.names.iter().map(|name| &**name))?;
    let mut reply = call.reply();
    reply.array(2);
    reply.bulk(page.cursor.to_string().as_bytes());
    reply.list(page.names.iter().map(|name| &**name));
    Ok(())
}

fn random_key(call: &mut Call<'_, '_>) -> Outcome {
    // Of the oldest filters: a random name does not need a fair draw.
    let mut page = call.scan(0, MAX_SCAN_COUNT, None)?;
    while page.names.is_empty() && page.cursor != 0 {
        page = call.scan(page.cursor, MAX_SCAN_COUNT, None)?;
    }
    let names = page.names;
    let drawn = DigestFunction::xxh3(call.turn.work.now).digest(&call.out.len().to_le_bytes());
    let name = names.get((drawn.get() % names.len().max(1) as u64) as usize);
    call.room_for_list(name.into_iter().map(|name| &**name))?;
    call.reply().bulk_or_null(name.map(|name| &**name));
    Ok(())
}

fn rename<const REPLACES: bool>(call: &mut Call<'_, '_>) -> Outcome {
    call.operable()?;
    let (from, to, now) = (call.word(1), call.word(2), call.turn.work.now);
    match call.shared.keyspace.rename(from, to, REPLACES, now, call.log()) {
        Err(ChangeError::NotFound) => return Err(NO_SUCH_KEY.into()),
        Err(ChangeError::Exists) => return call.integer(0),
        done => done?,
    }
    if REPLACES { call.ok() } else { call.integer(1) }
}

fn memory(call: &mut Call<'_, '_>) -> Outcome {
    let sub = call.word(1);
    if !is(sub, "usage") {
        return Err(unknown("MEMORY", sub).into());
    }
    match call.words.len() {
        3 => {}
        5 if is(call.word(3), "samples") => {
            number::count(call.word(4)).ok_or(NO_INTEGER)?;
        }
        0..3 => return Err(Call::arity("memory|usage")),
        _ => return Err(SYNTAX.into()),
    }
    let name = call.word(2);
    let Some(entry) = call.entry(name) else {
        call.reply().null();
        return Ok(());
    };
    call.count(entry.num_bytes().saturating_add(name.len() as u64))
}

fn flush(call: &mut Call<'_, '_>) -> Outcome {
    match call.words.len() {
        1 => {}
        2 if is(call.word(1), "async") || is(call.word(1), "sync") => {}
        _ => return Err(SYNTAX.into()),
    }
    call.deletable()?;
    if call.session.rights.prefix.is_none() {
        call.shared.keyspace.clear(call.log())?;
        return call.ok();
    }
    // A filter that another client creates meanwhile may stay, as if created afterwards.
    let mut cursor = 0;
    loop {
        let page = call.scan(cursor, MAX_SCAN_COUNT, None)?;
        for name in &page.names {
            if call.entry(name).is_some_and(|entry| !entry.is_read_only()) {
                call.remove(name)?;
            }
        }
        cursor = page.cursor;
        if cursor == 0 {
            break;
        }
    }
    call.ok()
}
