//! From a name on a server to a set.

use super::error::{Error as ServerError, failed};
use super::native::NativeSet;
use super::origin::Origin;
use super::other::OtherSet;
use super::scheme::Scheme;
use super::server_set::ServerSet;
use super::wait::wait;
use crate::error::Error;
use crate::known::Known;
use mayhap_formats::Format;
use mayhap_keys::KeyOptions;
use mayhap_redis::{
    Found, MagnusOptions, MagnusParams, RemoteBf, RemoteMagnus, RemoteRedisson, Server, find,
};
use std::time::{Duration, Instant};

/// A set, and how its keys are cut, if it keeps that.
pub type Opened = (Box<dyn ServerSet>, Option<KeyOptions>);

/// Opens the filter of a name, whatever its scheme. Of one in mayhap's own layout only a sample of
/// the bits is counted: [`crate::KeySet::refresh`] counts all.
///
/// # Errors
///
/// [`Error::Server`] if there is none, or it cannot be used; [`Error::Keys`].
pub fn open(origin: &Origin, known: &Known) -> Result<Opened, Error> {
    let fail = |source: mayhap_redis::Error| failed(&origin.url, source);
    let (server, name) = (&origin.server, &*origin.name);
    let started = Instant::now();
    match known.format {
        Some(Format::RedisBloom) => {
            let filter = wait(RemoteBf::attach(server, name))?.map_err(fail)?;
            return behind_bf(origin, filter, known, started.elapsed());
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
            return Err(ServerError::FilesOnly { url: origin.url.clone(), format }.into());
        }
        None => {}
    }
    let found = wait(find_known(server, name, known))?.map_err(fail)?;
    of_found(origin, found, known, started.elapsed())
}

/// Finds the filter of a name, opened with the secret key if it has one.
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

/// The set for the filter found under a name.
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
            let (set, options) = NativeSet::glanced(origin, filter, round_trip)?;
            Ok((Box::new(set), Some(options)))
        }
        Found::Bf(filter) => behind_bf(origin, filter, known, round_trip),
        Found::Redisson(filter) => other(origin, filter, known, round_trip),
        Found::Bitmap => Err(ServerError::BareBitmap { url: origin.url.clone() }.into()),
        _ => {
            let name = origin.name.clone();
            Err(failed(&origin.url, mayhap_redis::Error::NotFound { name }).into())
        }
    }
}

/// A filter of `RedisBloom`, valkey-bloom or `mayhap serve`: only the last has secret keys.
fn behind_bf(
    origin: &Origin,
    filter: RemoteBf,
    known: &Known,
    round_trip: Duration,
) -> Result<Opened, Error> {
    if filter.kind().is_some() && known.secret_key.is_some() && !known.key_of_several {
        return Err(ServerError::ServerHashes { url: origin.url.clone() }.into());
    }
    other(origin, filter, known, round_trip)
}

pub(super) fn other<F: Scheme>(
    origin: &Origin,
    filter: F,
    known: &Known,
    round_trip: Duration,
) -> Result<Opened, Error> {
    // The server or its clients hash the keys.
    if known.secret_key.is_some() && !known.key_of_several {
        return Err(failed(&origin.url, mayhap::Error::NotKeyed).into());
    }
    Ok((Box::new(OtherSet::new(origin, filter, known.key_type, round_trip)?), None))
}

/// m, n and k of a filter of Java-BloomFilter: those given.
///
/// # Errors
///
/// [`ServerError::NoShape`] if they are not given, [`ServerError::TooManyBits`].
pub fn magnus_params(known: &Known) -> Result<MagnusParams, ServerError> {
    let shape = known.shape.ok_or(ServerError::NoShape)?;
    let too_many = |_| ServerError::TooManyBits { num_bits: shape.num_bits };
    let num_bits = i32::try_from(shape.num_bits).map_err(too_many)?;
    Ok(MagnusParams { num_bits, expected_items: 0, num_hashes: shape.num_hashes })
}
