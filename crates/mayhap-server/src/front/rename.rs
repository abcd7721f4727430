//! Other names for filters.

use super::{Error, Front};
use crate::lock::lock;
use mayhap_redis::{IfTaken, NativeFilter, rename_native};

/// Gives a filter another name, in one step; one that has the name is deleted in the same step if
/// `replaces`. `false` if a filter has the name otherwise.
///
/// A server with a handle of the old name does not insert by it any more, and finds the new name in
/// the store; one with a handle of a filter that was replaced continues with this one.
///
/// # Errors
///
/// [`mayhap_redis::Error::NotFound`] without a filter; [`mayhap_redis::Error::NameTaken`] if
/// something else has the name; [`mayhap_redis::Error::Filter`] if either filter has another secret
/// key than this server; those of [`rename_native`].
pub(crate) async fn rename(
    front: &Front,
    (name, new): (&str, &str),
    replaces: bool,
) -> Result<bool, Error> {
    let server = front.store.server()?;
    if front.find(name).await?.is_none() {
        return Err(mayhap_redis::Error::NotFound { name: name.into() }.into());
    }
    let is_taken = match Box::pin(NativeFilter::attach(server, new, front.secret_key)).await {
        Ok(_) => true,
        Err(mayhap_redis::Error::NotFound { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    if is_taken && !replaces {
        return Ok(false);
    }
    let if_taken = if replaces { IfTaken::Replace } else { IfTaken::Refuse };
    let renamed = Box::pin(rename_native(server, name, new, if_taken)).await;
    // Also after an error: it may have been renamed.
    for name in [name, new] {
        lock(&front.known).remove(name);
    }
    front.names.change();
    match renamed {
        Ok(()) => Ok(true),
        // By a filter that came after the look; anything else is an error.
        Err(mayhap_redis::Error::NameTaken { .. }) if !replaces && front.exists(new).await? => {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}
