//! The commands of a server whose filters are in a store ([`Front`]): their words checked, their
//! answers written. Each begins on a loop, ends with the store's reply, and is the same for
//! clients as the command on filters of this server's own, except for what the layout there cannot
//! hold, which is refused by name.

use super::bf::{Insert, read_digests, reserved};
use super::call::Fault;
use super::expire::{MILLISECOND, SECOND};
use super::row::Command;
use super::store_answer::{Answer, name};
use super::{store_info, store_names, table};
use crate::config::Config;
use crate::front::{
    Error, Front, Items, NOT_SERVED, ONE_SIZE, Unfit, digests, fitting, insert_or_create,
};
use crate::metrics::{Counter, Counts};
use crate::resp::Reply;
use crate::{Session, Shared};
use mayhap_engine::Words;
use mayhap_engine::keyspace::DigestError;

/// Commands on filters in the store.
const ON_FILTERS: [&str; 25] = [
    "bf.add",
    "bf.madd",
    "bf.insert",
    "bf.exists",
    "bf.mexists",
    "bf.maddhash",
    "bf.mexistshash",
    "bf.reserve",
    "bf.info",
    "bf.card",
    "del",
    "unlink",
    "exists",
    "touch",
    "type",
    "scan",
    "keys",
    "dbsize",
    "expire",
    "pexpire",
    "ttl",
    "pttl",
    "persist",
    "rename",
    "renamenx",
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
    Err(format!("ERR '{name}' {NOT_SERVED}").into())
}

/// Whether this is a request for a filter in the store.
pub(crate) fn is_on_store(words: Words<'_>) -> bool {
    let command = table::find(words.get(0).unwrap_or_default());
    command.is_some_and(|command| ON_FILTERS.contains(&command.name))
}

/// Executes a request on filters in the store and returns the answer.
pub(crate) async fn on_store(shared: &Shared, words: Words<'_>, session: &Session) -> Vec<u8> {
    let (mut out, mut counts) = (Vec::new(), Counts::default());
    let answer = answer(shared, words, session, &mut counts).await;
    let mut reply = Reply::new(&mut out, session.info.resp3);
    match answer {
        Ok(answer) => answer.write(&mut reply),
        Err(fault) => {
            counts.add(Counter::Errors, 1);
            reply.error(&fault.0);
        }
    }
    // Any lane counts correctly.
    shared.metrics.lane(0).take(&mut counts);
    out
}

async fn answer(
    shared: &Shared,
    words: Words<'_>,
    session: &Session,
    counts: &mut Counts,
) -> Result<Answer, Fault> {
    let front = shared.front().ok_or("ERR there is no store")?;
    let config = &shared.config();
    let word = |index| words.get(index).unwrap_or_default();
    let command = word(0).to_ascii_lowercase();
    let rights = &session.rights;
    match &*command {
        b"scan" => store_names::scan(front, shared, words, rights).await,
        b"keys" => store_names::keys(front, shared, words, rights).await,
        b"dbsize" => store_names::size(front, rights).await,
        b"type" => store_names::kind(front, words).await,
        b"expire" => store_names::expire(front, words, SECOND).await,
        b"pexpire" => store_names::expire(front, words, MILLISECOND).await,
        b"ttl" => store_names::ttl(front, words, SECOND).await,
        b"pttl" => store_names::ttl(front, words, MILLISECOND).await,
        b"persist" => store_names::persist(front, words).await,
        b"rename" => store_names::rename(front, words, true).await,
        b"renamenx" => store_names::rename(front, words, false).await,
        b"bf.madd" => {
            let keys: Vec<&[u8]> = words.from(2).iter().collect();
            let name = name(word(1))?;
            let added = front.ask(name, front.insert(name, &keys)).await?;
            counts.add(Counter::ItemsAdded, keys.len() as u64);
            Ok(Answer::Each(added))
        }
        b"bf.mexists" => {
            let keys: Vec<&[u8]> = words.from(2).iter().collect();
            let name = name(word(1))?;
            let found = front.ask(name, front.contains(name, &keys)).await?;
            counts.checked(found.len(), found.iter().filter(|&&found| found).count());
            Ok(Answer::Each(found))
        }
        b"bf.insert" => insert(front, config, words, counts).await,
        b"bf.reserve" => {
            let options = fitting(&reserved(words, config)?, config)?;
            let name = name(word(1))?;
            if front.ask(name, front.create(name, options)).await? {
                Ok(Answer::Done)
            } else {
                Err("ERR item exists".into())
            }
        }
        b"bf.maddhash" => by_digests(front, words, (session, true), counts).await,
        b"bf.mexistshash" => by_digests(front, words, (session, false), counts).await,
        b"bf.card" => store_info::card(front, words).await,
        b"bf.info" => store_info::info(front, words).await,
        _ => count(front, words, matches!(&*command, b"del" | b"unlink")).await,
    }
}

/// The number of names that have a filter, which is deleted if `deletes`.
async fn count(front: &Front, words: Words<'_>, deletes: bool) -> Result<Answer, Fault> {
    // No filter has a name that cannot be one.
    let names: Vec<&str> = words.from(1).iter().filter_map(|word| name(word).ok()).collect();
    let count = async {
        if deletes {
            return front.delete_all(&names).await;
        }
        let mut number = 0;
        for &name in &names {
            number += usize::from(front.exists(name).await?);
        }
        Ok(number)
    };
    Ok(Answer::count(match names[..] {
        [] => 0,
        [name] => front.ask(name, count).await?,
        // They may be on several nodes of a cluster.
        _ => front.in_time(count).await?,
    }))
}

/// `BF.MADDHASH name digests`, or `BF.MEXISTSHASH`: an answer of one word, as without a store.
async fn by_digests(
    front: &Front,
    words: Words<'_>,
    (session, inserts): (&Session, bool),
    counts: &mut Counts,
) -> Result<Answer, Fault> {
    let name = name(words.get(1).unwrap_or_default())?;
    if inserts && front.is_keyed() && !session.rights.admin {
        return Err(DigestError::Keyed.into());
    }
    let keys = read_digests(words.get(2).unwrap_or_default())?;
    let answers = front.ask(name, digests(front, name, &keys, inserts)).await?;
    if inserts {
        counts.add(Counter::ItemsAdded, keys.len() as u64);
    } else {
        counts.checked(keys.len(), answers.count_ones());
    }
    let bytes = answers.as_words().iter().flat_map(|word| word.to_le_bytes());
    Ok(Answer::Bytes(bytes.take(keys.len().div_ceil(8)).collect()))
}

/// `BF.INSERT name [options] ITEMS item …`: creates the filter only with `CAPACITY`.
async fn insert(
    front: &Front,
    config: &Config,
    words: Words<'_>,
    counts: &mut Counts,
) -> Result<Answer, Fault> {
    let Insert { mut reservation, is_sized, creates, items } = Insert::parse(words, config)?;
    if reservation.fixed {
        // Any value is accepted with it, as without a store.
        reservation.expansion = None;
    }
    let name = name(words.get(1).unwrap_or_default())?;
    let keys = Items::Keys(items.iter().flat_map(Words::iter).collect());
    let (options, too_large) = match fitting(&reservation, config) {
        Ok(options) => (Some(options), None),
        // It does not matter where there is a filter.
        Err(Unfit::Size(why)) => (None, Some(why)),
        Err(why) => return Err(why.into()),
    };
    let creates = creates && is_sized;
    let added = insert_or_create(front, name, &keys, options.filter(|_| creates));
    let added = match (front.ask(name, added).await, too_large) {
        (Err(Error::Store(mayhap_redis::Error::NotFound { .. })), Some(why)) if creates => {
            return Err(why.into());
        }
        (added, _) => added?,
    };
    counts.add(Counter::ItemsAdded, added.len() as u64);
    Ok(Answer::Each(added))
}

impl From<Unfit> for Fault {
    fn from(why: Unfit) -> Self {
        match why {
            Unfit::Option(wanted) => format!("ERR {} {ONE_SIZE}", wanted.word).into(),
            Unfit::Size(why) => why.into(),
        }
    }
}
