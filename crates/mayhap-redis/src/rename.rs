//! Another name for a filter, whatever its layout.

use crate::bf::type_of;
use crate::{Error, IfTaken, RemoteBf, RemoteRedisson, Server, native};
use mayhap_formats::RedissonConfig;

/// Gives a filter another name that is free, in one step: mayhap's own, those behind `BF.*`
/// commands and those of Redisson. Keys, parameters and expiry stay; a secret key is not needed.
///
/// Nothing that was acknowledged is lost while others insert. A [`crate::NativeFilter`] of the old
/// name returns [`Error::Gone`], and inserts nothing any more, unless its name is taken again.
///
/// In a cluster mayhap's own filters are not renamed, since their keys would change their slots.
///
/// # Errors
///
/// [`Error::NotFound`]; [`Error::NameTaken`]; [`Error::Unsupported`] in a cluster, and for a bitmap
/// without parameters; [`Error::Busy`] if one of the names is being rebuilt or uploaded to, or if
/// a switch does not finish; [`Error::BadName`]; [`Error::Gone`] if part of the filter is missing;
/// [`Error::WrongType`], [`Error::Damaged`], and connection errors, after which the filter has
/// either name.
///
/// # Examples
///
/// ```
/// # use mayhap_redis::*;
/// # use test_servers::{RedisOptions, RedisServer, ready};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if !ready(&["redis-server"]) {
/// #     return Ok(());
/// # }
/// # let redis = RedisServer::start(&RedisOptions::default())?;
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let address = Address::parse(&redis.url())?;
/// # let server = Server::connect(&address, ServerOptions::default()).await?;
/// let options = NativeOptions::for_items(1_000, 0.01)?;
/// let old = NativeFilter::create(&server, "today", &options).await?;
/// old.insert(b"a").await?;
/// rename(&server, "today", "yesterday").await?;
/// let new = NativeFilter::attach(&server, "yesterday", None).await?;
/// assert!(new.contains(b"a").await?);
/// assert!(matches!(old.insert(b"b").await, Err(Error::Gone { .. })));
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn rename(server: &Server, name: &str, free: &str) -> Result<(), Error> {
    match rename_native(server, name, free, IfTaken::Refuse).await {
        Err(Error::NotFound { .. }) => {}
        // Mayhap's own names have no braces.
        Err(Error::BadName { name: bad, .. }) if bad == name => {}
        Err(Error::Refused { reason, .. }) if reason.contains("unknown command") => {
            // `mayhap serve` has filters and nothing else.
            return rename_value(server, name, free).await;
        }
        done => return done,
    }
    let config = RedissonConfig::key(name);
    let of_redisson = type_of(server, &config).await? == "hash";
    if !of_redisson {
        match &*type_of(server, name).await? {
            "MBbloom--" | "bloomfltr" => {}
            "none" => return Err(Error::NotFound { name: name.into() }),
            "string" => {
                return Err(Error::Unsupported {
                    name: name.into(),
                    scheme: "another system without parameters",
                    what: "renamed",
                    reason: "its clients know its keys; rename these: redis-cli RENAMENX",
                });
            }
            _ => return Err(Error::WrongType { key: name.into() }),
        }
    }
    // The rename itself does not see these keys.
    for key in [&format!("{{{free}}}:meta"), &RedissonConfig::key(free)] {
        if type_of(server, key).await? != "none" {
            return Err(Error::NameTaken { name: free.into() });
        }
    }
    if of_redisson {
        let filter = RemoteRedisson::attach(server, name).await?;
        return filter.rename_to_free(free).await.map(drop);
    }
    rename_value(server, name, free).await
}

/// Like [`rename`], for filters of mayhap's own layout alone; with [`IfTaken::Replace`] one that
/// has the new name is deleted in the same step, and its handles continue with the renamed filter.
///
/// Values that are no such filter are never replaced.
///
/// # Errors
///
/// As [`rename`].
///
/// # Examples
///
/// ```
/// # use mayhap_redis::*;
/// # use test_servers::{RedisOptions, RedisServer, ready};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if !ready(&["redis-server"]) {
/// #     return Ok(());
/// # }
/// # let redis = RedisServer::start(&RedisOptions::default())?;
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let address = Address::parse(&redis.url())?;
/// # let server = Server::connect(&address, ServerOptions::default()).await?;
/// let options = NativeOptions::for_items(1_000, 0.01)?;
/// let live = NativeFilter::create(&server, "live", &options).await?;
/// let fresh = NativeFilter::create(&server, "fresh", &options).await?;
/// fresh.insert(b"a").await?;
/// assert!(rename_native(&server, "fresh", "live", IfTaken::Refuse).await.is_err());
/// assert!(!live.contains(b"a").await?);
/// rename_native(&server, "fresh", "live", IfTaken::Replace).await?;
/// assert!(live.contains(b"a").await?);
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn rename_native(
    server: &Server,
    name: &str,
    new: &str,
    if_taken: IfTaken,
) -> Result<(), Error> {
    native::rename(server, (name, new), if_taken).await
}

async fn rename_value(server: &Server, name: &str, free: &str) -> Result<(), Error> {
    if RemoteBf::take_free_name(server, name, free).await? {
        return Ok(());
    }
    Err(Error::NameTaken { name: free.into() })
}
