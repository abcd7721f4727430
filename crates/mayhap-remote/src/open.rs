//! From a name on a server to a set.

use crate::native::NativeSet;
use crate::origin::{Known, Origin};
use crate::other::OtherSet;
use crate::problem::failed;
use crate::scheme::Scheme;
use crate::server_set::ServerSet;
use crate::wait::wait;
use mayhap_formats::Format;
use mayhap_keys::KeyOptions;
use mayhap_redis::{
    Found, MagnusOptions, MagnusParams, RemoteBf, RemoteMagnus, RemoteRedisson, Server, find,
};
use mayhap_sets::Error;
use std::time::{Duration, Instant};

/// A set, and how its keys are cut, if it keeps that.
pub type Opened = (Box<dyn ServerSet>, Option<KeyOptions>);

/// Opens the filter of a name, whatever its scheme.
///
/// # Errors
///
/// [`Error::Server`] if there is none, or it cannot be used; [`Error::Keys`].
pub fn open(origin: &Origin, known: &Known) -> Result<Opened, Error> {
    let fail = |source| failed(&origin.url, &source);
    let (server, name) = (&origin.server, &*origin.name);
    let started = Instant::now();
    match known.format {
        Some(Format::RedisBloom) => {
            let filter = wait(RemoteBf::attach(server, name))?.map_err(fail)?;
            return other(origin, filter, known, started.elapsed());
        }
        Some(Format::Redisson) => {
            let filter = wait(RemoteRedisson::attach(server, name))?.map_err(fail)?;
            return other(origin, filter, known, started.elapsed());
        }
        Some(Format::MagnusS | Format::MagnusRedis) => {
            let params = magnus_params(known)?;
            let options = MagnusOptions {
                num_bitmaps: known.num_bitmaps.unwrap_or(1),
                ..MagnusOptions::default()
            };
            let filter = RemoteMagnus::attach(server, name, params, options);
            let filter = wait(filter)?.map_err(fail)?;
            return other(origin, filter, known, started.elapsed());
        }
        Some(format) => {
            return Err(Error::Server {
                message: format!("{}: filters of {} are files alone", origin.url, format.name()),
                hint: Some(
                    "servers can have redisbloom, redisson and magnuss-redis; without --format the \
                     format is detected"
                        .into(),
                ),
            });
        }
        None => {}
    }
    let found = wait(find_known(server, name, known))?.map_err(fail)?;
    of_found(origin, found, known, started.elapsed())
}

/// What is under a name, opened with the secret key if it has one.
///
/// # Errors
///
/// Those of [`find`].
pub async fn find_known(
    server: &Server,
    name: &str,
    known: &Known,
) -> Result<Found, mayhap_redis::Error> {
    match find(server, name, known.secret_key).await {
        Err(mayhap_redis::Error::Filter(mayhap::Error::NotKeyed)) if known.key_of_several => {
            find(server, name, None).await
        }
        found => found,
    }
}

/// The set of what was found under a name.
///
/// # Errors
///
/// As [`open()`].
pub fn of_found(
    origin: &Origin,
    found: Found,
    known: &Known,
    round_trip: Duration,
) -> Result<Opened, Error> {
    match found {
        Found::Native(filter) => {
            let (set, options) = NativeSet::new(origin, filter, round_trip)?;
            Ok((Box::new(set), Some(options)))
        }
        Found::Bf(filter) => other(origin, filter, known, round_trip),
        Found::Redisson(filter) => other(origin, filter, known, round_trip),
        Found::Bitmap => Err(Error::Server {
            message: format!(
                "{}: this is a string, maybe a bare bitmap, which does not record its m and k",
                origin.url
            ),
            hint: Some(
                "for one of Java-BloomFilter: --format magnuss-redis --bits M --hashes K; one of \
                 Redisson lacks its config"
                    .into(),
            ),
        }),
        _ => Err(failed(&origin.url, &mayhap_redis::Error::NotFound { name: origin.name.clone() })),
    }
}

pub(crate) fn other<F: Scheme>(
    origin: &Origin,
    filter: F,
    known: &Known,
    round_trip: Duration,
) -> Result<Opened, Error> {
    // The server or its clients hash the keys.
    if known.secret_key.is_some() && !known.key_of_several {
        return Err(failed(&origin.url, &mayhap::Error::NotKeyed.into()));
    }
    Ok((Box::new(OtherSet::new(origin, filter, known.key_type, round_trip)?), None))
}

/// m, n and k of a filter of Java-BloomFilter: those given.
///
/// # Errors
///
/// [`Error::Server`] if they are not given, or no number of the class.
pub fn magnus_params(known: &Known) -> Result<MagnusParams, Error> {
    let missing = || Error::Server {
        message: "a bitmap of Java-BloomFilter does not record its m and k".into(),
        hint: Some("give --bits M --hashes K; the class has 12118639 and 14 by default".into()),
    };
    let shape = known.shape.ok_or_else(missing)?;
    let num_bits = i32::try_from(shape.num_bits).map_err(|_| Error::Server {
        message: format!("--bits {} is above the limit of 2147483647", shape.num_bits),
        hint: Some("a larger filter is spread over several bitmaps: --bitmaps COUNT".into()),
    })?;
    Ok(MagnusParams { num_bits, expected_items: 0, num_hashes: shape.num_hashes })
}
