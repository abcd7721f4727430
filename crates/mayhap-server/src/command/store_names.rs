//! Commands on the names of filters in a store, and on their expiry.

use super::bounds::{ELEMENT_BYTES, MODEST_BYTES};
use super::call::{Fault, NO_INTEGER};
use super::expire::{FOR_EVER, MISSING, When, invalid_time};
use super::keys::{MAX_SCAN_COUNT, NO_SUCH_KEY, Scan, TYPE};
use super::number;
use super::store_answer::{Answer, name};
use crate::Shared;
use crate::answer::check_room;
use crate::config::Rights;
use crate::front::{Error, Front, List, MAX_NAMES, MAX_TTL_MS, rename as rename_filter};
use mayhap_engine::Words;
use mayhap_engine::keyspace::{ChangeError, MAX_PATTERN_BYTES, matches};
use std::sync::Arc;
use std::time::Duration;

/// `TYPE name`.
pub(super) async fn kind(front: &Front, words: Words<'_>) -> Result<Answer, Fault> {
    let Ok(name) = name(words.get(1).unwrap_or_default()) else { return Ok(Answer::Word("none")) };
    let is_there = front.ask(name, front.exists(name)).await?;
    Ok(Answer::Word(if is_there { TYPE } else { "none" }))
}

/// `DBSIZE`: the number of filters that the user may see.
pub(super) async fn size(front: &Front, rights: &Rights) -> Result<Answer, Fault> {
    let list = listed(front).await?;
    let (names, _) = list.page(0, usize::MAX);
    Ok(Answer::count(names.filter(|name| rights.covers(name.as_bytes())).count()))
}

/// `KEYS pattern`.
pub(super) async fn keys(
    front: &Front,
    shared: &Shared,
    words: Words<'_>,
    rights: &Rights,
) -> Result<Answer, Fault> {
    let (names, _) = page(front, (0, usize::MAX), words.get(1), rights).await?;
    has_room(shared, &names)?;
    Ok(Answer::Names(names, None))
}

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`.
pub(super) async fn scan(
    front: &Front,
    shared: &Shared,
    words: Words<'_>,
    rights: &Rights,
) -> Result<Answer, Fault> {
    let Scan { cursor, count, pattern, wanted } = Scan::parse(words)?;
    let place = (cursor, count.min(MAX_SCAN_COUNT));
    let (mut names, next) = page(front, place, pattern, rights).await?;
    if !wanted {
        names.clear();
    }
    has_room(shared, &names)?;
    Ok(Answer::Names(names, Some(next.unwrap_or(0))))
}

/// `RENAME name new`, which replaces a filter that has the new name, or `RENAMENX`.
pub(super) async fn rename(
    front: &Front,
    words: Words<'_>,
    replaces: bool,
) -> Result<Answer, Fault> {
    let word = |index| name(words.get(index).unwrap_or_default());
    let (name, new) = (word(1).map_err(|_| NO_SUCH_KEY)?, word(2)?);
    match front.ask(name, rename_filter(front, (name, new), replaces)).await {
        Err(Error::Store(mayhap_redis::Error::NotFound { .. })) => Err(NO_SUCH_KEY.into()),
        done if replaces => Ok(done.map(|_| Answer::Done)?),
        done => Ok(Answer::Number(i64::from(done?))),
    }
}

/// `EXPIRE name time`, or `PEXPIRE`, with this number of milliseconds in a unit.
pub(super) async fn expire(front: &Front, words: Words<'_>, unit: i64) -> Result<Answer, Fault> {
    if !When::parse(words)?.is_always() {
        return Err("ERR NX, XX, GT and LT are not for filters in a store, whose expiry is in \
                    several places; omit them"
            .into());
    }
    let given = number::integer(words.get(2).unwrap_or_default()).ok_or(NO_INTEGER)?;
    let time = given.checked_mul(unit).filter(|&time| time <= MAX_TTL_MS.cast_signed());
    let time = time.ok_or_else(|| invalid_time(words))?;
    let Ok(name) = name(words.get(1).unwrap_or_default()) else { return Ok(Answer::Number(0)) };
    let changed = match u64::try_from(time) {
        Ok(time @ 1..) => {
            front.ask(name, front.expire(name, Some(Duration::from_millis(time)))).await?
        }
        // It has expired.
        _ => front.ask(name, front.delete(name)).await?,
    };
    Ok(Answer::Number(i64::from(changed)))
}

/// `PERSIST name`.
pub(super) async fn persist(front: &Front, words: Words<'_>) -> Result<Answer, Fault> {
    let Ok(name) = name(words.get(1).unwrap_or_default()) else { return Ok(Answer::Number(0)) };
    let persist = async {
        let has_end = front.ttl(name).await?.is_some_and(|end| end.is_some());
        // Also where the parameters have none: of the values some may have, after a call that was
        // cut off.
        Ok(front.expire(name, None).await? && has_end)
    };
    Ok(Answer::Number(i64::from(front.ask(name, persist).await?)))
}

/// `TTL name`, or `PTTL`: to the nearest unit, as Redis does.
pub(super) async fn ttl(front: &Front, words: Words<'_>, unit: i64) -> Result<Answer, Fault> {
    let Ok(name) = name(words.get(1).unwrap_or_default()) else {
        return Ok(Answer::Number(MISSING));
    };
    Ok(Answer::Number(match front.ask(name, front.ttl(name)).await? {
        None => MISSING,
        Some(None) => FOR_EVER,
        Some(Some(left)) => i64::try_from(left).unwrap_or(i64::MAX).saturating_add(unit / 2) / unit,
    }))
}

/// All filters in the store.
async fn listed(front: &Front) -> Result<Arc<List>, Fault> {
    let list = front.list().await?;
    if list.is_cut {
        return Err(format!("ERR the store has more than {MAX_NAMES} filters").into());
    }
    Ok(list)
}

/// Names from a place on, of this number of filters, and the place of the next ones.
async fn page(
    front: &Front,
    (from, count): (u64, usize),
    pattern: Option<&[u8]>,
    rights: &Rights,
) -> Result<(Vec<String>, Option<u64>), Fault> {
    if let Some(found) = pattern.map(<[u8]>::len).filter(|&found| found > MAX_PATTERN_BYTES) {
        return Err(ChangeError::LongPattern { found, limit: MAX_PATTERN_BYTES }.into());
    }
    let list = listed(front).await?;
    let (pattern, rights) = (pattern.map(<[u8]>::to_vec), rights.clone());
    // Not on the thread of all connections: a pattern may be slow.
    let page = tokio::task::spawn_blocking(move || {
        let (names, next) = list.page(from, count);
        let fits = |name: &&str| {
            let pattern = pattern.as_deref();
            rights.covers(name.as_bytes())
                && pattern.is_none_or(|pattern| matches(pattern, name.as_bytes()))
        };
        (names.filter(fits).map(str::to_owned).collect(), next)
    });
    page.await.map_err(|_| "ERR the request failed".into())
}

/// Checks that these names may be an answer.
fn has_room(shared: &Shared, names: &[String]) -> Result<(), Fault> {
    let bytes = names.iter().map(|name| (name.len() + ELEMENT_BYTES) as u64).sum();
    if bytes <= MODEST_BYTES {
        return Ok(());
    }
    check_room(shared, bytes).map_err(|why| format!("ERR {why}").into())
}
