//! Keys by their digests, which clients have computed.

use super::{Error, Front};
use mayhap::{Bitmap, Digest};
use mayhap_redis::NativeFilter;

/// The items of a request: keys, or their digests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Items<'a> {
    Keys(&'a [&'a [u8]]),
    Digests(&'a [Digest]),
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
