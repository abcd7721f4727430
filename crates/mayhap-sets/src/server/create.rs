//! New filters of other schemes.

use super::error::failed;
use super::open::of_found;
use super::origin::Origin;
use super::server_set::ServerSet;
use super::wait::wait;
use crate::error::Error;
use crate::known::Known;
use mayhap_redis::{
    BfOptions, Error as RedisError, Found, MagnusOptions, MagnusParams, RemoteBf, RemoteFilter,
    RemoteMagnus, RemoteRedisson,
};
use std::time::{Duration, Instant};

/// A filter to create.
#[derive(Debug, Clone, Copy)]
pub enum Plan {
    /// One behind `BF.*` commands.
    Bf(BfOptions),
    /// One of Redisson.
    Redisson {
        /// n.
        expected_items: u64,
        /// p.
        target_fpp: f64,
    },
    /// Bitmaps of Java-BloomFilter.
    Magnus {
        /// m, n and k of each.
        params: MagnusParams,
        /// How many.
        num_bitmaps: u32,
    },
}

/// Creates a filter, or finds the one that is there with the same numbers; returns whether it was
/// created. One that is created expires after `ttl`, if that is some; with `replace` the one that
/// is there is deleted first.
///
/// # Errors
///
/// [`Error::Server`], also for a filter with other numbers.
pub fn create(
    origin: &Origin,
    plan: Plan,
    (ttl, replace): (Option<Duration>, bool),
    known: &Known,
) -> Result<(Box<dyn ServerSet>, bool), Error> {
    let started = Instant::now();
    let fail = |source: RedisError| failed(&origin.url, source);
    let (found, made) = wait(reserve(origin, plan, ttl, replace))?.map_err(fail)?;
    let (set, _) = match found {
        Reserved::Found(found) => of_found(origin, found, known, started.elapsed())?,
        Reserved::Magnus(filter) => super::open::other(origin, filter, known, started.elapsed())?,
    };
    Ok((set, made))
}

enum Reserved {
    Found(Found),
    Magnus(RemoteMagnus),
}

async fn reserve(
    origin: &Origin,
    plan: Plan,
    ttl: Option<Duration>,
    replace: bool,
) -> Result<(Reserved, bool), RedisError> {
    let (server, name) = (&origin.server, &*origin.name);
    match plan {
        Plan::Bf(options) => {
            if replace && let Some(old) = if_there(RemoteBf::attach(server, name).await)? {
                old.delete().await?;
            }
            let (filter, made) = RemoteBf::reserve(server, name, options).await?;
            if made && ttl.is_some() {
                filter.expire(ttl).await?;
            }
            Ok((Reserved::Found(Found::Bf(filter)), made))
        }
        Plan::Redisson { expected_items, target_fpp } => {
            if replace && let Some(old) = if_there(RemoteRedisson::attach(server, name).await)? {
                old.delete().await?;
            }
            let n = i64::try_from(expected_items).unwrap_or(i64::MAX);
            let (filter, made) = RemoteRedisson::try_init(server, name, n, target_fpp).await?;
            let config = filter.config();
            let has = (config.expected_insertions(), config.false_probability());
            if !made && has != (n, target_fpp) {
                return Err(RedisError::Exists {
                    name: name.into(),
                    parameter: "expectedInsertions and falseProbability",
                    has: format!("{} and {}", has.0, has.1),
                    wanted: format!("{n} and {target_fpp}"),
                });
            }
            if made && ttl.is_some() {
                filter.expire(ttl).await?;
            }
            Ok((Reserved::Found(Found::Redisson(filter)), made))
        }
        Plan::Magnus { params, num_bitmaps } => {
            let options = MagnusOptions { num_bitmaps, expires_after: ttl };
            if replace {
                let old = RemoteMagnus::attach(server, name, params, options).await;
                if let Some(old) = if_there(old)? {
                    old.delete().await?;
                }
            }
            let (filter, made) = RemoteMagnus::create(server, name, params, options).await?;
            Ok((Reserved::Magnus(filter), made))
        }
    }
}

pub(super) fn if_there<F>(attached: Result<F, RedisError>) -> Result<Option<F>, RedisError> {
    match attached {
        Ok(filter) => Ok(Some(filter)),
        Err(RedisError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
