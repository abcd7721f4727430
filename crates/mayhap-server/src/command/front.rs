//! The commands of a server whose filters are in a store ([`Front`]): their words checked, their
//! answers written. Each begins on a loop, ends with the store's reply, and is the same for
//! clients as the command on filters of this server's own, except for what the layout there cannot
//! hold, which is refused by name.

use super::bf::{Insert, reserved};
use super::call::{Call, Fault};
use super::row::Command;
use super::table;
use super::word::is;
use crate::config::Config;
use crate::front::{Error, Front};
use crate::metrics::{Counter, Counts};
use crate::reservation::{Named, Reservation};
use crate::resp::{Reply, Value};
use crate::{Session, Shared};
use mayhap::{Layout, sizing};
use mayhap_engine::Words;
use mayhap_redis::{FilterInfo, NativeOptions};

/// Commands on filters in the store.
const ON_FILTERS: [&str; 11] = [
    "bf.add",
    "bf.madd",
    "bf.insert",
    "bf.exists",
    "bf.mexists",
    "bf.reserve",
    "bf.info",
    "bf.card",
    "del",
    "unlink",
    "exists",
];
/// Commands that touch no filter, beside those of the connection: served as without a store. All
/// others are refused, so a new one does not find the empty keyspace of this server.
const WITHOUT_FILTERS: [&str; 11] = [
    "acl", "cluster", "command", "config", "info", "latency", "module", "role", "shutdown",
    "slowlog", "time",
];

/// Whether a request is for a filter in the store; an error for one that is not served there.
pub(super) fn is_on_filters(command: &Command) -> Result<bool, Fault> {
    let name = command.name;
    if ON_FILTERS.contains(&name) {
        return Ok(true);
    }
    if WITHOUT_FILTERS.contains(&name) || table::group_of(command) == "connection" {
        return Ok(false);
    }
    Err(format!(
        "ERR '{name}' is not served for filters in a store; use the command mayhap with the URL of \
         the store, or a server with a data folder"
    )
    .into())
}

/// Whether this is a request for a filter in the store.
pub(crate) fn is_on_store(words: Words<'_>) -> bool {
    let command = table::find(words.get(0).unwrap_or_default());
    command.is_some_and(|command| ON_FILTERS.contains(&command.name))
}

/// Whether a request for one key, to which others may be joined already, and the next request are
/// the same but for the key: they are executed together then. Their order among themselves is
/// kept, and all other requests of the client wait for them.
pub(crate) fn are_joined(first: Words<'_>, next: Words<'_>) -> bool {
    let [Some(command), Some(name)] = [first.get(0), first.get(1)] else { return false };
    let is_one = is(command, "bf.add") || is(command, "bf.exists");
    let is_same = next.get(0).is_some_and(|next| next.eq_ignore_ascii_case(command));
    is_one && first.len() >= 3 && next.len() == 3 && is_same && next.get(1) == Some(name)
}

/// Executes a request on filters in the store, or several that are joined, and returns the answers.
pub(crate) async fn on_store(
    shared: &Shared,
    (words, requests): (Words<'_>, usize),
    session: &Session,
) -> Vec<u8> {
    let (mut out, mut counts) = (Vec::new(), Counts::default());
    if let Some(command) = table::find(words.get(0).unwrap_or_default()) {
        // The first was counted where it was parsed.
        counts.add(command.right.family(), requests as u64 - 1);
    }
    let answer = match shared.front() {
        Some(front) => answer(front, &shared.config(), words, &mut counts).await,
        None => Err("ERR there is no store".into()),
    };
    let mut reply = Reply::new(&mut out, session.info.resp3);
    match answer {
        Ok(answer) => answer.write(&mut reply),
        Err(fault) => {
            counts.add(Counter::Errors, requests as u64);
            (0..requests).for_each(|_| reply.error(&fault.0));
        }
    }
    // Any lane counts correctly.
    shared.metrics.lane(0).take(&mut counts);
    out
}

/// An answer before it is written.
enum Answer {
    Done,
    /// One answer for each request.
    Yes(Vec<bool>),
    /// One answer.
    Each(Vec<bool>),
    Count(u64),
    /// Fields of a filter, and whether it is the only one that was requested.
    Fields(Vec<(&'static str, Value)>, bool),
}

impl Answer {
    fn write(&self, reply: &mut Reply<'_>) {
        match self {
            Self::Done => reply.simple("OK"),
            Self::Yes(all) => all.iter().for_each(|&yes| reply.boolean(yes)),
            Self::Each(all) => {
                reply.array(all.len());
                for &yes in all {
                    reply.boolean(yes);
                }
            }
            &Self::Count(number) => reply.integer(i64::try_from(number).unwrap_or(i64::MAX)),
            Self::Fields(fields, is_one) => {
                if *is_one && !reply.is_resp3() {
                    reply.array(1);
                } else {
                    reply.map(fields.len());
                }
                for (name, value) in fields {
                    if !is_one || reply.is_resp3() {
                        reply.simple(name);
                    }
                    reply.value(value);
                }
            }
        }
    }
}

async fn answer(
    front: &Front,
    config: &Config,
    words: Words<'_>,
    counts: &mut Counts,
) -> Result<Answer, Fault> {
    let word = |index| words.get(index).unwrap_or_default();
    let command = word(0).to_ascii_lowercase();
    let is_one = matches!(&*command, b"bf.add" | b"bf.exists");
    match &*command {
        b"bf.add" | b"bf.madd" => {
            let keys: Vec<&[u8]> = words.from(2).iter().collect();
            let name = name(word(1))?;
            let added = front.ask(name, front.insert(name, &keys)).await?;
            counts.add(Counter::ItemsAdded, keys.len() as u64);
            Ok(if is_one { Answer::Yes(added) } else { Answer::Each(added) })
        }
        b"bf.exists" | b"bf.mexists" => {
            let keys: Vec<&[u8]> = words.from(2).iter().collect();
            let name = name(word(1))?;
            let found = front.ask(name, front.contains(name, &keys)).await?;
            counts.checked(found.len(), found.iter().filter(|&&found| found).count());
            Ok(if is_one { Answer::Yes(found) } else { Answer::Each(found) })
        }
        b"bf.insert" => insert(front, config, words, counts).await,
        b"bf.reserve" => {
            let options = options(&reserved(words, config)?, config)?;
            let name = name(word(1))?;
            if front.ask(name, front.create(name, options)).await? {
                Ok(Answer::Done)
            } else {
                Err("ERR item exists".into())
            }
        }
        b"bf.card" => {
            let name = name(word(1))?;
            let info = front.ask(name, front.info(name)).await?;
            Ok(Answer::Count(items(&info)))
        }
        b"bf.info" => info(front, words).await,
        _ => count(front, words, &*command != b"exists").await,
    }
}

/// `BF.INFO name [field]`.
async fn info(front: &Front, words: Words<'_>) -> Result<Answer, Fault> {
    let wanted = words.get(2);
    if words.len() > 3 {
        return Err(Call::arity("bf.info"));
    }
    if wanted.is_some_and(|wanted| !FIELDS.iter().any(|(option, ..)| is(wanted, option))) {
        return Err("Invalid information value".into());
    }
    let name = name(words.get(1).unwrap_or_default())?;
    let info = front.ask(name, front.info(name)).await?;
    let is_wanted = |option: &str| wanted.is_none_or(|wanted| is(wanted, option));
    let fields = FIELDS.iter().filter(|(option, ..)| is_wanted(option));
    let fields = fields.map(|(_, name, value)| (*name, value(&info))).collect();
    Ok(Answer::Fields(fields, wanted.is_some()))
}

/// The number of names that have a filter, which is deleted if `deletes`.
async fn count(front: &Front, words: Words<'_>, deletes: bool) -> Result<Answer, Fault> {
    let names: Vec<&str> = words.from(1).iter().map(name).collect::<Result<_, _>>()?;
    let count = async {
        let mut number = 0;
        for &name in &names {
            let is_one =
                if deletes { front.delete(name).await? } else { front.exists(name).await? };
            number += u64::from(is_one);
        }
        Ok(number)
    };
    Ok(Answer::Count(match names[..] {
        [name] => front.ask(name, count).await?,
        // They may be on several nodes of a cluster.
        _ => front.in_time(count).await?,
    }))
}

/// Option of the request, name in the answer, value.
type Field = (&'static str, &'static str, fn(&FilterInfo) -> Value);

/// The fields of `BF.INFO`: those of `RedisBloom`.
const FIELDS: [Field; 5] = [
    ("capacity", "Capacity", |info| Value::count(info.expected_items)),
    ("size", "Size", |info| Value::count(info.num_bytes)),
    ("filters", "Number of filters", |_| Value::count(1)),
    ("items", "Number of items inserted", |info| Value::count(items(info))),
    ("expansion", "Expansion rate", |_| Value::Null),
];

/// The number of keys that the bits stand for.
fn items(info: &FilterInfo) -> u64 {
    info.estimated_items.map_or(u64::MAX, |items| items.round() as u64)
}

/// The name of a filter.
fn name(word: &[u8]) -> Result<&str, Fault> {
    let not_text =
        "ERR the name of a filter in a store is UTF-8 without { and }, of 1 to 512 bytes";
    std::str::from_utf8(word).map_err(|_| not_text.into())
}

/// `BF.INSERT name [options] ITEMS item …`: creates the filter only with `CAPACITY`.
async fn insert(
    front: &Front,
    config: &Config,
    words: Words<'_>,
    counts: &mut Counts,
) -> Result<Answer, Fault> {
    let Insert { reservation, is_sized, creates, items } = Insert::parse(words, config)?;
    let options = options(&reservation, config)?;
    let name = name(words.get(1).unwrap_or_default())?;
    let keys: Vec<&[u8]> = items.iter().flat_map(Words::iter).collect();
    let added = async {
        match front.insert(name, &keys).await {
            Err(Error::Store(mayhap_redis::Error::NotFound { .. })) if creates && is_sized => {}
            added => return added,
        }
        match front.create(name, options).await {
            // Another client may have created it meanwhile, with other parameters.
            Ok(_) | Err(Error::Store(mayhap_redis::Error::Exists { .. })) => {}
            Err(error) => return Err(error),
        }
        front.insert(name, &keys).await
    };
    let added = front.ask(name, added).await?;
    counts.add(Counter::ItemsAdded, keys.len() as u64);
    Ok(Answer::Each(added))
}

/// The filter of a reservation, if the layout of the store can hold it.
fn options(reservation: &Reservation, config: &Config) -> Result<NativeOptions, Fault> {
    let Reservation { capacity, target_fpp, .. } = *reservation;
    let other = [
        ("EXPANSION", reservation.expansion.is_some_and(|by| by > 0)),
        ("VALIDATESCALETO", reservation.scale_to.is_some()),
        ("COUNTING", reservation.counting),
        ("WINDOW", reservation.window.is_some()),
        ("NOREFRESH", !reservation.refresh),
        ("CLEARAT", reservation.clear_at.is_some()),
        ("LAYOUT compact", reservation.layout == Named::Compact),
        ("SEED", reservation.seed.is_some()),
        // The key of the server is for all filters, or there is none.
        ("KEYED", reservation.keyed.is_some_and(|keyed| keyed != config.key_file.is_some())),
    ];
    if let Some((name, _)) = other.into_iter().find(|(_, is_wanted)| *is_wanted) {
        return Err(format!(
            "ERR {name} is not for filters in a store, which are plain ones of one size; omit it, \
             or use a server with a data folder"
        )
        .into());
    }
    let options = match reservation.layout {
        Named::Plain(Layout::Standard) => {
            sizing::for_items(Layout::Standard, capacity, target_fpp).map(NativeOptions::new)
        }
        _ => NativeOptions::for_items(capacity, target_fpp),
    };
    let options = options.map_err(|why| format!("ERR could not create filter: {why}"))?;
    let (bytes, limit) = (options.params.num_bytes(), config.max_filter_bytes);
    match limit.filter(|&limit| bytes > limit) {
        Some(limit) => Err(format!(
            "ERR could not create filter: it would have {bytes} bytes, above the limit of {limit} \
             (max_filter_bytes)"
        )
        .into()),
        None => Ok(options),
    }
}

fn not_found() -> Fault {
    "ERR not found; filters in a store do not grow: create it with BF.RESERVE for all its keys"
        .into()
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(mayhap_redis::Error::NotFound { .. }) => not_found(),
            Error::Store(mayhap_redis::Error::Exists { .. }) => "ERR item exists".into(),
            error => format!("ERR {error}").into(),
        }
    }
}
