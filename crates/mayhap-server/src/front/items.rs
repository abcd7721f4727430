//! The items of requests: keys, or their digests, which clients have computed.

use super::{Error, Front};
use mayhap::{Bitmap, Digest};
use mayhap_redis::{NativeFilter, NativeOptions};

/// The items of a request: keys, or their digests.
#[derive(Debug)]
pub(crate) enum Items<'a> {
    Keys(Vec<&'a [u8]>),
    Digests(&'a [Digest]),
}

/// Inserts items: for each whether it was new, or may have been. With options, the filter is
/// created with them if there is none.
pub(crate) async fn insert_or_create(
    front: &Front,
    name: &str,
    items: &Items<'_>,
    options: Option<NativeOptions>,
) -> Result<Vec<bool>, Error> {
    let options = match (insert(front, name, items).await, options) {
        (Err(Error::Store(mayhap_redis::Error::NotFound { .. })), Some(options)) => options,
        (inserted, _) => return inserted,
    };
    match front.create(name, options).await {
        // Another client may have created it meanwhile, with other parameters.
        Ok(_) | Err(Error::Store(mayhap_redis::Error::Exists { .. })) => {}
        Err(error) => return Err(error),
    }
    insert(front, name, items).await
}

async fn insert(front: &Front, name: &str, items: &Items<'_>) -> Result<Vec<bool>, Error> {
    match items {
        Items::Keys(keys) => front.insert(name, keys).await,
        Items::Digests(found) => Ok(digests(front, name, found, true).await?.iter().collect()),
    }
}

/// Queries items: for each whether it may be in the filter.
pub(crate) async fn contains_items(
    front: &Front,
    name: &str,
    items: &Items<'_>,
) -> Result<Vec<bool>, Error> {
    match items {
        Items::Keys(keys) => front.contains(name, keys).await,
        Items::Digests(found) => Ok(digests(front, name, found, false).await?.iter().collect()),
    }
}

/// Inserts keys by their digests, or looks them up: for each whether it was new, or may have been,
/// or whether it may be in the filter.
pub(crate) async fn digests(
    front: &Front,
    name: &str,
    digests: &[Digest],
    inserts: bool,
) -> Result<Bitmap, Error> {
    // Without digests no call would find that the filter is gone.
    let is_empty = digests.is_empty();
    let kept = if is_empty { front.attach(name).await? } else { front.kept(name).await? };
    match call(&kept, digests, inserts).await {
        Err(mayhap_redis::Error::Gone { .. }) => {
            Ok(call(&front.attach(name).await?, digests, inserts).await?)
        }
        result => Ok(result?),
    }
}

async fn call(
    filter: &NativeFilter,
    digests: &[Digest],
    inserts: bool,
) -> Result<Bitmap, mayhap_redis::Error> {
    if !inserts {
        return Box::pin(filter.contains_digests(digests)).await;
    }
    let mut inserted = Box::pin(filter.insert_digests(digests)).await?;
    // A key that may have been new is: its client must not take it for a repeat.
    inserted.unsure.iter_ones().for_each(|i| inserted.new.set(i));
    Ok(inserted.new)
}
