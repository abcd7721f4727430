//! The kind of filter under a name on a server.

use crate::bf::type_of;
use crate::{Error, NativeFilter, RemoteBf, RemoteRedisson, Server};
use mayhap::SecretKey;
use mayhap_formats::RedissonConfig;

/// The kind of filter under a name on a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Found {
    /// A filter in mayhap's own layout.
    Native(NativeFilter),
    /// One behind `BF.*` commands: of `RedisBloom`, valkey-bloom or `mayhap serve`.
    Bf(RemoteBf),
    /// A filter of Redisson.
    Redisson(RemoteRedisson),
    /// A string, which may be a bare bitmap: m and k are not known.
    Bitmap,
    /// Nothing; and whether the server has only filters, like `mayhap serve`.
    Nothing {
        /// Whether the server has no other types of values.
        filters_only: bool,
    },
}

/// Looks up the value of a name, and attaches to it: first mayhap's own layout, in one round trip,
/// then the types of keys of the other layouts.
///
/// # Errors
///
/// [`Error::WrongType`] for a value that is no filter; the errors of attaching to a filter, except
/// for [`Error::NotFound`].
pub async fn find(
    server: &Server,
    name: &str,
    secret_key: Option<SecretKey>,
) -> Result<Found, Error> {
    let mut filters_only = false;
    match NativeFilter::attach(server, name, secret_key).await {
        Ok(filter) => return Ok(Found::Native(filter)),
        // Mayhap's own names have no braces.
        Err(Error::NotFound { .. } | Error::BadName { .. }) => {}
        Err(Error::Refused { reason, .. }) if reason.contains("unknown command") => {
            filters_only = true;
        }
        Err(error) => return Err(error),
    }
    let config = RedissonConfig::key(name);
    if !filters_only && type_of(server, &config).await? == "hash" {
        return Ok(Found::Redisson(RemoteRedisson::attach(server, name).await?));
    }
    match &*type_of(server, name).await? {
        "none" => Ok(Found::Nothing { filters_only }),
        "string" => Ok(Found::Bitmap),
        "MBbloom--" | "bloomfltr" => Ok(Found::Bf(RemoteBf::attach(server, name).await?)),
        _ => Err(Error::WrongType { key: name.into() }),
    }
}
