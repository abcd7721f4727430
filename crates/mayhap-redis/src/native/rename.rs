//! Another name for a filter, in one step, which may take the place of another filter.
//!
//! A script renames the parameters and all shards, and gives them a new generation. Handles of the
//! old name find nothing under it, and acknowledge nothing: what they insert at the same time is in
//! a shard before it is renamed, or in a value without a trailer. They delete what is left of the
//! old generation, which is not the filter's even where it has its old name again. A filter that
//! had the new name is deleted in the same step; its handles continue with the renamed one, as
//! after a switch.
//!
//! The keys of a filter are in as many slots as it has shards, and others under another name. So
//! there is no such step in a cluster.

use super::create::settled;
use super::generation::Generation;
use super::handle::Until;
use super::meta::Meta;
use super::options::random;
use super::place::Target;
use super::shards::{check_name, shard_keys};
use super::wire::{eval, run, trailer_bytes, word};
use crate::{Error, Loss, Server};
use mayhap_formats::RedissonConfig;
use std::time::Duration;

/// What becomes of a filter of mayhap's own layout that has the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfTaken {
    /// Nothing: the name is refused.
    Refuse,
    /// It is deleted in the same step.
    Replace,
}

const POLL: Duration = Duration::from_millis(20);

/// Keys: the parameters under both names, the token of a switch and the filter that is built beside
/// this one, the three others that the new name may have, the token of a switch of the new name,
/// then the old and the new name of each shard, and the shards of the filter that is replaced.
/// Arguments: the generations, the trailers, the bytes of blocks in a shard and in the last one,
/// the generation that is replaced or nothing, the number of keys before its shards. A fence
/// without its token is one of a switch that was given up.
///
/// The two writes that change nothing are refused where the others would be: nothing is renamed
/// then.
const RENAME: &str = "\
local own = redis.call('HMGET', KEYS[1], 'generation', 'state')
if own[1] ~= ARGV[1] or own[2] ~= 'ready' then
if redis.call('HGET', KEYS[2], 'generation') == ARGV[2] then return 'ok' end
return 'late' end
if redis.call('EXISTS', KEYS[3]) == 1 then return 'switches' end
if redis.call('EXISTS', KEYS[4]) == 1 then return 'next' end
if redis.call('EXISTS', KEYS[5], KEYS[6]) > 0 then return 'other' end
if ARGV[7] == '' then if redis.call('EXISTS', KEYS[2]) == 1 then return 'taken' end
else local there = redis.call('HMGET', KEYS[2], 'generation', 'state')
if there[1] ~= ARGV[7] or there[2] ~= 'ready' then return 'taken' end end
if redis.call('EXISTS', KEYS[7]) == 1 then return 'comes' end
if ARGV[7] ~= '' and redis.call('EXISTS', KEYS[8]) == 1 then return 'switches' end
local last = tonumber(ARGV[8])
for i = 9, last, 2 do
local at = i + 1 == last and ARGV[6] or ARGV[5]
local t = redis.call('GETRANGE', KEYS[i], at, -1)
if #t ~= 8 or t == string.rep('\\0', 8) then return 'part' end end
redis.call('HSET', KEYS[1], 'generation', ARGV[1])
if last == 10 then redis.call('SETRANGE', KEYS[9], ARGV[6], ARGV[3])
else redis.call('SETRANGE', KEYS[9], ARGV[5], ARGV[3]) end
for i = last + 1, #KEYS do redis.call('UNLINK', KEYS[i]) end
for i = 9, last, 2 do
redis.call('RENAME', KEYS[i], KEYS[i + 1])
redis.call('SETRANGE', KEYS[i + 1], i + 1 == last and ARGV[6] or ARGV[5], ARGV[4]) end
redis.call('HSET', KEYS[1], 'generation', ARGV[2])
redis.call('RENAME', KEYS[1], KEYS[2])
return 'ok'";

/// Gives the filter of this name another one.
pub(crate) async fn rename(
    server: &Server,
    (name, new): (&str, &str),
    if_taken: IfTaken,
) -> Result<(), Error> {
    check_name(name)?;
    let until = Until::new(server, name, "switches");
    let generation = random()?;
    loop {
        let meta = settled(server, Target::live(name)).await?;
        check_name(new)?;
        let taken = || Error::NameTaken { name: new.into() };
        if name == new {
            return if if_taken == IfTaken::Replace { Ok(()) } else { Err(taken()) };
        }
        if server.is_cluster() {
            return Err(Error::Unsupported {
                name: name.into(),
                scheme: "a cluster",
                what: "renamed",
                reason: "a new name changes the slots of its keys: copy it to that name, as mayhap \
                         move does, and delete the old one",
            });
        }
        let replaced = replaced(server, new, if_taken).await?;
        let busy = |name: &str| Error::Busy { name: name.into(), what: "uploads or rebuilds" };
        match &*attempt(server, (name, new), (meta, replaced), generation).await? {
            "ok" => return Ok(()),
            "other" => return Err(taken()),
            "taken" if if_taken == IfTaken::Refuse => return Err(taken()),
            "part" => return Err(Error::Gone { name: name.into(), loss: Loss::Part.into() }),
            "next" => return Err(busy(name)),
            "comes" => return Err(busy(new)),
            _ => until.pause(POLL).await?,
        }
    }
}

/// The filter that loses its name.
async fn replaced(
    server: &Server,
    name: &str,
    if_taken: IfTaken,
) -> Result<Option<Generation>, Error> {
    if if_taken == IfTaken::Refuse {
        return Ok(None);
    }
    match settled(server, Target::live(name)).await {
        Ok(meta) => Ok(Some(Generation::new(meta, name))),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs the script.
async fn attempt(
    server: &Server,
    (name, new): (&str, &str),
    (meta, replaced): (Meta, Option<Generation>),
    generation: i64,
) -> Result<String, Error> {
    let (old, at) = (Target::live(name), Target::live(new));
    let own = [old.meta_key(), at.meta_key(), old.swap_key(), Target::next(name).meta_key()];
    let config = RedissonConfig::key(new);
    let others = [new.to_owned(), config, Target::next(new).meta_key(), at.swap_key()];
    let made = Generation::new(meta, name);
    let renamed = shard_keys(new, generation, made.meta.cut.num_shards());
    let mut keys: Vec<&str> = own.iter().chain(&others).map(String::as_str).collect();
    for ((from, _), (to, _)) in made.keys.iter().zip(&renamed) {
        keys.extend([&**from, &**to]);
    }
    let last = keys.len();
    keys.extend(replaced.iter().flat_map(|made| made.keys.iter().map(|(key, _)| &**key)));
    let mut script = eval(RENAME, &keys);
    script.arg(made.meta.tag()).arg(format!("{generation:016x}"));
    script.arg(&made.own_trailer()).arg(&trailer_bytes(generation));
    script.arg(made.meta.cut.body_bytes(0)).arg(made.meta.cut.body_bytes(made.keys.len() - 1));
    script.arg(replaced.map(|made| made.meta.tag()).unwrap_or_default()).arg(last);
    let value = run(server, &own[0], script, "to rename the filter").await?;
    Ok(word(&value).to_owned())
}
